"""Ordinary tables in a platform's source, and a connector of their own that captures them."""

import json
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import replace
from functools import partial
from http import HTTPStatus
from http.client import HTTPConnection
from typing import Any

import psycopg2
from confluent_kafka import KafkaException
from psycopg2.extensions import cursor as Cursor

from contract import source as names
from db.source.replication import drop_slot
from db.source.signals import Reading
from local.look.topic import Topic
from local.platform.platform import Platform
from local.resnapshot.changed_tables import ChangedTables, LocalConnector
from local.resnapshot.log_tables import read_again
from local.resnapshot.pipelines import Channel
from local.services.kafka import ADMIN
from local.setup.jars import jar_folder
from local.tools.worker_classes import java_gateway
from plugins.connector_settings import SourceSettings
from plugins.source.captured import CapturedTable
from plugins.source.source_connector import source_connector
from plugins.workers.connect_workers import RESUMABLE_OFFSETS
from tests.conftest import ask
from tests.waiting import wait_until

# A name that no signal of an incremental snapshot can spell.
ODD = CapturedTable(schema="Größe.n", table='Tabelle "x".y, (Ünï', key=("id",))
ITEMS = CapturedTable(schema="shop", table="OrderItems", key=("id",))
PLACES = CapturedTable(schema="shop", table="places", stops_at_truncate=True)
NAME = "shop"
OWN_SCHEMA = names.own_schema(NAME)
PUBLICATION = "cdc_shop"
MAKING = f"""
CREATE SCHEMA shop; CREATE SCHEMA {OWN_SCHEMA};
CREATE TABLE shop."OrderItems" (id INTEGER PRIMARY KEY, note TEXT);
INSERT INTO shop."OrderItems" SELECT n, 'as it was' FROM generate_series(1, 1500) n;
CREATE TABLE shop.places (id INTEGER PRIMARY KEY, note TEXT);
INSERT INTO shop.places SELECT n, 'as it was' FROM generate_series(1, 3) n;
CREATE TABLE {OWN_SCHEMA}.heartbeat (id INTEGER PRIMARY KEY, beat_at TIMESTAMPTZ);
INSERT INTO {OWN_SCHEMA}.heartbeat VALUES (1, now());
CREATE TABLE {OWN_SCHEMA}.signal (id VARCHAR(42) PRIMARY KEY, type VARCHAR(32), data TEXT);
CREATE PUBLICATION cdc_shop FOR TABLE shop."OrderItems", {OWN_SCHEMA}.heartbeat, {OWN_SCHEMA}.signal;
GRANT USAGE ON SCHEMA shop, {OWN_SCHEMA} TO cdc_connector;
GRANT SELECT ON ALL TABLES IN SCHEMA shop TO cdc_connector;
GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA {OWN_SCHEMA} TO cdc_connector;
"""
REMOVING = f'DROP PUBLICATION cdc_shop; DROP SCHEMA IF EXISTS shop, {OWN_SCHEMA}, "{ODD.schema}" CASCADE'
# Allows for a busy machine.
TIMEOUT_S = 180


