"""Ensures that no change loses a source connector's offsets."""

import base64
from collections.abc import Mapping
from typing import Any

from stacks.handlers.framework import ResourceError
from stacks.handlers.msk_connect import resource

OFFSET_TOPIC = "offset.storage.topic"


def check_offsets(found: Mapping[str, Any], wanted: Mapping[str, Any], changed: list[str], *, anew: bool) -> None:
    """Raise ResourceError if a change would make a source start over: its offset topic must stay.

    Without an offset topic of its own, a connector's offsets are lost when it is recreated (`anew`). A FAILED connector
    is recreated anyway: nothing else helps, the slot holds what it hasn't read, and a new snapshot repeats what it has.
    Offsets of another server are worthless: a source that moves to a restored one has others there
    (docs/decisions/0034).
    """
    if _server(found) != _server(wanted):
        return
    if not anew and "workerConfiguration" not in changed:
        return
    kept, next_one = _offset_topic(found.get("workerConfiguration")), _offset_topic(wanted.get("workerConfiguration"))
    if kept == next_one and (kept or not anew):
        return
    raise ResourceError(
        f"a change of {', '.join(sorted(changed))} would lose the offsets of {found['connectorName']}, which are in "
        f"{kept or 'a topic that goes with it'}: the worker configuration must set {OFFSET_TOPIC} and keep it"
    )


def _server(connector: Mapping[str, Any]) -> Any:
    """A source's server; None for a sink."""
    return connector.get("connectorConfiguration", {}).get("database.hostname")


def content(arn: str) -> str:
    """Return the properties file of a worker configuration's latest revision."""
    described = resource.client().describe_worker_configuration(workerConfigurationArn=arn)
    return base64.b64decode(described["latestRevision"]["propertiesFileContent"]).decode()


def _offset_topic(worker_configuration: Any) -> str:
    """Return a worker configuration's offset topic; empty if it names none."""
    if not worker_configuration:
        return ""
    lines = content(worker_configuration["workerConfigurationArn"]).splitlines()
    return dict(line.partition("=")[::2] for line in lines).get(OFFSET_TOPIC, "")
