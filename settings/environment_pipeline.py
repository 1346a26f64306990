"""An environment's settings for a pipeline: sizes and intervals; `pipelines/<name>.toml` says what is captured."""

from typing import Annotated, Literal

from pydantic import Field

from contract import rds_ca
from contract.lake import LANDING_PREFIX
from plugins.connector_settings import FLUSH_COUNT, FLUSH_INTERVAL_S
from plugins.sink.kcql import MAXIMUM_COUNT, MAXIMUM_INTERVAL_SECONDS
from settings.pipeline import CapturedTableSettings, DatabaseName, LakeName, Pipeline, PipelineName
from settings.section import Cidrs, Identifier, Memory, Names, Section, TopicPrefix

# A name or an IPv4 address, as PostgreSQL's clients take it.
Host = Annotated[str, Field(pattern=r"^[A-Za-z0-9]([A-Za-z0-9.-]{0,251}[A-Za-z0-9])?$")]
# Complete, with the six characters that Secrets Manager adds, so that rights on it cover no other secret.
SecretArn = Annotated[
    str,
    Field(pattern=r"^arn:aws[a-z-]*:secretsmanager:[a-z0-9-]+:[0-9]{12}:secret:[A-Za-z0-9/_+=.@-]+-[A-Za-z0-9]{6}$"),
]
SecurityGroup = Annotated[str, Field(pattern=r"^sg-[0-9a-f]{8,17}$")]
POSTGRESQL = 5432


class OutsideDatabase(Section):
    """The database's location, its logins, and how its server is verified (docs/your-database/capture.md#on-aws)."""

    host: Host
    port: Annotated[int, Field(ge=1, le=65_535)] = POSTGRESQL
    name: DatabaseName | None = None
    secret: SecretArn
    owner_secret: SecretArn | None = None
    sslmode: Literal["require", "verify-ca", "verify-full"] = "verify-full"
    certificate: str | None = None
    cidrs: Cidrs = ()
    security_group: SecurityGroup | None = None

    @property
    def places(self) -> tuple[str, ...]:
        """Its `security_group`, or its `cidrs`."""
        return (self.security_group,) if self.security_group else self.cidrs

    @property
    def is_verified(self) -> bool:
        return self.sslmode != "require"

    @property
    def authority(self) -> str | None:
        """The PEM that verifies the server, None if it isn't verified. Raises ValueError for an unknown authority."""
        if not self.is_verified:
            return None
        if self.certificate is not None:
            return self.certificate
        return rds_ca.root(rds_ca.region_of(self.host))


# Environments had this one before there were others: its resources keep their names.
FIRST = "orders"


class Connector(Section):
    """Workers and MCUs (1 vCPU, 4 GiB each) of one connector, and additions to its configuration, key by key."""

    workers: Annotated[int, Field(ge=1, le=10)] = 1
    mcu_per_worker: Literal[1, 2, 4, 8] = 1
    configuration: dict[str, str] = Field(default_factory=dict)


class SinkConnector(Connector):
    """The S3 sink. `kcql`, if given, is used instead of the flush settings; `{landing}` stands for the bucket.

    Values that the sink can't read go to `dead_letter_topic`; without one they stop it.
    """

    tasks: Annotated[int, Field(ge=1, le=1_000)] = 1
    flush_interval_seconds: Annotated[int, Field(ge=1, le=MAXIMUM_INTERVAL_SECONDS)] = FLUSH_INTERVAL_S
    flush_count: Annotated[int, Field(ge=1, le=MAXIMUM_COUNT)] = FLUSH_COUNT
    partition_by: Names = ()
    kcql: str | None = None
    dead_letter_topic: TopicPrefix | None = None


class TableSizes(Section):
    """One table's settings that differ from its pipeline's `job`; memory and executors only without `one_step`."""

    sync_interval_seconds: Annotated[int, Field(ge=0)] | None = None
    driver_memory: Memory | None = None
    executor_memory: Memory | None = None
    executors: Annotated[int, Field(ge=1, le=100)] | None = None
    configuration: dict[str, str] = Field(default_factory=dict)


