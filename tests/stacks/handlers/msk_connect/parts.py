"""MSK Connect's state in memory: resources by ARN and their time; and its plugins and worker configurations."""

import copy
import itertools
import json
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

from tests.stacks.handlers.stand_in import RefusalError, StandIn

ACCOUNT = "123456789012"


class State(StandIn):
    """Resources by ARN, and the time of their next events.

    `list_lag` is how long lists omit new resources and show deleted ones, in seconds; `ticks_needed` how many ticks an
    operation takes, and `creation_ticks` how many more a connector's creation does.
    """

    def __init__(self, clock: Callable[[], float]) -> None:
        super().__init__(clock)
        self.connectors: dict[str, dict[str, Any]] = {}
        self.plugins: dict[str, dict[str, Any]] = {}
        self.worker_configurations: dict[str, dict[str, Any]] = {}
        self.operations: dict[str, dict[str, Any]] = {}
        self.tags: dict[str, dict[str, str]] = {}
        self.list_lag = 0.0
        self.ticks_needed = 1
        self.creation_ticks = 0
        self._waited: dict[str, int] = {}
        self.born: dict[str, float] = {}
        self._gone: dict[str, tuple[float, dict[str, Any]]] = {}
        self._numbers = itertools.count(1)
        self._latest = 0.0

    def _is_due(self, arn: str) -> bool:
        self._waited[arn] = self._waited.get(arn, 0) + 1
        creating = self.connectors.get(arn, {}).get("connectorState") == "CREATING"
        if self._waited[arn] < (self.creation_ticks if creating else 0) + self.ticks_needed:
            return False
        del self._waited[arn]
        return True

    def _remove(self, kind: dict[str, dict[str, Any]], arn: str) -> None:
        self._gone[arn] = (self.clock(), kind.pop(arn))
        del self.tags[arn]

    def _listed(self, kind: dict[str, dict[str, Any]], what: str) -> list[dict[str, Any]]:
        """A list's contents: late, in both directions."""
        known_since = self.clock() - self.list_lag
        there = [each for arn, each in kind.items() if self.born.get(arn, 0.0) <= known_since]
        gone = [each for arn, (at, each) in self._gone.items() if f":{what}/" in arn and at > known_since]
        return there + gone

    def _get(self, kind: dict[str, Any], arn: str) -> Any:
        if arn not in kind:
            raise RefusalError("NotFoundException", "Stack not found.")
        return kind[arn]

    def _arn(self, kind: str, name: str) -> str:
        unique = f"00000000-0000-0000-0000-{next(self._numbers):012d}-4"
        arn = f"arn:aws:kafkaconnect:ap-southeast-2:{ACCOUNT}:{kind}/{name}/{unique}"
        self.born[arn] = self.clock()
        return arn

    def _check_free(self, kind: dict[str, dict[str, Any]], key: str, name: str) -> None:
        if any(each[key] == name for each in kind.values()):
            raise RefusalError("ConflictException", "A resource with this name already exists.")

    def _now(self) -> datetime:
        """The time, different at each call."""
        self._latest = max(self.clock(), self._latest + 0.001)
        return datetime.fromtimestamp(self._latest, tz=UTC)


class Parts(State):
    """The service's operations on plugins and worker configurations.

    `plugin_creations` script the last states of the next plugins' creations.
    """

    def __init__(self, clock: Callable[[], float]) -> None:
        super().__init__(clock)
        self.plugin_creations: list[str] = []

    def _end_plugins(self) -> None:
        for arn, plugin in list(self.plugins.items()):
            state = plugin["customPluginState"]
            if state not in ("DELETING", "CREATING") or not self._is_due(arn):
                continue
            if state == "DELETING":
                self._remove(self.plugins, arn)
                continue
            plugin["customPluginState"] = self.plugin_creations.pop(0) if self.plugin_creations else "ACTIVE"
            if plugin["customPluginState"] == "CREATE_FAILED":
                plugin["stateDescription"] = {"code": "InvalidZip", "message": "The ZIP file can't be read."}

    def _create_custom_plugin(self, wanted: dict[str, Any]) -> dict[str, Any]:
        self._check_free(self.plugins, "name", wanted["name"])
        arn = self._arn("custom-plugin", wanted["name"])
        self.tags[arn] = wanted.get("tags", {})
        shown = {"name": wanted["name"], "customPluginArn": arn, "customPluginState": "CREATING"}
        revision = {key: wanted[key] for key in ("contentType", "location")}
        revision |= {"revision": 1, "creationTime": self._now()}
        self.plugins[arn] = {**shown, "creationTime": self._now(), "latestRevision": revision}
        return {**shown, "revision": 1}

    def _describe_custom_plugin(self, wanted: dict[str, Any]) -> dict[str, Any]:
        return dict(self._get(self.plugins, wanted["customPluginArn"]))

    def _list_custom_plugins(self, wanted: dict[str, Any]) -> dict[str, Any]:
        listed, prefix = self._listed(self.plugins, "custom-plugin"), wanted.get("namePrefix", "")
        named = [each for each in listed if each["name"].startswith(prefix)]
        return {"customPlugins": [{k: v for k, v in each.items() if k != "stateDescription"} for each in named]}

    def _delete_custom_plugin(self, wanted: dict[str, Any]) -> dict[str, Any]:
        arn = wanted["customPluginArn"]
        plugin = self._get(self.plugins, arn)
        if plugin["customPluginState"] in ("CREATING", "DELETING"):
            raise RefusalError("BadRequestException", f"The plugin is {plugin['customPluginState']}.")
        if any(arn in json.dumps(each, default=str) for each in self.connectors.values()):
            raise RefusalError("BadRequestException", "The resource is in use.")
        plugin["customPluginState"] = "DELETING"
        return {"customPluginArn": arn, "customPluginState": "DELETING"}

    def _create_worker_configuration(self, wanted: dict[str, Any]) -> dict[str, Any]:
        self._check_free(self.worker_configurations, "name", wanted["name"])
        arn = self._arn("worker-configuration", wanted["name"])
        shown = {"name": wanted["name"], "workerConfigurationArn": arn, "creationTime": self._now()}
        shown["latestRevision"] = {"revision": 1, "creationTime": self._now()}
        self.worker_configurations[arn] = {**shown, "content": wanted["propertiesFileContent"]}
        return shown

    def _describe_worker_configuration(self, wanted: dict[str, Any]) -> dict[str, Any]:
        found: dict[str, Any] = copy.deepcopy(self._get(self.worker_configurations, wanted["workerConfigurationArn"]))
        found["latestRevision"]["propertiesFileContent"] = found.pop("content")
        return found
