"""A landing folder and a table of the lake: the job's batches run in the test's own session."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar

import pyarrow
from hudi import HudiTableBuilder
from pyspark.sql import DataFrame, SparkSession

from spark_jobs.decoding import schema
from spark_jobs.ingest import Ingest
from spark_jobs.options import command_line, properties, settings
from spark_jobs.options.settings import Settings
from spark_jobs.runtime.metrics import CommitReport
from spark_jobs.sources.postgres.access import Databases
from spark_jobs.table.hudi_table import HudiTable
from spark_jobs.table.kept_table import SharedParts
from tests.spark_jobs.events import CONF, SCHEMA, TOPIC, Event, as_lines


def without_hudis(row: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in row.items() if not name.startswith("_hoodie_")}


def rows_of(table_path: Path) -> list[dict[str, Any]]:
    """A table's rows as hudi-rs reads them, at a tenth of Spark's cost; without Hudi's own columns."""
    batches = HudiTableBuilder.from_base_uri(str(table_path)).build().read()
    # Files from before a column came lack it.
    tables = [pyarrow.Table.from_batches([batch]) for batch in batches]
    found = pyarrow.concat_tables(tables, promote_options="default").to_pylist() if tables else []
    return list(map(without_hudis, found))


def has_cached(spark: SparkSession) -> bool:
    shared: Any = spark._jsparkSession.sharedState()
    return not shared.cacheManager().isEmpty()


@dataclass
class IngestedTable:
    """A table and its job's settings, run in the test's own session; `extra` are further properties."""

    NAME: ClassVar[str] = "cdc_events"
    OWN: ClassVar[Sequence[str]] = ()

    spark: SparkSession
    folder: Path
    extra: Mapping[str, str] = field(default_factory=dict)
    arguments: Sequence[str] = ()
    log: list[str] = field(default_factory=list)
    databases: Databases | None = None

    @property
    def table_path(self) -> Path:
        return self.folder / "lake" / self.NAME

    def properties(self) -> dict[str, str]:
        raise NotImplementedError

    def settings(self) -> Settings:
        arguments = ["--table-type", "COPY_ON_WRITE", "--target-base-path", str(self.table_path)]
        arguments += ["--target-table", f"datalake.{self.NAME}", *self.OWN, *self.arguments]
        pairs = properties.combine(self.properties().items(), [])
        return settings.decide(command_line.parse(arguments), pairs, self.log.append)

    def table(self) -> HudiTable:
        return HudiTable(self.spark, self.settings().table)

    def job(self) -> Ingest:
        """A job that has read the table's progress, as after a start."""
        decided = self.settings()
        columns = schema.parse(Path(decided.schema_file).read_text(), decided.schema_file)
        job = Ingest(self.spark, decided, columns, shared=SharedParts(log=self.log.append, databases=self.databases))
        job.load()
        return job

    def stored(self, *, by_spark: bool = False) -> list[dict[str, Any]]:
        """The table's rows without Hudi's own columns; read by Spark on request, or if logs have to be merged."""
        if not by_spark and "MERGE_ON_READ" not in self.arguments:
            return rows_of(self.table_path)
        return [without_hudis(row.asDict()) for row in self.frame().collect()]

    def frame(self) -> DataFrame:
        return self.spark.read.format("hudi").load(str(self.table_path))

    def commits(self) -> int:
        """Number of completed commits in the timeline."""
        names = [path.name for path in (self.table_path / ".hoodie").glob("[0-9]*")]
        return sum(name.endswith((".commit", ".deltacommit")) for name in names)


@dataclass
class Lake(IngestedTable):
    """A landing folder, and the table of what lands there."""

    conf: str = "cdc_events.properties"
    next_offset: int = 0

    @property
    def landing(self) -> Path:
        return self.folder / "landing"

    @property
    def quarantine(self) -> Path:
        return self.folder / "lake" / "_quarantine" / self.NAME

    def land(self, *events: Event | str, name: str | None = None) -> Path:
        """Write one landing object, by default the next of the ordered layout."""
        self.next_offset += len(events)
        path = self.landing / (name or f"{TOPIC}/0/{self.next_offset - 1:012d}_{1}_{2}.json")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(as_lines(events))
        return path

    def properties(self) -> dict[str, str]:
        pairs = properties.load(str(CONF / self.conf), lambda path: Path(path).read_text())
        own = {
            "hoodie.streamer.source.dfs.root": str(self.landing),
            "hoodie.streamer.schemaprovider.source.schema.file": str(SCHEMA),
            **self.extra,
        }
        return properties.combine(pairs, properties.parse_overrides(f"{key}={value}" for key, value in own.items()))

    def run(self, *events: Event | str, job: Ingest | None = None) -> CommitReport:
        """Land events and run one batch, which must commit; start the job if none is given."""
        if events:
            self.land(*events)
        report = (job or self.job()).run_batch()
        assert report is not None
        return report

    def rows(self, *, by_spark: bool = False) -> dict[int, dict[str, Any]]:
        rows = self.stored(by_spark=by_spark)
        by_key = {row["order_id"]: row for row in rows}
        assert len(by_key) == len(rows), "a key is in the table twice"
        return by_key

    def column(self, name: str) -> dict[int, Any]:
        return {key: row[name] for key, row in self.rows().items()}

    def lsns(self) -> dict[int, int]:
        return self.column("__lsn")

    def quarantined(self) -> list[dict[str, Any]]:
        files = sorted(path for path in self.quarantine.rglob("*.json") if not path.name.startswith("."))
        return [json.loads(line) for path in files for line in path.read_text().strip().split("\n")]
