"""The services of one platform, built from its folder, its ports and its options."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from local.errors import PlatformError
from local.look.lake import Lake
from local.look.topic import Topic
from local.platform.state import LOGS, Passwords, connector_file
from local.platform.tables import LocalDerived, LocalTable, local_derived, local_tables
from local.services.aws import Aws
from local.services.connect import Connect
from local.services.kafka.broker import Kafka
from local.services.kafka.roles import ROLES, WORKER
from local.services.kafka.users import KafkaUsers
from local.services.outside_database import OutsideDatabase
from local.services.postgres import Postgres
from local.services.processes import Service
from local.services.s3 import S3
from local.services.source_database import SourceDatabase
from local.setup.ports import HOST
from settings.environment_pipeline import FIRST
from settings.load import load_pipeline
from settings.pipeline import Pipeline

PORTS = ("postgres", "kafka", "kafka-controller", "connect", "s3", "moto")
SECRET = "cdc-data-lake/connector"  # noqa: S105  (the secret's name)
ORDERS = FIRST


@dataclass(frozen=True, kw_only=True)
class PlatformOptions:
    """Options that a user may choose.

    `pipeline` names the file in pipelines/; `outside` is its database where that isn't the embedded one.
    `scale` and `dump` are the loader's and apply to the first start, while there is no source database; later, only the
    data loaded then may be requested.
    `lenses` is the release of the real S3 sink, an archive or a folder; `job` False leaves the streaming job out.
    `supervised` leaves a process behind that restarts dead services.
    """

    pipeline: str = ORDERS
    outside: OutsideDatabase | None = None
    scale: int | None = None
    dump: Path | None = None
    lenses: Path | None = None
    job: bool = True
    supervised: bool = False


class Services:
    """All listening services, and their pipeline; building it starts nothing.

    Raises SettingsFileError for an invalid pipeline.
    """

    def __init__(self, folder: Path, *, ports: dict[str, int], passwords: Passwords, options: PlatformOptions) -> None:
        self.folder = folder
        self.ports = ports
        self.passwords = passwords
        self.options = options
        self.pipeline: Pipeline = load_pipeline(options.pipeline)
        self.connector_password_file = connector_file(folder / "secrets")
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
        users = KafkaUsers.of(folder / "secrets" / "kafka", ROLES)
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
        self.tables: tuple[LocalTable, ...] = local_tables(
            self.pipeline, kafka=self.kafka.client(), s3_endpoint=self.s3.endpoint
        )
        self.derived: tuple[LocalDerived, ...] = local_derived(self.pipeline, s3_endpoint=self.s3.endpoint)

    @property
    def listening(self) -> dict[str, Service]:
        """The services that answer on a port, by name."""
        connectors: list[Service] = [] if self.pipeline.is_queried else [self.kafka, self.connect]
        services: list[Service] = [*connectors, self.s3, self.aws]
        if self.options.outside is None:
            services.append(self.postgres)
        return {service.name: service for service in services}

    @property
    def topic(self) -> Topic:
        """The topic of the first table's change events: the outbox's, where that is captured."""
        return self.tables[0].topic

    @property
    def lake(self) -> Lake:
        """The lake's first table."""
        return self.tables[0].lake

    def chosen(self, names: Sequence[str] = ()) -> tuple[LocalTable, ...]:
        """Return the tables of these names, or all. Raises PlatformError."""
        try:
            entries = self.pipeline.named(names)
        except ValueError as error:
            raise PlatformError(str(error)) from None
        return tuple(table for table in self.tables if table.entry in entries)
