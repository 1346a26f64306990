"""MSK Connect in memory, in moto's way: botocore sends it AWS's requests.

moto has no kafkaconnect. Requests and answers are checked against botocore's model of the service (fields, types,
enumerations), so a handler's requests and answers have the real API's shape; the rules in the model's documentation are
here too (one kind of change per update, the current version, health checks and paused connectors). It is our assumption
that neither a part in use nor a connector in a transitional state can be deleted. `tick` advances time.
"""

import re
from collections.abc import Callable
from typing import Any
from urllib.parse import urlsplit

import botocore.session
from botocore.awsrequest import AWSPreparedRequest, AWSResponse
from botocore.exceptions import ReadTimeoutError

from tests.stacks.handlers.msk_connect import service_model
from tests.stacks.handlers.msk_connect.connectors import Connectors
from tests.stacks.handlers.msk_connect.parts import Parts
from tests.stacks.handlers.msk_connect.state import RefusalError
from tests.stacks.handlers.provider_framework import DEATH, EARLY_DEATH, LOST, SLOW, LambdaDeathError, Later

MODEL = botocore.session.get_session().get_service_model("kafkaconnect")


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

    def handle(self, request: AWSPreparedRequest, **_: object) -> AWSResponse | None:
        """Answer a request that botocore is about to send; botocore's `before-send` hook."""
        if "kafkaconnect" not in urlsplit(request.url).netloc:
            return None
        operation, parameters = service_model.parsed(MODEL, request)
        service_model.check(operation.input_shape, parameters, operation.name)
        self.calls.append(operation.name)
        self.requests.append((operation.name, parameters))
        fault = self._fault(operation.name)
        if fault == SLOW:
            self.later.add(lambda: getattr(self, f"_{_snake(operation.name)}")(parameters))
        if fault in (EARLY_DEATH, SLOW):
            raise LambdaDeathError(operation.name)
        try:
            if fault and fault not in (LOST, DEATH):
                raise RefusalError(fault)
            answer = getattr(self, f"_{_snake(operation.name)}")(parameters) or {}
        except RefusalError as refusal:
            return service_model.error(MODEL, request.url, refusal.code, str(refusal))
        if fault == DEATH:
            raise LambdaDeathError(operation.name)
        if fault:
            raise ReadTimeoutError(endpoint_url=request.url)
        service_model.check(operation.output_shape, answer, operation.name)
        return service_model.answer(request.url, answer)

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


def _snake(name: str) -> str:
    return re.sub(r"(?<!^)(?=[A-Z])", "_", name).lower()
