"""A pipeline's source connector for a re-snapshot: on MSK Connect, changed by updates of its configuration; on EKS,
through Kafka Connect's REST API behind the cluster's API."""

import json
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from botocore.config import Config

from local.errors import PlatformError
from local.resnapshot.log_tables import Connector
from operate import outputs
from operate.kafka.reader import Reader
from operate.kubernetes import cluster_api
from operate.outputs import CALL_ERRORS, may_pass
from operate.pausing.deployed import check_runs
from operate.sides import DeployedPipeline
from plugins.source import failures
from plugins.source.source_connector import OFFSET_MISMATCH, following_slot, not_following_slot
from plugins.workers.kubernetes_api import Kubernetes, KubernetesError, UnreachableError
from stacks.connectors.manifests import NAMESPACE

if TYPE_CHECKING:
    from mypy_boto3_kafkaconnect import KafkaConnectClient

EKS_LOOK_S, MSK_LOOK_S = 2.0, 10.0
# A worker that takes over a configuration or moves tasks answers that it is busy.
BUSY_S = 120.0
# An update restarts the workers: some minutes.
UPDATE_S = 1_800
SETTLED = ("RUNNING", "FAILED", "PAUSED")
# MSK Connect throttles: nine repeats take botocore a minute or two, and a repair must not end half done.
PATIENT = outputs.QUICK.merge(Config(retries={"mode": "standard", "total_max_attempts": 10}))
# For calls that change something: repeated after a lost answer, one would meet what it has begun itself.
ONCE = outputs.QUICK.merge(Config(retries={"mode": "standard", "total_max_attempts": 1}))
UPDATE, RESTART = "UPDATE_CONNECTOR_CONFIGURATION", "RESTART_CONNECTOR"


@dataclass
class StoredOffsets:
    """A connector's newest offsets, for one topic prefix; each read continues from the last. Raises KafkaException."""

    messages: Reader
    topic: str
    prefix: str
    _next: dict[int, int] = field(default_factory=dict)
    _newest: dict[bytes, dict[str, Any]] = field(default_factory=dict)

    def read(self) -> list[dict[str, Any]]:
        """Return the offsets, as the connector wrote them; none while it hasn't stored any."""
        for message in self.messages.to_the_end(self.topic, lambda partition, _end: self._next.get(partition, 0)):
            self._take(message.key(), message.value())
            self._next[message.partition() or 0] = (message.offset() or 0) + 1
        return list(self._newest.values())

    def _take(self, key: object, value: object) -> None:
        """Keep the newest message per source of Connect's compacted topic; one without a value revokes it."""
        source = key if isinstance(key, bytes) else str(key).encode()
        if json.loads(source)[1]["server"] != self.prefix:
            return  # of a former topic prefix
        if isinstance(value, bytes | str) and value:
            self._newest[source] = json.loads(value)
        else:
            self._newest.pop(source, None)


def source_of(deployed: DeployedPipeline, *, newest: int = 0, stored: StoredOffsets | None = None) -> Connector:
    """Return the connector; `newest` is the highest log position known to be read.

    Raises OperateError if it isn't deployed or is paused, and botocore's errors.
    """
    environment, session, settings = deployed.environment, deployed.session, deployed.source
    common: Any = {"slot": settings.slot_name, "newest": newest, "stored": stored}
    check_runs(session, environment)
    if environment.eks is None:
        arn = outputs.output(environment, "connectors", deployed.pipeline.construct_id("SourceConnectorArn"))
        patient, once = (session.client("kafkaconnect", config=config) for config in (PATIENT, ONCE))
        return MskConnector(patient, once, arn, **common)
    return EksConnector(cluster_api(session, environment), settings.name, **common)


@dataclass(kw_only=True)
class _Connector(ABC):
    """A connector that reads `slot`; `newest` is the highest log position that is known to have been read."""

    slot: str
    newest: int
    pause: Callable[[float], None] = time.sleep
    stored: StoredOffsets | None = None

    def newest_position(self) -> int:
        return self.newest

    def offsets(self) -> list[dict[str, Any]]:
        return self.stored.read() if self.stored else []

    def follow_slot(self) -> None:
        self._configure(following_slot(self._configuration()))

    def settle(self) -> None:
        self._configure(not_following_slot(self._configuration()))

    def end_following(self) -> None:
        if OFFSET_MISMATCH in self._configuration():
            self.settle()

    @abstractmethod
    def _configuration(self) -> Mapping[str, str]: ...

    @abstractmethod
    def _configure(self, configuration: Mapping[str, str]) -> None: ...


