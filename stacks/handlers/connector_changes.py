"""What separates a connector as it is from the one that is wanted, and what MSK Connect can change in place."""

import json
from collections.abc import Mapping
from typing import Any

# One UpdateConnector request takes some of these, or the configuration, but not both.
WORKER_SETTINGS = ("capacity", "plugins", "workerConfiguration")
CONFIGURATION = "connectorConfiguration"
FIXED = (
    "kafkaCluster",
    "kafkaClusterClientAuthentication",
    "kafkaClusterEncryptionInTransit",
    "kafkaConnectVersion",
    "logDelivery",
    "networkType",
    "serviceExecutionRoleArn",
)


def differences(found: Mapping[str, Any], wanted: Mapping[str, Any]) -> list[str]:
    """The fields of the request in which the connector isn't what is wanted."""
    fields = [name for name in (*WORKER_SETTINGS, *FIXED) if not _covers(found.get(name), wanted.get(name))]
    # MSK Connect doesn't say of a connector without worker configuration that it has none of the wanted ones.
    if "workerConfiguration" not in wanted and found.get("workerConfiguration"):
        fields.append("workerConfiguration")
    if found.get(CONFIGURATION) != wanted[CONFIGURATION]:
        fields.append(CONFIGURATION)
    return fields


def described(fields: list[str], found: Mapping[str, Any], wanted: Mapping[str, Any]) -> str:
    """Name the fields, and the keys of the configuration; values stay out of it."""
    keys = {
        key
        for key in {*found.get(CONFIGURATION, {}), *wanted[CONFIGURATION]}
        if found.get(CONFIGURATION, {}).get(key) != wanted[CONFIGURATION].get(key)
    }
    return ", ".join(f"{name} ({', '.join(sorted(keys))})" if name == CONFIGURATION else name for name in fields)


def update(changed: list[str], wanted: Mapping[str, Any]) -> tuple[str, dict[str, Any]]:
    """The next operation's type and what to ask for: the worker settings first, then the configuration.

    A plugin still reads the old configuration more often than the old plugin a new one.
    """
    settings = [name for name in WORKER_SETTINGS if name in changed]
    if not settings:
        return "UPDATE_CONNECTOR_CONFIGURATION", {CONFIGURATION: wanted[CONFIGURATION]}
    request = {name: wanted[name] for name in settings if name in wanted}
    if "workerConfiguration" in settings and "workerConfiguration" not in wanted:
        request["useDefaultWorkerConfiguration"] = True
    return "UPDATE_WORKER_SETTING", request


def is_source(wanted: Mapping[str, Any]) -> bool:
    """Whether its progress is kept in an offset topic; a sink's is its consumer group's."""
    return not {"topics", "topics.regex"} & wanted[CONFIGURATION].keys()


def _covers(found: Any, wanted: Any) -> bool:
    """Whether a value is as wanted; what the service adds to it (defaults) and the order of lists don't count."""
    if wanted is None:
        return True
    if isinstance(wanted, dict):
        return isinstance(found, dict) and all(_covers(found.get(key), value) for key, value in wanted.items())
    if isinstance(wanted, list):
        return isinstance(found, list) and sorted(map(_as_text, found)) == sorted(map(_as_text, wanted))
    if isinstance(wanted, str) and isinstance(found, str):
        # Addresses of brokers are a list in one string.
        return sorted(found.split(",")) == sorted(wanted.split(","))
    return bool(found == wanted)


def _as_text(value: Any) -> str:
    return json.dumps(value, sort_keys=True)
