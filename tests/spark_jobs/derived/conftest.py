"""Tables of the lake written by Hudi alone, and jobs of tables derived from them."""

import contextlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from contract.history import COMMIT, VERSION
from spark_jobs.derived.derived_table import DerivedTable
from spark_jobs.derived.history import HistoryTable
from spark_jobs.options import command_line, keys, settings
from spark_jobs.table.hudi_table import HudiTable
from spark_jobs.table.kept_table import SharedParts
from tests.spark_jobs.events import SHARED

Row = dict[str, Any]


@dataclass
class HudiTables:
    """A folder's tables, written by Hudi alone."""

    spark: SparkSession
    folder: Path
    order: int = 0

    def path(self, name: str) -> Path:
        return self.folder / name

    def put(self, name: str, *rows: Row, schema: str, gone: Sequence[int] = ()) -> None:
        """Upsert rows, and delete those of the keys `gone`, in one commit."""
        self.order += 1
        columns = [column.split()[0] for column in schema.split(", ")]
        given = [(*map(row.get, columns), False) for row in rows]
        given += [(number, *([None] * (len(columns) - 1)), True) for number in gone]
        frame = self.spark.createDataFrame(given, f"{schema}, _hoodie_is_deleted boolean")
        options = {
            **SHARED,
            "hoodie.table.name": name,
            "hoodie.datasource.write.recordkey.field": columns[0],
            "hoodie.datasource.write.precombine.field": "__lsn",
        }
        ordered = frame.withColumn("__lsn", F.lit(self.order))
        ordered.write.format("hudi").options(**options).mode("append").save(str(self.path(name)))

    def commits(self, name: str) -> int:
        return len(list((self.path(name) / ".hoodie").glob("*.commit")))


@dataclass(kw_only=True)
class MadeTable:
    """A table that a job derives from others."""

    spark: SparkSession
    path: Path
    log: list[str] = field(default_factory=list)

    def decided(self, ordering: str, properties: Mapping[str, str]) -> settings.Settings:
        arguments = ["--table-type", "COPY_ON_WRITE", "--source-ordering-field", ordering]
        arguments += ["--target-base-path", str(self.path), "--target-table", f"datalake.{self.path.name}"]
        return settings.decide(command_line.parse(arguments), {**SHARED, **properties}, self.log.append)

    def started(self, decided: settings.Settings) -> DerivedTable | HistoryTable:
        """A job that has read the table's progress, as after a start."""
        is_history = isinstance(decided.source, settings.HistorySettings)
        kind: type[DerivedTable | HistoryTable] = HistoryTable if is_history else DerivedTable
        job = kind(self.spark.newSession(), decided, shared=SharedParts(log=self.log.append))
        job.load()
        return job

    def rows(self) -> DataFrame:
        return self.spark.read.format("hudi").load(str(self.path))


@dataclass(kw_only=True)
class History(MadeTable):
    """The history of a table, kept by its own job."""

    of: Path
    key: str

    def job(self) -> HistoryTable:
        own = {keys.HISTORY_OF: str(self.of), keys.RECORD_KEY: f"{self.key},{COMMIT},{VERSION}"}
        job = self.started(self.decided(COMMIT, own))
        assert isinstance(job, HistoryTable)
        return job

    def follow(self, job: HistoryTable | None = None) -> int:
        """Apply all pending commits; return how many commits that took."""
        job, commits = job or self.job(), 0
        while job.run_batch() is not None:
            commits += 1
        return commits


# Runs a function in which a table's write fails, before or after it writes, or another step (`fails`).
Failing = Callable[..., None]


@pytest.fixture
def fails(monkeypatch: pytest.MonkeyPatch) -> Failing:
    def run_failing(
        run: Callable[[], object], *, committed: bool, always: bool = True, step: tuple[Any, str] = (HudiTable, "write")
    ) -> None:
        """Run it; `always`: it has something to write."""
        write = getattr(*step)

        def failing(*given: Any, **named: Any) -> Any:
            if committed:
                write(*given, **named)
            raise ConnectionError("killed")

        with monkeypatch.context() as patch:
            patch.setattr(*step, failing)
            with pytest.raises(ConnectionError) if always else contextlib.suppress(ConnectionError):
                run()

    return run_failing
