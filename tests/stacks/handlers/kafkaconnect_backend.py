"""MSK Connect in memory, in moto's way: botocore sends to it what it would send to AWS.

moto has no kafkaconnect. Requests and answers are checked against botocore's model of the service (fields, types,
enumerations), so what a handler asks for and gets has the real API's shape; the rules that the model's documentation
states are here too (one kind of change per update, the current version, health checks and paused connectors). That a
thing in use, or a connector in a transitional state, can't be deleted is our assumption. Time passes by `tick`.
"""

import copy
import itertools
import json
import re
from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta
from typing import Any
from urllib.parse import urlsplit

import botocore.session
from botocore.awsrequest import AWSPreparedRequest, AWSResponse
from botocore.exceptions import ReadTimeoutError

from tests.stacks.handlers import service_model

MODEL = botocore.session.get_session().get_service_model("kafkaconnect")
ACCOUNT = "123456789012"
# A fault: the service did what it was asked for, and its answer got lost.
LOST = "lost"
# Faults: Lambda dies after the service did what it was asked for, or before it was asked.
DEATH = "death"
EARLY_DEATH = "early death"
UPDATABLE = ("capacity", "plugins", "workerConfiguration")
TRANSITIONAL = ("CREATING", "UPDATING", "PAUSING", "RESUMING", "RESTARTING")


class RefusalError(Exception):
    """One of the service's errors."""

    def __init__(self, code: str, message: str = "") -> None:
        super().__init__(message or code)
        self.code = code


class LambdaDeathError(BaseException):
    """The function that called is no more; no handler's `except` sees that."""


