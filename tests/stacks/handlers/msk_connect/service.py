"""MSK Connect in memory: moto has no kafkaconnect.

The rules in the documentation of botocore's model are here too: one kind of change per update, the current version,
health checks and paused connectors. It is our assumption that neither a part in use nor a connector in a transitional
state can be deleted.
"""

from typing import Any

from tests.stacks.handlers.msk_connect.connectors import Connectors
from tests.stacks.handlers.msk_connect.parts import Parts


class KafkaConnect(Connectors, Parts):
    """The service: its resources, the calls, and scripted faults."""

    services = ("kafkaconnect",)
    throttling = "TooManyRequestsException"

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
