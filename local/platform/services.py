"""The services of one platform, built from its folder, its ports and its options."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from contract import lake
from contract.capture_objects import CONNECTOR_ROLE
from contract.source import DATABASE, OUTBOX_TABLE
from db.outbox import Mode
from local.look.lake import Lake, local_s3_options
from local.look.topic import Topic
from local.platform.processes import Command
from local.platform.state import Passwords
from local.services.aws import Aws
from local.services.connect import Connect
from local.services.kafka.broker import Kafka
from local.services.kafka.roles import READER, ROLES, WORKER
from local.services.kafka.users import KafkaUsers
from local.services.postgres import ConnectionParameters, Postgres
from local.services.s3 import S3
from local.services.source_database import SourceDatabase
from local.setup.ports import HOST
from plugins.connectors import events_topic

PORTS = ("postgres", "kafka", "kafka-controller", "connect", "s3", "moto")
TOPIC = events_topic("demo")
LANDING_BUCKET = "landing"
LAKE_BUCKET = "lake"
LAKE_PATH = OUTBOX_TABLE
LAKE_URI = f"s3://{LAKE_BUCKET}/{LAKE_PATH}"
GLUE_DATABASE = lake.DATABASE
GLUE_TABLE = OUTBOX_TABLE
SECRET = "cdc-data-lake/connector"  # noqa: S105  (the secret's name)


@dataclass(frozen=True, kw_only=True)
class PlatformOptions:
    """What a user may choose.

    `scale` and `dump` are the loader's and count on the first start, while there is no source database; later only what
    was loaded then may be asked for. `mode` None is the one that the outbox has, `transaction` on the first start.
    `lenses` is the release of the real S3 sink, an archive or a folder; `job` False leaves the streaming job out.
    `supervised` leaves a process behind that restarts what dies.
    """

    database: str = DATABASE
    mode: Mode | None = None
    scale: int | None = None
    dump: Path | None = None
    lenses: Path | None = None
    job: bool = True
    supervised: bool = False


class Service(Protocol):
    """A process that listens on a port."""

    name: str

    def prepare(self) -> Command:
        """Write its configuration and return how to start it."""

    def ready(self) -> bool:
        """Tell whether it answers."""


@dataclass(frozen=True, kw_only=True)
class Endpoints:
    """How to reach the platform. `source` and `kafka` hold the superusers' passwords, so they aren't printed.

    `kafka` is what librdkafka's clients connect with, `kafka_reader` a file with the same for who may only read.
    """

    source: ConnectionParameters = field(repr=False)
    kafka: Mapping[str, str] = field(repr=False)
    kafka_reader: Path
    bootstrap_servers: str
    topic: str
    connect_url: str
    s3_endpoint: str
    aws_endpoint: str
    landing_bucket: str = LANDING_BUCKET
    lake_uri: str = LAKE_URI


class Services:
    """Everything that listens on a port; building it starts nothing."""

    def __init__(self, folder: Path, *, ports: dict[str, int], passwords: Passwords, options: PlatformOptions) -> None:
        self.ports = ports
        self.options = options
        self.postgres = Postgres(
            folder / "postgres",
            ports["postgres"],
            folder / "logs" / "postgres.log",
            passwords.superuser,
            confined={CONNECTOR_ROLE: options.database},
        )
        self.database = SourceDatabase(self.postgres, options.database)
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
        )
        self.s3 = S3(folder / "s3", port=ports["s3"])
        self.aws = Aws(folder / "moto", port=ports["moto"])

    @property
    def listening(self) -> dict[str, Service]:
        """The services that answer on a port, by name; PostgreSQL starts by itself."""
        services: tuple[Service, ...] = (self.kafka, self.connect, self.s3, self.aws)
        return {service.name: service for service in services}

    @property
    def topic(self) -> Topic:
        """The topic of the change events."""
        return Topic(connection=self.kafka.client(), name=TOPIC)

    @property
    def lake(self) -> Lake:
        """The lake's table."""
        return Lake(base_uri=LAKE_URI, storage_options=local_s3_options(self.s3.endpoint))

    @property
    def endpoints(self) -> Endpoints:
        """How to reach all of it."""
        return Endpoints(
            source=self.postgres.connection_parameters(self.options.database),
            kafka=self.kafka.client(),
            kafka_reader=self.kafka.users.client_path(READER),
            bootstrap_servers=self.kafka.bootstrap_servers,
            topic=TOPIC,
            connect_url=self.connect.url,
            s3_endpoint=self.s3.endpoint,
            aws_endpoint=self.aws.endpoint,
        )

    def connector_parameters(self, role: str, password: str) -> ConnectionParameters:
        """Return how the connector's role connects to the source database."""
        return {
            "host": HOST,
            "port": self.ports["postgres"],
            "user": role,
            "password": password,
            "dbname": self.options.database,
        }