class Job(TableSizes):
    """How the pipeline's tables are kept: by the environment's one application, or each by its own.

    A pipeline whose job connects to its database has an application of its own. Missing values are processing's, for an
    application of its own, or five seconds. `configuration` holds further properties of the job, key by key.
    `read_again`, for queried tables and direct first loads: a new text makes the job read all rows once more and
    compare them with the lake's.
    """

    one_step: bool = True
    sync_interval_seconds: Annotated[int, Field(ge=0)] = 5
    read_again: Annotated[str, Field(pattern=r"^[A-Za-z0-9._:-]{1,40}$")] | None = None


class EnvironmentPipeline(Section):
    """A pipeline of an environment; `captured` is its file, which the loader reads.

    `topic_prefix` and `role` (the connector's in the database) default to the file's; two pipelines of one cluster have
    different roles. `tables` are by the table's name in the lake. `database`: where it is captured if not from the
    environment's own cluster.
    """

    name: PipelineName
    topic_prefix: TopicPrefix | None = None
    role: Identifier | None = None
    database: OutsideDatabase | None = None
    source: Connector = Connector()
    sink: SinkConnector = SinkConnector()
    job: Job = Job()
    tables: dict[LakeName, TableSizes] = Field(default_factory=dict)
    captured: Pipeline

    @property
    def is_queried(self) -> bool:
        """Whether the job queries its tables: then it has no connectors, topics, slot and publication."""
        return self.captured.is_queried

    @property
    def loads_directly(self) -> bool:
        """Whether the job reads a captured table's first rows."""
        return any(table.first_load == "direct" for table in self.captured.tables)

    @property
    def job_connects(self) -> bool:
        """Whether the job connects to its database."""
        return self.is_queried or self.loads_directly

    @property
    def has_own_application(self) -> bool:
        """Whether one application keeps all of its tables, and no others: true where that connects to a database."""
        return self.job_connects and self.job.one_step

    @property
    def is_first(self) -> bool:
        """Whether its resources keep the names from before there were several pipelines."""
        return self.name == FIRST

    def construct_id(self, id_: str) -> str:
        """Return the id of one of its constructs, such as `NorthwindSinkConnector`; the first one's has no prefix."""
        return id_ if self.is_first else f"{self.name.capitalize()}{id_}"

    @property
    def prefix(self) -> str:
        """Prefix of its topics' names."""
        return self.topic_prefix or self.captured.source.topic_prefix

    @property
    def connector_role(self) -> str:
        """The role that the connector logs in as.

        The file's default is the first pipeline's in our own cluster; on another server `./lake source prepare` creates
        it.
        """
        given = self.captured.source.role
        default = type(self.captured.source).model_fields["role"].default
        of_file = self.is_first or self.database is not None or given != default
        return self.role or (given if of_file else f"cdc_{self.name}")

    @property
    def hashes(self) -> bool:
        return any(table.hash for table in self.captured.tables)

    @property
    def hashes_directly(self) -> bool:
        """Whether the job has hashed columns among a captured table's first rows."""
        return any(table.hash and table.first_load == "direct" for table in self.captured.tables)

    @property
    def database_name(self) -> str:
        return (self.database and self.database.name) or self.captured.source.database

    @property
    def as_deployed(self) -> Pipeline:
        """The pipeline with the environment's topic prefix, role and database instead of the file's."""
        own = {"topic_prefix": self.prefix, "role": self.connector_role, "database": self.database_name}
        changed = self.captured.source.model_copy(update=own)
        return self.captured.model_copy(update={"source": changed})

    @property
    def landing_prefix(self) -> str:
        """The prefix under which the sink lands its objects, without a trailing slash."""
        return LANDING_PREFIX if self.is_first else self.name

    @property
    def landed_filter(self) -> str:
        """The name of the filter on its landing objects: a dimension of S3's request metrics."""
        return "landed" if self.is_first else f"landed-{self.name}"

    def sizes(self, table: CapturedTableSettings) -> TableSizes:
        """Return the sizes of a table's job: its own if given, else the pipeline's."""
        own = self.tables.get(self.captured.lake_table(table), TableSizes())
        chosen = self.job.model_dump(include={*TableSizes.model_fields}) | own.model_dump(exclude_none=True)
        return TableSizes.model_validate(chosen | {"configuration": self.job.configuration | own.configuration})
