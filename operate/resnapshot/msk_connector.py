"""The source connector on MSK Connect, for a re-snapshot: controlled by updates of its configuration."""

import time
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from local.errors import PlatformError
from plugins.source.source_connector import following_slot, not_following_slot

if TYPE_CHECKING:
    from mypy_boto3_kafkaconnect import KafkaConnectClient

LOOK_S = 10.0
# An update restarts the workers: some minutes.
UPDATE_S = 1_800
SETTLED = ("RUNNING", "FAILED", "PAUSED")


class MskConnector:
    """The connector of an ARN, which reads `slot`. MSK Connect can't stop one; callers must take the slot from it.

    `newest`: the highest log position that is known to have been read.
    """

    def __init__(
        self,
        client: "KafkaConnectClient",
        arn: str,
        *,
        slot: str,
        newest: int,
        pause: Callable[[float], None] = time.sleep,
    ) -> None:
        self._client = client
        self._arn = arn
        self._newest = newest
        self._pause = pause
        self.slot = slot

    def newest_position(self) -> int:
        """Return the highest log position that is known to have been read."""
        return self._newest

    def failure(self) -> str | None:
        """Return that it has failed; its log says why. A single failed task doesn't show here."""
        if self._describe()["connectorState"] == "FAILED":
            return "the source connector is FAILED, why is in its log (docs/aws/alarms.md#connector-not-running)"
        return None

    def release(self) -> None:
        """Do nothing: MSK Connect can't stop a connector."""

    def follow_slot(self) -> None:
        """Run it with the slot as the authority; return once its workers have restarted."""
        self._update(following_slot(self._settled()["connectorConfiguration"]))

    def restart(self) -> None:
        """Restart its failed tasks."""
        self._settled()
        self._client.restart_connector(connectorArn=self._arn, onlyFailedTasks=True)
        self._settled()

    def settle(self) -> None:
        """Run it as configured, also after an interrupted run."""
        self._update(not_following_slot(self._settled()["connectorConfiguration"]))

    def _update(self, configuration: Mapping[str, str]) -> None:
        now = self._settled()
        if now["connectorConfiguration"] == configuration:
            # AWS would refuse an update that changes nothing.
            self._client.restart_connector(connectorArn=self._arn, onlyFailedTasks=True)
            self._settled()
            return
        operation = self._client.update_connector(
            connectorArn=self._arn, currentVersion=now["currentVersion"], connectorConfiguration=dict(configuration)
        )["connectorOperationArn"]
        self._settled()
        found = self._client.describe_connector_operation(connectorOperationArn=operation)
        if found["connectorOperationState"] != "UPDATE_COMPLETE":
            reason = found.get("errorInfo", {}).get("message", "no reason given")
            raise PlatformError(
                f"the update of the source connector ended in {found['connectorOperationState']}: {reason}"
                " (its log says more); run this again"
            )

    def _settled(self) -> Mapping[str, Any]:
        """Wait until nothing changes the connector."""
        deadline = time.monotonic() + UPDATE_S
        while (found := self._describe())["connectorState"] not in SETTLED:
            if time.monotonic() > deadline:
                raise PlatformError(
                    f"the source connector is {found['connectorState']} for {UPDATE_S / 60:.0f} minutes"
                )
            self._pause(LOOK_S)
        return found

    def _describe(self) -> Mapping[str, Any]:
        return self._client.describe_connector(connectorArn=self._arn)
