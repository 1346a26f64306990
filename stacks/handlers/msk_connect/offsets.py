"""Where a source connector keeps how far it has read, and that no change loses it."""

import base64
from collections.abc import Mapping
from typing import Any

from stacks.handlers.framework import ResourceError
from stacks.handlers.msk_connect import resource

OFFSET_TOPIC = "offset.storage.topic"


def check_offsets(found: Mapping[str, Any], wanted: Mapping[str, Any], changed: list[str], *, anew: bool) -> None:
    """Raise ResourceError for a change after which a source would begin again: its offsets' topic must stay.

    Without a topic of its own a connector's offsets go with it when it is made `anew`. One that FAILED is made anew
    even so: it is the only way on, the slot holds what it hasn't read, and a new snapshot repeats what it has.
    Offsets of another server are worth nothing: a source that moves to a restored one has others there
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
    """Where a source reads; None for a sink."""
    return connector.get("connectorConfiguration", {}).get("database.hostname")


def content(arn: str) -> str:
    """The properties file of a worker configuration's latest revision."""
    described = resource.client().describe_worker_configuration(workerConfigurationArn=arn)
    return base64.b64decode(described["latestRevision"]["propertiesFileContent"]).decode()


def _offset_topic(worker_configuration: Any) -> str:
    """The topic that a worker configuration names for offsets; empty when there is none."""
    if not worker_configuration:
        return ""
    lines = content(worker_configuration["workerConfigurationArn"]).splitlines()
    return dict(line.partition("=")[::2] for line in lines).get(OFFSET_TOPIC, "")
