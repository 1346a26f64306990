"""The parts of an environment that all its pipelines share: network, VPN, database, Kafka, lake, EMR, alarms, costs."""

from typing import Annotated, Literal

from pydantic import Field

from contract.sizes import LARGEST_EVENT_BYTES, LARGEST_SETTING_BYTES, MIB
from settings import aws_offers
from settings.section import (
    EACH_ONCE,
    AwsArns,
    Cidr,
    Cidrs,
    Identifier,
    LogRetention,
    Memory,
    RetentionHours,
    Section,
    VpnUser,
    one_of,
)


class Network(Section):
    """The VPC. Interface endpoints are named by their service, such as `secretsmanager`.

    `nat`: a gateway or an instance in each zone, or one instance for all of them.
    """

    cidr: Cidr
    nat: Literal["instances", "gateways", "instance"]
    nat_instance_type: Annotated[str, one_of(aws_offers.NAT_INSTANCE_TYPES)] = "t4g.nano"
    interface_endpoints: Annotated[
        tuple[Annotated[str, one_of(aws_offers.ENDPOINTS)], ...], Field(strict=False), EACH_ONCE
    ] = ()
    flow_log_retention_days: LogRetention


class Vpn(Section):
    """The bastion (docs/aws/vpn.md): who may reach IPsec, and who SoftEther's management port; `users` may connect."""

    # SoftEther's release and its image are for x86-64.
    instance_type: Annotated[str, one_of(aws_offers.VPN_INSTANCE_TYPES)]
    client_cidrs: Cidrs
    management_cidrs: Cidrs
    users: Annotated[tuple[VpnUser, ...], Field(strict=False), EACH_ONCE] = ()
    password_rotation_days: Annotated[int, Field(ge=0, le=365)]
    emr_access: bool = False


class Restore(Section):
    """The cluster's origin: a snapshot, or another cluster as it was at a `time` (UTC; by default the latest).

    `name` ends the new cluster's name, `<environment>-cdc-lake-<name>`. Don't change any of it later: another
    value creates another cluster (docs/aws/restore.md).
    """

    name: Annotated[str, Field(pattern=r"^[a-z0-9]{1,12}$")]
    snapshot: str | None = None
    cluster: str | None = None
    time: str | None = None


class Database(Section):
    """Aurora PostgreSQL and its initial data. `secret_rotation_days` 0: no rotation."""

    engine_version: Annotated[str, one_of(aws_offers.AURORA_POSTGRESQL_VERSIONS, "an Aurora PostgreSQL 16 of ours")]
    instance_class: Annotated[str, one_of(aws_offers.AURORA_INSTANCE_CLASSES)]
    instances: Annotated[int, Field(ge=1, le=15)]
    name: Identifier
    backup_retention_days: Annotated[int, Field(ge=1, le=35)]
    deletion_protection: bool
    secret_rotation_days: Annotated[int, Field(ge=0, le=365)]
    sample_data: bool
    sample_scale: Annotated[int, Field(ge=1, le=1_000)] = 1
    log_retention_days: LogRetention = 30
    restore: Restore | None = None


