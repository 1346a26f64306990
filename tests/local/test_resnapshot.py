"""Tables and rows that are read again, without the services."""

import io
import json
from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from typing import Any, cast
from unittest.mock import MagicMock, Mock

import pytest
from typer.testing import CliRunner

from cli.__main__ import app
from contract import events
from contract.errors import CANNOT
from db.source.signals import Reading
from local.errors import PlatformError
from local.look.topic import RawEvent
from local.resnapshot import changed_tables, log_tables
from local.resnapshot.changed_tables import ChangedTables, LocalConnector
from local.resnapshot.log_tables import as_event, delete_event, is_read, settled_event
from local.resnapshot.recreated_topic import FormerTopics
from local.services.connect_api import ConnectApi, RequestError
from local.sink.settings import PASSED_OVER, Held, read_held, write_held
from plugins.connector_settings import SourceSettings
from plugins.source.captured import CapturedTable
from plugins.source.source_connector import source_connector


@pytest.fixture
def api() -> Mock:
    """The worker's REST interface, which records requests."""
    return Mock(**{"stored_offsets.return_value": [{"lsn": 70, "lsn_proc": 70}]})


def connector(api: Mock, *topics: Any) -> LocalConnector:
    return LocalConnector(api=api, topics=topics, name="orders-source", slot="cdc_orders", configuration={"a": "b"})


def test_the_slot_is_trusted_for_the_time_of_the_repair_only(api: Mock) -> None:
    source = connector(api)
    source.release()
    source.follow_slot()
    source.settle()
    asked = ["stop", "put_connector", "resume", "restart_failed", "put_connector", "resume"]
    assert [name for name, *_ in api.method_calls] == asked
    configured = [call.args[1].get("offset.mismatch.strategy") for call in api.put_connector.mock_calls]
    assert configured == ["trust_slot", None]


def test_the_newest_position_counts_events_that_left_no_row(api: Mock) -> None:
    """A topic's last events are a change and a delete."""
    values = [{"__lsn": 50}, {"__lsn": 90}]
    tail = [RawEvent(offset=at, key=b"{}", value=json.dumps(value).encode()) for at, value in enumerate(values)]
    topic = Mock(**{"bounds.return_value": (0, 2), "raw_events.return_value": tail})
    assert connector(api, topic).newest_position() == 90


@pytest.mark.parametrize(("running", "asked"), [({"a": "b"}, []), ({}, ["put_connector"])])
def test_a_connector_that_is_lost_with_kafkas_data_is_made_again(
    api: Mock, running: dict[str, str], asked: list[str]
) -> None:
    api.configuration.return_value = running
    connector(api).restart()
    assert [name for name, *_ in api.method_calls] == ["configuration", *asked, "resume", "restart_failed"]


