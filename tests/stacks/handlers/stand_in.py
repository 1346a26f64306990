"""AWS services in memory, below botocore's clients.

Requests and answers are checked against botocore's models (fields, types, enumerations), so that a handler's requests
and its answers have the real API's shape.
"""

import contextlib
import copy
from collections.abc import Callable, Iterator
from datetime import datetime
from typing import Any

from botocore import xform_name
from botocore.exceptions import ConnectionClosedError, ReadTimeoutError
from botocore.model import ListShape, MapShape, OperationModel, Shape, StructureShape

from stacks.handlers.framework import CLIENT_CONFIG
from tests.stacks.handlers.clients import client
from tests.stacks.handlers.provider_framework import DEATH, EARLY_DEATH, LOST, SLOW, UNSENT, LambdaDeathError, Later

_TYPES: dict[str, type] = {
    "blob": object,
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
REPEATING: int = CLIENT_CONFIG.retries["total_max_attempts"]  # type: ignore[attr-defined]


class RefusalError(Exception):
    """One of a service's errors."""

    def __init__(self, code: str, message: str = "") -> None:
        super().__init__(message or code)
        self.code = code


class StandIn:
    """Answers the tests' clients of `services`: `_describe_cluster` is called for DescribeCluster.

    `faults` are the outcomes or errors of the next calls of an operation; `throttled_until` is when an operation, or
    any of a service, is answered again, in seconds; until then it is refused with `throttling`.
    """

    services: tuple[str, ...]
    throttling: str

    def __init__(self, clock: Callable[[], float]) -> None:
        self.clock = clock
        self.calls: list[str] = []
        self.requests: list[tuple[str, dict[str, Any]]] = []
        self.faults: dict[str, list[str]] = {}
        self.throttled_until: dict[str, float] = {}
        self.later = Later()

    @contextlib.contextmanager
    def answering(self) -> Iterator[None]:
        """Answer before botocore would write a request for the network."""
        with contextlib.ExitStack() as stack:
            for service in self.services:
                repeating = [client(service, REPEATING)] if service == "kafkaconnect" else []
                for each in (client(service), *repeating):
                    for name, handler in (("before-parameter-build", _keep), ("before-call", self._handle)):
                        each.meta.events.register_last(f"{name}.{service}", handler)
                        stack.callback(each.meta.events.unregister, f"{name}.{service}", handler)
            yield

    def _handle(self, model: OperationModel, context: dict[str, Any], **_: object) -> Answered:
        """Answer a request that botocore has checked; botocore's `before-call` hook."""
        name, parameters = model.name, context["asked"]
        check(model.input_shape, parameters, name)
        self.calls.append(name)
        self.requests.append((name, parameters))
        fault, operation = self._fault(model), getattr(self, f"_{xform_name(name)}")
        if fault == SLOW:
            self.later.add(lambda: operation(parameters))
        if fault in (EARLY_DEATH, SLOW):
            raise LambdaDeathError(name)
        if fault == UNSENT:
            raise ConnectionClosedError(endpoint_url=f"https://{model.service_model.service_name}")
        try:
            if fault and fault not in (LOST, DEATH):
                raise RefusalError(fault)
            answer = operation(parameters) or {}
        except RefusalError as refusal:
            known = {shape.name: shape for shape in model.error_shapes}
            metadata = known[refusal.code].metadata if refusal.code in known else {}
            status = metadata.get("error", {}).get("httpStatusCode", 400)
            return _answer(status, {"Error": {"Code": refusal.code, "Message": str(refusal)}})
        if fault == DEATH:
            raise LambdaDeathError(name)
        if fault and context["client_config"].retries["total_max_attempts"] > 1:
            return self._handle(model, context)
        if fault:
            raise ReadTimeoutError(endpoint_url=f"https://{model.service_model.service_name}")
        if model.output_shape is not None:
            check(model.output_shape, answer, name)
        return _answer(200, copy.deepcopy(answer))

    def _fault(self, model: OperationModel) -> str | None:
        names = (model.name, model.service_model.service_name)
        if self.clock() < max(self.throttled_until.get(name, 0) for name in names):
            return self.throttling
        return self.faults[model.name].pop(0) if self.faults.get(model.name) else None

    def called(self, *operations: str) -> list[str]:
        """The calls of these operations, in order."""
        return [call for call in self.calls if call in operations]


def _keep(params: dict[str, Any], context: dict[str, Any], **_: object) -> None:
    """botocore's `before-parameter-build` hook: its later ones see only the request as it is sent."""
    context["asked"] = copy.deepcopy(params)


def _answer(status: int, content: dict[str, Any]) -> Answered:
    response = type("Response", (), {"status_code": status})
    return response, content | {"ResponseMetadata": {"HTTPStatusCode": status}}


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
