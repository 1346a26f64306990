"""One platform for all tests here, without the streaming job (tests/e2e has it): the tests run in their order."""

import json
import os
import re
import secrets
import signal
import socket
import stat
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from http.client import HTTPConnection
from pathlib import Path

import psutil
import psycopg2
import pytest
from confluent_kafka.admin import AdminClient
from psycopg2 import sql
from typer.testing import CliRunner, Result

from cli.__main__ import app
from contract.errors import CANNOT
from contract.events import ADDED_TYPES, DELETED, LSN, OPERATION, TABLE, TRUNCATE
from contract.sizes import LARGEST_EVENT_BYTES
from db.connecting import LoadError
from db.source.replication import drop_slot
from db.source.signals import Reading
from local.errors import PlatformError
from local.platform.connectors import Connectors
from local.platform.platform import Platform
from local.platform.record import PlatformOptions, passwords
from local.platform.services import GLUE_DATABASE, LANDING_BUCKET
from local.platform.startup import SUPERVISOR, StepState
from local.platform.supervisor import read_restarts
from local.resnapshot.changed_tables import changes
from local.resnapshot.run import Wanted
from local.services.aws import loopback_client
from local.services.kafka import ADMIN
from local.services.kafka_rights import ROLES, SINK
from local.setup.ports import HOST
from local.state.collect import Collector
from tests import cases
from tests.conftest import execute
from tests.e2e.faults import kill
from tests.local.platform.shop import ITEMS, ODD, PLACES, Shop, shop
from tests.waiting import PATIENCE_S, wait_until

pytestmark = [pytest.mark.integration, pytest.mark.timeout(600)]

ROOT = Path(__file__).resolve().parents[3]
EVENTS = ROOT / "tests" / "events"
ORDERS = 829
STOP_S = 10
SERVICES = {"postgres", "kafka", "connect", "s3", "moto", "sink"}
OPTIONS = PlatformOptions(job=False)
SUPERVISED = PlatformOptions(job=False, supervised=True)
# The landed objects, by key: they never change.
BODIES: dict[str, bytes] = {}


@pytest.fixture(scope="module")
def platform(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Platform]:
    result = Platform(tmp_path_factory.mktemp("platform") / "state", OPTIONS)
    try:
        result.up()
        yield result
    finally:
        result.remove()


def pids(platform: Platform) -> dict[str, int | None]:
    return {name: platform.pid(name) for name in SERVICES}


def ship(platform: Platform, order: int) -> None:
    """Change an order; the outbox gets one event."""
    execute(platform.source, f"UPDATE datalake.orders SET shipped_date = now() WHERE order_id = {order}")


def tries(platform: Platform, name: str) -> int:
    entry = read_restarts(platform.restarts_file).get(name)
    return entry.tries if entry else 0


def problems(platform: Platform) -> list[str]:
    return [str(problem) for problem in Collector(platform).look().problems]


def line_about(platform: Platform, beginning: str) -> str | None:
    """The line of `status` with this beginning."""
    return next((line for line in problems(platform) if line.startswith(beginning)), None)


def landed(platform: Platform) -> list[dict[str, object]]:
    client = platform.services.s3.client()
    objects = client.list_objects_v2(Bucket=LANDING_BUCKET, Prefix="cdc-events/")["Contents"]
    # S3Proxy also lists unfinished objects (docs/decisions/0035).
    keys = [entry["Key"] for entry in objects if entry["Key"].endswith(".json")]
    for key in set(keys) - BODIES.keys():
        BODIES[key] = client.get_object(Bucket=LANDING_BUCKET, Key=key)["Body"].read()
    return [json.loads(line) for key in keys for line in BODIES[key].splitlines()]


def landed_changes(platform: Platform) -> list[object]:
    """The orders whose events have landed since the snapshot; object names sort by offset."""
    return [event["order_id"] for event in landed(platform)[ORDERS:]]


def wait_until_landed(platform: Platform, order: int) -> None:
    wait_until(lambda: order in landed_changes(platform), every_s=0.2)