class KafkaConnect:
    """The service: resources by ARN, what was called, and what will go wrong.

    `creations`, `plugin_creations` and `updates` script how the next ones end: the last state of a connector or a
    plugin, or of an update's operation. `faults` are errors that the next calls of an operation get;
    `throttled_until` is when an operation ("*": any) is answered again, in seconds; `list_lag` for how long lists don't
    show what was made, and show what is gone, in seconds; `ticks_needed` how many ticks anything takes, and
    `creation_ticks` how many more a connector's creation does; `additions` are fields that DescribeConnector shows in
    the service's own words.
    """

    def __init__(self) -> None:
        self.connectors: dict[str, dict[str, Any]] = {}
        self.plugins: dict[str, dict[str, Any]] = {}
        self.worker_configurations: dict[str, dict[str, Any]] = {}
        self.operations: dict[str, dict[str, Any]] = {}
        self.tags: dict[str, dict[str, str]] = {}
        self.calls: list[str] = []
        self.requests: list[tuple[str, dict[str, Any]]] = []
        self.creations: list[str] = []
        self.plugin_creations: list[str] = []
        self.updates: list[str] = []
        self.faults: dict[str, list[str]] = {}
        self.throttled_until: dict[str, float] = {}
        self.list_lag = 0.0
        self.ticks_needed = 1
        self.creation_ticks = 0
        self.additions: dict[str, Any] = {}
        self._waited: dict[str, int] = {}
        self.born: dict[str, float] = {}
        self._gone: dict[str, tuple[float, dict[str, Any]]] = {}
        # A test's own time, when it looks at when something was done.
        self.clock: Callable[[], float] | None = None
        self._numbers = itertools.count(1)
        self._endings: dict[str, str] = {}
        self._time = datetime(2026, 11, 21, tzinfo=UTC)

    def handle(self, request: AWSPreparedRequest, **_: object) -> AWSResponse | None:
        """Answer a request that botocore is about to send; botocore's `before-send` hook."""
        if "kafkaconnect" not in urlsplit(request.url).netloc:
            return None
        operation, parameters = service_model.parsed(MODEL, request)
        service_model.check(operation.input_shape, parameters, operation.name)
        self.calls.append(operation.name)
        self.requests.append((operation.name, parameters))
        fault = self._fault(operation.name)
        if fault == EARLY_DEATH:
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
        if self.clock is not None and self.clock() < until:
            return "TooManyRequestsException"
        return self.faults[operation].pop(0) if self.faults.get(operation) else None

    def _is_due(self, arn: str) -> bool:
        self._waited[arn] = self._waited.get(arn, 0) + 1
        creating = self.connectors.get(arn, {}).get("connectorState") == "CREATING"
        if self._waited[arn] < (self.creation_ticks if creating else 0) + self.ticks_needed:
            return False
        del self._waited[arn]
        return True

    def _remove(self, kind: dict[str, dict[str, Any]], arn: str) -> None:
        self._gone[arn] = (self._seconds(), kind.pop(arn))
        del self.tags[arn]

    def _seconds(self) -> float:
        return self.clock() if self.clock is not None else 0.0

    def _listed(self, kind: dict[str, dict[str, Any]], what: str) -> list[dict[str, Any]]:
        """What a list shows: late, in both directions."""
        known_since = self._seconds() - self.list_lag
        there = [each for arn, each in kind.items() if self.born.get(arn, 0.0) <= known_since]
        gone = [each for arn, (at, each) in self._gone.items() if f":{what}/" in arn and at > known_since]
        return there + gone

    def tick(self) -> None:
        """Let what is under way come to its end."""
        for arn, connector in list(self.connectors.items()):
            if connector["connectorState"] in (*TRANSITIONAL, "DELETING") and self._is_due(arn):
                self._end_connector(arn, connector)
        for arn, operation in self.operations.items():
            if operation["connectorOperationState"] in ("PENDING", "UPDATE_IN_PROGRESS") and self._is_due(arn):
                self._end_operation(operation)
        for arn, plugin in list(self.plugins.items()):
            self._end_plugin(arn, plugin)
        for arn, worker in list(self.worker_configurations.items()):
            if worker["workerConfigurationState"] == "DELETING" and self._is_due(arn):
                self._remove(self.worker_configurations, arn)

    def connector(self, name: str) -> dict[str, Any]:
        """The one connector of a name."""
        (found,) = [each for each in self.connectors.values() if each["connectorName"] == name]
        return found

    def called(self, *operations: str) -> list[str]:
        """The calls of these operations, in order."""
        return [call for call in self.calls if call in operations]

    def _end_connector(self, arn: str, connector: dict[str, Any]) -> None:
        match connector["connectorState"]:
            case "DELETING":
                self._remove(self.connectors, arn)
            case "CREATING":
                self._end_creation(connector)
            case "UPDATING":
                pass  # with its operation
            case _:
                connector["connectorState"] = "RUNNING"

    def _end_creation(self, connector: dict[str, Any]) -> None:
        connector["connectorState"] = self.creations.pop(0) if self.creations else "RUNNING"
        if connector["connectorState"] == "FAILED":
            connector["stateDescription"] = {"code": "UnknownError.Unknown", "message": "The last operation failed."}

    def _end_operation(self, operation: dict[str, Any]) -> None:
        ending = self.updates.pop(0) if self.updates else "UPDATE_COMPLETE"
        operation["connectorOperationState"] = ending
        operation["endTime"] = self._now()
        connector = self.connectors.get(operation["connectorArn"])
        if connector is None:
            return
        connector["connectorState"] = "FAILED" if ending in ("ROLLBACK_FAILED", "UPDATE_FAILED") else "RUNNING"
        connector["currentVersion"] = f"V{next(self._numbers)}"
        if ending == "UPDATE_COMPLETE":
            connector.update(copy.deepcopy(operation["target"]))
            if operation["default"]:
                connector.pop("workerConfiguration", None)
        else:
            operation["errorInfo"] = {"code": "HealthCheckFailed", "message": "Tasks did not become healthy."}

    def _end_plugin(self, arn: str, plugin: dict[str, Any]) -> None:
        if plugin["customPluginState"] not in ("DELETING", "CREATING") or not self._is_due(arn):
            return
        if plugin["customPluginState"] == "DELETING":
            self._remove(self.plugins, arn)
        elif plugin["customPluginState"] == "CREATING":
            plugin["customPluginState"] = self.plugin_creations.pop(0) if self.plugin_creations else "ACTIVE"
            if plugin["customPluginState"] == "CREATE_FAILED":
                plugin["stateDescription"] = {"code": "InvalidZip", "message": "The ZIP file can't be read."}

    def _create_connector(self, wanted: dict[str, Any]) -> dict[str, Any]:
        name = wanted["connectorName"]
        if any(each["connectorName"] == name for each in self.connectors.values()):
            raise RefusalError("ConflictException", "A resource with this name already exists.")
        self._check_references(wanted)
        arn = self._arn("connector", name)
        self.tags[arn] = wanted.pop("tags", {})
        self.connectors[arn] = {
            **copy.deepcopy(wanted),
            "connectorArn": arn,
            "connectorState": "CREATING",
            "creationTime": self._now(),
            "currentVersion": f"V{next(self._numbers)}",
        }
        return {"connectorArn": arn, "connectorName": name, "connectorState": "CREATING"}

    def _check_references(self, wanted: Mapping[str, Any]) -> None:
        for plugin in wanted.get("plugins", []):
            found = self.plugins.get(plugin["customPlugin"]["customPluginArn"])
            if found is None or found["customPluginState"] != "ACTIVE":
                raise RefusalError("BadRequestException", "The custom plugin is not ACTIVE.")
        worker = wanted.get("workerConfiguration")
        if worker and worker["workerConfigurationArn"] not in self.worker_configurations:
            raise RefusalError("NotFoundException", "The worker configuration does not exist.")

    def _describe_connector(self, wanted: dict[str, Any]) -> dict[str, Any]:
        found: dict[str, Any] = copy.deepcopy(self._get(self.connectors, wanted["connectorArn"]))
        # The service adds what wasn't asked for.
        found.update(copy.deepcopy(self.additions))
        found["logDelivery"].get("workerLogDelivery", {}).setdefault("s3", {"enabled": False})
        return found

    def _list_connectors(self, wanted: dict[str, Any]) -> dict[str, Any]:
        prefix = wanted.get("connectorNamePrefix", "")
        hidden = ("connectorConfiguration", "stateDescription")
        return {
            "connectors": [
                {key: value for key, value in each.items() if key not in hidden}
                for each in self._listed(self.connectors, "connector")
                if each["connectorName"].startswith(prefix)
            ]
        }

    def _update_connector(self, wanted: dict[str, Any]) -> dict[str, Any]:
        connector = self._get(self.connectors, wanted["connectorArn"])
        settings = {key: wanted[key] for key in (*UPDATABLE, "useDefaultWorkerConfiguration") if key in wanted}
        if bool(settings) == ("connectorConfiguration" in wanted):
            raise RefusalError("BadRequestException", "Either the worker setting or the configuration.")
        if wanted["currentVersion"] != connector["currentVersion"]:
            raise RefusalError("BadRequestException", "The current version is another one.")
        allowed = ("RUNNING", "PAUSED") if wanted.get("skipHealthValidation") else ("RUNNING",)
        if connector["connectorState"] not in allowed:
            raise RefusalError("BadRequestException", f"The connector is {connector['connectorState']}.")
        self._check_references(wanted)
        kind = "UPDATE_WORKER_SETTING" if settings else "UPDATE_CONNECTOR_CONFIGURATION"
        arn = self._arn("connector-operation", connector["connectorName"])
        self.operations[arn] = {
            "connectorArn": connector["connectorArn"],
            "connectorOperationArn": arn,
            "connectorOperationState": "UPDATE_IN_PROGRESS",
            "connectorOperationType": kind,
            "creationTime": self._now(),
            "target": {key: wanted[key] for key in (*UPDATABLE, "connectorConfiguration") if key in wanted},
            "default": "useDefaultWorkerConfiguration" in settings,
        }
        connector["connectorState"] = "UPDATING"
        return {
            "connectorArn": connector["connectorArn"],
            "connectorState": "UPDATING",
            "connectorOperationArn": arn,
        }

    def _delete_connector(self, wanted: dict[str, Any]) -> dict[str, Any]:
        connector = self._get(self.connectors, wanted["connectorArn"])
        if connector["connectorState"] in (*TRANSITIONAL, "DELETING"):
            raise RefusalError("BadRequestException", f"The connector is {connector['connectorState']}.")
        connector["connectorState"] = "DELETING"
        return {"connectorArn": wanted["connectorArn"], "connectorState": "DELETING"}

    def _restart_connector(self, wanted: dict[str, Any]) -> dict[str, Any]:
        connector = self._get(self.connectors, wanted["connectorArn"])
        if connector["connectorState"] != "RUNNING":
            raise RefusalError("BadRequestException", f"The connector is {connector['connectorState']}.")
        arn = self._arn("connector-operation", connector["connectorName"])
        self.operations[arn] = {
            "connectorArn": connector["connectorArn"],
            "connectorOperationArn": arn,
            "connectorOperationState": "RESTART_COMPLETE",
            "connectorOperationType": "RESTART_CONNECTOR",
            "creationTime": self._now(),
        }
        connector["connectorState"] = "RESTARTING"
        return {"connectorArn": connector["connectorArn"], "connectorOperationArn": arn}

    def _list_connector_operations(self, wanted: dict[str, Any]) -> dict[str, Any]:
        self._get(self.connectors, wanted["connectorArn"])
        hidden = ("connectorArn", "target", "default", "errorInfo")
        return {
            "connectorOperations": [
                {key: value for key, value in each.items() if key not in hidden}
                for each in self.operations.values()
                if each["connectorArn"] == wanted["connectorArn"]
            ]
        }

    def _describe_connector_operation(self, wanted: dict[str, Any]) -> dict[str, Any]:
        found = self._get(self.operations, wanted["connectorOperationArn"])
        return {key: value for key, value in found.items() if key not in ("target", "default")}

    def _create_custom_plugin(self, wanted: dict[str, Any]) -> dict[str, Any]:
        self._check_free(self.plugins, wanted["name"])
        arn = self._arn("custom-plugin", wanted["name"])
        self.tags[arn] = wanted.get("tags", {})
        self.plugins[arn] = {
            "name": wanted["name"],
            "description": wanted.get("description", ""),
            "customPluginArn": arn,
            "customPluginState": "CREATING",
            "creationTime": self._now(),
            "latestRevision": {
                "revision": 1,
                "contentType": wanted["contentType"],
                "location": wanted["location"],
                "creationTime": self._now(),
            },
        }
        return {"customPluginArn": arn, "customPluginState": "CREATING", "name": wanted["name"], "revision": 1}

    def _describe_custom_plugin(self, wanted: dict[str, Any]) -> dict[str, Any]:
        return dict(self._get(self.plugins, wanted["customPluginArn"]))

    def _list_custom_plugins(self, wanted: dict[str, Any]) -> dict[str, Any]:
        named = self._starting_with(self._listed(self.plugins, "custom-plugin"), wanted)
        return {"customPlugins": [{k: v for k, v in each.items() if k != "stateDescription"} for each in named]}

    def _delete_custom_plugin(self, wanted: dict[str, Any]) -> dict[str, Any]:
        plugin = self._get(self.plugins, wanted["customPluginArn"])
        if plugin["customPluginState"] in ("CREATING", "DELETING"):
            raise RefusalError("BadRequestException", f"The plugin is {plugin['customPluginState']}.")
        self._check_unused(wanted["customPluginArn"])
        plugin["customPluginState"] = "DELETING"
        return {"customPluginArn": wanted["customPluginArn"], "customPluginState": "DELETING"}

    def _create_worker_configuration(self, wanted: dict[str, Any]) -> dict[str, Any]:
        self._check_free(self.worker_configurations, wanted["name"])
        arn = self._arn("worker-configuration", wanted["name"])
        self.tags[arn] = wanted.get("tags", {})
        revision = {"revision": 1, "creationTime": self._now(), "description": wanted.get("description", "")}
        self.worker_configurations[arn] = {
            "name": wanted["name"],
            "workerConfigurationArn": arn,
            "workerConfigurationState": "ACTIVE",
            "creationTime": self._now(),
            "latestRevision": revision,
            "content": wanted["propertiesFileContent"],
        }
        return {k: v for k, v in self.worker_configurations[arn].items() if k != "content"}

    def _describe_worker_configuration(self, wanted: dict[str, Any]) -> dict[str, Any]:
        found: dict[str, Any] = copy.deepcopy(self._get(self.worker_configurations, wanted["workerConfigurationArn"]))
        found["latestRevision"]["propertiesFileContent"] = found.pop("content")
        return found

    def _list_worker_configurations(self, wanted: dict[str, Any]) -> dict[str, Any]:
        named = self._starting_with(self._listed(self.worker_configurations, "worker-configuration"), wanted)
        return {"workerConfigurations": [{k: v for k, v in each.items() if k != "content"} for each in named]}

    def _delete_worker_configuration(self, wanted: dict[str, Any]) -> dict[str, Any]:
        found = self._get(self.worker_configurations, wanted["workerConfigurationArn"])
        self._check_unused(wanted["workerConfigurationArn"])
        found["workerConfigurationState"] = "DELETING"
        return {
            "workerConfigurationArn": wanted["workerConfigurationArn"],
            "workerConfigurationState": "DELETING",
        }

    def _list_tags_for_resource(self, wanted: dict[str, Any]) -> dict[str, Any]:
        return {"tags": self._get(self.tags, wanted["resourceArn"])}

    def _tag_resource(self, wanted: dict[str, Any]) -> None:
        self._get(self.tags, wanted["resourceArn"]).update(wanted["tags"])

    def _untag_resource(self, wanted: dict[str, Any]) -> None:
        for key in wanted["tagKeys"]:
            self._get(self.tags, wanted["resourceArn"]).pop(key, None)

    def _check_free(self, kind: dict[str, dict[str, Any]], name: str) -> None:
        if any(each["name"] == name for each in kind.values()):
            raise RefusalError("ConflictException", "A resource with this name already exists.")

    def _check_unused(self, arn: str) -> None:
        if any(arn in json.dumps(each, default=str) for each in self.connectors.values()):
            raise RefusalError("BadRequestException", "The resource is in use.")

    def _starting_with(self, listed: list[dict[str, Any]], wanted: dict[str, Any]) -> list[dict[str, Any]]:
        return [each for each in listed if each["name"].startswith(wanted.get("namePrefix", ""))]

    def _get(self, kind: dict[str, Any], arn: str) -> Any:
        if arn not in kind:
            raise RefusalError("NotFoundException", "Resource not found.")
        return kind[arn]

    def _arn(self, kind: str, name: str) -> str:
        unique = f"00000000-0000-0000-0000-{next(self._numbers):012d}-4"
        arn = f"arn:aws:kafkaconnect:ap-southeast-2:{ACCOUNT}:{kind}/{name}/{unique}"
        self.born[arn] = self._seconds()
        return arn

    def _now(self) -> str:
        if self.clock is not None:
            return datetime.fromtimestamp(self.clock(), tz=UTC).isoformat()
        self._time += timedelta(seconds=1)
        return self._time.isoformat()


def _snake(name: str) -> str:
    return re.sub(r"(?<!^)(?=[A-Z])", "_", name).lower()
