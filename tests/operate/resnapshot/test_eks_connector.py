"""How a re-snapshot controls a source connector on EKS; with real workers: tests/stacks/connectors/test_workers.py."""

import copy
from typing import Any

import pytest

from local.errors import PlatformError
from operate.resnapshot.connectors import BUSY_S, EksConnector
from plugins.source.source_connector import following_slot
from plugins.workers.kubernetes_api import KubernetesError, UnreachableError

NAME = "dev-cdc-lake-orders-source"
DEPLOYED = {"name": NAME, "slot.name": "cdc_orders"}


class Rest:
    """Connect's REST API behind the API server's proxy: its state, and the requests; `errors` come first."""

    def __init__(self) -> None:
        self.configuration = dict(DEPLOYED)
        self.state = "RUNNING"
        self.task: dict[str, Any] = {"state": "RUNNING"}
        self.asked: list[str] = []
        self.errors: list[Exception] = []

    def through_service(self, method: str, namespace: str, name: str, path: str, body: Any = None) -> Any:
        assert (namespace, name) == ("kafka-connect", NAME)
        if self.errors:
            raise self.errors.pop(0)
        what = path.removeprefix(f"/connectors/{NAME}")
        self.asked += [f"{method} {what}"] if method != "GET" else []
        if what == "/stop":
            self.state = "STOPPED"
        elif what == "/resume":
            self.state = "RUNNING"
        elif method == "PUT":
            self.configuration = dict(body)
        elif what == "/config":
            return copy.copy(self.configuration)
        elif what == "/status":
            return {"connector": {"state": self.state}, "tasks": [self.task]}
        return None


@pytest.fixture
def rest() -> Rest:
    return Rest()


@pytest.fixture
def connector(rest: Rest, monkeypatch: pytest.MonkeyPatch) -> EksConnector:
    clock = iter(range(0, 10_000, 10))
    monkeypatch.setattr("operate.resnapshot.connectors.time.monotonic", lambda: next(clock))
    return EksConnector(rest, NAME, slot="cdc_orders", newest=7, pause=lambda _seconds: None)  # type: ignore[arg-type]


def test_it_lets_go_of_its_slot_and_the_slot_is_the_authority_for_the_time_of_the_repair_only(
    rest: Rest, connector: EksConnector
) -> None:
    connector.release()
    assert rest.state == "STOPPED"
    connector.follow_slot()
    assert (rest.state, rest.configuration) == ("RUNNING", following_slot(DEPLOYED))
    connector.settle()
    assert (rest.state, rest.configuration) == ("RUNNING", DEPLOYED)
    assert connector.newest_position() == 7


def test_what_a_run_that_was_broken_off_has_stopped_runs_again(rest: Rest, connector: EksConnector) -> None:
    connector.release()
    connector.restart()
    assert rest.state == "RUNNING"
    assert rest.asked == ["PUT /stop", "PUT /resume", "POST /restart?includeTasks=true&onlyFailed=true"]


def test_a_failed_task_says_why(rest: Rest, connector: EksConnector) -> None:
    assert connector.failure() is None
    rest.task = {"state": "FAILED", "trace": 'org.x.Y: publication "cdc_orders" does not exist'}
    assert "the publication is gone" in str(connector.failure())


def test_workers_that_cannot_answer_now_are_asked_again_but_not_for_ever(rest: Rest, connector: EksConnector) -> None:
    rest.errors = [UnreachableError("a rebalance is under way")] * 3
    connector.release()
    assert rest.state == "STOPPED"
    rest.errors = [UnreachableError("x.eks can't be reached: timed out")] * int(BUSY_S)
    with pytest.raises(PlatformError, match=f"{NAME} can't be asked: x.eks can't be reached: timed out"):
        connector.settle()


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (KubernetesError("GET /x", 403, "forbidden"), "one of connectors.eks.administrators?"),
        (KubernetesError("GET /x", 404, "Connector not found", by_connect=True), f"{NAME}: Connector not found"),
    ],
)
def test_what_is_refused_is_one_line_with_the_reason(
    rest: Rest, connector: EksConnector, error: KubernetesError, said: str
) -> None:
    rest.errors = [error]
    with pytest.raises(PlatformError) as caught:
        connector.failure()
    assert said in str(caught.value)
    assert "\n" not in str(caught.value)
