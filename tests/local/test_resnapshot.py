"""What a re-snapshot refuses before it changes anything, and how it controls the local connector."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from local.comparison.describe import Compared
from local.comparison.run import Sides
from local.errors import PlatformError
from local.look.lake import Lake
from local.look.topic import RawEvent
from local.resnapshot.changed_tables import LocalConnector
from local.resnapshot.run import Wanted, resnapshot
from local.services.connect_api import ConnectApi, RequestError
from settings.load import load_pipeline


class Api:
    """The worker's REST interface, which records requests."""

    def __init__(self) -> None:
        self.asked: list[tuple[str, Any]] = []

    def put_connector(self, _name: str, config: dict[str, str]) -> None:
        self.asked.append(("configure", config.get("offset.mismatch.strategy")))

    def resume(self, _name: str) -> None:
        self.asked.append(("resume", None))

    def stop(self, _name: str) -> None:
        self.asked.append(("stop", None))

    def restart_failed(self, _name: str) -> None:
        self.asked.append(("restart", None))

    def stored_offsets(self, _name: str) -> list[dict[str, Any]]:
        return [{"lsn": 70, "lsn_proc": 70}]


class Tail:
    """A topic whose last events are a change and a delete."""

    def bounds(self) -> tuple[int, int]:
        return 0, 2

    def raw_events(self, _start: int) -> list[RawEvent]:
        values = [{"__lsn": 50}, {"__lsn": 90}]
        return [RawEvent(offset=at, key=b"{}", value=json.dumps(value).encode()) for at, value in enumerate(values)]


def connector(api: Api) -> LocalConnector:
    return LocalConnector(
        api=api,  # type: ignore[arg-type]
        topics=[Tail()],  # type: ignore[list-item]
        name="orders-source",
        slot="cdc_orders",
        configuration={"a": "b"},
    )


def test_the_slot_is_trusted_for_the_time_of_the_repair_only() -> None:
    api = Api()
    source = connector(api)
    source.release()
    source.follow_slot()
    source.settle()
    assert api.asked == [
        ("stop", None),
        ("configure", "trust_slot"),
        ("resume", None),
        ("restart", None),
        ("configure", None),
        ("resume", None),
    ]


def test_the_newest_position_counts_events_that_left_no_row() -> None:
    assert connector(Api()).newest_position() == 90


def test_what_is_passed_over_may_concern_any_row() -> None:
    [entry] = load_pipeline("orders").tables
    outbox = Compared(entry=entry, schema_file=Path("none"), lake=Lake(base_uri="nowhere"))
    with pytest.raises(PlatformError, match="leave --table and --where out"):
        resnapshot(Sides({}, [outbox]), connector(Api()), Wanted(where="TRUE", skip=True), lambda _line: None)


def test_what_to_run_names_the_pipeline_whose_connector_has_failed(monkeypatch: pytest.MonkeyPatch) -> None:
    trace = "DebeziumException: … but this is no longer available on the server"
    status = {"connector": {"state": "RUNNING"}, "tasks": [{"state": "FAILED", "trace": trace}]}

    def request(_self: ConnectApi, _method: str, path: str) -> dict[str, Any]:
        return status if path.endswith("/status") else {"table.include.list": "shop\\.items"}

    monkeypatch.setattr(ConnectApi, "_request", request)
    assert str(ConnectApi("http://127.0.0.1:1").failure("my-shop-source")).endswith(
        "run `./lake resnapshot -p my-shop`"
    )


@pytest.mark.parametrize("ask", [ConnectApi.stop, ConnectApi.resume, ConnectApi.restart_failed])
def test_a_worker_that_takes_over_a_configuration_is_asked_again(
    ask: Callable[[ConnectApi, str], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    answers: list[Exception | None] = [RequestError("stale configuration", 409), None]

    def request(_self: ConnectApi, _method: str, _path: str) -> None:
        if error := answers.pop(0):
            raise error

    monkeypatch.setattr(ConnectApi, "_request", request)
    ask(ConnectApi("http://127.0.0.1:1"), "orders-source")
    assert answers == []
