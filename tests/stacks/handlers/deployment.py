"""CloudFormation around one custom resource, step by step; CDK's provider framework is provider_framework.py's."""

import itertools
import json
from collections.abc import Callable
from dataclasses import dataclass, field
from types import ModuleType
from typing import Any

import pytest

from tests.stacks.handlers import provider_framework
from tests.stacks.handlers.kafkaconnect_backend import LambdaDeathError
from tests.stacks.handlers.provider_framework import Answer, user_function

STACK_ID = "arn:aws:cloudformation:ap-southeast-2:123456789012:stack/dev-cdc-lake-connectors/11111111-2222"
POLL_SECONDS = 30


class DeploymentError(Exception):
    """CloudFormation reports a failed resource; the reason that it shows."""


@dataclass
class Clock:
    """The handlers' time, in seconds."""

    seconds: float = 1_795_240_800.0

    def __call__(self) -> float:
        return self.seconds

    def sleep(self, seconds: float) -> None:
        """A handler's pause, which takes no time here."""
        self.seconds += seconds


@dataclass
class Resource:
    """A custom resource in a stack.

    `tick` lets time pass in the services between two polls; `physical_id` is what CloudFormation knows it by;
    `data` are its attributes. `attempts` are the physical ids that it was asked to delete.
    """

    handler: ModuleType
    clock: Clock
    tick: Callable[[], None]
    logical_id: str = "Source"
    stack_id: str = STACK_ID
    physical_id: str | None = None
    properties: dict[str, Any] = field(default_factory=dict)
    data: dict[str, Any] = field(default_factory=dict)
    attempts: list[str] = field(default_factory=list)
    _numbers: "itertools.count[int]" = field(default_factory=lambda: itertools.count(1))

    def create(self, request: dict[str, Any]) -> dict[str, Any]:
        """Deploy it for the first time; a failure is rolled back by deleting what was made."""
        self.properties = {"Request": json.dumps(request)}
        event = self.event("Create")
        try:
            self._run(event)
        except DeploymentError:
            if self.physical_id is not None:
                self.delete()
            raise
        return self.data

    def update(self, request: dict[str, Any]) -> dict[str, Any]:
        """Deploy a change; a failure is rolled back by an update with the old properties, and cleaned up."""
        old_properties, old_id = self.properties, self.physical_id
        self.properties = {"Request": json.dumps(request)}
        event = self.event("Update", OldResourceProperties=old_properties)
        try:
            self._run(event)
        except DeploymentError:
            failed = (self.properties, self.physical_id)
            self.properties = old_properties
            self._run(self.event("Update", OldResourceProperties=failed[0]))
            self._clean_up(*failed)
            raise
        self._clean_up(old_properties, old_id)
        return self.data

    def delete(self) -> None:
        """Delete it with its stack."""
        assert self.physical_id is not None
        self._delete(self.properties, self.physical_id)

    def event(self, kind: str, **more: Any) -> dict[str, Any]:
        """An event as CloudFormation sends it."""
        event = {
            "RequestType": kind,
            "RequestId": f"{next(self._numbers):08d}-aaaa-bbbb",
            "StackId": self.stack_id,
            "LogicalResourceId": self.logical_id,
            "ResourceType": "Custom::Anything",
            "ResponseURL": "https://example.org/answer",
            "ResourceProperties": {"ServiceToken": "arn", **self.properties},
            **more,
        }
        return event if kind == "Create" else {**event, "PhysicalResourceId": self.physical_id}

    def begin(self, event: dict[str, Any]) -> dict[str, Any]:
        """The framework's call of `on_event`; returns the event that `is_complete` gets."""
        result = provider_framework.on_event(user_function(self.handler, "on_event", LambdaDeathError), event)
        if isinstance(result, Answer):
            raise DeploymentError(result.reason)
        return result

    def poll(self, waiting: dict[str, Any]) -> dict[str, Any] | None:
        """One call of `is_complete`; its attributes when it was the last."""
        call = user_function(self.handler, "is_complete", LambdaDeathError)
        answer = provider_framework.is_complete(call, waiting)
        if answer is not None and answer.status != "SUCCESS":
            raise DeploymentError(answer.reason)
        return None if answer is None else answer.data

    def finish(self, waiting: dict[str, Any], *, polls: int = 200) -> dict[str, Any]:
        """Poll until it is complete, with time passing in between."""
        for _ in range(polls):
            if (data := self.poll(waiting)) is not None:
                return data
            self.tick()
            self.clock.seconds += POLL_SECONDS
        raise AssertionError("never complete, and never given up")

    def _run(self, event: dict[str, Any]) -> None:
        waiting = self.begin(event)
        self.physical_id = waiting["PhysicalResourceId"]
        self.data = self.finish(waiting)

    def _clean_up(self, properties: dict[str, Any], physical_id: str | None) -> None:
        """Remove what an update replaced."""
        if physical_id is not None and physical_id != self.physical_id:
            self._delete(properties, physical_id)

    def _delete(self, properties: dict[str, Any], physical_id: str) -> None:
        self.attempts.append(physical_id)
        event = self.event("Delete")
        event["PhysicalResourceId"] = physical_id
        event["ResourceProperties"] = {"ServiceToken": "arn", **properties}
        self.finish(self.begin(event))


def failing(resource: Resource, request: dict[str, Any], *, update: bool = False) -> str:
    """Deploy what can't succeed; return the reason."""
    with pytest.raises(DeploymentError) as error:
        (resource.update if update else resource.create)(request)
    return str(error.value)
