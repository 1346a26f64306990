"""Shared by MSK Connect's connectors and plugins: search, creation, deletion despite delayed lists, and tags.

And a connector's operations: those that this request has begun, and whether any is under way. A request identifies its
own by the recorded ARNs. If an answer was lost, it is the newest of its type since then.
"""

import functools
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

from contract.tags import FORMER_OWNER, OWNER
from stacks.handlers import framework, journal
from stacks.handlers.framework import Event, Progress, ResourceError, Waiting
from stacks.handlers.life_cycle import Found, Resource

# How long to retry a deletion that the service refuses for no transient reason.
REFUSED_SECONDS = 600
_UNDER_WAY = ("PENDING", "UPDATE_IN_PROGRESS", "ROLLBACK_IN_PROGRESS", "RESTART_IN_PROGRESS")
_FAILED = ("UPDATE_FAILED", "ROLLBACK_FAILED", "ROLLBACK_COMPLETE")
_BEGUN = "operations"
client = functools.partial(framework.client, "kafkaconnect")
changing = functools.partial(client, framework.ONCE)


class MskResource(Resource):
    """A resource of MSK Connect. `KIND` and the other constants are the API's names for this kind."""

    KIND: ClassVar[str]
    NAME: ClassVar[str]
    LABEL: ClassVar[str]

    @property
    def what(self) -> str:
        return f"the {self.LABEL} {self.name}"

    def look(self) -> Found | None:
        found = self._find()
        if found is None:
            return None
        going = self.state(found) == "DELETING"
        tags = {} if going else client().list_tags_for_resource(resourceArn=self.arn(found)).get("tags", {})
        return Found(shown=found, tags=tags, going=going)

    def arn(self, shown: Mapping[str, Any]) -> str:
        return str(shown[f"{self.KIND}Arn"])

    def state(self, shown: Mapping[str, Any]) -> str:
        return str(shown[f"{self.KIND}State"])

    def described(self, arn: str) -> dict[str, Any] | None:
        try:
            found: dict[str, Any] = self._call(client(), "describe", arn)
        except client().exceptions.NotFoundException:
            return None
        return found

    def still_unseen(self) -> Waiting | None:
        """Return what to wait for if this request created it but can't see it. Raises ResourceError if it is gone."""
        if not journal.own(self.event).get(journal.ARN):
            return None
        if journal.just_made(self.event):
            return Waiting(f"{self.what} to be shown")
        raise ResourceError(f"{self.what} was deleted while it was created")

    def made_by(self, create: Callable[[], str]) -> Progress:
        """Create it by a call that returns its ARN. Wait if its name is in use, though nothing with it is listed."""
        try:
            journal.make(self.event, create)
        except client().exceptions.ConflictException as error:
            return Waiting(f"{self.what} isn't listed, but its name is in use ({error}): it is new, or going")
        return Waiting(f"{self.what} is created")

    def adopt(self, found: Found) -> Waiting | None:
        taken = self.adopted_tags(found)
        with journal.acting(self.event):
            client().tag_resource(resourceArn=self.arn(found.shown), tags=taken)
        found.tags.update(taken)
        return None

    def give_to(self, owner: str, found: Found) -> None:
        arn = self.arn(found.shown)
        if found.tags[OWNER] != owner:
            client().tag_resource(resourceArn=arn, tags={OWNER: owner})
        client().untag_resource(resourceArn=arn, tagKeys=[FORMER_OWNER])

    def set_tags(self, found: Found, wanted: Mapping[str, str]) -> None:
        """Set exactly these tags; AWS's own (`aws:…`) stay."""
        arn = self.arn(found.shown)
        if added := {key: value for key, value in wanted.items() if found.tags.get(key) != value}:
            client().tag_resource(resourceArn=arn, tags=added)
        if removed := [key for key in found.tags if key not in wanted and not key.startswith("aws:")]:
            client().untag_resource(resourceArn=arn, tagKeys=removed)

    def delete(self, found: Found) -> Waiting:
        """Request its deletion. If refused, retry later: it may be in use, or in a transient state.

        Raises ResourceError if it is still refused in a state that isn't transient.
        """
        arn = self.arn(found.shown)
        try:
            with journal.acting(self.event):
                self._call(changing(), "delete", arn)
        except client().exceptions.NotFoundException:
            pass
        except client().exceptions.BadRequestException as error:
            # Decide by the current state, not by the message, which AWS doesn't document.
            now = self.described(arn)
            if now and (state := self.state(now)) != "DELETING":
                reason = f"{self.what}, which is {state}, can't be deleted: {error.response['Error']['Message']}"
                passes = state.endswith("ING") and state != "RUNNING"
                if not passes and framework.now() >= self.event["Started"] + REFUSED_SECONDS:
                    raise ResourceError(reason) from None
                return Waiting(reason)
        return Waiting(f"{self.what} is being deleted")

    def _find(self) -> dict[str, Any] | None:
        """Describe the resource with exactly this name: by the ARN from its creation, otherwise by the list."""
        for arn in journal.arns(self.event):
            if (found := self.described(arn)) and found[self.NAME] == self.name:
                return found
        # The API filters by prefix only.
        for summary in listed(f"list_{_snake(self.KIND)}s", f"{self.KIND}s", **{f"{self.NAME}Prefix": self.name}):
            if summary[self.NAME] == self.name and (found := self.described(self.arn(summary))):
                return found
        return None

    def _call(self, service: Any, verb: str, arn: str) -> Any:
        return getattr(service, f"{verb}_{_snake(self.KIND)}")(**{f"{self.KIND}Arn": arn})