@dataclass
class EksConnector(_Connector):
    """The connector of a name: it can be stopped, and reports why it failed."""

    api: Kubernetes
    name: str

    def failure(self) -> str | None:
        """Return why it or one of its tasks failed."""
        status = self._ask("GET", "/status")
        for part in (status["connector"], *status["tasks"]):
            if part["state"] == "FAILED":
                return failures.reason(str(part.get("trace", "")), self._configuration())
        return None

    def release(self) -> None:
        """Stop it: its tasks end, configuration and offsets stay."""
        self._ask("PUT", "/stop")

    def settle(self) -> None:
        try:
            super().settle()
        finally:
            # Nothing else starts it again after `release`. The worker refuses a configuration while its database is out
            # of reach.
            self._ask("PUT", "/resume")

    def restart(self) -> None:
        """Restart failed tasks, or resume what an interrupted run has stopped."""
        self._ask("PUT", "/resume")
        self._ask("POST", "/restart?includeTasks=true&onlyFailed=true")

    def _configuration(self) -> Mapping[str, str]:
        return dict(self._ask("GET", "/config"))

    def _configure(self, configuration: Mapping[str, str]) -> None:
        self._ask("PUT", "/config", configuration)
        self.restart()

    def _ask(self, method: str, path: str, body: Any = None) -> Any:
        """Send a request about the connector, and repeat it while the worker is busy. Raises PlatformError."""
        deadline = time.monotonic() + BUSY_S
        place = f"/connectors/{quote(self.name)}{path}"
        while True:
            try:
                return self.api.through_service(method, NAMESPACE, self.name, place, body)
            except UnreachableError as error:
                if time.monotonic() > deadline:
                    raise PlatformError(f"the connector {self.name} can't be asked: {error}") from None
            except KubernetesError as error:
                refused = f"the cluster refuses it ({error}): are you one of connectors.eks.administrators?"
                reason = error.reason if error.by_connect else refused
                raise PlatformError(f"the connector {self.name}: {reason}") from None
            self.pause(EKS_LOOK_S)


@dataclass
class MskConnector(_Connector):
    """The connector of an ARN. MSK Connect can't stop one; callers must take the slot from it.

    `client` repeats what fails, `changing` doesn't.
    """

    client: "KafkaConnectClient"
    changing: "KafkaConnectClient"
    arn: str

    def failure(self) -> str | None:
        """Return that it has failed; its log says why. A single failed task doesn't show here."""
        if self._describe()["connectorState"] == "FAILED":
            return "the source connector is FAILED, why is in its log (docs/aws/alarms.md#connector-not-running)"
        return None

    def release(self) -> None:
        """Do nothing: MSK Connect can't stop a connector."""

    def restart(self) -> None:
        self._settled()
        self._begin(RESTART, lambda: self.changing.restart_connector(connectorArn=self.arn, onlyFailedTasks=True))
        self._settled()

    def _configuration(self) -> Mapping[str, str]:
        return dict(self._settled()["connectorConfiguration"])

    def _configure(self, configuration: Mapping[str, str]) -> None:
        """Return once its workers have restarted with this configuration. Raises PlatformError."""
        now = self._settled()
        if now["connectorConfiguration"] == configuration:
            # AWS would refuse an update that changes nothing.
            self.restart()
            return
        request: Any = {"currentVersion": now["currentVersion"], "connectorConfiguration": dict(configuration)}
        operation = self._begin(UPDATE, lambda: self.changing.update_connector(connectorArn=self.arn, **request))
        self._settled()
        found = self.client.describe_connector_operation(connectorOperationArn=operation)
        if found["connectorOperationState"] != "UPDATE_COMPLETE":
            reason = found.get("errorInfo", {}).get("message", "no reason given")
            raise PlatformError(
                f"the update of the source connector ended in {found['connectorOperationState']}: {reason}"
                " (its log says more); run this again"
            )

    def _begin(self, kind: str, change: Callable[[], Mapping[str, Any]]) -> str:
        """Begin an operation; return its ARN. If the answer is lost, look for the operation before trying again."""
        before, deadline, lost = self._operations(kind), time.monotonic() + BUSY_S, False
        while True:
            try:
                return str(change()["connectorOperationArn"])
            except CALL_ERRORS as error:
                # After a lost answer, a refusal may be of what has begun, though no list shows it yet.
                lost = lost or may_pass(error)
                if not lost or time.monotonic() > deadline:
                    raise
            self.pause(MSK_LOOK_S)
            if begun := self._operations(kind) - before:
                return begun.pop()

    def _operations(self, kind: str) -> set[str]:
        pages = self.client.get_paginator("list_connector_operations").paginate(connectorArn=self.arn)
        every = (operation for page in pages for operation in page.get("connectorOperations", []))
        return {each["connectorOperationArn"] for each in every if each["connectorOperationType"] == kind}

    def _settled(self) -> Mapping[str, Any]:
        """Wait until no operation is under way; also while AWS throttles or is out of reach. Raises PlatformError."""
        deadline, state = time.monotonic() + UPDATE_S, ""
        while True:
            try:
                found = self._describe()
            except CALL_ERRORS as error:
                if not may_pass(error) or time.monotonic() > deadline:
                    raise
            else:
                state = found["connectorState"]
                if state in SETTLED:
                    return found
            if time.monotonic() > deadline:
                raise PlatformError(f"the source connector is {state} for {UPDATE_S / 60:.0f} minutes")
            self.pause(MSK_LOOK_S)

    def _describe(self) -> Mapping[str, Any]:
        return self.client.describe_connector(connectorArn=self.arn)
