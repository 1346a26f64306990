"""What one environment decides: `environments/<name>.toml`, as types.

Each section of the file is a class here and each key an attribute of the same name. What a single value can't show to
be wrong, such as two settings that don't go together, is refused in settings/rules/; settings/load.py reads the file.
"""

from ipaddress import IPv4Network
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, model_validator

from contract.events import ORDERING
from contract.lake import DATABASE
from contract.sizes import LARGEST_EVENT_BYTES, LARGEST_SETTING_BYTES, MIB

LogRetention = Literal[1, 3, 5, 7, 14, 30, 60, 90, 120, 150, 180, 365, 400, 545, 731, 1827, 3653]


LONGEST_RETENTION_HOURS = 10 * 365 * 24


class Section(BaseModel):
    """A table of the file: no unknown keys, no silent conversions, no changes later."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)


def _network(value: str) -> str:
    IPv4Network(value)
    return value


Cidr = Annotated[str, AfterValidator(_network)]
# TOML's arrays arrive as lists.
Names = Annotated[tuple[str, ...], Field(strict=False)]
Cidrs = Annotated[tuple[Cidr, ...], Field(strict=False)]
# SoftEther's and Secrets Manager's names, and a shell's word.
VpnUser = Annotated[str, Field(pattern=r"^[a-z][a-z0-9]*([._][a-z0-9]+)*$", max_length=31)]
Identifier = Annotated[str, Field(pattern=r"^[a-z_][a-z0-9_]{0,62}$")]
TopicPrefix = Annotated[str, Field(pattern=r"^[A-Za-z0-9_-][A-Za-z0-9._-]{0,199}$")]


# Spark's, in GiB or MiB.
MEMORY = r"^[1-9]\d{0,5}[gm]$"
# A file's name, not a path to somewhere else.
FILE_NAME = r"^[A-Za-z0-9_][A-Za-z0-9_.-]*$"


class Network(Section):
    """The VPC. Interface endpoints are named by their service, such as `secretsmanager`."""

    cidr: Cidr
    nat: Literal["instances", "gateways"]
    nat_instance_type: str = "t4g.nano"
    interface_endpoints: Names = ()
    flow_log_retention_days: LogRetention


class Vpn(Section):
    """The bastion: who may reach IPsec, and who SoftEther's management port (nobody when empty).

    `users` are the people who may connect, each with a password of her own; `password_rotation_days` 0: no rotation.
    `emr_access`: whether they reach what EMR's applications serve, which asks nobody for a password.
    """

    instance_type: str
    client_cidrs: Cidrs
    management_cidrs: Cidrs
    users: Annotated[tuple[VpnUser, ...], Field(strict=False)] = ()
    password_rotation_days: Annotated[int, Field(ge=0, le=365)]
    emr_access: bool = False


class Restore(Section):
    """What the cluster is made of: a snapshot, or another cluster as it was at a `time` (UTC; without it, the latest).

    `name` ends the new cluster's name, `<environment>-cdc-lake-<name>`. Leave all of it as it is from then on: another
    value is another cluster (docs/restore-database.md).
    """

    name: Annotated[str, Field(pattern=r"^[a-z0-9]{1,12}$")]
    snapshot: str | None = None
    cluster: str | None = None
    time: str | None = None


class Database(Section):
    """Aurora PostgreSQL and what is put into it. `secret_rotation_days` 0: no rotation."""

    engine_version: str
    instance_class: str
    instances: Annotated[int, Field(ge=1, le=15)]
    name: Identifier
    backup_retention_days: Annotated[int, Field(ge=1, le=35)]
    deletion_protection: bool
    secret_rotation_days: Annotated[int, Field(ge=0, le=1_000)]
    sample_data: bool
    sample_scale: Annotated[int, Field(ge=1, le=1_000)] = 1
    outbox_mode: Literal["transaction", "statement"] = "transaction"
    log_retention_days: LogRetention = 30
    restore: Restore | None = None


class Streaming(Section):
    """The MSK cluster; `volume_gb` GiB per broker. `topic_retention_hours`: how long events stay at the least.

    `largest_event_mib`: what source, brokers and sink agree on.

    Never less than the default: the source database's own limit is made to stay below that.
    """

    kafka_version: str
    broker_type: str
    brokers: Annotated[int, Field(ge=1, le=30)]
    volume_gb: Annotated[int, Field(ge=1, le=16_384)]
    topic_retention_hours: Annotated[int, Field(ge=1, le=LONGEST_RETENTION_HOURS)]
    log_retention_days: LogRetention
    largest_event_mib: Annotated[int, Field(ge=LARGEST_EVENT_BYTES // MIB, le=LARGEST_SETTING_BYTES // MIB)] = (
        LARGEST_EVENT_BYTES // MIB
    )

    @property
    def largest_event_bytes(self) -> int:
        """The size of an event's JSON that must get through."""
        return self.largest_event_mib * MIB


