"""Runs a JDBC connector on Kafka Connect that polls the same tables as the query walk-through.

No package registry has one, so it runs only where JDBC_PLUGIN names a release. settings/polling.py creates its sources
from the same pipeline; what they have sent in the end is compared with the source.
"""

import json
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from local.demo.display import Display
from local.demo.watch import rows_of, source_cursor
from local.errors import PlatformError
from local.look.topic import Topic
from local.platform.platform import Platform
from local.services.aws import REGION
from local.services.connect import JDBC, Connect
from local.services.kafka import ADMIN
from plugins.polling.jdbc_settings import PolledDatabase, Polling
from plugins.sink.sink_connector import CONNECTOR_CLASS as SINK
from settings.pipeline import CapturedTableSettings
from settings.polling import STAMP, polling_connectors

NAME = "polled"
# The join's, in its query's terms.
STAMPS = {"address_place": ("a.last_update", "c.last_update", "n.last_update")}
KEYED = "public.address"
POLL_MS, DELAY_MS = 1_000, 5_000
# A change is sent after the delay, by the poll that follows.
QUIET_S = (DELAY_MS + 3 * POLL_MS) / 1000
LONGEST_S = 90.0
LOOK_S = 0.5


@dataclass(frozen=True, kw_only=True)
class Polled:
    """Result of polling a table or query: records sent, and the missing, stale and surplus rows."""

    topic: str
    records: int
    missing: int
    stale: int
    extra: int


class JdbcConnector:
    """The connector of a release. Its worker and broker are processes of the platform, which also stops them."""

    def __init__(self, release: Path) -> None:
        """Raise PlatformError when the release isn't one."""
        JDBC.check(release)
        self._release = release
        self._topics: dict[str, CapturedTableSettings] = {}
        self._names: list[str] = []
        self.called = ""

    def start(self, platform: Platform, display: Display) -> None:
        """Start broker and worker, and create the sources. Raises PlatformError and RequestError."""
        kafka = platform.services.kafka
        connect = self._worker(platform)
        connect.install_plugins()
        self.called = f"{JDBC.connector_class(connect.plugins)} {JDBC.version(connect.plugins)}".rstrip()
        with display.step("kafka and connect") as note:
            platform.processes.run(kafka)
            platform.processes.run(connect)
            note("alongside")
        with display.step("a JDBC connector alongside") as note:
            for name, configuration in self._sources(platform, connect).items():
                connect.api.put_connector(name, configuration)
                self._names.append(name)
            note(f"{len(self._names)} sources")

    def sent(self, platform: Platform) -> list[Polled]:
        """Wait until nothing more arrives; return what was sent. Raises PlatformError when a connector has failed."""
        connect, connection = self._worker(platform), platform.services.kafka.client()
        first = next(iter(self._topics))
        before: dict[str, int] = {}
        since = began = time.monotonic()
        while time.monotonic() - since < QUIET_S and time.monotonic() - began < LONGEST_S:
            for name in self._names:
                if reason := connect.api.failure(name):
                    raise PlatformError(f"{name}: {reason}")
            ends = Topic(connection=connection, name=first).ends(self._topics)
            if ends != before:
                before, since = ends, time.monotonic()
            time.sleep(LOOK_S)
        return [
            compared(topic, _records(Topic(connection=connection, name=topic)), entry.key[0], _rows(platform, entry))
            for topic, entry in self._topics.items()
        ]

    def _worker(self, platform: Platform) -> Connect:
        kafka = platform.services.kafka
        return Connect(
            platform.state_dir / "connect",
            port=platform.services.ports["connect"],
            bootstrap_servers=kafka.bootstrap_servers,
            jdbc=self._release,
            login=kafka.users.java_login(ADMIN),
        )

    def _sources(self, platform: Platform, connect: Connect) -> dict[str, dict[str, str]]:
        """Return the sources that poll the pipeline's tables, and note each topic's table."""
        login, pipeline = platform.services.connector, platform.services.pipeline
        database = PolledDatabase(
            hostname=login["host"],
            port=login["port"],
            name=login["dbname"],
            user=login["user"],
            password=connect.password_reference(login["password"]),
            sslmode="disable",
        )
        polling = Polling(
            name=NAME,
            database=database,
            topic_prefix=NAME,
            bucket=NAME,
            prefix=NAME,
            region=REGION,
            replicas=1,
            poll_interval_ms=POLL_MS,
            delay_ms=DELAY_MS,
            connector_class=JDBC.connector_class(connect.plugins),
        )
        made = polling_connectors(pipeline, polling, keyed=[KEYED], stamps=STAMPS)
        by_name = {entry.table_name: entry for entry in pipeline.tables}
        topics = [
            topic for one in made.values() if one["connector.class"] == SINK for topic in one["topics"].split(",")
        ]
        self._topics = {topic: by_name[topic.rpartition(".")[2]] for topic in topics}
        acts_as = connect.acting_as(ADMIN, platform.services.kafka.users.java_login(ADMIN))
        return {name: {**one, **acts_as} for name, one in made.items() if one["connector.class"] != SINK}


def compared(
    topic: str, records: Sequence[Mapping[str, Any]], key: str, rows: Mapping[Any, Mapping[str, Any]]
) -> Polled:
    """Compare each key's last record with the source's rows, without stamps, which lose digits."""
    last = {record[key]: record for record in records}
    stale = sum(not _same(row, last[number]) for number, row in rows.items() if number in last)
    missing, extra = len(rows.keys() - last.keys()), len(last.keys() - rows.keys())
    return Polled(topic=topic, records=len(records), missing=missing, stale=stale, extra=extra)


def _same(row: Mapping[str, Any], record: Mapping[str, Any]) -> bool:
    return all(record.get(name) == value for name, value in row.items() if name != STAMP)


def _records(topic: Topic) -> list[Mapping[str, Any]]:
    first, _ = topic.bounds()
    values = [json.loads(event.value) for event in topic.raw_events(first) if event.value]
    return [value["payload"] if {"schema", "payload"} == value.keys() else value for value in values]


def _rows(platform: Platform, entry: CapturedTableSettings) -> dict[Any, Mapping[str, Any]]:
    with source_cursor(platform.source) as cursor:
        cursor.execute(f"SELECT * FROM {rows_of(entry)}")
        return {row[entry.key[0]]: dict(row) for row in cursor.fetchall()}
