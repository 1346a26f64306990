"""MSK Connect in memory: moto has no kafkaconnect.

The rules in the documentation of botocore's model are here too: one kind of change per update, the current version,
health checks and paused connectors. It is our assumption that neither a part in use nor a connector in a transitional
state can be deleted.
"""

import copy
from collections.abc import Callable, Mapping
from typing import Any

from tests.stacks.handlers.msk_connect.parts import Parts
from tests.stacks.handlers.stand_in import RefusalError

UPDATABLE = ("capacity", "plugins", "workerConfiguration")
TRANSITIONAL = ("CREATING", "UPDATING", "PAUSING", "RESUMING", "RESTARTING")


class KafkaConnect(Parts):
    """The service: connectors, their operations, and scripted faults.

    `creations` and `updates` script the next outcomes: the last state of a connector, or of an update's operation;
    `additions` are fields that DescribeConnector shows in the service's own words.
    """

    services = ("kafkaconnect",)
    throttling = "TooManyRequestsException"

    def __init__(self, clock: Callable[[], float]) -> None:
        super().__init__(clock)
        self.creations: list[str] = []
        self.updates: list[str] = []
        self.additions: dict[str, Any] = {}

    def tick(self) -> None:
        """Complete running operations that are due."""
        self.later.tick()
        self._end_connectors()
        self._end_operations()
        self._end_plugins()

    def _list_tags_for_resource(self, wanted: dict[str, Any]) -> dict[str, Any]:
        return {"tags": self._get(self.tags, wanted["resourceArn"])}

    def _tag_resource(self, wanted: dict[str, Any]) -> None:
        self._get(self.tags, wanted["resourceArn"]).update(wanted["tags"])

    def _untag_resource(self, wanted: dict[str, Any]) -> None:
        for key in wanted["tagKeys"]:
            self._get(self.tags, wanted["resourceArn"]).pop(key, None)

    def connector(self, name: str) -> dict[str, Any]:
        """The connector of a name."""
        (found,) = [each for each in self.connectors.values() if each["connectorName"] == name]
        return found

    def _end_connectors(self) -> None:
        for arn, connector in list(self.connectors.items()):
            state = connector["connectorState"]
            # An update ends with its operation.
            if state not in ("CREATING", "DELETING", "PAUSING", "RESUMING", "RESTARTING") or not self._is_due(arn):
                continue
            if state == "DELETING":
                self._remove(self.connectors, arn)
                continue
            connector["connectorState"] = self.creations.pop(0) if state == "CREATING" and self.creations else "RUNNING"
            if connector["connectorState"] == "FAILED":
                failed = {"code": "UnknownError.Unknown", "message": "The last operation failed."}
                connector["stateDescription"] = failed

    def _end_operations(self) -> None:
        for arn, operation in self.operations.items():
            if operation["connectorOperationState"] in ("PENDING", "UPDATE_IN_PROGRESS") and self._is_due(arn):
                self._end_operation(operation)

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

    def _create_connector(self, wanted: dict[str, Any]) -> dict[str, Any]:
        name = wanted["connectorName"]
        self._check_free(self.connectors, "connectorName", name)
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
        # The service adds unrequested fields.
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
        target = {key: wanted[key] for key in (*UPDATABLE, "connectorConfiguration") if key in wanted}
        default = "useDefaultWorkerConfiguration" in settings
        begun = self._begin(connector, kind, "UPDATE_IN_PROGRESS", target=target, default=default)
        connector["connectorState"] = "UPDATING"
        return {**begun, "connectorState": "UPDATING"}

    def _begin(self, connector: dict[str, Any], kind: str, state: str, **more: Any) -> dict[str, Any]:
        """Record an operation; return what its caller is told."""
        arn = self._arn("connector-operation", connector["connectorName"])
        told = {"connectorArn": connector["connectorArn"], "connectorOperationArn": arn}
        shown = {"connectorOperationState": state, "connectorOperationType": kind, "creationTime": self._now()}
        self.operations[arn] = {**told, **shown, **more}
        return told

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
        connector["connectorState"] = "RESTARTING"
        return self._begin(connector, "RESTART_CONNECTOR", "RESTART_COMPLETE")

    def _list_connector_operations(self, wanted: dict[str, Any]) -> dict[str, Any]:
        self._get(self.connectors, wanted["connectorArn"])
        hidden = ("connectorArn", "target", "default", "errorInfo")
        return {
            "connectorOperations": [
                {key: value for key, value in each.items() if key not in hidden}
                for each in self._listed(self.operations, "connector-operation")
                if each["connectorArn"] == wanted["connectorArn"]
            ]
        }

    def _describe_connector_operation(self, wanted: dict[str, Any]) -> dict[str, Any]:
        found = self._get(self.operations, wanted["connectorOperationArn"])
        return {key: value for key, value in found.items() if key not in ("target", "default")}
