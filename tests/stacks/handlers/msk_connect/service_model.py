"""Requests and answers of an AWS service with a REST and JSON protocol, checked against botocore's model of it."""

import functools
import json
import re
from collections.abc import Iterator, Mapping
from typing import Any, cast
from urllib.parse import parse_qs, unquote, urlsplit

from botocore.awsrequest import AWSPreparedRequest, AWSResponse
from botocore.compat import HTTPHeaders
from botocore.model import ListShape, MapShape, OperationModel, ServiceModel, Shape, StructureShape

_TYPES: dict[str, type] = {
    "boolean": bool,
    "integer": int,
    "list": list,
    "long": int,
    "map": dict,
    "string": str,
    "structure": dict,
    "timestamp": str,
}


@functools.cache
def _routes(model: ServiceModel) -> list[tuple[str, re.Pattern[str], OperationModel]]:
    """Every operation's method and path."""
    operations = [model.operation_model(name) for name in model.operation_names]
    return [(each.http["method"], _pattern(each.http["requestUri"]), each) for each in operations]


def _pattern(uri: str) -> re.Pattern[str]:
    return re.compile(re.sub(r"\\\{(\w+)\\\}", r"(?P<\1>[^/]+)", re.escape(uri)))


def parsed(model: ServiceModel, request: AWSPreparedRequest) -> tuple[OperationModel, dict[str, Any]]:
    """Find a request's operation, and its parameters in path, query and body."""
    url = urlsplit(request.url)
    for method, pattern, operation in _routes(model):
        match = pattern.fullmatch(url.path)
        if match and method == request.method:
            parameters: dict[str, Any] = json.loads(cast(bytes, request.body) or b"{}")
            parameters.update({key: unquote(value) for key, value in match.groupdict().items()})
            members = cast(StructureShape, operation.input_shape).members
            for key, values in parse_qs(url.query).items():
                parameters[key] = _from_query(members[key], values)
            return operation, parameters
    raise AssertionError(f"no such operation: {request.method} {request.url}")


def _from_query(shape: Shape, values: list[str]) -> Any:
    match shape.type_name:
        case "list":
            return values
        case "boolean":
            return {"true": True, "false": False}[values[0]]
        case _:
            return values[0]


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


def answer(url: str, content: Mapping[str, Any]) -> AWSResponse:
    """The service's normal answer."""
    return _response(url, 200, content)


def error(model: ServiceModel, url: str, code: str, message: str) -> AWSResponse:
    """One of the service's errors, with the status that the model gives it."""
    status = model.shape_for(code).metadata["error"]["httpStatusCode"]
    return _response(url, status, {"message": message}, code=code)


def _response(url: str, status: int, content: Mapping[str, Any], *, code: str = "") -> AWSResponse:
    headers = HTTPHeaders()
    headers["Content-Type"] = "application/json"
    if code:
        headers["x-amzn-ErrorType"] = code
    return AWSResponse(url, status, headers, _Body(json.dumps(content).encode()))


class _Body:
    """The part of a urllib3 response that botocore reads."""

    def __init__(self, content: bytes) -> None:
        self._content = content

    def stream(self, *_: object, **__: object) -> Iterator[bytes]:
        yield self._content
