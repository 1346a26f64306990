"""A pipeline's tables on the local platform: the topic, the landing and the lake of each."""

from collections.abc import Mapping
from dataclasses import dataclass

from contract import lake
from contract.lake import LANDING_PREFIX
from contract.table_names import lake_name
from local.look.lake import Lake, local_s3_options
from local.look.topic import Topic
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
class LocalTable:
    """One table of the pipeline: its entry, its topic, its objects' prefix in the landing, and the lake's table.

    `lake_name` is its name in Glue and in the lake.
    """

    entry: CapturedTableSettings
    topic: Topic
    landing_prefix: str
    lake: Lake
    lake_name: str

    @property
    def name(self) -> str:
        """`schema.table`, as in the source."""
        return self.entry.name

    @property
    def job_name(self) -> str:
        """`database.table`, as in the job's log and metrics."""
        return f"{GLUE_DATABASE}.{self.lake_name}"


@dataclass(frozen=True, kw_only=True)
class LocalDerived:
    """A table derived from the pipeline's others: a column of its key, its name in Glue and in the lake.

    `kind`: DERIVED by a query, or HISTORY, of the versions of one of them.
    """

    key: str
    lake: Lake
    lake_name: str
    kind: str = DERIVED

    @property
    def name(self) -> str:
        """Its name among the pipeline's tables; the source has no name for it."""
        return self.lake_name

    @property
    def job_name(self) -> str:
        """`database.table`, as in the job's log and metrics."""
        return f"{GLUE_DATABASE}.{self.lake_name}"


def local_derived(pipeline: Pipeline, *, s3_endpoint: str) -> tuple[LocalDerived, ...]:
    """Return the pipeline's derived tables in their order, histories last."""

    def table(name: str, key: str, kind: str) -> LocalDerived:
        return LocalDerived(key=key, lake=_lake(name, s3_endpoint), lake_name=name, kind=kind)

    return (
        *(table(pipeline.lake_table(entry), entry.key[0], DERIVED) for entry in pipeline.derived),
        *(table(pipeline.history_table(entry), lake_name(entry.key[0]), HISTORY) for entry in pipeline.with_history),
    )


def _lake(name: str, s3_endpoint: str) -> Lake:
    return Lake(base_uri=f"s3://{LAKE_BUCKET}/{name}", storage_options=local_s3_options(s3_endpoint))


def local_tables(pipeline: Pipeline, *, kafka: Mapping[str, str], s3_endpoint: str) -> tuple[LocalTable, ...]:
    """Return the pipeline's tables in their order; `kafka`: connection settings of librdkafka's clients."""

    def table(entry: CapturedTableSettings) -> LocalTable:
        topic = entry.captured.topic(pipeline.source.topic_prefix)
        lake_name = pipeline.lake_table(entry)
        return LocalTable(
            entry=entry,
            topic=Topic(connection=kafka, name=topic),
            landing_prefix=f"{LANDING_PREFIX}/{topic}/",
            lake=_lake(lake_name, s3_endpoint),
            lake_name=lake_name,
        )

    return tuple(map(table, pipeline.tables))