class Connector(Section):
    """Workers and MCUs (1 vCPU, 4 GiB each) of one connector, and more of its configuration, key by key."""

    workers: Annotated[int, Field(ge=1, le=10)]
    mcu_per_worker: Literal[1, 2, 4, 8]
    configuration: dict[str, str] = {}


class SinkConnector(Connector):
    """The S3 sink. `kcql`, when given, is used instead of the flush settings; `{landing}` stands for the bucket.

    Values that the sink can't read go to `dead_letter_topic`; without one they stop it.
    """

    tasks: Annotated[int, Field(ge=1, le=1_000)]
    flush_interval_seconds: int = 60
    flush_count: int = 5_000
    partition_by: Names = ()
    kcql: str | None = None
    dead_letter_topic: str | None = None


class Connectors(Section):
    """Both connectors on MSK Connect."""

    kafka_connect_version: str
    topic_prefix: TopicPrefix
    log_retention_days: LogRetention
    source: Connector
    sink: SinkConnector


class Lake(Section):
    """Buckets, Glue's database (`<environment>_datalake` unless it is given), and days after which objects expire."""

    database: Identifier
    landing_expiry_days: Annotated[int, Field(ge=1)]
    noncurrent_version_expiry_days: Annotated[int, Field(ge=1)]
    log_expiry_days: Annotated[int, Field(ge=1)]


class Processing(Section):
    """The EMR cluster. `maximum_core_instances` 0: no managed scaling."""

    release: str
    primary_instance_type: str
    core_instance_type: str
    core_instances: Annotated[int, Field(ge=1)]
    maximum_core_instances: Annotated[int, Field(ge=0)]
    applications: Names


class Table(Section):
    """One Hudi table: the topic it follows, its schema and properties under spark_jobs/, the job's options."""

    name: Identifier
    topic: str
    schema_file: Annotated[str, Field(alias="schema", pattern=FILE_NAME)]
    properties: Annotated[str, Field(pattern=FILE_NAME)]
    path: Annotated[str, Field(pattern=r"^[a-z0-9_][a-z0-9_/-]*[a-z0-9_]$")]
    table_type: Literal["COPY_ON_WRITE", "MERGE_ON_READ"]
    operation: Literal["UPSERT", "INSERT", "BULK_INSERT"] = "UPSERT"
    source_ordering_field: str = ORDERING
    sync_interval_seconds: Annotated[int, Field(ge=0)] = 5
    driver_memory: Annotated[str, Field(pattern=MEMORY)] = "2g"
    executor_memory: Annotated[str, Field(pattern=MEMORY)] = "4g"
    executors: Annotated[int, Field(ge=1, le=100)] = 1
    configuration: dict[str, str] = {}


class Monitoring(Section):
    """Who is told, and from which values on."""

    alarm_email: Annotated[str, Field(pattern=r"^[^@\s]+@[^@\s]+\.[^@\s]+$")]
    slot_lag_mb: Annotated[int, Field(ge=1)]
    landing_silence_minutes: Annotated[int, Field(ge=5, le=1_440)]
    commit_age_minutes: Annotated[int, Field(ge=5, le=1_440)]
    broker_disk_percent: Annotated[int, Field(ge=1, le=99)]


class Environment(Section):
    """One environment, as its file says; `name` is the file's."""

    name: Annotated[str, Field(pattern=r"^[a-z][a-z0-9]{0,11}$")]
    account: Annotated[str, Field(pattern=r"^\d{12}$")]
    region: Annotated[str, Field(pattern=r"^[a-z]{2}(-[a-z]+)+-\d$")]
    availability_zones: Names
    production: bool
    removal_policy: Literal["destroy", "retain"]
    network: Network
    vpn: Vpn
    database: Database
    streaming: Streaming
    connectors: Connectors
    lake: Lake
    processing: Processing
    tables: Annotated[tuple[Table, ...], Field(strict=False, min_length=1)]
    monitoring: Monitoring

    @model_validator(mode="before")
    @classmethod
    def _names_of_its_own(cls, values: Any) -> Any:
        """What no two environments of an account and region may share begins with the environment's name."""
        lake = values.get("lake") if isinstance(values, dict) else None
        if isinstance(lake, dict) and "database" not in lake:
            return values | {"lake": {"database": f"{values.get('name')}_{DATABASE}"} | lake}
        return values

    @property
    def prefix(self) -> str:
        """What every name of this environment begins with."""
        return f"{self.name}-cdc-lake"

    @property
    def vpn_users_parameter(self) -> str:
        """The name in Parameter Store of the list of those who may connect."""
        return f"/{self.prefix}/vpn/users"

    def vpn_secret(self, user: str) -> str:
        """Name the secret with a person's VPN password."""
        return f"{self.prefix}/vpn/{user}"

    @property
    def database_cluster(self) -> str:
        """The identifier of the source's cluster. A restored one has a name of its own: the old one is still there."""
        restore = self.database.restore
        return self.prefix if restore is None else f"{self.prefix}-{restore.name}"

    def bucket_name(self, role: str) -> str:
        """Name the bucket of that role; account and region make it unique among all of S3."""
        return f"{self.prefix}-{role}-{self.account}-{self.region}"