def listed(operation: str, what: str, **parameters: str) -> Iterator[dict[str, Any]]:
    """Yield `what` an operation lists, from all its pages."""
    for page in client().get_paginator(operation).paginate(**parameters):
        yield from page.get(what, [])


def _snake(name: str) -> str:
    return "".join(f"_{letter.lower()}" if letter.isupper() else letter for letter in name)


@dataclass(frozen=True, kw_only=True)
class Operations:
    """`failed` is this request's failed operation, `complete` its completed types; `latest` is a creation time."""

    under_way: bool
    latest: float
    complete: set[str] = field(default_factory=set)
    failed: dict[str, Any] | None = None


def operations_of(event: Event, found: dict[str, Any]) -> Operations:
    every = [*operations(found["connectorArn"])]
    own = _own(event, every)
    states = [operation["connectorOperationState"] for operation in (*every, *own)]
    return Operations(
        under_way=any(state in _UNDER_WAY for state in states),
        latest=max((operation["creationTime"].timestamp() for operation in every), default=0.0),
        complete={each["connectorOperationType"] for each in own if each["connectorOperationState"] not in _UNDER_WAY},
        failed=next((each for each in own if each["connectorOperationState"] in _FAILED), None),
    )


def operations(connector_arn: str) -> Iterator[dict[str, Any]]:
    return listed("list_connector_operations", "connectorOperations", connectorArn=connector_arn)


def begin_operation(event: Event, operation: str, before: Operations, begin: Callable[[], Mapping[str, Any]]) -> None:
    """Begin an operation with a call that returns its ARN, and record it."""
    begun = journal.own(event).get(_BEGUN, {})
    this = {"since": before.latest, "at": framework.now()}
    with journal.acting(event, **{_BEGUN: begun | {operation: this}}) as known:
        try:
            known[_BEGUN] = begun | {operation: {"arn": begin()["connectorOperationArn"]}}
        except client().exceptions.BadRequestException:
            known[_BEGUN] = begun
            raise


def may_have_begun(event: Event, operation: str) -> bool:
    """Whether the answer to an earlier attempt at an operation was lost, so recently that no list may show it yet."""
    begun = journal.own(event).get(_BEGUN, {}).get(operation, {})
    return "arn" not in begun and framework.now() < begun.get("at", 0) + journal.LAG_SECONDS


def _own(event: Event, every: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Describe this request's own operations, listed or not."""
    arns = []
    for kind, begun in journal.own(event).get(_BEGUN, {}).items():
        newer = [
            (operation["creationTime"], operation["connectorOperationArn"])
            for operation in every
            if operation["connectorOperationType"] == kind
            and operation["creationTime"].timestamp() > begun.get("since", 0)
        ]
        arns += [begun["arn"]] if "arn" in begun else [arn for _, arn in sorted(newer)[-1:]]
    return [client().describe_connector_operation(connectorOperationArn=arn) for arn in arns]
