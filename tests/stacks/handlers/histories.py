"""What may happen to a custom resource: CloudFormation's requests, given up and followed by others, over CDK's waiters.

A request that is given up keeps its waiter: it goes on calling the handler, beside the next request's. CloudFormation
deletes what a creation that it gave up may have made, under an id that it invents, because it never got one.
"""

import itertools
import json
from collections.abc import Callable
from dataclasses import dataclass, field
from types import ModuleType
from typing import Any

from tests.stacks.handlers import provider_framework
from tests.stacks.handlers.deployment import Clock
from tests.stacks.handlers.kafkaconnect_backend import LambdaDeathError
from tests.stacks.handlers.provider_framework import Answer, Payload, user_function

POLL_SECONDS = 30
# CDK's waiter: stacks/provider.py's TOTAL_TIMEOUT and QUERY_INTERVAL.
POLLS = 58 * 60 // POLL_SECONDS
STACK = "dev-cdc-lake-connectors"
_ids = itertools.count(1)


@dataclass(repr=False)
class Waiter:
    """One request, and CDK's waiter for it. `answer` is what CloudFormation was told; None while it waits."""

    handler: ModuleType
    event: Payload
    answer: Answer | None = None
    waiting: Payload | None = None
    polls: int = 0

    def begin(self) -> None:
        """The framework's first call."""
        result = provider_framework.on_event(user_function(self.handler, "on_event", LambdaDeathError), self.event)
        if isinstance(result, Answer):
            self.answer = result
        else:
            self.waiting = result

    def poll(self) -> None:
        """One of the waiter's calls, the last of which is a timeout."""
        if self.answer is not None or self.waiting is None:
            return
        self.polls += 1
        call = user_function(self.handler, "is_complete", LambdaDeathError)
        self.answer = provider_framework.is_complete(call, self.waiting)
        if self.answer is None and self.polls > POLLS:
            self.answer = provider_framework.on_timeout(self.waiting)

    def __repr__(self) -> str:
        return f"{self.event['RequestType']} {self.event['RequestId'][:8]}, {self.polls} polls: {self.answer}"

    @property
    def reason(self) -> str:
        """Why it failed; empty when it didn't."""
        assert self.answer is not None, "not answered"
        return self.answer.reason

    @property
    def succeeded(self) -> bool:
        """Whether CloudFormation was told so."""
        return self.answer is not None and self.answer.status == "SUCCESS"


@dataclass
class World:
    """Time, what passes with it, and every waiter that still calls. `late_first`: those of old requests call first."""

    clock: Clock
    tick: Callable[[], None]
    late_first: bool = True
    waiters: list[Waiter] = field(default_factory=list)

    def send(self, handler: ModuleType, event: Payload) -> Waiter:
        """A request of CloudFormation's, with the framework's first call."""
        waiter = Waiter(handler, event)
        self.waiters.append(waiter)
        waiter.begin()
        return waiter

    def run(self, seconds: float) -> None:
        """Let time pass."""
        for _ in range(int(seconds // POLL_SECONDS)):
            self._step()

    def finish(self, waiter: Waiter) -> Waiter:
        """Let time pass until a request is answered."""
        while waiter.answer is None:
            self._step()
        return waiter

    def drain(self) -> None:
        """Let time pass until no waiter calls any more, and what is under way has ended."""
        while any(waiter.answer is None for waiter in self.waiters):
            self._step()
        self.run(600)

    def _step(self) -> None:
        for waiter in self.waiters if self.late_first else reversed(self.waiters):
            waiter.poll()
        self.tick()
        self.clock.seconds += POLL_SECONDS


@dataclass
class Stack:
    """A stack with one custom resource. `physical_id` and `properties` are what CloudFormation knows of it."""

    world: World
    handler: ModuleType
    logical_id: str = "Source"
    name: str = STACK
    properties: Payload = field(default_factory=dict)
    physical_id: str | None = None
    uuid: str = field(default_factory=lambda: f"{next(_ids):08d}-2222")

    def create(self, request: Payload) -> Waiter:
        """Create it; a failed creation is deleted."""
        created = self.world.finish(self.begin_create(request))
        assert created.answer is not None
        self.physical_id = created.answer.physical_id
        if not created.succeeded:
            assert self.destroy().succeeded
        return created

    def begin_create(self, request: Payload) -> Waiter:
        """Send the Create; what becomes of it is up to the history."""
        self.properties = {"Request": json.dumps(request)}
        return self.send("Create")

    def give_up_creation(self) -> Waiter:
        """Another resource failed: delete what the creation may have made, by an id that nobody gave."""
        self.physical_id = f"{self.name}-{self.logical_id}-{next(_ids):012X}"
        return self.destroy()

    def update(self, request: Payload) -> Waiter:
        """Update it; a failed update is rolled back, and what was replaced is deleted."""
        before, old_id = self.properties, self.physical_id
        updated = self.world.finish(self.begin_update(request))
        assert updated.answer is not None
        if not updated.succeeded:
            assert self.roll_back(before).succeeded
            return updated
        self.physical_id = updated.answer.physical_id
        if self.physical_id != old_id:
            self.world.finish(self.send("Delete", PhysicalResourceId=old_id, ResourceProperties=before))
        return updated

    def begin_update(self, request: Payload) -> Waiter:
        """Send the Update; what becomes of it is up to the history."""
        before, self.properties = self.properties, {"Request": json.dumps(request)}
        return self.send("Update", OldResourceProperties=before)

    def roll_back(self, before: Payload) -> Waiter:
        """Another resource failed, or this one: update back to the properties before, and wait."""
        failed, self.properties = self.properties, before
        return self.world.finish(self.send("Update", OldResourceProperties=failed))

    def destroy(self) -> Waiter:
        """Delete it with its stack, and wait."""
        return self.world.finish(self.send("Delete"))

    def send(self, kind: str, **more: Any) -> Waiter:
        """A request as CloudFormation sends it."""
        event: Payload = {
            "RequestType": kind,
            "RequestId": f"{next(_ids):08d}-aaaa-bbbb",
            "StackId": f"arn:aws:cloudformation:ap-southeast-2:123456789012:stack/{self.name}/{self.uuid}",
            "LogicalResourceId": self.logical_id,
            "ResourceType": "Custom::Anything",
            "ResponseURL": "...",
            "ResourceProperties": {"ServiceToken": "arn", **self.properties},
        }
        if kind != "Create":
            event["PhysicalResourceId"] = self.physical_id
        return self.world.send(self.handler, {**event, **more})

    def again(self) -> "Stack":
        """The next attempt at the stack: same name, another UUID."""
        return Stack(self.world, self.handler, self.logical_id, self.name)
