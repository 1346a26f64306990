"""What the handlers of MSK Connect's resources share: finding by name, tags, and removing what is in use no more."""

import functools
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import boto3

from stacks.handlers import framework
from stacks.handlers.framework import Done, Event, Progress, ResourceError, Waiting

if TYPE_CHECKING:
    from mypy_boto3_kafkaconnect import KafkaConnectClient

# How long a removal waits for those that still use a thing: they may be going away themselves.
IN_USE_SECONDS = 600


@functools.cache
def client() -> "KafkaConnectClient":
    """MSK Connect, once per Lambda environment."""
    return boto3.client("kafkaconnect", config=framework.CLIENT_CONFIG)


def tags(arn: str) -> dict[str, str]:
    """The tags of a resource."""
    return client().list_tags_for_resource(resourceArn=arn).get("tags", {})


def set_tags(arn: str, present: Mapping[str, str], wanted: Mapping[str, str]) -> None:
    """Make the tags what is wanted; AWS's own (`aws:…`) stay."""
    if added := {key: value for key, value in wanted.items() if present.get(key) != value}:
        client().tag_resource(resourceArn=arn, tags=added)
    if removed := [key for key in present if key not in wanted and not key.startswith("aws:")]:
        client().untag_resource(resourceArn=arn, tagKeys=removed)


def users_of(arn: str) -> list[str]:
    """The names of the connectors that use a plugin or a worker configuration."""
    names = []
    for page in client().get_paginator("list_connectors").paginate():
        for connector in page.get("connectors", []):
            used = [plugin["customPlugin"]["customPluginArn"] for plugin in connector.get("plugins", [])]
            used.append(connector.get("workerConfiguration", {}).get("workerConfigurationArn", ""))
            if arn in used:
                names.append(connector["connectorName"])
    return sorted(names)


@dataclass(frozen=True, kw_only=True)
class Found:
    """A plugin or a worker configuration as it is."""

    arn: str
    state: str
    revision: int


@dataclass(frozen=True, kw_only=True)
class Immutable:
    """A kind of resource that can't be changed: its name holds its content's hash, other content is another one.

    `what` is how it is called in reasons; the others are the API's names for it.
    """

    what: str
    listing: str
    items: str
    key: str
    create: str
    delete: str

    def find(self, name: str) -> Found | None:
        """Look one up by its whole name."""
        for item in self._named(name):
            revision = item.get("latestRevision", {}).get("revision", 0)
            return Found(arn=item[f"{self.key}Arn"], state=item[f"{self.key}State"], revision=revision)
        return None

    def is_there(self, event: Event, name: str) -> bool:
        """Whether it is there already. Raises ResourceError when it is another's or is about to go."""
        found = self.find(name)
        if found is None:
            return False
        if found.state == "DELETING":
            raise ResourceError(f"the {self.what} {name} is still being deleted: deploy again in a minute")
        framework.check_owner(event, name, tags(found.arn))
        return True

    def begin(self, event: Event, name: str, request: Mapping[str, Any]) -> dict[str, Any]:
        """Create one unless it is there; what `start` returns. Raises ResourceError when the name is another's."""
        started = {"PhysicalResourceId": name, "Created": True}
        if self.is_there(event, name):
            return started
        try:
            getattr(client(), self.create)(name=name, **request)
        except client().exceptions.ConflictException:
            # It is there after all: another delivery of this event, or a stranger, which `settle` looks at.
            return started
        except framework.CALL_ERRORS as error:
            if not framework.passing(error):
                raise
            started["Created"] = False
        return started

    def settle(self, event: Event, request: Mapping[str, Any]) -> Found | Waiting:
        """Return it when it can be used, with the tags that are wanted.

        It isn't created again when it vanishes: that would outlive the stack that removed it.
        """
        name = event["PhysicalResourceId"]
        found = self.find(name)
        if found is None:
            if event["Created"]:
                raise ResourceError(f"the {self.what} {name} was deleted while it was waited for")
            getattr(client(), self.create)(name=name, **request)
            return Waiting(f"the {self.what} {name} is created")
        present = tags(found.arn)
        framework.check_owner(event, name, present)
        if found.state != "ACTIVE":
            return Waiting(f"the {self.what} {name} is {found.state}")
        set_tags(found.arn, present, request["tags"])
        return found

    def remove(self, event: Event) -> Progress:
        """Delete it when no connector uses it; one that is gone or another's is nothing to do."""
        name = event["PhysicalResourceId"]
        found = self.find(name)
        if found is None or tags(found.arn).get(framework.OWNER_TAG) != framework.owner(event):
            return Done()
        if found.state == "DELETING":
            return Waiting(f"the {self.what} {name} is being deleted")
        if users := users_of(found.arn):
            reason = f"the {self.what} {name} is still used by {', '.join(users)}"
            if framework.now() >= event["Started"] + IN_USE_SECONDS:
                raise ResourceError(f"{reason}: change or delete that connector, then delete this again")
            return Waiting(reason)
        self.delete_now(found)
        return Waiting(f"the {self.what} {name} is being deleted")

    def delete_now(self, found: Found) -> None:
        """Ask for its deletion; it may be gone already."""
        try:
            getattr(client(), self.delete)(**{f"{self.key}Arn": found.arn})
        except client().exceptions.NotFoundException:
            return

    def _named(self, name: str) -> Iterator[Any]:
        # The API filters by prefix only.
        for page in client().get_paginator(self.listing).paginate(namePrefix=name):  # type: ignore[call-overload]
            yield from (item for item in page.get(self.items, []) if item["name"] == name)