def test_up_returns_when_the_snapshot_has_landed(platform: Platform) -> None:
    assert platform.running() == SERVICES
    assert platform.topic.count() == ORDERS
    assert len({event["order_id"] for event in landed(platform)}) == ORDERS


def test_the_captured_events_are_what_debezium_sends_today(platform: Platform) -> None:
    captured = [json.loads(line) for line in (EVENTS / "snapshot.jsonl").read_text().splitlines()]
    sent = {event.value["order_id"]: event.value for event in platform.topic.events(0) if event.value}
    assert len(captured) == 3
    for event in captured:
        now = sent[event["order_id"]]
        assert list(now) == list(event)
        assert {name for name in now if now[name] != event[name]} <= {"updated_at", "__lsn", "__source_ts_ms"}


def test_status_shows_every_service_and_the_datas_progress(platform: Platform) -> None:
    status = Collector(platform).look()
    assert {service.name for service in status.services} == SERVICES
    assert all(service.running and service.pid and service.rss_bytes for service in status.services)
    assert status.problems == ()
    [table] = status.data.tables
    assert (status.data.outbox_rows, table.topic_end, table.sink_offset) == (ORDERS, ORDERS, ORDERS)
    assert status.data.landing_objects
    assert table.lake_rows is None


def test_moto_which_all_can_ask_holds_the_database_but_no_secret_and_answers_no_web_page(platform: Platform) -> None:
    aws = platform.services.aws
    assert [entry["Name"] for entry in aws.glue().get_databases()["DatabaseList"]] == [GLUE_DATABASE]
    assert loopback_client("secretsmanager", aws.endpoint).list_secrets()["SecretList"] == []
    with closing(HTTPConnection(HOST, platform.services.ports["moto"])) as connection:
        connection.request("GET", "/moto-api/data.json", headers={"Origin": "https://page.example"})
        assert "Access-Control-Allow-Origin" not in connection.getresponse().headers


def test_everything_listens_on_loopback_only(platform: Platform) -> None:
    connections = [each for pid in pids(platform).values() if pid for each in psutil.Process(pid).net_connections()]
    listening = [each.laddr.ip for each in connections if each.status == psutil.CONN_LISTEN]
    assert len(listening) >= len(platform.services.ports)
    assert {address.removeprefix("::ffff:") for address in listening} == {"127.0.0.1"}


def test_no_password_is_in_a_process_list_a_log_or_connects_answers(platform: Platform) -> None:
    secret = passwords(platform.state_dir / "secrets")
    shown = [" ".join(psutil.Process(pid).cmdline()) for pid in pids(platform).values() if pid]
    shown += [path.read_text(errors="replace") for path in platform.processes.logs.iterdir()]
    connect = platform.services.connect.api
    shown.append(json.dumps(connect._request("GET", "/connectors?expand=info")))
    folder = platform.state_dir
    shown += [folder.joinpath("connect", "worker.properties").read_text()]
    # Those that we write for the services, without their own files.
    ours = [*(folder / "secrets").rglob("*"), *(folder / "connect" / "secrets").iterdir(), *folder.glob("*/*.*")]
    kafka = platform.services.kafka.users.passwords
    assert {"admin", "broker", *ROLES} == set(kafka)
    for password in (secret.superuser, secret.connector, *kafka.values()):
        assert not [text for text in shown if password in text]
        holders = {path for path in ours if path.is_file() and password in path.read_text(errors="replace")}
        assert {stat.S_IMODE(path.stat().st_mode) for path in holders} == {0o600}, holders


