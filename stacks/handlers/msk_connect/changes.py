"""Compares an existing connector with the wanted one, and selects what MSK Connect can change in place.

Two tags of the connector record, as hashes per field, the last request (ASKED) and what the service showed after it
(SHOWN). A field differs if the new request differs from the last one, omitted optional properties included, or if the
service now shows another value. So additions and rewrites by the service are no difference. Without tags, the request
is compared with what the service shows. No change may lose a source's offsets.
"""

import base64
import json
from collections.abc import Collection, Mapping
from typing import Any

from contract.tags import ASKED, SHOWN
from plugins.connector_names import FIXED
from stacks.handlers.framework import Event, ResourceError, sha256_of
from stacks.handlers.msk_connect import resource

# One UpdateConnector request accepts some of these, or the configuration, but not both.
WORKER_SETTINGS = ("capacity", "plugins", "workerConfiguration")
CONFIGURATION = "connectorConfiguration"
UPDATE_SETTINGS, UPDATE_CONFIGURATION = "UPDATE_WORKER_SETTING", "UPDATE_CONNECTOR_CONFIGURATION"
_IN_PLACE = (*WORKER_SETTINGS, CONFIGURATION)
_FIELDS = (*_IN_PLACE, *FIXED)
# A tag's value has 256 characters.
_DIGITS = 12
OFFSET_TOPIC = "offset.storage.topic"


def kept_name(event: Event, name: str) -> str:
    """Return the name. Raises ResourceError if an update asks for another one than the connector has."""
    if event["RequestType"] == "Update" and name != event["PhysicalResourceId"]:
        raise ResourceError(
            f"connectorName can't change from {event['PhysicalResourceId']} to {name}: the replication slot, the "
            "offsets and the sink's progress go by it; remove this connector from the stack, then add the other"
        )
    return name


def asked(wanted: Mapping[str, Any]) -> str:
    return _hashes(_FIELDS, wanted)


def shown(found: Mapping[str, Any]) -> str:
    return _hashes(_IN_PLACE, found)


def differences(
    found: Mapping[str, Any], wanted: Mapping[str, Any], tags: Mapping[str, str], done: Collection[str] = ()
) -> list[str]:
    """Return the request's fields in which the connector differs.

    `done` are the operation types that this request has completed: what they set is as close as the service gets.
    """
    was_asked = _remembered(_FIELDS, tags.get(ASKED, ""))
    was_shown = _remembered(_IN_PLACE, tags.get(SHOWN, ""))

    def differs(field: str) -> bool:
        if field not in was_asked or _operation(field) in done:
            return not _covers(field, found, wanted)
        if was_asked[field] != _hash(field, wanted.get(field)):
            # Someone else may already have set exactly this.
            return bool(_normal(field, found.get(field)) != _normal(field, wanted.get(field)))
        if field in FIXED:
            # It can't have changed since.
            return False
        if field in was_shown:
            return was_shown[field] != _hash(field, found.get(field))
        return not _covers(field, found, wanted)

    return [field for field in _FIELDS if differs(field)]


def described(fields: list[str], found: Mapping[str, Any], wanted: Mapping[str, Any]) -> str:
    """Name the fields, and the keys of the configuration, without values."""
    keys = {
        key
        for key in {*found.get(CONFIGURATION, {}), *wanted[CONFIGURATION]}
        if found.get(CONFIGURATION, {}).get(key) != wanted[CONFIGURATION].get(key)
    }
    return ", ".join(f"{name} ({', '.join(sorted(keys))})" if name == CONFIGURATION else name for name in fields)


def update(changed: list[str], wanted: Mapping[str, Any]) -> tuple[str, dict[str, Any]]:
    """Return the next operation's type and its request: worker settings first, then the configuration.

    A new plugin reads an old configuration more often than an old plugin reads a new one.
    """
    settings = [name for name in WORKER_SETTINGS if name in changed]
    if not settings:
        return UPDATE_CONFIGURATION, {CONFIGURATION: wanted[CONFIGURATION]}
    request = {name: wanted[name] for name in settings if name in wanted}
    if "workerConfiguration" in settings and "workerConfiguration" not in wanted:
        request["useDefaultWorkerConfiguration"] = True
    return UPDATE_SETTINGS, request


