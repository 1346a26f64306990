"""A connector's operations: those that this request has begun, and whether any is under way.

A request identifies its own by the recorded ARNs. If an answer was lost, it is the newest of its type since then.
"""

import contextlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

from stacks.handlers import journal
from stacks.handlers.framework import Event
from stacks.handlers.msk_connect import resource

_UNDER_WAY = ("PENDING", "UPDATE_IN_PROGRESS", "ROLLBACK_IN_PROGRESS", "RESTART_IN_PROGRESS")
_FAILED = ("UPDATE_FAILED", "ROLLBACK_FAILED", "ROLLBACK_COMPLETE")
_BEGUN = "operations"


@dataclass(frozen=True, kw_only=True)
class Operations:
    """`failed` is this request's failed operation, `complete` its completed types; `latest` is a creation time."""

    under_way: bool
    latest: float
    complete: set[str] = field(default_factory=set)
    failed: dict[str, Any] | None = None

    def failure(self, name: str) -> str:
        assert self.failed is not None  # noqa: S101  for mypy
        return f"{self.failed['connectorOperationType']} of {name} ended in {self.failed['connectorOperationState']}"


def operations_of(event: Event, found: dict[str, Any]) -> Operations:
    pages = resource.client().get_paginator("list_connector_operations").paginate(connectorArn=found["connectorArn"])
    listed: list[dict[str, Any]] = [
        dict(operation) for page in pages for operation in page.get("connectorOperations", [])
    ]
    own = _own(event, listed)
    states = [operation["connectorOperationState"] for operation in (*listed, *own)]
    return Operations(
        under_way=any(state in _UNDER_WAY for state in states),
        latest=max((operation["creationTime"].timestamp() for operation in listed), default=0.0),
        complete={each["connectorOperationType"] for each in own if each["connectorOperationState"] not in _UNDER_WAY},
        failed=next((each for each in own if each["connectorOperationState"] in _FAILED), None),
    )


@contextlib.contextmanager
def begin_operation(event: Event, operation: str, before: Operations) -> Iterator[Callable[[str], None]]:
    """Wrap the call that begins an operation; pass the operation's ARN to the yielded function."""
    begun = journal.own(event).facts.get(_BEGUN, {})
    with journal.acting(event, **{_BEGUN: begun | {operation: {"since": before.latest}}}) as known:
        try:
            yield lambda arn: known.update({_BEGUN: begun | {operation: {"arn": arn}}})
        except resource.client().exceptions.BadRequestException:
            known[_BEGUN] = begun
            raise


def _own(event: Event, listed: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Describe this request's own operations, listed or not."""
    arns = []
    for kind, begun in journal.own(event).facts.get(_BEGUN, {}).items():
        newer = [
            operation["connectorOperationArn"]
            for operation in sorted(listed, key=lambda operation: operation["creationTime"])
            if operation["connectorOperationType"] == kind
            and operation["creationTime"].timestamp() > begun.get("since", 0)
        ]
        arns += [begun["arn"]] if "arn" in begun else newer[-1:]
    return [dict(resource.client().describe_connector_operation(connectorOperationArn=arn)) for arn in arns]
