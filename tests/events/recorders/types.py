"""Records Debezium's output for each type: `./lake dev generate typed-events`, for tests/events/every_type.jsonl.

The database is that of tests/events/every_type.sql: the part above the line `-- changes` exists when the snapshot
begins, the rest follows it. It takes about 30 s.
"""

import contextlib
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import typer

from contract.errors import one_line_errors
from local.errors import PlatformError
from local.look.topic import Topic
from local.services.connect import Connect
from local.services.kafka import ADMIN, Kafka
from local.services.postgres import ConnectionParameters, temporary_postgres
from local.services.processes import Processes
from local.setup.ports import choose
from plugins.connector_names import heartbeat_topic
from plugins.connector_settings import SourceSettings
from plugins.kafka.topics import PlannedTopic
from plugins.source.captured import CapturedTable
from plugins.source.source_connector import source_connector
from tests.broker import running_broker
from tests.conftest import execute

EVENTS = Path(__file__).resolve().parents[3] / "tests" / "events"
SCRIPT, TARGET = EVENTS / "every_type.sql", EVENTS / "every_type.jsonl"
TABLES = tuple(CapturedTable(schema="types", table=table) for table in ("every_type", "large"))
PREFIX = "types"
CHANGES = "-- changes\n"
START_S, TIMEOUT_S, QUIET_S = 120, 60, 3


def main() -> None:
    """Write the events of both tables, a line per event, table by table."""
    with (
        one_line_errors("record_types"),
        tempfile.TemporaryDirectory() as name,
        temporary_postgres(Path(name) / "postgres") as postgres,
        running_broker(Path(name)) as broker,
    ):
        lines = record(postgres.connection_parameters(), broker.kafka, Path(name))
    TARGET.write_bytes(b"".join(line + b"\n" for line in lines))
    typer.echo(f"{TARGET.name}: {len(lines)} events")


def record(database: ConnectionParameters, kafka: Kafka, folder: Path) -> list[bytes]:
    """Run the script around a connector's start, in a worker with its files in `folder`; return the events' values.

    Raises PlatformError.
    """
    there, _, changes = SCRIPT.read_text(encoding="utf-8").partition(CHANGES)
    topics = [Topic(connection=kafka.client(), name=table.topic(PREFIX)) for table in TABLES]
    names = [*(topic.name for topic in topics), heartbeat_topic(PREFIX)]
    kafka.create_topics([PlannedTopic(name=name, partitions=1, replicas=1) for name in names])
    with _running_worker(kafka, folder) as connect:
        execute(database, f"{there}; CREATE PUBLICATION types FOR TABLES IN SCHEMA types")
        connect.api.put_connector("types", _configuration(database, connect))
        _wait_until_quiet(topics, connect)
        execute(database, changes)
        _wait_until_quiet(topics, connect)
        connect.api.delete_connector("types")
    return [event.value or b"" for topic in topics for event in topic.raw_events(0)]


def _configuration(database: ConnectionParameters, connect: Connect) -> dict[str, str]:
    settings = SourceSettings(
        name="types",
        database_hostname=database["host"],
        database_port=database["port"],
        database_name=database["dbname"],
        database_user=database["user"],
        database_password=connect.password_reference(database["password"]),
        database_sslmode="disable",
        topic_prefix=PREFIX,
        publication_name="types",
        slot_name="types",
        poll_interval_ms=50,
        tables=TABLES,
        heartbeat_query=None,
    )
    return {**source_connector(settings), **connect.acting_as(ADMIN, connect.login)}


def _wait_until_quiet(topics: list[Topic], connect: Connect) -> None:
    """Wait until all topics have events, and no more arrive."""
    deadline, before, since = time.monotonic() + TIMEOUT_S, [0], time.monotonic()
    while time.monotonic() < deadline:
        if failure := connect.api.failure("types"):
            raise PlatformError(f"the connector failed: {failure}")
        now = [topic.count() for topic in topics]
        if now != before:
            before, since = now, time.monotonic()
        elif all(now) and time.monotonic() > since + QUIET_S:
            return
        time.sleep(0.2)
    raise PlatformError(f"events still came, or none did, within {TIMEOUT_S} s")


@contextlib.contextmanager
def _running_worker(kafka: Kafka, folder: Path) -> Iterator[Connect]:
    [port] = choose(["connect"], earlier={}).values()
    login = kafka.users.java_login(ADMIN)
    connect = Connect(folder / "connect", port=port, bootstrap_servers=kafka.bootstrap_servers, login=login)
    connect.install_plugins()
    processes = Processes(folder / "processes", folder / "logs")
    try:
        processes.run(connect)
        yield connect
    finally:
        processes.stop(connect.name, grace_s=20)
