"""CDK's provider framework, as far as CloudFormation and a handler see it.

Modelled on aws-cdk-lib's custom-resources/lib/provider-framework/runtime/framework.js and cfn-response.js;
test_provider_framework.py gives both the same calls and compares their answers.
"""

import json
from collections.abc import Callable
from dataclasses import dataclass
from types import ModuleType
from typing import Any

from stacks.handlers.framework import ResourceError

CREATE_FAILED = "AWSCDK::CustomResourceProviderFramework::CREATE_FAILED"
# CloudFormation's limit in bytes; the framework adds a stack trace and the log's name to a reason.
ANSWER_BYTES, FRAMEWORK_BYTES = 4_096, 900
MISSING_ID = "AWSCDK::CustomResourceProviderFramework::MISSING_PHYSICAL_ID"

Payload = dict[str, Any]
UserFunction = Callable[[Payload], Payload]


class UserError(Exception):
    """Lambda reports that the user's function failed: it raised, or it died."""


# Outcomes of a service call: it took effect, and its answer got lost; or Lambda died after that, or before the call.
LOST, DEATH, EARLY_DEATH = "lost", "death", "early death"
# Or the connection closed before the service had taken it.
UNSENT = "unsent"
# Or Lambda died during the service's operation, which takes a minute.
SLOW = "slow"


class LambdaDeathError(BaseException):
    """The calling function has died; no handler's `except` sees that."""


class Later:
    """A service's running operation whose caller has died: done at a later tick."""

    def __init__(self) -> None:
        self._steps: list[tuple[int, Callable[[], object]]] = []

    def add(self, step: Callable[[], object], ticks: int = 2) -> None:
        self._steps.append((ticks, step))

    def tick(self) -> None:
        due = [step for ticks, step in self._steps if ticks == 1]
        self._steps = [(ticks - 1, step) for ticks, step in self._steps if ticks > 1]
        for step in due:
            step()


@dataclass(frozen=True)
class Answer:
    """The response to CloudFormation. `reason` is the handler's own words, if it failed."""

    status: str
    physical_id: str
    data: Payload
    reason: str = ""


def on_event(user: UserFunction, event: Payload) -> Answer | Payload:
    """The framework's first function: an answer, or the event that the waiter starts with."""
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
    """One call of the waiter; None if it will call again."""
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
    """The answer once the waiter has reached its time limit."""
    return Answer("FAILED", waiting["PhysicalResourceId"], {}, "Operation timed out")


def user_function(handler: ModuleType, name: str) -> UserFunction:
    """A handler's function behind Lambda: everything passes as JSON, and an exception is a failed call."""

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
    """Check that CloudFormation would show a handler's reason."""
    if isinstance(error, ResourceError):
        assert len(json.dumps(str(error), ensure_ascii=False).encode()) + FRAMEWORK_BYTES < ANSWER_BYTES


def _default_id(event: Payload) -> str:
    return str(event["RequestId"] if event["RequestType"] == "Create" else event["PhysicalResourceId"])
