"""A landing folder and a table of the lake: the job's batches run in the test's own session."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession

from spark_jobs.decoding import schema
from spark_jobs.ingest import Ingest
from spark_jobs.options import command_line, properties, settings
from spark_jobs.options.settings import Settings
from spark_jobs.report import CommitReport
from spark_jobs.table.hudi_table import HudiTable
from spark_jobs.table_job import SharedParts, build_ingest
from tests.spark_jobs.events import CONF, SCHEMA, TOPIC, Event, as_lines


def has_cached(spark: SparkSession) -> bool:
    """Whether the session keeps a frame in memory."""
    shared: Any = spark._jsparkSession.sharedState()
    return not shared.cacheManager().isEmpty()


@dataclass
class Lake:
    """A landing folder, a table and the job's settings; runs batches in the test's own session."""

    spark: SparkSession
    folder: Path
    extra: Mapping[str, str] = field(default_factory=dict)
    arguments: Sequence[str] = ()
    conf: str = "cdc_events.properties"
    log: list[str] = field(default_factory=list)
    next_offset: int = 0

    @property
    def landing(self) -> Path:
        return self.folder / "landing"

    @property
    def table_path(self) -> Path:
        return self.folder / "lake" / "cdc_events"

    @property
    def quarantine(self) -> Path:
        return self.folder / "lake" / "_quarantine" / "cdc_events"

    def land(self, *events: Event | str, name: str | None = None) -> Path:
        """Write one landing object, by default the next of the ordered layout."""
        self.next_offset += len(events)
        path = self.landing / (name or f"{TOPIC}/0/{self.next_offset - 1:012d}_{1}_{2}.json")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(as_lines(events))
        return path

    def settings(self) -> Settings:
        given = command_line.parse(
            [
                *("--table-type", "COPY_ON_WRITE", "--target-base-path", str(self.table_path)),
                *("--target-table", "datalake.cdc_events", *self.arguments),
            ]
        )
        pairs = properties.load(str(CONF / self.conf), lambda path: Path(path).read_text())
        overrides = {
            "hoodie.streamer.source.dfs.root": str(self.landing),
            "hoodie.streamer.schemaprovider.source.schema.file": str(SCHEMA),
        }
        all_overrides = properties.parse_overrides(f"{k}={v}" for k, v in {**overrides, **self.extra}.items())
        return settings.decide(given, properties.combine(pairs, all_overrides), self.log.append)

    def table(self) -> HudiTable:
        return HudiTable(self.spark, self.settings().table)

    def job(self) -> Ingest:
        """A job that has read the table's progress, as after a start."""
        decided = self.settings()
        text = Path(decided.schema_file).read_text()
        columns = schema.parse(text, decided.schema_file)
        job = build_ingest(self.spark, decided, columns, SharedParts(log=self.log.append))
        job.load()
        return job

    def run(self, *events: Event | str) -> CommitReport:
        """Land events, start a job and run one batch, which must commit."""
        if events:
            self.land(*events)
        report = self.job().run_batch()
        assert report is not None
        return report

    def rows(self) -> dict[int, dict[str, Any]]:
        """The table's rows by order_id, without Hudi's own columns."""
        found = self.spark.read.format("hudi").load(str(self.table_path)).collect()
        rows = [{k: v for k, v in row.asDict().items() if not k.startswith("_hoodie_")} for row in found]
        by_key = {row["order_id"]: row for row in rows}
        assert len(by_key) == len(rows), "a key is in the table twice"
        return by_key

    def lsns(self) -> dict[int, int]:
        """The ordering value of each row."""
        return {key: row["__lsn"] for key, row in self.rows().items()}

    def quarantined(self) -> list[dict[str, Any]]:
        """All quarantined entries."""
        files = sorted(path for path in self.quarantine.rglob("*.json") if not path.name.startswith("."))
        return [json.loads(line) for path in files for line in path.read_text().strip().split("\n")]

    def commits(self) -> int:
        """How many completed commits the timeline has."""
        names = [path.name for path in (self.table_path / ".hoodie").glob("[0-9]*")]
        return sum(name.endswith((".commit", ".deltacommit")) for name in names)
