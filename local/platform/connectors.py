"""A pipeline's two connectors: their settings, rights and topics, and how to start them.

The source connector omits a table that it fails at until `./lake resnapshot` brings that back; the others flow.
"""

import contextlib
import json
import sys
import time
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

import psycopg2

from capture.odd_values import what_stops
from contract.column_types.hashes import SALT_KEY
from contract.lake import LANDING_PREFIX
from contract.source import HEARTBEAT, SIGNAL, own_schema
from db.connecting import LoadError, connect
from db.source.replication import OUTBOX, Expected
from local.errors import PlatformError
from local.files import create_password, kept_password, write_private
from local.platform.services import LAKE_BUCKET, LANDING_BUCKET, LocalTable, Services
from local.resnapshot.changed_tables import ChangedTables, LocalConnector, changes
from local.services.aws import ENVIRONMENT, REGION
from local.services.connect import OFFSET_TOPIC
from local.services.kafka_rights import SINK, SOURCE, TOPICS, Acl, platform_acls
from local.services.processes import Command, Processes
from local.sink.settings import HELD, PASSED_OVER, Held, read_held, write_held
from plugins.connector_settings import SinkSettings, SourceSettings
from plugins.kafka.topics import planned_topics
from plugins.sink.sink_connector import sink_connector
from plugins.source.captured import INCLUDED_TABLES
from plugins.source.source_connector import SALT_PROPERTY, source_connector
from settings.connectors import captured_tables
from settings.pipeline import Pipeline
from spark_jobs.runtime.archive import ROOT

# How long a restarted connector may still report its earlier failure.
RESTART_S = 10
# Names the tables that were added and aren't read yet.
TO_READ = "to-read.json"
# Names the tables that the connector failed at.
ASIDE = "set-aside.json"
SINK_GRACE_S = 30


@dataclass(frozen=True)
class SetAside:
    """Content of the file at `path`: the tables, as `schema.table`, and why each was set aside.

    A missing or corrupt file names none: the tables are added again, and read.
    """

    path: Path

    def read(self) -> dict[str, str]:
        with contextlib.suppress(FileNotFoundError, ValueError, AttributeError):
            content = json.loads(self.path.read_text(encoding="utf-8"))
            return {str(table): str(reason) for table, reason in content.items()}
        return {}

    def write(self, content: Mapping[str, str]) -> None:
        write_private(self.path, json.dumps(content, indent=1, ensure_ascii=False) + "\n")


def published(pipeline: Pipeline) -> Expected:
    """Return the publication, the tables and the role of a pipeline's connector."""
    if pipeline.outbox is not None:
        return OUTBOX
    schema = own_schema(pipeline.name)
    return Expected(
        publication=pipeline.source.publication,
        tables=frozenset({f"{schema}.{HEARTBEAT}", f"{schema}.{SIGNAL}", *(table.name for table in pipeline.tables)}),
        role=pipeline.source.role,
        pipeline=pipeline.name,
    )


def source_settings(services: Services) -> SourceSettings:
    """Return the source connector's settings: as on AWS, but faster, since a person waits for each change."""
    pipeline, connector = services.pipeline, services.connector
    return SourceSettings(
        name=f"{pipeline.name}-source",
        database_hostname=str(connector["host"]),
        database_port=int(connector["port"]),
        database_name=str(connector["dbname"]),
        database_user=pipeline.source.role,
        database_password=services.connect.database_password,
        database_sslmode=str(connector.get("sslmode", "disable")),
        database_root_certificate=connector.get("sslrootcert"),
        topic_prefix=pipeline.source.topic_prefix,
        publication_name=pipeline.source.publication,
        slot_name=pipeline.source.slot,
        heartbeat_interval_ms=1_000,
        poll_interval_ms=50,
        retry_wait_ms=1_000,
        **captured_tables(pipeline),
    )


