"""The services of one platform, built from its folder, its ports and its options; and the tables of its pipeline."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from contract import lake
from contract.lake import LANDING_PREFIX
from contract.table_names import lake_name
from local.look.lake import Lake, local_s3_options
from local.look.topic import Topic
from local.platform.record import LOGS, Passwords, PlatformOptions, connector_file
from local.services.aws import S3, Aws
from local.services.connect import Connect
from local.services.kafka import Kafka
from local.services.kafka_rights import WORKER
from local.services.postgres import Postgres
from local.services.processes import Service
from local.services.source_database import SourceDatabase
from local.setup.ports import HOST
from settings.job import JobPlaces
from settings.load import PIPELINES
from settings.pipeline import CapturedTableSettings, Pipeline
from spark_jobs.runtime.archive import ROOT

LANDING_BUCKET = "landing"
LAKE_BUCKET = "lake"
# Kinds of derived tables: by a query, or the versions of another table.
DERIVED, HISTORY = "derived", "history"
GLUE_DATABASE = lake.DATABASE
# The same for the job, which uses Hadoop's S3A.
PLACES = JobPlaces(
    landing=f"s3a://{LANDING_BUCKET}/{LANDING_PREFIX}",
    lake=f"s3a://{LAKE_BUCKET}",
    schemas=str(PIPELINES),
    shared_properties=str(ROOT / "spark_jobs" / "conf" / "lean.properties"),
    database=GLUE_DATABASE,
)


@dataclass(frozen=True, kw_only=True)
class InTheLake:
    """A table of the lake; `lake_name` is its name there and in Glue."""

    lake: Lake
    lake_name: str

    @property
    def job_name(self) -> str:
        """`database.table`, as in the job's log and metrics."""
        return f"{GLUE_DATABASE}.{self.lake_name}"


@dataclass(frozen=True, kw_only=True)
class LocalTable(InTheLake):
    """One table of the pipeline: its entry, its topic, its objects' prefix in the landing, and the lake's table."""

    entry: CapturedTableSettings
    topic: Topic
    landing_prefix: str

    @property
    def name(self) -> str:
        """`schema.table`, as in the source."""
        return self.entry.name

    @property
    def is_loaded_first(self) -> bool:
        """Whether the job has yet to read the rows that are there at first."""
        return self.entry.first_load == "direct" and not self.lake.exists()

    @property
    def counted_column(self) -> str:
        """A column of the lake that each row has."""
        return lake_name(self.entry.key[0]) if self.entry.key else self.entry.ordering


@dataclass(frozen=True, kw_only=True)
class LocalDerived(InTheLake):
    """A table derived from the pipeline's others; `counted_column`: a column of its key.

    `kind`: DERIVED by a query, or HISTORY, of the versions of one of them.
    """

    counted_column: str
    kind: str = DERIVED

    @property
    def name(self) -> str:
        """Its name among the pipeline's tables; the source has no name for it."""
        return self.lake_name


class Services:
    """All listening services, and their pipeline; building it starts nothing."""

    def __init__(
        self, folder: Path, *, ports: dict[str, int], passwords: Passwords, options: PlatformOptions, pipeline: Pipeline
    ) -> None:
        self.folder = folder
        self.ports = ports
        self.passwords = passwords
        self.options = options
        self.pipeline = pipeline
        self.connector_password_file = connector_file(folder / "secrets")
        self.salt_file = folder / "secrets" / "salt"
        role, database = self.pipeline.source.role, self.pipeline.source.database
        self.postgres = Postgres(
            folder / Postgres.name,
            port=ports["postgres"],
            superuser_password=passwords.superuser,
            confined={role: database},
        )
        outside = options.outside
        place = (
            {"host": HOST, "port": ports["postgres"], "dbname": database, "user": role}
            if outside is None
            else outside.parameters(role)
        )
        # Every login to the database uses these, here and in Java: all of them verify the server, or none does.
        self.connector: Mapping[str, Any] = {**place, "password": passwords.connector}
        own = self.connector if outside else self.postgres.connection_parameters(database)
        self.database = SourceDatabase(own)
        users = passwords.kafka
        self.kafka = Kafka(
            folder / "kafka", port=ports["kafka"], controller_port=ports["kafka-controller"], users=users
        )
        self.connect = Connect(
            folder / "connect",
            port=ports["connect"],
            bootstrap_servers=self.kafka.bootstrap_servers,
            lenses=options.lenses,
            login=users.java_login(WORKER),
            log=folder / LOGS / f"{Connect.name}.log",
            table_at=partial(self.database.table_at, self.pipeline.source.slot, self.pipeline.source.publication),
        )
        self.s3 = S3(folder / "s3", port=ports["s3"])
        self.aws = Aws(folder / "moto", port=ports["moto"])
        self.tables: tuple[LocalTable, ...] = tuple(map(self._table, self.pipeline.tables))

    def _lake(self, name: str) -> Lake:
        return Lake(base_uri=f"s3://{LAKE_BUCKET}/{name}", storage_options=local_s3_options(self.s3.endpoint))

    def _table(self, entry: CapturedTableSettings) -> LocalTable:
        topic = entry.captured.topic(self.pipeline.source.topic_prefix)
        name = self.pipeline.lake_table(entry)
        return LocalTable(
            entry=entry,
            topic=Topic(connection=self.kafka.client(), name=topic),
            landing_prefix=f"{LANDING_PREFIX}/{topic}/",
            lake=self._lake(name),
            lake_name=name,
        )

    @property
    def derived(self) -> tuple[LocalDerived, ...]:
        """The pipeline's derived tables in their order, histories last."""
        pipeline = self.pipeline
        tables = [(pipeline.lake_table(entry), entry.key[0], DERIVED) for entry in pipeline.derived]
        tables += [(pipeline.history_table(one), lake_name(one.key[0]), HISTORY) for one in pipeline.with_history]
        return tuple(
            LocalDerived(counted_column=key, lake=self._lake(name), lake_name=name, kind=kind)
            for name, key, kind in tables
        )

    @property
    def listening(self) -> dict[str, Service]:
        connectors: list[Service] = [] if self.pipeline.is_queried else [self.kafka, self.connect]
        services: list[Service] = [*connectors, self.s3, self.aws]
        if self.options.outside is None:
            services.append(self.postgres)
        return {service.name: service for service in services}

    def chosen(self, names: Sequence[str] = ()) -> tuple[LocalTable, ...]:
        """Return the tables of these names, or all. Raises UserError."""
        entries = self.pipeline.named(names)
        return tuple(table for table in self.tables if table.entry in entries)
