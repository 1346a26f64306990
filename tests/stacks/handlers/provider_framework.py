"""CDK's provider framework, as far as CloudFormation and a handler see it.

Written after aws-cdk-lib's custom-resources/lib/provider-framework/runtime/framework.js and cfn-response.js;
test_provider_framework.py gives both the same calls and compares their answers.
"""

import json
from collections.abc import Callable
from dataclasses import dataclass
from types import ModuleType
from typing import Any

from stacks.handlers.framework import ResourceError

CREATE_FAILED = "AWSCDK::CustomResourceProviderFramework::CREATE_FAILED"
# CloudFormation takes so many bytes; the framework adds a stack trace of its own, and the log's name, to a reason.
ANSWER_BYTES, FRAMEWORK_BYTES = 4_096, 900
MISSING_ID = "AWSCDK::CustomResourceProviderFramework::MISSING_PHYSICAL_ID"

Payload = dict[str, Any]
UserFunction = Callable[[Payload], Payload]


class UserError(Exception):
    """Lambda says that the user's function failed: it raised, or it is no more."""


# How a call of a service may end: it did what it was asked for, and its answer got lost; or Lambda died after that, or
# before it was asked.
LOST, DEATH, EARLY_DEATH = "lost", "death", "early death"
# Or Lambda died while the service was at it, which takes a minute.
SLOW = "slow"


class LambdaDeathError(BaseException):
    """The function that called is no more; no handler's `except` sees that."""


class Later:
    """What a service is at when the function that called is no more: done at the second tick from then on."""

    def __init__(self) -> None:
        self._steps: list[tuple[int, Callable[[], object]]] = []

    def add(self, step: Callable[[], object]) -> None:
        self._steps.append((2, step))

    def tick(self) -> None:
        due = [step for ticks, step in self._steps if ticks == 1]
        self._steps = [(ticks - 1, step) for ticks, step in self._steps if ticks > 1]
        for step in due:
            step()


@dataclass(frozen=True)
class Answer:
    """What CloudFormation is told. `reason` is the handler's own words, when it failed."""

    status: str
    physical_id: str
    data: Payload
    reason: str = ""


def on_event(user: UserFunction, event: Payload) -> Answer | Payload:
    """The framework's first function: an answer, or the event that the waiter begins with."""
    if event["RequestType"] == "Delete" and event["PhysicalResourceId"] == CREATE_FAILED:
        return Answer("SUCCESS", CREATE_FAILED, {})
    try:
        result = user(event)
        merged = {**event, **result, "PhysicalResourceId": result.get("PhysicalResourceId") or _default_id(event)}
        if event["RequestType"] == "Delete" and merged["PhysicalResourceId"] != event["PhysicalResourceId"]:
            raise UserError("DELETE: cannot change the physical resource ID")
    except UserError as error:
        marker = CREATE_FAILED if event["RequestType"] == "Create" else MISSING_ID
        return Answer("FAILED", event.get("PhysicalResourceId") or marker, {}, str(error))
    return merged


def is_complete(user: UserFunction, waiting: Payload) -> Answer | None:
    """One call of the waiter; None when it will call again."""
    try:
        result = user(waiting)
        if not result["IsComplete"]:
            if result.get("Data"):
                raise UserError('"Data" is not allowed if "IsComplete" is "False"')
            return None
    except UserError as error:
        return Answer("FAILED", waiting["PhysicalResourceId"], {}, str(error))
    answer = {**waiting, **result, "Data": {**waiting.get("Data", {}), **result.get("Data", {})}}
    return Answer("SUCCESS", answer["PhysicalResourceId"], answer["Data"])


def on_timeout(waiting: Payload) -> Answer:
    """What is said when the waiter has called for as long as it may."""
    return Answer("FAILED", waiting["PhysicalResourceId"], {}, "Operation timed out")


def user_function(handler: ModuleType, name: str) -> UserFunction:
    """A handler's function behind Lambda: everything crosses as JSON, and what it raises is a failed call."""

    def call(payload: Payload) -> Payload:
        try:
            answer = getattr(handler, name)(json.loads(json.dumps(payload)), None)
        except (Exception, LambdaDeathError) as error:
            _check_size(error)
            raise UserError(str(error)) from error
        result: Payload = json.loads(json.dumps(answer))
        known = {key: payload[key] for key in ("StackId", "RequestId")} | {"Data": result.get("Data")}
        assert len(json.dumps(known)) < ANSWER_BYTES
        return result

    return call


def _check_size(error: BaseException) -> None:
    """See that CloudFormation would show a handler's reason."""
    if isinstance(error, ResourceError):
        assert len(json.dumps(str(error), ensure_ascii=False).encode()) + FRAMEWORK_BYTES < ANSWER_BYTES


def _default_id(event: Payload) -> str:
    return str(event["RequestId"] if event["RequestType"] == "Create" else event["PhysicalResourceId"])
