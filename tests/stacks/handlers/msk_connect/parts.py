"""Parts of MSK Connect's connectors, in memory: custom plugins and worker configurations."""

import copy
import json
from collections.abc import Callable
from typing import Any

from tests.stacks.handlers.msk_connect.state import RefusalError, State


class Parts(State):
    """The service's operations on plugins and worker configurations.

    `plugin_creations` script the last states of the next plugins' creations.
    """

    def __init__(self, clock: Callable[[], float]) -> None:
        super().__init__(clock)
        self.plugin_creations: list[str] = []

    def _end_plugins(self) -> None:
        for arn, plugin in list(self.plugins.items()):
            self._end_plugin(arn, plugin)

    def _end_plugin(self, arn: str, plugin: dict[str, Any]) -> None:
        if plugin["customPluginState"] not in ("DELETING", "CREATING") or not self._is_due(arn):
            return
        if plugin["customPluginState"] == "DELETING":
            self._remove(self.plugins, arn)
        elif plugin["customPluginState"] == "CREATING":
            plugin["customPluginState"] = self.plugin_creations.pop(0) if self.plugin_creations else "ACTIVE"
            if plugin["customPluginState"] == "CREATE_FAILED":
                plugin["stateDescription"] = {"code": "InvalidZip", "message": "The ZIP file can't be read."}

    def _end_worker_configurations(self) -> None:
        for arn, worker in list(self.worker_configurations.items()):
            if worker["workerConfigurationState"] == "DELETING" and self._is_due(arn):
                self._remove(self.worker_configurations, arn)

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

    def _check_free(self, kind: dict[str, dict[str, Any]], name: str) -> None:
        if any(each["name"] == name for each in kind.values()):
            raise RefusalError("ConflictException", "A resource with this name already exists.")

    def _check_unused(self, arn: str) -> None:
        if any(arn in json.dumps(each, default=str) for each in self.connectors.values()):
            raise RefusalError("BadRequestException", "The resource is in use.")

    def _starting_with(self, listed: list[dict[str, Any]], wanted: dict[str, Any]) -> list[dict[str, Any]]:
        return [each for each in listed if each["name"].startswith(wanted.get("namePrefix", ""))]
