"""Custom resource: refuses a deployment in the first stack, before any other changes.

Request: `name` of the environment; `refused`, why its templates must not be deployed, known at synthesis; `paused`,
whether they leave something out; `resumes`, whether a pause may end; `databaseStack`, and the `origin` of its cluster,
in CloudFormation's names. The origin is compared with the deployed template's; the physical id tells a pause, and an
update that fails keeps it. So CloudFormation can roll back what was refused.
"""

import json
from collections.abc import Iterator, Mapping
from typing import Any

from botocore.exceptions import ClientError

from contract import origin
from stacks.handlers import framework
from stacks.handlers.framework import Done, Event, Handler, ResourceError, error_code

_PAUSED = "paused"
_KINDS = {"name": str, "refused": list, "paused": bool, "resumes": bool, "databaseStack": str, "origin": dict}


def start(event: Event) -> str:
    """Raise ResourceError with all reasons against the deployment."""
    wanted = framework.request(event, required=_KINDS)
    if reasons := [*_reasons(event, wanted)]:
        raise ResourceError("; ".join(reasons))
    return f"{wanted['name']}/{_PAUSED if wanted['paused'] else 'guard'}"


def _reasons(event: Event, wanted: Mapping[str, Any]) -> Iterator[str]:
    yield from wanted["refused"]
    deployed = origin.cluster(_template(wanted["databaseStack"]))
    is_paused = event.get("PhysicalResourceId", "").endswith(f"/{_PAUSED}")
    if is_paused and not wanted["paused"] and not wanted["resumes"]:
        yield f"{wanted['name']} is paused: `./lake aws resume -e {wanted['name']}` ends that (docs/aws/pause.md)"
    if deployed and (reason := origin.refusal(deployed, wanted["origin"])):
        yield reason


def _template(stack: str) -> Mapping[str, Any]:
    """Return a deployed stack's template; an empty one if there is no such stack."""
    try:
        body = framework.client("cloudformation").get_template(StackName=stack, TemplateStage="Original")
    except ClientError as error:
        # CloudFormation has no error code of its own for a missing stack.
        if error_code(error) == "ValidationError" and "does not exist" in str(error):
            return {}
        raise
    # botocore parses JSON; a stack whose first change set waits has no text.
    found: Any = body.get("TemplateBody") or {}
    template: Mapping[str, Any] = json.loads(found) if isinstance(found, str) else found
    return template


on_event, is_complete = Handler(start=start, settle=lambda _event: Done()).functions