class Connectors:
    """Source connector and sink of a platform."""

    def __init__(self, services: Services, processes: Processes) -> None:
        self._services = services
        self._processes = processes
        self._folder = services.folder
        self.salt_file = services.salt_file
        self._patient_until: dict[str, float] = {}
        self.source = source_settings(services)
        self.aside = SetAside(self._folder / "connect" / ASIDE)
        self.sink = SinkSettings(
            name=f"{services.pipeline.name}-sink",
            topics=self.source.topics,
            bucket=LANDING_BUCKET,
            prefix=LANDING_PREFIX,
            region=REGION,
            endpoint=services.s3.endpoint,
            flush_interval_seconds=1,
        )
        # Kept forever, so that a platform continues after a week of downtime.
        self.topics = planned_topics(self.source, self.sink, brokers=1, retention_hours=None, offsets=OFFSET_TOPIC)

    @property
    def rights(self) -> frozenset[Acl]:
        return platform_acls(self.source, self.sink, self.topics)

    @property
    def source_configuration(self) -> dict[str, str]:
        """The source connector's configuration, without the tables that are set aside."""
        configuration = source_connector(self._captured)
        if self.hashed:
            configuration[SALT_PROPERTY] = self._services.connect.secret_reference("salt", SALT_KEY, self.salt)
        return self._acting_as(SOURCE, configuration)

    @property
    def hashed(self) -> list[LocalTable]:
        return [table for table in self._services.tables if table.entry.hash]

    @property
    def lost_salt(self) -> Path | None:
        """The salt's file, if it should have one and hasn't."""
        return self.salt_file if self.hashed and not kept_password(self.salt_file) else None

    @property
    def salt(self) -> str:
        """The salt of hashed columns. Raises PlatformError when it is lost: another one would change every hash."""
        if salt := kept_password(self.salt_file):
            return salt
        raise PlatformError(
            f"{self.salt_file}, the salt of hashed columns, is lost, and another one would change every hash: put its"
            " copy there, or `./lake down` and remove the platform's folder, and `./lake up` reads everything again"
        )

    def provide_salt(self) -> None:
        """Create the salt before anything is hashed; take a lost one from the worker's copy."""
        if self.lost_salt is None:
            return
        if copy := self._services.connect.stored().get("salt.properties"):
            write_private(self.salt_file, copy.partition("=")[2])
            return
        known = self._services.connect.api.configuration(self.source.name)
        # Without a table set aside, a connector without a salt has hashed nothing yet.
        new = known and SALT_PROPERTY not in known and not self.aside.read()
        if new or not any(self._services.s3.holds(LAKE_BUCKET, table.lake_name) for table in self.hashed):
            create_password(self.salt_file)

    def write_logins(self) -> bool:
        """Write the logins that the worker reads; return whether one has changed, for which it must restart."""
        connect = self._services.connect
        before = connect.stored()
        connect.password_reference(self._services.passwords.connector)
        connect.properties()
        for user in (SOURCE, SINK):
            self._acting_as(user, {})
        return connect.stored() != before

    def grant_rights(self) -> str | None:
        """Give the users the rights on Kafka that the roles have on AWS."""
        made, removed = self._services.kafka.sync_acls(self.rights)
        return f"{made} ACLs made, {removed} removed" if made or removed else None

    def create_topics(self) -> str | None:
        """Create the pipeline's topics before the connectors, as on AWS."""
        self._services.kafka.create_topics(self.topics, user=TOPICS)
        count = len(self.source.topics)
        return f"{count} of changes" if count > 1 else None

    def start_source(self) -> str | None:
        """Configure the source connector; return a note when its tables have changed.

        A table at which it fails meanwhile is set aside.
        """
        connector = self.source_connector()
        tables = ChangedTables(
            connector=connector,
            settings=self._captured,
            to_read=self._folder / "connect" / TO_READ,
            loaded=[table.name for table in self._services.tables if table.is_loaded_first],
        )
        try:
            note = tables.bring(self._services.database.parameters())
        except PlatformError:
            if self.set_aside() is None:
                raise
            return None
        if note is None:
            self.configure(connector.name, connector.configuration)
        return note

    def not_yet_captured(self) -> list[str]:
        """Name the tables that the connector on the worker has yet to capture. Raises PlatformError."""
        running = self._services.connect.api.configuration(self.source.name)
        return [table.name for table in changes({INCLUDED_TABLES: "", **running}, self._captured)[0]]

    def set_aside(self) -> str | None:
        """Restart the connector without the table that it fails at; return that table, None for no such failure.

        The last table is never left out. Raises PlatformError, psycopg2.Error.
        """
        failure = self._services.connect.api.failed(self.source.name)
        if failure is None or failure.table is None or len(self._captured.tables) <= 1:
            return None
        reason = failure.reason
        # Where the blocking value is, if a short search finds it; the table is set aside even when that fails.
        with contextlib.suppress(psycopg2.Error, LoadError):
            for entry in (table for table in self._services.pipeline.tables if table.name == failure.table):
                with contextlib.closing(connect(self._services.database.parameters())) as connection:
                    found = what_stops(connection, entry)
                reason += f"; found in {found}" if found else ""
        self.aside.write({**self.aside.read(), failure.table: reason})
        self.start_source()
        return failure.table

    def take_back(self, tables: Iterable[str]) -> list[str]:
        """Capture and read the set-aside ones of these tables; name them. Raises PlatformError when one fails again."""
        self.set_aside()  # if no supervisor has done so
        before = self.aside.read()
        if back := [table for table in tables if table in before]:
            self.aside.write({table: reason for table, reason in before.items() if table not in back})
            self.start_source()
        if again := [f"{table}: {reason}" for table, reason in self.aside.read().items() if table in back]:
            raise PlatformError(f"set aside again: {'; '.join(again)}")
        return back

    @property
    def _captured(self) -> SourceSettings:
        aside = self.aside.read()
        return replace(self.source, tables=tuple(table for table in self.source.tables if table.name not in aside))

    def source_connector(self) -> LocalConnector:
        return LocalConnector(
            api=self._services.connect.api,
            topics=[table.topic for table in self._services.tables],
            name=self.source.name,
            slot=self.source.slot_name,
            configuration=self.source_configuration,
        )

    def start_sink(self) -> None:
        """Start the stand-in of the S3 sink, or configure the real one on the worker."""
        if self._services.options.lenses:
            self.configure(self.sink.name, self._acting_as(SINK, sink_connector(self.sink)))
            return
        # An earlier start may have left the real one, and both would share the consumer group.
        self._services.connect.api.delete_connector(self.sink.name)
        self.run_sink()

    def run_sink(self) -> None:
        """Start the stand-in of the S3 sink, unless it runs with this configuration."""
        path = self._folder / "sink" / "sink.json"
        configuration = json.dumps({"name": self.sink.name, "config": sink_connector(self.sink)}, indent=1) + "\n"
        kafka, login = self._services.kafka, self._services.kafka.users.client_path(SINK)
        before = login.read_text(encoding="utf-8") if login.exists() else ""
        kafka.users.client_file(SINK, kafka.bootstrap_servers)
        if self._processes.main("sink") is not None:
            known = path.exists() and path.read_text(encoding="utf-8") == configuration
            if known and login.read_text(encoding="utf-8") == before:
                return
            self._processes.stop("sink", grace_s=SINK_GRACE_S)
            # It may have asked for the topic of a table that is no longer captured.
            kafka.rights_mark.touch()
        write_private(path, configuration)
        argv = [sys.executable, "-m", "local.sink", "--config", str(path), "--kafka", str(login)]
        self._processes.start("sink", Command(argv=argv, folder=ROOT, environment=ENVIRONMENT))

    @property
    def held(self) -> list[Held]:
        """The records that the stand-in refuses; it lands nothing after them."""
        return read_held(self._folder / "sink" / HELD)

    @property
    def held_topics(self) -> frozenset[str]:
        return frozenset(record.topic for record in self.held)

    def pass_over(self, topics: Collection[str]) -> None:
        """Let the stand-in skip the records of these topics that it refuses."""
        chosen = [record for record in self.held if record.topic in topics]
        if not chosen:
            return
        self._processes.stop("sink", grace_s=SINK_GRACE_S)
        path = self._folder / "sink" / PASSED_OVER
        write_held(path, [*read_held(path), *chosen])
        write_held(self._folder / "sink" / HELD, [])
        self.run_sink()

    def configure(self, name: str, configuration: Mapping[str, str]) -> None:
        """Give a connector its configuration; restart it if it had failed."""
        api = self._services.connect.api
        failed_before = api.failure(name) is not None
        api.put_connector(name, configuration)
        if failed_before:
            api.restart_failed(name)
            self._patient_until[name] = time.monotonic() + RESTART_S

    def failure(self, name: str) -> str | None:
        """Return why a connector has failed; None when it hasn't or was just restarted."""
        if time.monotonic() < self._patient_until.get(name, 0.0):
            return None
        return self._services.connect.api.failure(name)

    def _acting_as(self, user: str, configuration: Mapping[str, str]) -> dict[str, str]:
        """Let a connector log in to Kafka as its role on AWS."""
        login = self._services.kafka.users.java_login(user)
        return {**configuration, **self._services.connect.acting_as(user, login)}
