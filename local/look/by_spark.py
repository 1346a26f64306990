"""Compares Spark's rows of a merge-on-read table with hudi-rs's: they treat the log's blocks differently.

Seen with Hudi 0.15: a rollback followed a failed write; Spark stopped there, hudi-rs read on. Of a copy-on-write table
both read the same files.
"""

import json
import subprocess
import tempfile
from collections.abc import Iterable
from pathlib import Path

import duckdb
import pyarrow
import pyarrow.dataset

from local.look.lake import Lake, LakeError, fitted
from local.services.spark import JOB, spark_submit

PROGRAM = JOB.with_name("parquet_rows.py")
TIMEOUT_S = 600
BATCH_ROWS = 8192
# A job that commits between the two reads makes them differ.
ATTEMPTS = 3


def difference(lake: Lake, table_type: str = "MERGE_ON_READ") -> str | None:
    """Return one line when Spark and hudi-rs read different rows of a merge-on-read table; None when they agree.

    Also None for a table of another type. Raises LakeError when one of them can't read it.
    """
    if table_type != "MERGE_ON_READ":
        return None
    columns = [name for name in lake.schema().names if not name.startswith("_hoodie_commit")]
    for _ in range(ATTEMPTS):
        commit = lake.last_commit()
        ours = _sum(lake.schema(), lake.stream(columns, BATCH_ROWS), columns)
        theirs = _read_by_spark(lake, columns)
        if ours == theirs:
            return None
        if lake.last_commit() == commit:
            break
    return (
        f"{lake.base_uri}: Spark reads {theirs[0]} rows and hudi-rs {ours[0]}, of other values; Athena and Spark show "
        "what Spark reads: `./lake resnapshot` writes the rows again"
    )


def _read_by_spark(lake: Lake, columns: list[str]) -> tuple[int, int]:
    with tempfile.TemporaryDirectory() as folder:
        rows = Path(folder) / "rows"
        command, environment = spark_submit(
            [lake.base_uri, str(rows), json.dumps(columns)],
            work_folder=Path(folder),
            log_file=Path(folder) / "spark.log",
            s3_endpoint=lake.storage_options.get("aws_endpoint"),
            program=PROGRAM,
        )
        done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=TIMEOUT_S, check=False)
        if done.returncode:
            last = (done.stderr.strip().splitlines() or [f"exit {done.returncode}"])[-1]
            raise LakeError(f"{lake.base_uri}: Spark can't read it: {last}")
        found = pyarrow.dataset.dataset(rows, format="parquet")
        return _sum(lake.schema(), found.to_batches(columns=columns, batch_size=BATCH_ROWS), columns)


def _sum(schema: pyarrow.Schema, batches: Iterable[pyarrow.RecordBatch], columns: list[str]) -> tuple[int, int]:
    """Return the row count and the sum of the rows' hashes."""
    kinds = pyarrow.schema([schema.field(name).with_nullable(True) for name in columns])
    reader = pyarrow.RecordBatchReader.from_batches(kinds, (fitted(batch, kinds) for batch in batches))
    with duckdb.connect() as engine:
        engine.register("lake", reader)
        rows, total = engine.execute("SELECT count(*), sum(CAST(hash(lake) AS HUGEINT)) FROM lake").fetchall()[0]
    return int(rows), int(total or 0)
