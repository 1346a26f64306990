"""CloudFormation around custom resources: its requests, some of them abandoned for the next, and CDK's waiters.

An abandoned request keeps its waiter: it continues to call the handler, in parallel with the next request's. After
abandoning a creation, CloudFormation deletes what it may have created, under an invented id, because it never got one.
provider_framework.py has CDK's part.
"""

import itertools
import json
from collections.abc import Callable
from dataclasses import dataclass, field
from types import ModuleType
from typing import Any

import pytest

from tests.stacks.handlers import provider_framework
from tests.stacks.handlers.provider_framework import Answer, Payload, user_function

POLL_SECONDS = 30
# CDK's waiter: stacks/provider.py's TOTAL_TIMEOUT; POLL_SECONDS are its QUERY_INTERVAL.
TIMEOUT_SECONDS = 58 * 60
STACK = "dev-cdc-lake-connectors"
STACKS = "arn:aws:cloudformation:ap-southeast-2:123456789012:stack/"
STACK_ID = f"{STACKS}{STACK}/11111111-2222"
_ids = itertools.count(1)


class DeploymentError(Exception):
    """CloudFormation reports a failed resource, with the reason that it shows."""


@dataclass
class Clock:
    """The handlers' time, in seconds."""

    seconds: float = 1_795_240_800.0

    def __call__(self) -> float:
        return self.seconds

    def sleep(self, seconds: float) -> None:
        """A handler's pause, which takes no time here."""
        self.seconds += seconds


@dataclass(repr=False)
class Waiter:
    """One request, and CDK's waiter for it. `answer` is the response to CloudFormation; None while it waits."""

    handler: ModuleType
    event: Payload
    clock: Clock
    answer: Answer | None = None
    waiting: Payload = field(default_factory=dict)
    began: float = 0.0

    def begin(self) -> None:
        """The framework's first call."""
        self.began = self.clock()
        result = provider_framework.on_event(user_function(self.handler, "on_event"), self.event)
        if isinstance(result, Answer):
            self.answer = result
        else:
            self.waiting = result

    def call(self) -> None:
        """One of the waiter's calls, the last of which is a timeout."""
        if self.answer is not None:
            return
        self.answer = provider_framework.is_complete(user_function(self.handler, "is_complete"), self.waiting)
        if self.answer is None and self.clock() > self.began + TIMEOUT_SECONDS:
            self.answer = provider_framework.on_timeout(self.waiting)

    def poll(self) -> Payload | None:
        """Call, and return the attributes, or None while it waits. Raises DeploymentError."""
        self.call()
        return None if self.answer is None else self.data

    @property
    def data(self) -> Payload:
        """The attributes. Raises DeploymentError if a failure was reported to CloudFormation."""
        assert self.answer is not None, "not answered"
        if not self.succeeded:
            raise DeploymentError(self.answer.reason)
        return self.answer.data

    @property
    def reason(self) -> str:
        """The reason of a failure; empty without one."""
        assert self.answer is not None, "not answered"
        return self.answer.reason

    @property
    def succeeded(self) -> bool:
        return self.answer is not None and self.answer.status == "SUCCESS"

    def __repr__(self) -> str:
        return f"{self.event['RequestType']} {self.event['RequestId'][:8]}: {self.answer}"


