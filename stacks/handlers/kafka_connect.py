"""What the handlers of MSK Connect's resources share: finding, whose it is, tags, and deleting what may be in use."""

import functools
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import boto3

from contract.tags import FORMER_OWNER, OWNER
from stacks.handlers import framework, journal
from stacks.handlers.framework import Event, ResourceError, Waiting

if TYPE_CHECKING:
    from mypy_boto3_kafkaconnect import KafkaConnectClient

# How long a deletion is asked for again that the service refuses for no reason that would pass.
REFUSED_SECONDS = 600


@functools.cache
def client() -> "KafkaConnectClient":
    return boto3.client("kafkaconnect", config=framework.CLIENT_CONFIG)


def tags(arn: str) -> dict[str, str]:
    return client().list_tags_for_resource(resourceArn=arn).get("tags", {})


def set_tags(arn: str, present: Mapping[str, str], wanted: Mapping[str, str]) -> None:
    """Make the tags what is wanted; AWS's own (`aws:…`) stay."""
    if added := {key: value for key, value in wanted.items() if present.get(key) != value}:
        client().tag_resource(resourceArn=arn, tags=added)
    if removed := [key for key in present if key not in wanted and not key.startswith("aws:")]:
        client().untag_resource(resourceArn=arn, tagKeys=removed)


def is_siblings(event: Event, present: Mapping[str, str]) -> bool:
    """Whether it is of another construct of the same stack: this one's, before it was renamed."""
    stack, _, logical_id = present.get(OWNER, "").partition("/")
    return stack == framework.stack_name(event) and logical_id != event["LogicalResourceId"]


def adopt(event: Event, arn: str, present: dict[str, str]) -> None:
    """Take over from a sibling, and remember from whom: CloudFormation deletes it next, or deletes this one."""
    taken = {OWNER: framework.owner(event), FORMER_OWNER: present[OWNER]}
    with journal.acting(event):
        client().tag_resource(resourceArn=arn, tags=taken)
    present.update(taken)


def is_to_be_deleted(event: Event, arn: str) -> bool:
    """Whether a Delete means this: it is its resource's own, and nobody has it from or for a renamed construct.

    A Delete of the old name makes the new one's the only claim. A Delete of the new one, while the old one hasn't been
    deleted, is a rollback: the old one, which CloudFormation won't touch, gets it back.
    """
    present, owner = tags(arn), framework.owner(event)
    has, former = present.get(OWNER), present.get(FORMER_OWNER)
    if owner not in (has, former):
        return False
    if has == owner and former in (None, owner):
        return True
    with journal.acting(event):
        if has == owner and former is not None:
            client().tag_resource(resourceArn=arn, tags={OWNER: former})
        client().untag_resource(resourceArn=arn, tagKeys=[FORMER_OWNER])
    return False


@dataclass(frozen=True, kw_only=True)
class MskResource:
    """A kind of MSK Connect's resources; all but `what`, which is for reasons, are the API's names."""

    what: str
    items: str
    listing: str
    prefix: str
    describe: str
    delete: str
    name: str
    arn: str
    state: str

    def find(self, event: Event, name: str) -> dict[str, Any] | None:
        """Describe the one of this whole name: by the ARN that its creation gave, else as a list shows it."""
        for arn in journal.arns(event):
            if (found := self.described(arn)) and found[self.name] == name:
                return found
        for summary in self._named(name):
            if found := self.described(summary[self.arn]):
                return found
        return None

    def described(self, arn: str) -> dict[str, Any] | None:
        try:
            return dict(getattr(client(), self.describe)(**{self.arn: arn}))
        except client().exceptions.NotFoundException:
            return None

    def stop(self, event: Event, found: Mapping[str, Any]) -> Waiting:
        """Ask for its deletion. While it is refused, ask again: it may be in use, or in a state that passes.

        Raises ResourceError when it stays refused in a state that doesn't pass.
        """
        what = f"the {self.what} {found[self.name]}"
        try:
            with journal.acting(event):
                getattr(client(), self.delete)(**{self.arn: found[self.arn]})
        except client().exceptions.NotFoundException:
            pass
        except client().exceptions.BadRequestException as error:
            # Not by the message, which AWS doesn't document: by what there is now.
            now = self.described(found[self.arn])
            if now and now[self.state] != "DELETING":
                reason = f"{what}, which is {now[self.state]}, can't be deleted: {error.response['Error']['Message']}"
                passes = now[self.state].endswith("ING") and now[self.state] != "RUNNING"
                if not passes and framework.now() >= event["Started"] + REFUSED_SECONDS:
                    raise ResourceError(reason) from None
                return Waiting(reason)
        return Waiting(f"{what} is being deleted")

    def wait_listed(self, event: Event, name: str) -> Waiting | None:
        """Wait while a creation may have succeeded unseen."""
        if journal.outcome_unknown(event):
            return Waiting(f"a creation of the {self.what} {name} may have succeeded; until lists would show it")
        return None

    def check_still_there(self, event: Event, name: str) -> Waiting | None:
        """What to say when this request has made it and it isn't there. Raises ResourceError when it is gone."""
        if not journal.own(event).facts.get(journal.ARN):
            return None
        if journal.just_made(event):
            return Waiting(f"the {self.what} {name} to be shown")
        raise ResourceError(f"the {self.what} {name} was deleted while it was created")

    def wait_name_free(self, name: str, error: Exception) -> Waiting:
        """What to wait for when a creation finds the name in use, and nothing has it."""
        return Waiting(f"the {self.what} {name} isn't listed, but its name is in use ({error}): it is new, or going")

    def _named(self, name: str) -> Iterator[Any]:
        # The API filters by prefix only.
        for page in client().get_paginator(self.listing).paginate(**{self.prefix: name}):  # type: ignore[call-overload]
            yield from (item for item in page.get(self.items, []) if item[self.name] == name)
