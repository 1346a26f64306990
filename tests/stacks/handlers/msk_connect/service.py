"""MSK Connect in memory, below botocore's clients.

moto has no kafkaconnect. Requests and answers are checked against botocore's model of the service (fields, types,
enumerations), so a handler's requests and answers have the real API's shape; the rules in the model's documentation are
here too (one kind of change per update, the current version, health checks and paused connectors). It is our assumption
that neither a part in use nor a connector in a transitional state can be deleted. `tick` advances time.
"""

import contextlib
import copy
import functools
import re
from collections.abc import Callable, Iterator
from datetime import datetime
from typing import Any

import botocore.session
from botocore.exceptions import ReadTimeoutError
from botocore.model import ListShape, MapShape, OperationModel, Shape, StructureShape

from tests.stacks.handlers.clients import client
from tests.stacks.handlers.msk_connect.connectors import Connectors
from tests.stacks.handlers.msk_connect.parts import Parts, RefusalError
from tests.stacks.handlers.provider_framework import DEATH, EARLY_DEATH, LOST, SLOW, LambdaDeathError, Later

MODEL = botocore.session.get_session().get_service_model("kafkaconnect")
_TYPES: dict[str, type] = {
    "boolean": bool,
    "integer": int,
    "list": list,
    "long": int,
    "map": dict,
    "string": str,
    "structure": dict,
    "timestamp": datetime,
}
# As botocore hands an answer on: its HTTP response, of which the client reads the status, and its content.
Answered = tuple[Any, dict[str, Any]]


def check(shape: Shape | None, value: Any, path: str) -> None:
    """Raise AssertionError if a value doesn't match a shape: types, unknown and missing fields, enumerations."""
    assert shape is not None, path
    right_type: bool = isinstance(value, _TYPES[shape.type_name])
    assert right_type, f"{path}: {value!r} is not a {shape.type_name}"
    if isinstance(shape, StructureShape):
        assert not value.keys() - shape.members.keys(), f"{path}: unknown {value.keys() - shape.members.keys()}"
        assert not set(shape.required_members) - value.keys(), f"{path}: missing"
        for key, each in value.items():
            check(shape.members[key], each, f"{path}.{key}")
    elif isinstance(shape, ListShape):
        for each in value:
            check(shape.member, each, f"{path}[]")
    elif isinstance(shape, MapShape):
        for key, each in value.items():
            check(shape.value, each, f"{path}.{key}")
    allowed = getattr(shape, "enum", None)
    assert not allowed or value in allowed, f"{path}: {value!r} is none of {allowed}"


class KafkaConnect(Connectors, Parts):
    """The service: its resources, the calls, and scripted faults.

    `faults` are the outcomes or errors of the next calls of an operation; `throttled_until` is when an operation ("*":
    any) is answered again, in seconds.
    """

    def __init__(self, clock: Callable[[], float]) -> None:
        super().__init__(clock)
        self.calls: list[str] = []
        self.requests: list[tuple[str, dict[str, Any]]] = []
        self.faults: dict[str, list[str]] = {}
        self.throttled_until: dict[str, float] = {}
        self.later = Later()

    @contextlib.contextmanager
    def answering(self) -> Iterator["KafkaConnect"]:
        """Answer the tests' client of the service, before it would write a request for the network."""
        events = client("kafkaconnect").meta.events
        handlers = [("before-parameter-build.kafkaconnect", _keep), ("before-call.kafkaconnect", self._handle)]
        for name, handler in handlers:
            events.register(name, handler)
        yield self
        for name, handler in handlers:
            events.unregister(name, handler)

    def _handle(self, model: OperationModel, context: dict[str, Any], **_: object) -> Answered:
        """Answer a request that botocore has checked; botocore's `before-call` hook."""
        parameters = context["asked"]
        check(model.input_shape, parameters, model.name)
        self.calls.append(model.name)
        self.requests.append((model.name, parameters))
        fault = self._fault(model.name)
        operation = getattr(self, f"_{_snake(model.name)}")
        if fault == SLOW:
            self.later.add(lambda: operation(parameters))
        if fault in (EARLY_DEATH, SLOW):
            raise LambdaDeathError(model.name)
        try:
            if fault and fault not in (LOST, DEATH):
                raise RefusalError(fault)
            answer = operation(parameters) or {}
        except RefusalError as refusal:
            status = MODEL.shape_for(refusal.code).metadata["error"]["httpStatusCode"]
            return _answer(status, {"Error": {"Code": refusal.code, "Message": str(refusal)}})
        if fault == DEATH:
            raise LambdaDeathError(model.name)
        if fault:
            raise ReadTimeoutError(endpoint_url="https://kafkaconnect")
        check(model.output_shape, answer, model.name)
        return _answer(200, copy.deepcopy(answer))

    def _fault(self, operation: str) -> str | None:
        until = max(self.throttled_until.get(operation, 0), self.throttled_until.get("*", 0))
        if self.clock() < until:
            return "TooManyRequestsException"
        return self.faults[operation].pop(0) if self.faults.get(operation) else None

    def tick(self) -> None:
        """Complete running operations that are due."""
        self.later.tick()
        self._end_connectors()
        self._end_operations()
        self._end_plugins()
        self._end_worker_configurations()

    def called(self, *operations: str) -> list[str]:
        """The calls of these operations, in order."""
        return [call for call in self.calls if call in operations]

    def _list_tags_for_resource(self, wanted: dict[str, Any]) -> dict[str, Any]:
        return {"tags": self._get(self.tags, wanted["resourceArn"])}

    def _tag_resource(self, wanted: dict[str, Any]) -> None:
        self._get(self.tags, wanted["resourceArn"]).update(wanted["tags"])

    def _untag_resource(self, wanted: dict[str, Any]) -> None:
        for key in wanted["tagKeys"]:
            self._get(self.tags, wanted["resourceArn"]).pop(key, None)


def _keep(params: dict[str, Any], context: dict[str, Any], **_: object) -> None:
    """botocore's `before-parameter-build` hook: its later ones see only the request as it is sent."""
    context["asked"] = copy.deepcopy(params)


def _answer(status: int, content: dict[str, Any]) -> Answered:
    response = type("Response", (), {"status_code": status})
    return response, content | {"ResponseMetadata": {"HTTPStatusCode": status}}


@functools.cache
def _snake(name: str) -> str:
    return re.sub(r"(?<!^)(?=[A-Z])", "_", name).lower()
