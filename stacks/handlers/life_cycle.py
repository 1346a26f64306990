"""The life cycle of a resource whose requests keep a journal: what each request does in each state.

    found             | create, update       | delete
    ----------------- | -------------------- | -------------------------------------------------------------
    a call in flight  | wait                 | wait
    nothing           | create it            | wait while a creation may have succeeded unseen, then clear up
    being deleted     | wait                 | wait
    another stack's   | refuse               | done
    a sibling's       | adopt it, then next  | done
    ours              | take the next step   | hand it back to its former owner, else delete it

A sibling is another construct of the same stack: this one before it was renamed. CloudFormation creates the new one and
then deletes the old one, or deletes the new one in a rollback. So an adopted resource remembers its former owner. A
Delete of the old one makes the new one its only owner; a Delete of the new one hands it back to the old one.
"""

import abc
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Self

from contract.tags import FORMER_OWNER, OWNER
from stacks.handlers import framework, journal
from stacks.handlers.framework import Done, Event, Handler, Progress, Waiting


@dataclass(frozen=True, kw_only=True)
class Found:
    """What exists: the service's description of it, and the tags that name its owner."""

    shown: dict[str, Any]
    tags: dict[str, str]
    going: bool = False


class Resource(abc.ABC):
    """One request's view of a resource. `what` names it in reasons."""

    def __init__(self, event: Event, wanted: Mapping[str, Any], name: str) -> None:
        self.event = event
        self.wanted = wanted
        self.name = name

    @property
    def what(self) -> str:
        return self.name

    @classmethod
    @abc.abstractmethod
    def wanted_by(cls, event: Event) -> Self: ...

    @classmethod
    def deleted_by(cls, event: Event) -> Self | None:
        """Return what a deletion is for; None if its request has created nothing."""
        return framework.if_accepted(lambda: cls.wanted_by(event))

    @abc.abstractmethod
    def look(self) -> Found | None: ...

    @abc.abstractmethod
    def make(self) -> Progress: ...

    @abc.abstractmethod
    def adopt(self, found: Found) -> Waiting | None:
        """Take over a sibling's resource, or return what to wait for. Raises ResourceError if that isn't possible."""

    @abc.abstractmethod
    def next_step(self, found: Found) -> Progress: ...

    @abc.abstractmethod
    def delete(self, found: Found) -> Progress: ...

    @abc.abstractmethod
    def give_to(self, owner: str, found: Found) -> None:
        """Make `owner` its only owner."""

    def clear_up(self) -> None:  # noqa: B027  most leave nothing
        """Remove what it leaves behind after its deletion."""

    def settle(self) -> Progress:
        """Take the next step towards the wanted state."""
        found = self.look()
        if found is None:
            return self.make()
        if found.going:
            return Waiting(f"{self.what} is being deleted")
        stack, _, construct = found.tags.get(OWNER, "").partition("/")
        if stack == framework.stack_name(self.event) and construct != self.event["LogicalResourceId"]:
            if waiting := self.adopt(found):
                return waiting
        else:
            framework.check_owner(self.event, self.name, found.tags)
        return self.next_step(found)

    def remove(self) -> Progress:
        """Take the next step towards its deletion."""
        found = self.look()
        if found is None:
            if journal.outcome_unknown(self.event):
                return Waiting(f"a creation of {self.what} may have succeeded; until lists would show it")
            self.clear_up()
            return Done()
        if found.going:
            return Waiting(f"{self.what} is being deleted")
        own, has, former = framework.owner(self.event), found.tags.get(OWNER), found.tags.get(FORMER_OWNER)
        if own not in (has, former):
            return Done()
        if has == own and former in (None, own):
            return self.delete(found)
        with journal.acting(self.event):
            self.give_to(str(former if has == own else has), found)
        return Done()

    def adopted_tags(self, found: Found) -> dict[str, str]:
        """Return the owner tags of an adopted resource."""
        return {OWNER: framework.owner(self.event), FORMER_OWNER: found.tags[OWNER]}


def handler(start: Callable[[Event], str], kind: type[Resource]) -> Handler:
    def remove(event: Event) -> Progress:
        resource = kind.deleted_by(event)
        return Done() if resource is None else resource.remove()

    return journal.handler(start=start, settle=lambda event: kind.wanted_by(event).settle(), remove=remove)