@pytest.mark.parametrize("options", [["--where", "TRUE"], ["-t", "rental"], ["-e", "dev", "-t", "people"]])
def test_what_is_passed_over_may_concern_any_row(options: list[str]) -> None:
    run = CliRunner().invoke(app, ["resnapshot", "--skip", *options])
    line = "resnapshot: changes were missed, and it is unknown of which rows: leave --table and --where out\n"
    assert (run.exit_code, run.output) == (CANNOT, line)


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
def test_a_worker_that_takes_over_a_configuration_is_asked_again_and_may_know_no_connector(
    ask: Callable[[ConnectApi, str], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    request = Mock(side_effect=[RequestError("stale configuration", 409), RequestError("Unknown connector", 404)])
    monkeypatch.setattr(ConnectApi, "_request", request)
    ask(ConnectApi("http://127.0.0.1:1"), "orders-source")
    assert request.call_count == 2


def test_a_record_that_was_passed_over_in_a_former_topic_is_another_in_the_new_one(tmp_path: Path) -> None:
    held = [Held(topic=name, partition=0, offset=5, reason="the value isn't JSON") for name in ("shop.a", "shop.b")]
    write_held(tmp_path / PASSED_OVER, held)
    client = MagicMock(**{"get_object.side_effect": lambda **_: {"Body": io.BytesIO(b'{"topic_id": "1"}')}})
    kafka = Mock(**{"topic_ids.return_value": {"shop.a": "2"}, "committed_offsets.return_value": {"shop.a": None}})
    s3, topic = Mock(**{"client.return_value": client}), Mock(**{"ends.return_value": {"shop.a": 0}})
    names = {"sink": "shop-sink", "way_out": ""}
    FormerTopics(kafka=kafka, s3=s3, topics=[topic], planned=[], folder=tmp_path, **names).set_aside()
    assert read_held(tmp_path / PASSED_OVER) == held[1:]


# PostgreSQL's timestamp, which has no zone.
DAY_TWO = 86_400_000_000
INFINITY = next(iter(events.INFINITE_MICROS))
ZONED = {"type": "string", "connect.name": "io.debezium.time.ZonedTimestamp"}
RUNNING = {"incremental_snapshot_collections": "[…]", "lsn": 200}


@pytest.mark.parametrize(
    ("value", "avro", "expected"),
    [
        (7, "int", 7),
        ("Zürich", ["null", "string"], "Zürich"),
        (b"\x00\xff", "bytes", "AP8="),
        ("1.2.3", {"type": "string", "connect.name": events.TEXT_AS_BYTES}, "MS4yLjM="),
        (True, "boolean", True),
        (20_779, {"type": "int", "logicalType": "date"}, 20_779),
        (Decimal("1.50"), {"type": "bytes", "logicalType": "decimal", "precision": 4, "scale": 2}, "1.50"),
        (Decimal("0E-18"), {"type": "string", "logicalType": "decimal", "precision": 38, "scale": 18}, f"0.{'0' * 18}"),
        (DAY_TWO, {"type": "long", "connect.name": "io.debezium.time.MicroTimestamp"}, 86_400_000_000),
        (DAY_TWO, {"type": "long", "connect.name": "io.debezium.time.Timestamp"}, 86_400_000),
        (INFINITY, {"type": "long", "connect.name": "io.debezium.time.Timestamp"}, INFINITY),
        ("12:34:56.500001", {"type": "long", "connect.name": "io.debezium.time.MicroTime"}, 45_296_500_001),
        ("24:00:00", {"type": "int", "connect.name": "io.debezium.time.Time"}, 86_400_000),
        (1_795_309_323_000_004, ZONED, "2026-11-22T01:02:03.000004Z"),
        (INFINITY, ZONED, "infinity"),
        (-1, ZONED, "1969-12-31T23:59:59.999999Z"),
        # As PostgreSQL has them: 10000-01-01, 0001-01-01 BC and 0044-03-15 BC.
        (253_402_300_800_000_000, ZONED, "+10000-01-01T00:00:00Z"),
        (-62_167_219_200_000_000, ZONED, "0000-01-01T00:00:00Z"),
        (-63_517_824_000_000_000, ZONED, "-0043-03-15T00:00:00Z"),
    ],
)
def test_a_keys_value_is_written_as_debezium_writes_it(value: Any, avro: Any, expected: Any) -> None:
    assert as_event(value, avro) == expected


@pytest.mark.parametrize("value", [None, "101", [1], {"a": 1}])
def test_a_key_that_cant_be_told_is_refused(value: Any) -> None:
    with pytest.raises(PlatformError, match="can't be written as an event"):
        as_event(value, {"type": "bytes", "connect.name": "io.debezium.data.Bits"})


def test_a_delete_says_nothing_but_the_key_and_what_settles_a_truncate_is_of_no_row() -> None:
    delete, settled = delete_event(("public", "a"), "devdb", {"id": 7}, 99), settled_event(("public", "a"), "devdb", 99)
    for event, operation in ((delete, events.DELETE), (settled, events.SETTLED)):
        assert (event[events.OPERATION], event[events.LSN], event[events.TABLE]) == (operation, 99, "a")
    assert (delete["id"], delete[events.DELETED]) == (7, events.IS_DELETED)
    assert set(delete) == {"id", *events.ADDED_TYPES}
    assert set(settled) == events.ADDED_TYPES.keys() - {events.DELETED}


@pytest.mark.parametrize(
    ("offsets", "done"),
    [([], False), ([{"lsn": 100}], False), ([RUNNING], False), ([{"lsn": 101}], True), ([{"lsn": None}], False)],
)
def test_a_snapshot_is_over_once_the_offset_is_behind_the_request_and_names_none(
    offsets: Sequence[Mapping[str, Any]], done: bool
) -> None:
    assert is_read(offsets, 100) is done


def test_heartbeats_arent_progress_of_a_snapshot() -> None:
    assert log_tables._reached([RUNNING]) == log_tables._reached([RUNNING | {"lsn": 300}])
    assert log_tables._reached([RUNNING]) != log_tables._reached([RUNNING | {"incremental_snapshot_primary_key": "b"}])


A, B = (CapturedTable(schema="public", table=name) for name in "ab")
EVENTS = CapturedTable(schema="public", table="events", append_only=True)
ODD = CapturedTable(schema="public", table="Order Items")
CONNECTOR = SourceSettings(
    database_hostname="db",
    database_password="${file:/run/secret:password}",
    topic_prefix="shop",
    tables=(A, B),
    signal_table="cdc_shop.signal",
)


class Change:
    """A change of tables of a connector whose worker this stands in for; it records what is read, or fails at it."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.noted = folder / "to-read.json"
        self.read: list[str] = []
        self.running: dict[str, str] = {}
        self.session: int | None = 1
        self.failing = False
        monkeypatch.setattr(changed_tables, "committing", lambda _parameters: nullcontext())
        monkeypatch.setattr(changed_tables, "check_readable", lambda *_: None)
        monkeypatch.setattr(ChangedTables, "_session", lambda *_: self.session)
        monkeypatch.setattr(changed_tables, "read_again", self._read)

    def stop(self, _name: str) -> None:
        self.session = None

    def resume(self, _name: str) -> None:
        self.session = 2

    def configuration(self, _name: str) -> dict[str, str]:
        return self.running

    def put_connector(self, _name: str, configuration: Mapping[str, str]) -> None:
        self.running = dict(configuration)

    def _read(self, _cursor: Any, _settings: SourceSettings, readings: list[Reading], *_: Any, **__: Any) -> None:
        if self.failing:
            raise PlatformError("the connector has failed during the snapshot")
        self.read += [reading.shown for reading in readings]

    def bring(
        self,
        running: Mapping[str, str],
        *tables: CapturedTable,
        loaded: Sequence[str] = (),
        session: int | None = 1,
    ) -> str | None:
        self.running, self.session = dict(running), session
        wanted = replace(CONNECTOR, tables=tables)
        connector = LocalConnector(
            api=cast(Any, self), topics=[], name="shop", slot="cdc_shop", configuration=source_connector(wanted)
        )
        return ChangedTables(connector=connector, settings=wanted, to_read=self.noted, loaded=loaded).bring({})


@pytest.fixture
def change(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Change:
    return Change(tmp_path, monkeypatch)


def test_the_first_start_and_the_same_tables_are_no_change(change: Change) -> None:
    assert change.bring({}, A, B) is None
    assert change.bring(source_connector(CONNECTOR), A, B) is None
    assert change.read == []


def test_a_table_is_read_by_the_next_start_when_this_one_ended_before(change: Change) -> None:
    change.failing = True
    with pytest.raises(PlatformError):
        change.bring(source_connector(replace(CONNECTOR, tables=(A,))), A, B)
    assert json.loads(change.noted.read_text()) == ["public.b"]
    change.failing = False
    assert change.bring(change.running, A, B) == "added and read: public.b"
    assert change.read == ["public.b"]
    assert change.bring(change.running, A, B) is None


@pytest.mark.parametrize("running", [(A,), (A, B)])
def test_a_connector_that_a_killed_change_has_left_stopped_starts_again(
    running: tuple[CapturedTable, ...], change: Change, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(changed_tables, "TIMEOUT_S", 0.5)
    change.bring(source_connector(replace(CONNECTOR, tables=running)), A, B, session=None)
    assert (change.session, change.read) == (2, [] if B in running else ["public.b"])


def test_a_connector_runs_again_when_its_change_fails(change: Change, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Change, "put_connector", Mock(side_effect=PlatformError("the database is gone")))
    with pytest.raises(PlatformError):
        change.bring(source_connector(CONNECTOR), A)
    assert change.session == 2


def test_a_table_whose_rows_the_job_reads_is_captured_alone(change: Change) -> None:
    running = source_connector(replace(CONNECTOR, tables=(A,)))
    assert change.bring(running, A, B, loaded=["public.b"]) == "added, and the job reads them: public.b"
    assert change.read == []
    assert B.pattern in change.running["table.include.list"]


def test_a_table_that_leaves_is_said(change: Change) -> None:
    """Even if the connector fails: the only wait is for the slot's release."""
    change.failing = True
    said = change.bring(source_connector(CONNECTOR), A)
    assert said == "no longer captured, topic and lake table stay: public.b"
    assert (change.read, change.session) == ([], 2)
    assert B.pattern not in change.running["table.include.list"]


@pytest.mark.parametrize(
    ("table", "said"),
    [(ODD, "added and read"), (EVENTS, "added, but their rows can't be read (docs/your-database/repair.md)")],
)
def test_any_table_is_captured_and_what_cant_be_read_is_said(table: CapturedTable, said: str, change: Change) -> None:
    """A name with any characters is read; where every event is a row, no row that was read can be one."""
    assert change.bring(source_connector(CONNECTOR), A, B, table) == f"{said}: {table.name}"
    assert change.read == ([table.name] if table is ODD else [])
    assert table.pattern in change.running["table.include.list"]