class Streaming(Section):
    """The MSK cluster; `volume_gb` GiB per broker. `topic_retention_hours`: how long events stay at least.

    `largest_event_mib`: the limit that source, brokers and sink share.

    Never less than the default: the source database's own limit is below that.
    """

    kafka_version: Annotated[str, one_of(aws_offers.MSK_KAFKA_VERSIONS, "an MSK version that we know")]
    broker_type: Annotated[str, one_of(aws_offers.MSK_PARTITIONS_PER_BROKER, "a broker type that we know")]
    # The alarm on their disks takes ten metrics (stacks/monitoring/watches.py), one of each broker.
    brokers: Annotated[int, Field(ge=1, le=10)]
    volume_gb: Annotated[int, Field(ge=1, le=16_384)]
    topic_retention_hours: RetentionHours
    log_retention_days: LogRetention
    largest_event_mib: Annotated[int, Field(ge=LARGEST_EVENT_BYTES // MIB, le=LARGEST_SETTING_BYTES // MIB)] = (
        LARGEST_EVENT_BYTES // MIB
    )

    @property
    def largest_event_bytes(self) -> int:
        return self.largest_event_mib * MIB


class Eks(Section):
    """The cluster of the connectors' workers (docs/aws/eks.md#choose-eks)."""

    kubernetes_version: Annotated[str, one_of(aws_offers.EKS_VERSIONS, "a version on EKS's standard support")]
    image: str
    registries: Annotated[tuple[str, ...], Field(strict=False)] = ()
    endpoint_cidrs: Cidrs = ()
    administrators: AwsArns = ()
    maximum_workers: Annotated[int, Field(ge=0, le=50)] = 0


class Connectors(Section):
    """Where the connectors run, and the settings they share; their pipelines have their sizes.

    `kafka_connect_version` is MSK Connect's.
    """

    platform: Literal["msk-connect", "eks"] = "msk-connect"
    kafka_connect_version: Annotated[
        str,
        one_of(aws_offers.MSK_CONNECT_VERSIONS, "a version that MSK Connect has", aws_offers.MSK_CONNECT_REFUSED),
    ]
    log_retention_days: LogRetention
    eks: Eks | None = None


class Lake(Section):
    """Buckets, Glue's database (`<environment>_datalake` by default), and days after which objects expire."""

    database: Identifier
    landing_expiry_days: Annotated[int, Field(ge=1)]
    noncurrent_version_expiry_days: Annotated[int, Field(ge=1)]
    log_expiry_days: Annotated[int, Field(ge=1)]


EmrInstanceType = Annotated[str, one_of(aws_offers.YARN_MEMORY_MB, "a type of EMR's that we know")]


class Processing(Section):
    """The EMR cluster. `core_instances` 0: it is its primary node. `maximum_core_instances` 0: no managed scaling.

    `market`: how nodes are bought; spot nodes cost less but may be reclaimed at any time; losing the primary ends the
    cluster. Memory and executors are those of the one application that keeps the tables of all pipelines, and the
    defaults of other applications.
    """

    release: Annotated[str, one_of(sorted(aws_offers.RELEASES), "a release that the job was written for")]
    primary_instance_type: EmrInstanceType
    core_instance_type: EmrInstanceType
    core_instances: Annotated[int, Field(ge=0)]
    maximum_core_instances: Annotated[int, Field(ge=0)]
    market: Literal["on_demand", "spot"] = "on_demand"
    applications: Annotated[tuple[Annotated[str, one_of(sorted(aws_offers.APPLICATIONS))], ...], Field(strict=False)]
    driver_memory: Memory = "2g"
    executor_memory: Memory = "4g"
    executors: Annotated[int, Field(ge=1, le=100)] = 2


class Budget(Section):
    """A monthly limit in USD: the alarms' recipients are notified at 80 %, at 100 %, and when 100 % is forecast."""

    monthly_usd: Annotated[int, Field(ge=1, le=1_000_000)]


class Analytics(Section):
    """Athena's workgroup, and QuickSight (docs/aws/analysts.md#settings)."""

    result_expiry_days: Annotated[int, Field(ge=1, le=365)] = 7
    # Athena's minimum is 10 MB.
    scan_limit_mb: Annotated[int, Field(ge=10, le=10_000_000)] = 10_240
    quicksight_principal: str | None = None
    import_mode: Literal["DIRECT_QUERY", "SPICE"] = "DIRECT_QUERY"
    refresh: Literal["HOURLY", "DAILY"] = "HOURLY"
    lake_formation: bool = False
    lake_formation_readers: Annotated[AwsArns, EACH_ONCE] = ()


class Monitoring(Section):
    """The alarms' recipients and thresholds."""

    alarm_email: Annotated[str, Field(pattern=r"^[^@\s]+@[^@\s]+\.[^@\s]+$")]
    slot_lag_mb: Annotated[int, Field(ge=1)]
    landing_silence_minutes: Annotated[int, Field(ge=5, le=1_440)]
    # For queried tables: how long a transaction of their database may stay open.
    horizon_age_minutes: Annotated[int, Field(ge=5, le=1_440)] = 60
    commit_age_minutes: Annotated[int, Field(ge=5, le=1_440)]
    broker_disk_percent: Annotated[int, Field(ge=1, le=99)]