def is_source(wanted: Mapping[str, Any]) -> bool:
    """Whether an offset topic holds its progress; a sink's is in its consumer group."""
    return not {"topics", "topics.regex"} & wanted[CONFIGURATION].keys()


def _operation(field: str) -> str:
    return UPDATE_CONFIGURATION if field == CONFIGURATION else UPDATE_SETTINGS if field in WORKER_SETTINGS else ""


def _covers(field: str, found: Mapping[str, Any], wanted: Mapping[str, Any]) -> bool:
    """Whether a field is as wanted, ignoring the service's additions and the order of lists."""
    if field == "workerConfiguration" and field not in wanted:
        return not found.get(field)
    return _within(_normal(field, wanted.get(field)), _normal(field, found.get(field)))


def _within(wanted: Any, found: Any) -> bool:
    if wanted is None:
        return True
    if isinstance(wanted, dict) and isinstance(found, dict):
        return all(_within(value, found.get(key)) for key, value in wanted.items())
    return bool(wanted == found)


def _normal(field: str, value: Any) -> Any:
    """Return a value with its lists sorted; broker addresses are a list in one string."""
    if isinstance(value, dict):
        return {key: _normal(field, each) for key, each in value.items() if each is not None}
    if isinstance(value, list):
        return sorted((_normal(field, each) for each in value), key=_as_text)
    if isinstance(value, str) and field == "kafkaCluster":
        return ",".join(sorted(value.split(",")))
    return value


def _hashes(fields: tuple[str, ...], values: Mapping[str, Any]) -> str:
    return ".".join(_hash(field, values.get(field)) for field in fields)


def _hash(field: str, value: Any) -> str:
    return sha256_of(_as_text(_normal(field, value)))[:_DIGITS]


def _remembered(fields: tuple[str, ...], tag: str) -> dict[str, str]:
    """Return the hashes by field; none if the tag is missing or from another version."""
    hashes = tag.split(".")
    return dict(zip(fields, hashes, strict=True)) if len(hashes) == len(fields) else {}


def _as_text(value: Any) -> str:
    return json.dumps(value, sort_keys=True, default=str)


def check_offsets(found: Mapping[str, Any], wanted: Mapping[str, Any], changed: list[str], *, recreated: bool) -> None:
    """Raise ResourceError if a change would make a source start over: its offset topic must stay.

    Without an offset topic of its own, a connector's offsets are lost when it is `recreated`. A FAILED connector is
    recreated anyway: nothing else helps, the slot holds what it hasn't read, and a new snapshot repeats what it has.
    Another server is a restored one, where the source has other offsets (docs/decisions/0034): the preparation refuses
    every other move.
    """
    if _server(found) != _server(wanted):
        return
    if not recreated and "workerConfiguration" not in changed:
        return
    kept, next_one = _offset_topic(found.get("workerConfiguration")), _offset_topic(wanted.get("workerConfiguration"))
    if kept == next_one and (kept or not recreated):
        return
    raise ResourceError(
        f"a change of {', '.join(sorted(changed))} would lose the offsets of {found['connectorName']}, which are in "
        f"{kept or 'a topic that goes with it'}: the worker configuration must set {OFFSET_TOPIC} and keep it"
    )


def _server(connector: Mapping[str, Any]) -> Any:
    """A source's server; None for a sink."""
    return connector.get("connectorConfiguration", {}).get("database.hostname")


def _offset_topic(worker_configuration: Any) -> str:
    """Return the offset topic of a worker configuration's latest revision; empty if it names none."""
    if not worker_configuration:
        return ""
    arn = worker_configuration["workerConfigurationArn"]
    latest = resource.client().describe_worker_configuration(workerConfigurationArn=arn)["latestRevision"]
    lines = base64.b64decode(latest["propertiesFileContent"]).decode().splitlines()
    return dict(line.partition("=")[::2] for line in lines).get(OFFSET_TOPIC, "")