class Shop:
    """The tables, their connector and their topics."""

    def __init__(self, platform: Platform, cursor: Cursor) -> None:
        self.cursor = cursor
        self.source = platform.source
        self.kafka = platform.services.kafka.client()
        self._platform = platform
        self._api = platform.services.connect.api
        self.reader = self.connector({})

    def channel(self, connector: LocalConnector) -> Channel:
        return Channel(
            pipeline=NAME,
            settings=self.settings(ITEMS),
            parameters=self.source,
            connector=connector,
            kafka=self.kafka,
            timeout_s=TIMEOUT_S,
            say=print,
        )

    def connector(self, configuration: dict[str, str]) -> LocalConnector:
        return LocalConnector(
            api=self._api, topics=[self.topic(ITEMS)], name=NAME, slot="cdc_shop", configuration=configuration
        )

    def release(self, connector: LocalConnector) -> None:
        connector.release()
        active = "SELECT active FROM pg_replication_slots WHERE slot_name = 'cdc_shop'"
        wait_until(lambda: not ask(self.source, active))

    def at_rest(self, table: CapturedTable) -> int:
        """Return the number of a topic's events once a restart repeats none: a later heartbeat's offset is stored."""
        lsn = int(ask(self.source, "SELECT pg_current_wal_lsn() - '0/0'"))
        offsets = partial(self._api.stored_offsets, NAME)
        wait_until(lambda: any(each.get("lsn_commit", 0) >= lsn for each in offsets()), every_s=0.2)
        return self.count(table)

    def stored_with_an_event(self) -> dict[str, Any]:
        """Return the offset that the worker stored with an event, not with a heartbeat."""
        while True:
            count = self.count(ITEMS)
            self.cursor.execute("UPDATE shop.\"OrderItems\" SET note = 'again' WHERE id = 2")
            self.wait(ITEMS, count + 1)
            self.release(self.reader)
            [offset] = self._api.stored_offsets(NAME)
            self._api.resume(NAME)
            if "lsn_events_processed" in offset:
                return offset

    def offset_behind_the_last_row_but_one(self) -> dict[str, Any]:
        """Return the offset that Debezium has after that row's first event; the stopped connector didn't get there."""
        arguments = f"'cdc_shop', NULL, NULL, 'proto_version', '1', 'publication_names', '{PUBLICATION}'"
        rows = f"pg_logical_slot_peek_binary_changes({arguments}) WHERE get_byte(data, 0) IN (ascii('I'), ascii('U'))"
        self.cursor.execute(f"SELECT lsn - '0/0' FROM {rows}")
        lsn = int(self.cursor.fetchall()[-2][0])
        [stored] = self._api.stored_offsets(NAME)
        return {**stored, "lsn": lsn, "lsn_proc": lsn, "lsn_events_processed": 1, "messageType": "UPDATE"}

    def resumable(self, offset: dict[str, Any], *, newkey: bool) -> dict[str, Any]:
        """Return what the worker's own class makes of an event's offset; `newkey`: of a changed key's delete."""
        jars = [*self._platform.services.connect.plugins.rglob("*.jar"), *jar_folder("kafka").glob("*.jar")]
        with java_gateway(":".join(map(str, jars))) as gateway:
            step = gateway.jvm.java.lang.Class.forName(RESUMABLE_OFFSETS.name).getConstructors()[0]
            record = gateway.jvm.org.apache.kafka.connect.source.SourceRecord({}, offset, "shop", None, None)
            if newkey:
                name = gateway.jvm.io.debezium.relational.RelationalChangeRecordEmitter.PK_UPDATE_NEWKEY_FIELD
                record.headers().addString(name, "")
            step.newInstance(gateway.new_array(gateway.jvm.Object, 0)).apply(record)
            return dict(record.sourceOffset())

    def resume(self, offset: dict[str, Any]) -> None:
        """Resume the stopped connector from an offset."""
        entry = {"partition": {"server": NAME}, "offset": offset}
        worker = HTTPConnection(self._api.url.removeprefix("http://"), timeout=TIMEOUT_S)
        with closing(worker):
            body = json.dumps({"offsets": [entry]})
            worker.request("PATCH", f"/connectors/{NAME}/offsets", body, {"Content-Type": "application/json"})
            assert worker.getresponse().status == HTTPStatus.OK
        self._api.resume(NAME)

    def running(self) -> dict[str, str]:
        return self._api.configuration(NAME)

    def settings(self, *tables: CapturedTable) -> SourceSettings:
        return replace(
            self._platform.pipeline.connectors.source,
            name=NAME,
            topic_prefix=NAME,
            publication_name=PUBLICATION,
            slot_name="cdc_shop",
            tables=tables,
            signal_table=f"{OWN_SCHEMA}.{names.SIGNAL}",
            heartbeat_query=names.heartbeat_statement(OWN_SCHEMA),
        )

    def configuration(self, *tables: CapturedTable) -> dict[str, str]:
        users = self._platform.services.kafka.users
        # The pipeline's own role may not write these topics.
        login = self._platform.services.connect.acting_as(ADMIN, users.java_login(ADMIN))
        return {**source_connector(self.settings(*tables)), **login}

    def capture(self, *tables: CapturedTable) -> None:
        self._api.put_connector(NAME, self.configuration(*tables))

    def read_again(self, reading: Reading, connector: LocalConnector | None = None) -> None:
        connector = connector or self.reader
        read_again(self.cursor, self.settings(ITEMS), [reading], connector, timeout_s=TIMEOUT_S, say=print)

    def add(self, table: CapturedTable) -> None:
        """Capture one more table, and read it."""
        ChangedTables(
            connector=self.connector(self.configuration(ITEMS, table)),
            settings=self.settings(ITEMS, table),
            to_read=self._platform.state_dir / "shop-to-read.json",
        ).bring(self.source)

    def topic(self, table: CapturedTable) -> Topic:
        return Topic(connection=self._platform.services.kafka.client(), name=table.topic(NAME))

    def events(self, table: CapturedTable, after: int = 0) -> list[dict[str, Any]]:
        return [event.value for event in self.topic(table).events(after) if event.value]

    def count(self, table: CapturedTable) -> int:
        """Return the number of a topic's events; 0 before there is one."""
        try:
            return self.topic(table).count()
        except KafkaException:
            return 0

    def wait(self, table: CapturedTable, count: int) -> None:
        wait_until(lambda: self.count(table) >= count, every_s=0.2)


@contextmanager
def shop(platform: Platform) -> Iterator[Shop]:
    """The tables and their connector, removed at the end."""
    with closing(psycopg2.connect(**platform.source)) as connection:
        connection.autocommit = True
        with connection.cursor() as cursor:
            cursor.execute(MAKING)
            result = Shop(platform, cursor)
            try:
                result.capture(ITEMS)
                result.wait(ITEMS, 1_500)
                yield result
            finally:
                platform.services.connect.api.delete_connector(NAME)
                wait_until(lambda: drop_slot(platform.source, "cdc_shop"))
                cursor.execute(REMOVING)