def test_a_second_command_at_once_is_refused_with_one_line(platform: Platform, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("cli.prepare.jars", lambda: None)  # it hashes 400 MB
    with platform.lock.held():
        for command in ("up", "down"):
            done = run_cli(command, platform.state_dir)
            assert done.exit_code == CANNOT
            expected = f"{command}: another command (pid {os.getpid()}) is at work on {platform.state_dir}"
            assert done.stderr.splitlines() == [f"{expected}: wait for it or stop it"]
    assert platform.running() == SERVICES


def test_a_connector_that_the_worker_refuses_says_why(platform: Platform) -> None:
    api = platform.services.connect.api
    with pytest.raises(PlatformError, match=r"Connect refuses PUT /connectors/broken/config: .*no\.such\.Connector"):
        api.put_connector("broken", {"connector.class": "no.such.Connector"})
    assert api.failure("broken") is None
    api.delete_connector("broken")  # it may be gone already


def test_the_largest_event_that_may_be_lands(platform: Platform) -> None:
    # Random letters, which don't compress; the rest of the row fits into what is left.
    note = secrets.token_urlsafe((LARGEST_EVENT_BYTES - 4096) * 3 // 4)
    execute(platform.source, f"UPDATE datalake.outbox_settings SET max_event_bytes = {LARGEST_EVENT_BYTES}")
    insert = sql.SQL("INSERT INTO datalake.cdc_events (order_id, order_items) VALUES (-1, {})")
    execute(platform.source, insert.format(sql.Literal(json.dumps([{"note": note}]))))
    try:
        wait_until_landed(platform, -1)
    finally:
        execute(platform.source, "DELETE FROM datalake.cdc_events WHERE order_id = -1")
    [event] = [event for event in landed(platform) if event["order_id"] == -1 and event["__op"] == "c"]
    assert json.loads(str(event["order_items"])) == [{"note": note}]
    assert platform.services.connect.api.failure("orders-source") is None
    wait_until(lambda: landed_changes(platform).count(-1) == 2, every_s=0.2)


@pytest.fixture(scope="class")
def captured(platform: Platform) -> Iterator[Shop]:
    """Ordinary tables with a connector of their own."""
    with shop(platform) as captured:
        yield captured


class TestOrdinaryTables:
    """Tables with a connector of their own: these tests run in order, and the tables are gone before the next ones."""

    def test_a_table_is_read_again_while_a_transaction_that_changes_it_is_open(self, captured: Shop) -> None:
        before = captured.count(ITEMS)
        with closing(psycopg2.connect(**captured.source)) as writer, writer.cursor() as cursor:
            cursor.execute("UPDATE shop.\"OrderItems\" SET note = 'open then' WHERE id = 7")
            reading, began_ms = Reading(table=(ITEMS.schema, ITEMS.table)), time.time_ns() // 1_000_000
            captured.read_again(reading)
            rows = captured.events(ITEMS, before)
            assert [row["id"] for row in rows] == list(range(1, 1_501))
            assert {(row["__op"], row["__lsn"], row["note"]) for row in rows} == {("r", None, "as it was")}
            # After a first load, the job tells by it what was sent before.
            assert min(row["__source_ts_ms"] for row in rows) >= began_ms
            writer.commit()
        captured.wait(ITEMS, before + 1_501)
        # The job relies on this: it follows the row that the snapshot read, regardless of its position.
        [change] = captured.events(ITEMS, before + 1_500)
        assert (change["id"], change["note"], change["__op"]) == (7, "open then", "u")

    def test_some_rows_are_read_again_by_condition_and_by_key(self, captured: Shop) -> None:
        before = captured.count(ITEMS)
        reading = Reading(table=(ITEMS.schema, ITEMS.table), where="id % 500 = 0")
        captured.read_again(reading)
        captured.channel(captured.reader).read_keys_again(ITEMS, [("3",), ("1400",)])
        assert [event["id"] for event in captured.events(ITEMS, before)] == [500, 1_000, 1_500, 3, 1_400]

    @pytest.mark.parametrize(
        ("statements", "events"),
        [
            ("COPY shop.\"OrderItems\" (id) FROM PROGRAM 'seq 10001 10002'", [(10_001, "c"), (10_002, "c")]),
            (
                'UPDATE shop."OrderItems" SET note = NULL WHERE id = 3;'
                'UPDATE shop."OrderItems" SET id = 10003 WHERE id = 10001;'
                'UPDATE shop."OrderItems" SET note = NULL WHERE id = 4',
                [(3, "u"), (10_001, "d"), (10_003, "c"), (4, "u")],
            ),
        ],
        ids=["COPY", "changed key"],
    )
    def test_a_restart_behind_the_first_of_several_events_with_one_lsn_loses_none(
        self, captured: Shop, statements: str, events: list[tuple[int, str]]
    ) -> None:
        before = captured.at_rest(ITEMS)
        captured.release(captured.reader)
        captured.cursor.execute(statements)
        offset = captured.offset_behind_the_last_row_but_one()
        captured.resume(captured.resumable(offset, newkey="d" in dict(events).values()))
        captured.wait(ITEMS, before + len(events))
        assert [(event["id"], event["__op"]) for event in captured.events(ITEMS, before)] == events
        assert captured.stored_with_an_event()["messageType"] == "BEGIN"
        captured.at_rest(ITEMS)

    def test_what_cant_be_read_again_is_refused_before_anything_is_asked(self, captured: Shop) -> None:
        refused = {
            "the source has no table shop.gone": Reading(table=("shop", "gone")),
            '--where isn\'t a condition on shop.OrderItems: .*column "nothing" does not exist': Reading(
                table=(ITEMS.schema, ITEMS.table), where="nothing = 1"
            ),
            "the publication cdc_shop lacks shop.places": Reading(table=(PLACES.schema, PLACES.table)),
        }
        for problem, reading in refused.items():
            with pytest.raises(LoadError, match=problem):
                captured.read_again(reading)

    def test_a_row_that_only_the_lake_has_is_deleted_and_one_inserted_meanwhile_is_newer(self, captured: Shop) -> None:
        before = captured.count(ITEMS)
        rows: dict[tuple[str, ...], dict[str, int]] = {("9000",): {"id": 9_000}, ("7",): {"id": 7}}
        assert captured.channel(captured.reader).delete_keys(ITEMS, {"id": "int"}, rows) == [("9000",)]
        captured.cursor.execute("INSERT INTO shop.\"OrderItems\" VALUES (9000, 'new')")
        captured.wait(ITEMS, before + 2)
        deleted, inserted = captured.events(ITEMS, before)
        assert (deleted["id"], deleted["__op"], deleted["__deleted"]) == (9_000, "d", "true")
        assert deleted["__lsn"] < inserted["__lsn"]

    def test_a_table_is_added_without_reading_the_others_again(self, captured: Shop) -> None:
        before = captured.at_rest(ITEMS)
        captured.cursor.execute("ALTER PUBLICATION cdc_shop ADD TABLE shop.places")
        settings = captured.settings(ITEMS, PLACES)
        assert changes(captured.running(), settings) == ([PLACES], [])
        captured.add(PLACES)
        assert {event["id"] for event in captured.events(PLACES)} == {1, 2, 3}
        captured.cursor.execute("INSERT INTO shop.places VALUES (4, 'later')")
        captured.wait(PLACES, 4)
        assert captured.count(ITEMS) == before
        assert changes(captured.running(), settings) == ([], [])

    def test_signals_never_become_events_of_a_topic(self, captured: Shop) -> None:
        topics = AdminClient(dict(captured.kafka)).list_topics(timeout=10).topics
        assert sorted(name for name in topics if name.startswith("shop.")) == [
            "shop.shop.OrderItems",
            "shop.shop.places",
        ]

    def test_a_truncate_ends_the_connector_until_somebody_decides(self, captured: Shop) -> None:
        before = captured.at_rest(PLACES)
        captured.cursor.execute("TRUNCATE shop.places; INSERT INTO shop.places VALUES (5, 'behind it')")
        wait_until(lambda: captured.reader.failure() is not None)
        assert "emptied by TRUNCATE" in str(captured.reader.failure())
        assert captured.count(PLACES) == before
        captured.capture(ITEMS, replace(PLACES, stops_at_truncate=False, tells_of_truncate=True))
        captured.reader.restart()
        captured.wait(PLACES, before + 2)
        emptied, inserted = captured.events(PLACES, before)
        assert emptied.keys() == ADDED_TYPES.keys() - {DELETED}
        assert (emptied[OPERATION], emptied[TABLE], inserted["id"]) == (TRUNCATE, PLACES.table, 5)
        assert emptied[LSN] < inserted[LSN]
        # All other events are as usual, and a second one needs no decision.
        captured.cursor.execute("UPDATE shop.places SET note = 'new'; DELETE FROM shop.places; TRUNCATE shop.places")
        captured.wait(PLACES, before + 5)
        assert [event[OPERATION] for event in captured.events(PLACES, before + 2)] == ["u", "d", TRUNCATE]

    def test_an_event_that_is_too_large_is_passed_over_and_its_row_read_again(self, captured: Shop) -> None:
        before = captured.count(ITEMS)
        configuration = captured.running() | {"producer.override.max.request.size": "50000"}
        reader = captured.connector(configuration)
        captured.release(reader)
        change = "UPDATE shop.\"OrderItems\" SET note = repeat('x', {}) WHERE id = 8"
        captured.cursor.execute(change.format(100_000))
        reader.settle()
        wait_until(lambda: reader.failure() is not None)
        assert re.match(
            r"an event of shop\.OrderItems has 100\d+ bytes, more than the 50000 that Kafka takes from here:"
            r" make that row smaller, then run `./lake resnapshot -p shop -t shop\.OrderItems`$",
            str(reader.failure()),
        )
        captured.cursor.execute(change.format(3))
        reading = Reading(table=(ITEMS.schema, ITEMS.table), where="id = 8")
        with captured.channel(reader).flowing([], Wanted(start_s=60, skip=True), named=False):
            captured.read_again(reading, reader)
        assert [(event["id"], event["note"]) for event in captured.events(ITEMS, before)] == [(8, "xxx")]

    def test_a_slot_that_was_dropped_is_made_again_and_what_it_missed_is_read(self, captured: Shop) -> None:
        before = captured.count(ITEMS)
        reader = captured.connector(captured.running())
        captured.release(reader)
        captured.cursor.execute("SELECT pg_drop_replication_slot('cdc_shop')")
        captured.cursor.execute("UPDATE shop.\"OrderItems\" SET note = 'missed' WHERE id = 9")
        reader.settle()
        wait_until(lambda: reader.failure() is not None)
        assert "the replication slot is gone" in str(reader.failure())
        with (
            pytest.raises(PlatformError, match="leave --table and --where out"),
            captured.channel(reader).flowing([], Wanted(), named=True),
        ):
            pytest.fail("some rows alone were read")
        reading = Reading(table=(ITEMS.schema, ITEMS.table), where="id = 9")
        with captured.channel(reader).flowing([], Wanted(start_s=60), named=False):
            captured.read_again(reading, reader)
        assert [(event["id"], event["note"]) for event in captured.events(ITEMS, before)] == [(9, "missed")]

    def test_a_table_of_any_name_is_read_again_while_the_others_wait(self, captured: Shop) -> None:
        odd = sql.Identifier(ODD.schema, ODD.table).as_string(captured.cursor)
        captured.cursor.execute(
            f'CREATE SCHEMA "{ODD.schema}"; CREATE TABLE {odd} (id INTEGER PRIMARY KEY, note TEXT);'
            f" INSERT INTO {odd} SELECT n, 'as it was' FROM generate_series(1, 1500) n;"
            f' GRANT USAGE ON SCHEMA "{ODD.schema}" TO cdc_connector; GRANT SELECT ON {odd} TO cdc_connector;'
            f" ALTER PUBLICATION cdc_shop ADD TABLE {odd}"
        )
        captured.add(ODD)
        channel = captured.channel(captured.reader)
        assert [event["id"] for event in captured.events(ODD)] == list(range(1, 1_501))
        before = captured.count(ODD)
        captured.cursor.execute(f"UPDATE {odd} SET note = 'changed' WHERE id = 7")
        with closing(psycopg2.connect(**captured.source)) as writer, writer.cursor() as cursor:
            cursor.execute(f"UPDATE {odd} SET note = 'open then' WHERE id = 8")
            channel.read_keys_again(ODD, [("8",)])
            change, *rows = captured.events(ODD, before)
            assert (change["id"], change["__op"], len(rows)) == (7, "u", 1_500)
            # Newer than the previous change, and the next one is newer again: by position in the topic.
            assert {(row["__op"], row["__lsn"] > change["__lsn"]) for row in rows} == {("r", True)}
            writer.commit()
        captured.wait(ODD, before + 1_502)
        [late] = captured.events(ODD, before + 1_501)
        assert (late["id"], late["note"], late["__op"]) == (8, "open then", "u")
        rows_of_lake: dict[tuple[str, ...], dict[str, int]] = {("9000",): {"id": 9_000}, ("7",): {"id": 7}}
        assert channel.delete_keys(ODD, {"id": "int"}, rows_of_lake) == [("9000",)]
        # It would fail for good on the name of an unfinished snapshot.
        running = captured.connector(captured.running())
        captured.release(running)
        running.settle()
        captured.cursor.execute(f"INSERT INTO {odd} VALUES (9001, 'new')")
        captured.wait(ODD, before + 1_504)
        assert running.failure() is None


def test_an_edit_that_many_orders_embed_arrives_by_itself(platform: Platform) -> None:
    execute(platform.source, "UPDATE datalake.outbox_settings SET inline_orders = 0")
    before = len(landed(platform))
    execute(platform.source, "UPDATE datalake.customers SET phone = '1' WHERE customer_id = 'VINET'")
    # The connector's heartbeat triggers the queued work.
    wait_until(lambda: len(landed(platform)) > before, every_s=0.2)
    assert {event["customer_id"] for event in landed(platform)[before:]} == {"VINET"}


def test_a_missing_right_is_named_and_given_back_by_up(platform: Platform, monkeypatch: pytest.MonkeyPatch) -> None:
    kill(platform, "sink")
    execute(platform.source, "UPDATE datalake.orders SET ship_city = ship_city || '.' WHERE order_id = 10249")
    rights = platform.pipeline.connectors.rights
    lacking = {acl for acl in rights if (acl.user, acl.operation, acl.kind) != (SINK, "READ", "topic")}
    assert len(lacking) < len(rights)
    monkeypatch.setattr(Connectors, "rights", lacking)
    topic, said = platform.topic.name, "plugins/kafka/topics.py says what each role may do"
    denied = f"Kafka denies {SINK} READ on topic {topic} (OffsetCommit): {said}"
    with pytest.raises(PlatformError, match=f"^{re.escape(denied)}; "):
        platform.up()
    assert line_about(platform, denied)
    monkeypatch.undo()
    platform.up()
    assert platform.pipeline.sink_offsets()[topic] == platform.topic.bounds()[1]


def test_another_data_set_than_was_loaded_is_refused_and_everything_runs_on(platform: Platform, tmp_path: Path) -> None:
    """It would have no effect: rows are loaded once."""
    before = pids(platform)
    dump = tmp_path / "mine.sql"
    dump.write_text("INSERT INTO orders (order_id) VALUES (1);")
    for options, wanted in (
        (PlatformOptions(job=False, scale=5), r"4,145 generated orders \(--scale 5\)"),
        (PlatformOptions(job=False, dump=dump), r"the dump mine.sql \(SHA-256 [0-9a-f]{16}…\)"),
    ):
        there = r"^the source database has 829 generated orders \(--scale 1\)"
        with pytest.raises(PlatformError, match=f"{there}, so it can't be started with {wanted}: "):
            Platform(platform.state_dir, options).up()
    assert pids(platform) == before
    Platform(platform.state_dir, PlatformOptions(job=False, scale=1)).up()
    assert pids(platform) == before, "an up again changes nothing"


def state(pid: int, thread: int) -> str:
    """A thread's state, as in proc(5): T is stopped."""
    return Path(f"/proc/{pid}/task/{thread}/stat").read_text().rpartition(")")[2].split()[0]


def test_a_service_that_hangs_is_named_and_status_still_ends(platform: Platform) -> None:
    pid = platform.pid("s3")
    assert pid is not None
    os.kill(pid, signal.SIGSTOP)
    # Its threads may answer until each has stopped.
    wait_until(lambda: all(state(pid, thread.id) == "T" for thread in psutil.Process(pid).threads()))
    try:
        status = Collector(platform).look()
    finally:
        os.kill(pid, signal.SIGCONT)
    assert [service.name for service in status.services if service.silent] == ["s3"]
    assert [line for line in map(str, status.problems) if line.startswith("s3 runs but doesn't answer")]
    assert (status.data.outbox_rows, status.data.landing_objects) == (ORDERS, None)


def written(*folders: Path) -> dict[Path, int]:
    return {path: path.stat().st_mtime_ns for folder in folders for path in folder.rglob("*")}


def test_lost_and_wrong_passwords_are_named_and_the_next_up_sets_new_ones(platform: Platform) -> None:
    kept = platform.state_dir / "secrets"
    (kept / "kafka" / SINK).write_text("wrong")
    platform.processes.stop("sink", grace_s=STOP_S)
    platform.pipeline.connectors.run_sink()
    wait_until(lambda: platform.pid("sink") is None)
    assert "Kafka refuses the login" in platform.processes.tail("sink")
    (kept / "connector").write_text("wrong")
    for beginning in ("password connector is refused: cannot connect to", "kafka knows other passwords than its"):
        assert line_about(platform, beginning)
    (kept / "superuser").unlink()
    (kept / "connector").write_text("")
    (kept / "kafka" / "admin").write_text("wrong")
    before = written(kept, platform.state_dir / "connect")
    began = time.monotonic()
    found = problems(platform)
    assert time.monotonic() - began < PATIENCE_S / 2
    for beginning in (
        f"password superuser is lost: nothing is in {kept}/superuser; `./lake up` sets",
        "password connector is lost",
        "postgres refuses the login",
        "kafka refuses the login: wrong password of admin; `./lake up` sets",
        "sink is dead",
    ):
        assert [line for line in found if line.startswith(beginning)], found
    assert written(kept, platform.state_dir / "connect") == before
    with pytest.raises(PlatformError, match=r"is lost: `\./lake up` sets a new one"):
        _ = platform.source
    platform.up()
    assert problems(platform) == []
    psycopg2.connect(**platform.services.connector).close()
    ship(platform, 10_260)
    wait_until_landed(platform, 10_260)


@pytest.mark.long
def test_down_and_up_goes_on_and_repeats_nothing(platform: Platform) -> None:
    before, objects = platform.topic.count(), len(landed(platform))
    platform.down()
    assert platform.running() == set()
    assert platform.processes.find() == {}
    with pytest.raises(PlatformError, match=r"the platform in .* is down: `./lake up` starts it"):
        Collector(platform).look()
    platform.up()
    assert (platform.topic.count(), len(landed(platform))) == (before, objects)
    ship(platform, 10249)
    wait_until_landed(platform, 10249)
    assert platform.topic.count() == before + 1, "a second snapshot"


def test_everything_killed_at_once_comes_back_though_a_port_is_taken(platform: Platform) -> None:
    """The state after a power cut: no process, but a record that lists some."""
    before = platform.topic.count()
    kill(platform, *SERVICES)
    status = Collector(platform).look()
    assert {(service.name, service.running) for service in status.services} == {(name, False) for name in SERVICES}
    (problem,) = status.problems
    assert str(problem).startswith("the platform doesn't run, though `./lake down` didn't stop it: ")
    ports = platform.services.ports
    # Another program listens at the broker's port, which thus gets another one; no other port changes.
    with socket.socket() as squatter:
        squatter.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)  # connections to the broker may be closing
        squatter.bind(("127.0.0.1", ports["kafka"]))
        squatter.listen()
        Platform(platform.state_dir, SUPERVISED).up()
    now = platform.services.ports
    assert {name for name in ports if ports[name] != now[name]} == {"kafka"}
    assert platform.running() == {*SERVICES, SUPERVISOR}
    ship(platform, 10250)
    wait_until_landed(platform, 10250)
    # Debezium may send its last events again.
    assert before < platform.topic.count() < before + ORDERS, "a second snapshot"


def test_the_supervisor_restarts_what_dies(platform: Platform) -> None:
    killed, before = {"moto", "sink", "postgres"}, pids(platform)
    kill(platform, *killed)
    wait_until(lambda: problems(platform) == [], every_s=1)
    ship(platform, 10251)
    wait_until_landed(platform, 10251)
    assert {service.name for service in Collector(platform).look().services if service.restarts} == killed
    after = pids(platform)
    assert {name for name in SERVICES if after[name] != before[name]} == killed
    assert [entry["Name"] for entry in platform.services.aws.glue().get_databases()["DatabaseList"]] == [GLUE_DATABASE]


def test_a_failed_connector_says_why_and_the_supervisor_restarts_it_until_the_cause_is_gone(platform: Platform) -> None:
    api = platform.services.connect.api
    source = api.configuration("orders-source")
    changes = {"name": "broken", "slot.name": "broken", "topic.prefix": "broken", "publication.name": "nowhere"}
    # The pipeline's own role may not write these topics.
    changes |= platform.services.connect.acting_as(ADMIN, platform.services.kafka.users.java_login(ADMIN))
    api.put_connector("broken", {**source, **changes, "snapshot.mode": "no_data"})
    try:
        wait_until(lambda: tries(platform, "broken") >= 2)
        shown = wait_until(lambda: line_about(platform, "connector broken has failed: "), every_s=1)
        assert re.search(r": the publication is gone.*; restarted \d+ times", str(shown))
        execute(platform.source, "CREATE PUBLICATION nowhere FOR TABLE datalake.cdc_events")
        wait_until(lambda: line_about(platform, "connector broken has failed and was restarted: "))
        wait_until(lambda: not line_about(platform, "connector broken has failed"), every_s=1)
        wait_until(lambda: (slot := platform.services.database.slot("broken", "0/0")) and slot.active)
    finally:
        api.delete_connector("broken")
        wait_until(lambda: drop_slot(platform.source, "broken"))
        execute(platform.source, "DROP PUBLICATION nowhere")


def test_an_unreadable_record_is_no_obstacle_and_the_supervisor_is_stopped_first(platform: Platform) -> None:
    (platform.state_dir / "state.json").write_text("{")
    with pytest.raises(PlatformError, match=r"state\.json is corrupt, .*: `./lake up` rewrites it"):
        Collector(platform).look()
    stopped: list[str] = []
    platform.down(lambda step: stopped.append(step.name) if step.state is StepState.DONE else None)
    assert stopped[0] == SUPERVISOR
    time.sleep(2)
    assert platform.running() == set()


def run_cli(command: str, folder: Path) -> Result:
    return CliRunner().invoke(app, [command, "--folder", str(folder)])


@pytest.mark.parametrize("number", [signal.SIGINT, cases.long(signal.SIGKILL)])
def test_an_interrupted_up_leaves_nothing_running(platform: Platform, number: signal.Signals) -> None:
    argv = [sys.executable, "-m", "cli", "up", "--no-job", "--folder", str(platform.state_dir)]
    up = subprocess.Popen(argv, cwd=ROOT, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    try:
        # The worker, which comes later, takes as much CPU as all others.
        wait_until(lambda: {"postgres", "kafka", "s3", "moto"} <= platform.running(), every_s=0.5)
        up.send_signal(number)
        _, errors = up.communicate(timeout=PATIENCE_S)
        if number is signal.SIGKILL:
            assert platform.processes.find()
            assert run_cli("down", platform.state_dir).exit_code == 0
        else:
            # libpq prints the server's last words itself when its stop meets a session that is just being opened.
            errors = errors.replace("FATAL:  terminating connection due to administrator command\n", "")
            assert (up.returncode, errors) == (130, "up: interrupted\n")
        assert platform.running() == set()
        assert platform.processes.find() == {}
    finally:
        up.kill()


def test_a_service_that_dies_at_its_start_stops_the_rest(platform: Platform) -> None:
    meta = platform.state_dir / "kafka" / "data" / "meta.properties"
    meta.write_text(meta.read_text().replace("node.id=1", "node.id=2"))
    with pytest.raises(PlatformError) as error:
        platform.up()
    first, *log = str(error.value).splitlines()
    assert first == f"kafka has ended; the end of {platform.processes.log_file('kafka')}:"
    assert any("Stored node id 2 doesn't match previous node id 1" in line for line in log)
    assert platform.running() == set()
    assert platform.processes.find() == {}
