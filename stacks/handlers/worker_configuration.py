"""Custom resource: a worker configuration of MSK Connect. Changed properties are a new one, under a new name.

Request: `name`, `properties` (names and values, secrets by reference only), `description`, `tags`.
Attributes: `Name`, `Arn`, `Revision`.
"""

import base64
from typing import Any

from stacks.handlers import framework, kafka_connect
from stacks.handlers.framework import Done, Event, Handler, Progress, ResourceError, Waiting

KIND = kafka_connect.Immutable(
    what="worker configuration",
    listing="list_worker_configurations",
    items="workerConfigurations",
    key="workerConfiguration",
    create="create_worker_configuration",
    delete="delete_worker_configuration",
)


def start(event: Event) -> dict[str, Any]:
    """Create it, unless it is there."""
    wanted = _wanted(event)
    name = framework.named_by_content(wanted["name"], framework.sha256_of(_file(wanted)))
    return KIND.begin(event, name, _request(event, wanted))


def settle(event: Event) -> Progress:
    """Wait until it can be used, and read it back."""
    wanted = _wanted(event)
    found = KIND.settle(event, _request(event, wanted))
    if isinstance(found, Waiting):
        return found
    if content(found.arn) != _file(wanted):
        raise ResourceError(
            f"the worker configuration {event['PhysicalResourceId']} has other properties than its name"
        )
    return Done(data={"Name": event["PhysicalResourceId"], "Arn": found.arn, "Revision": found.revision})


def content(arn: str) -> str:
    """The properties file of a worker configuration's latest revision."""
    described = kafka_connect.client().describe_worker_configuration(workerConfigurationArn=arn)
    return base64.b64decode(described["latestRevision"]["propertiesFileContent"]).decode()


def _wanted(event: Event) -> dict[str, Any]:
    wanted = framework.request(
        event, required={"name": str, "properties": dict}, optional={"description": str, "tags": dict}
    )
    for name, value in wanted["properties"].items():
        if not isinstance(value, str) or "\n" in value or "\\" in value:
            # The value isn't repeated: it may be a secret.
            raise ResourceError(f"Request: properties: {name} must be one line of text without a backslash")
    return wanted


def _file(wanted: dict[str, Any]) -> str:
    return "".join(f"{name}={value}\n" for name, value in sorted(wanted["properties"].items()))


def _request(event: Event, wanted: dict[str, Any]) -> dict[str, Any]:
    return {
        "description": wanted.get("description", ""),
        "propertiesFileContent": base64.b64encode(_file(wanted).encode()).decode(),
        "tags": framework.tags_of(event, wanted),
    }


_handler = Handler(start=start, settle=settle, remove=KIND.remove)
on_event = _handler.on_event
is_complete = _handler.is_complete
