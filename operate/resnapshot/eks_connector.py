"""The source connector on EKS, for a re-snapshot: Kafka Connect's REST API behind the cluster's API."""

import time
from collections.abc import Callable
from typing import Any
from urllib.parse import quote

from local.errors import PlatformError
from plugins.source import failures
from plugins.source.source_connector import following_slot, not_following_slot
from plugins.workers.kubernetes_api import Kubernetes, KubernetesError, UnreachableError
from stacks.connectors.manifests import NAMESPACE

LOOK_S = 2.0
# A worker that takes over a configuration or moves tasks answers that it is busy.
BUSY_S = 120.0


class EksConnector:
    """The connector of a name, which reads `slot`: it can be stopped, and reports why it failed.

    `newest`: the highest log position that is known to have been read.
    """

    def __init__(
        self, api: Kubernetes, name: str, *, slot: str, newest: int, pause: Callable[[float], None] = time.sleep
    ) -> None:
        self._api = api
        self._name = name
        self._newest = newest
        self._pause = pause
        self.slot = slot

    def newest_position(self) -> int:
        """Return the highest log position that is known to have been read."""
        return self._newest

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

    def follow_slot(self) -> None:
        """Run it with the slot as the authority."""
        self._configure(following_slot(self._configuration()))

    def restart(self) -> None:
        """Restart failed tasks, or resume what an interrupted run has stopped."""
        self._ask("PUT", "/resume")
        self._ask("POST", "/restart?includeTasks=true&onlyFailed=true")

    def settle(self) -> None:
        """Run it as deployed, also after an interrupted run."""
        self._configure(not_following_slot(self._configuration()))

    def _configuration(self) -> dict[str, str]:
        return dict(self._ask("GET", "/config"))

    def _configure(self, configuration: dict[str, str]) -> None:
        self._ask("PUT", "/config", configuration)
        self.restart()

    def _ask(self, method: str, path: str, body: Any = None) -> Any:
        """Send a request about the connector, and repeat it while the worker is busy. Raises PlatformError."""
        deadline = time.monotonic() + BUSY_S
        place = f"/connectors/{quote(self._name)}{path}"
        while True:
            try:
                return self._api.through_service(method, NAMESPACE, self._name, place, body)
            except UnreachableError as error:
                if time.monotonic() > deadline:
                    raise PlatformError(f"the connector {self._name} can't be asked: {error}") from None
            except KubernetesError as error:
                raise PlatformError(f"the connector {self._name}: {_explained(error)}") from None
            self._pause(LOOK_S)


def _explained(error: KubernetesError) -> str:
    if error.by_connect:
        return error.reason
    return f"the cluster refuses it ({error}): are you one of connectors.eks.administrators?"