@dataclass
class World:
    """Time, everything that it advances, and every waiter that still calls. `late_first`: old waiters call first."""

    clock: Clock
    tick: Callable[[], None] = lambda: None
    late_first: bool = True
    waiters: list[Waiter] = field(default_factory=list)

    def send(self, handler: ModuleType, event: Payload) -> Waiter:
        """Send a request of CloudFormation's, with the framework's first call."""
        waiter = Waiter(handler, event, self.clock)
        self.waiters.append(waiter)
        waiter.begin()
        return waiter

    def send_again(self, waiter: Waiter) -> Waiter:
        """A second delivery of a request: Lambda delivers at least once."""
        return self.send(waiter.handler, waiter.event)

    def run(self, seconds: float) -> None:
        for _ in range(int(seconds // POLL_SECONDS)):
            self._step()

    def finish(self, waiter: Waiter) -> Waiter:
        """Let time pass until a request is answered."""
        while waiter.answer is None:
            self._step()
        return waiter

    def drain(self) -> None:
        """Let time pass until no waiter calls any more, and running operations have ended."""
        while any(waiter.answer is None for waiter in self.waiters):
            self._step()
        self.run(600)

    def _step(self) -> None:
        for waiter in self.waiters if self.late_first else reversed(self.waiters):
            waiter.call()
        self.tick()
        self.clock.seconds += POLL_SECONDS


@dataclass
class Stack:
    """A stack with one custom resource.

    CloudFormation knows its `physical_id`, `properties` and attributes (`data`); `deleted` are the ids that the handler
    was asked to delete. `wanted` is the request of a first deployment.
    """

    world: World
    handler: ModuleType
    logical_id: str = "Source"
    name: str = STACK
    wanted: Payload = field(default_factory=dict)
    properties: Payload = field(default_factory=dict)
    physical_id: str | None = None
    uuid: str = field(default_factory=lambda: f"{next(_ids):08d}-2222")
    data: Payload = field(default_factory=dict)
    deleted: list[str | None] = field(default_factory=list)

    def but(self, **changes: Any) -> Payload:
        """The wanted request with other values."""
        return self.wanted | changes

    def create(self, request: Payload | None = None) -> Payload:
        """Deploy it for the first time; a failed creation is deleted. Raises DeploymentError."""
        created = self.world.finish(self.begin_create(request))
        try:
            return self.take(created)
        except DeploymentError:
            self.delete()
            raise

    def begin_create(self, request: Payload | None = None) -> Waiter:
        """Send the Create; the test decides its outcome."""
        self.properties = {"Request": json.dumps(self.wanted if request is None else request)}
        return self.send("Create")

    def give_up_creation(self) -> None:
        """Another resource failed: delete what the creation may have created, by an invented id."""
        self.physical_id = f"{self.name}-{self.logical_id}-{next(_ids):012X}"
        self.delete()

    def update(self, request: Payload) -> Payload:
        """Deploy a change, and delete what was replaced; a failed one is rolled back. Raises DeploymentError."""
        before, old_id = self.properties, self.physical_id
        updated = self.world.finish(self.begin_update(request))
        try:
            self.take(updated)
        except DeploymentError:
            self.roll_back(before)
            raise
        self._clean_up(before, old_id)
        return self.data

    def begin_update(self, request: Payload) -> Waiter:
        """Send the Update; the test decides its outcome."""
        before, self.properties = self.properties, {"Request": json.dumps(request)}
        return self.send("Update", OldResourceProperties=before)

    def roll_back(self, before: Payload) -> Payload:
        """Another resource failed, or this one: update back, and delete what is new. Raises DeploymentError."""
        failed = self.properties, self.physical_id
        self.take(self.world.finish(self.begin_rollback(before)))
        self._clean_up(*failed)
        return self.data

    def begin_rollback(self, before: Payload) -> Waiter:
        failed, self.properties = self.properties, before
        return self.send("Update", OldResourceProperties=failed)

    def roll_back_in(self, patch: pytest.MonkeyPatch, module: ModuleType, name: str, late_s: int = 0) -> list[Waiter]:
        """Roll back to now during the next call of a function, `late_s` seconds later; the list has the rollback then.

        A call whose last argument is empty has nothing to do.
        """
        before, real, rollbacks = self.properties, getattr(module, name), list[Waiter]()

        def slow(*args: Any, **more: Any) -> Any:
            if args[-1] and not rollbacks:
                self.world.clock.seconds += late_s
                rollbacks.append(self.begin_rollback(before))
                rollbacks[0].poll()
            return real(*args, **more)

        patch.setattr(module, name, slow)
        return rollbacks

    def delete(self) -> None:
        """Delete it with its stack. Raises DeploymentError."""
        self.finish(self.send("Delete"))

    def finish(self, waiter: Waiter) -> Payload:
        """Let time pass until a request is answered. Returns the attributes. Raises DeploymentError."""
        return self.world.finish(waiter).data

    def send(self, kind: str, **more: Any) -> Waiter:
        """Send a request as CloudFormation does."""
        event: Payload = {
            "RequestType": kind,
            "RequestId": f"{next(_ids):08d}-aaaa-bbbb",
            "StackId": f"{STACKS}{self.name}/{self.uuid}",
            "LogicalResourceId": self.logical_id,
            "ResourceType": "Custom::Anything",
            "ResponseURL": "https://example.org/answer",
            "ResourceProperties": {"ServiceToken": "arn", **self.properties},
        }
        if kind != "Create":
            event["PhysicalResourceId"] = self.physical_id
        event |= more
        if kind == "Delete":
            self.deleted.append(event["PhysicalResourceId"])
        return self.world.send(self.handler, event)

    def again(self, **options: Any) -> "Stack":
        """The next attempt at the stack: same name, another UUID."""
        return Stack(self.world, self.handler, **{"logical_id": self.logical_id, "wanted": self.wanted, **options})

    def renamed(self) -> "Stack":
        """The same resource in the same template, by another logical id."""
        return self.again(logical_id="Renamed", uuid=self.uuid)

    def take(self, answered: Waiter) -> Payload:
        """Store an answer's contents. Returns the attributes. Raises DeploymentError."""
        assert answered.answer is not None
        self.physical_id = answered.answer.physical_id
        self.data = answered.data
        return self.data

    def _clean_up(self, properties: Payload, physical_id: str | None) -> None:
        """Delete what was replaced."""
        if physical_id != self.physical_id:
            self.finish(self.send("Delete", PhysicalResourceId=physical_id, ResourceProperties=properties))


def failing(deploy: Callable[..., object], *request: Payload) -> str:
    """Deploy with an expected failure; return the reason."""
    with pytest.raises(DeploymentError) as error:
        deploy(*request)
    return str(error.value)


def succeeds(deploy: Callable[..., object], *request: Payload) -> bool:
    """Deploy; return whether it succeeded."""
    try:
        deploy(*request)
    except DeploymentError:
        return False
    return True
