"""One pass over the lake: DuckDB computes sums and hashes over batches that hudi-rs reads.

hudi-rs 0.5.0 streams copy-on-write and merge-on-read tables, so a pass holds only batches and, for merge-on-read, one
file group's log records (docs/decisions/0003).
"""

# ruff: noqa: S608  # names are quoted; what isn't a name is a number or a parameter

import contextlib
import json
import subprocess
import tempfile
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import duckdb
import pyarrow
import pyarrow.compute
import pyarrow.dataset

from contract.column_types.catalogue import quoted
from contract.events import CREATE, OPERATION, READ, SPECIALS_COLUMN
from local.comparison.rows import CHUNK_BITS, HALF, ComparedTable, Row, RowFilter, Sum, Sums, digest, join, tidy
from local.look.lake import Lake, LakeError, fitted
from local.services.spark import JOB, spark_submit

PROGRAM = JOB.with_name("parquet_rows.py")
TIMEOUT_S = 600
BATCH_ROWS = 8192
# A job that commits between the two reads makes them differ.
ATTEMPTS = 3
# Names in DuckDB: the table's relation, the relation of chosen keys, and a key's text among a row's columns.
LAKE = "lake"
WANTED = "wanted"
_KEY = "key of the row"
INSERTS = (READ, CREATE)


def differs_in_spark(lake: Lake) -> str | None:
    """Return one line when Spark and hudi-rs read different rows of a merge-on-read table. Raises LakeError."""
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
        try:
            done = subprocess.run(
                command, env=environment, capture_output=True, text=True, timeout=TIMEOUT_S, check=False
            )
        except subprocess.TimeoutExpired:
            raise LakeError(f"{lake.base_uri}: Spark hasn't read it within {TIMEOUT_S:.0f} s") from None
        if done.returncode:
            last = (done.stderr.strip().splitlines() or [f"exit {done.returncode}"])[-1]
            raise LakeError(f"{lake.base_uri}: Spark can't read it: {last}")
        found = pyarrow.dataset.dataset(rows, format="parquet")
        return _sum(lake.schema(), found.to_batches(columns=columns, batch_size=BATCH_ROWS), columns)


def _sum(schema: pyarrow.Schema, batches: Iterable[pyarrow.RecordBatch], columns: list[str]) -> tuple[int, int]:
    kinds = pyarrow.schema([schema.field(name).with_nullable(True) for name in columns])
    reader = pyarrow.RecordBatchReader.from_batches(kinds, (fitted(batch, kinds) for batch in batches))
    with duckdb.connect() as engine:
        engine.register("lake", reader)
        rows, total = engine.execute("SELECT count(*), sum(CAST(hash(lake) AS HUGEINT)) FROM lake").fetchall()[0]
    return int(rows), int(total or 0)


class LakeLook:
    """The lake's `table` as of its newest commit when a method begins to read. Methods raise LakeError.

    `other_events`: after a read of a table without a key, how many rows are events other than inserts.
    """

    def __init__(self, table: ComparedTable, engine: duckdb.DuckDBPyConnection) -> None:
        self.table = table
        self._engine = engine
        self.other_events = 0

    def sums(self, bits: int, on_rows: Callable[[int], None] = lambda _rows: None) -> Sums:
        """Sum the rows' hashes by chunk, of 2^bits; `on_rows` gets the number of rows after each read."""
        halves = ", ".join(f"sum(CAST('0x' || row[{first}:{first + 15}] AS UBIGINT))" for first in (1, 17))
        query = (
            f"SELECT {chunk_sql('key', bits)}, count(*), {halves} FROM (SELECT sha256({self.table.lake_key}) AS key,"
            f" sha256({self.table.lake_row}) AS row FROM {LAKE}) AS h GROUP BY 1"
        )
        with self._reading(on_rows) as engine:
            found = engine.execute(query).fetchall()
        return {int(chunk): Sum(int(rows), int(high) % HALF, int(low) % HALF) for chunk, rows, high, low in found}

    def insert(self, chosen: RowFilter, into: str) -> None:
        """Fill a table (key, id, hash) with key texts, twice, and row hashes; suspected keys are in WANTED."""
        rows = f"SELECT {self.table.lake_key} AS key, sha256({self.table.lake_row}) AS row FROM {LAKE}"
        query = f"SELECT key, key, row FROM ({rows}) AS h"
        if chosen.suspected:
            query += f" SEMI JOIN {WANTED} USING (key)"
        elif chosen.chunks is not None:
            numbers = ", ".join(map(str, sorted(chosen.chunks)))
            query += f" WHERE {chunk_sql('sha256(key)', chosen.bits)} IN ({numbers})"
        with self._reading() as engine:
            engine.execute(f"INSERT INTO {into} {query}")

    def tidied(self) -> Iterator[list[Row]]:
        """Yield batches of the wanted rows as Python writes them, tidied, with their texts as values."""
        with self._reading() as engine:
            for batch in engine.sql(self._wanted_rows(self.table.lake_columns)).to_arrow_reader(BATCH_ROWS):
                yield [self._tidied(row) for row in _python_rows(pyarrow.Table.from_batches([batch]))]

    def keys(self) -> dict[str, dict[str, Any]]:
        """Return the wanted rows' keys: text → the key's columns by source name, as `_python_rows` has values."""
        names = {column.name: column.lake_name for column in self.table.keys}
        with self._reading() as engine:
            rows = _python_rows(engine.sql(self._wanted_rows(names.values())).to_arrow_table())
        return {row[_KEY]: {name: row[lake_name] for name, lake_name in names.items()} for row in rows}

    def _wanted_rows(self, columns: Iterable[str]) -> str:
        names = ", ".join(f"h.{quoted(name)}" for name in columns)
        return (
            f"SELECT h.{quoted(_KEY)}, {names} FROM (SELECT {self.table.lake_key} AS {quoted(_KEY)}, * FROM {LAKE})"
            f" AS h SEMI JOIN {WANTED} AS w ON h.{quoted(_KEY)} = w.key"
        )

    def _tidied(self, row: dict[str, Any]) -> Row:
        specials = json.loads(row[SPECIALS_COLUMN] or "{}")
        texts = {
            column.name: column.spelled.lake_text(row[column.lake_name], specials, column.lake_name)
            for column in self.table.columns
        }
        whole = tidy(join([texts[column.name] for column in self.table.columns]), self.table.columns)
        if not self.table.key:
            return Row(row[_KEY], digest(whole), whole)
        key = join([texts[column.name] for column in self.table.keys])
        return Row(row[_KEY], tidy(key, self.table.keys), whole)

    @contextlib.contextmanager
    def _reading(self, on_rows: Callable[[int], None] = lambda _rows: None) -> Iterator[duckdb.DuckDBPyConnection]:
        self.other_events = 0
        there, names = self.table.lake.schema(), self.table.lake_columns
        # There is no column of special values where no row ever had one.
        kinds = (there.field(name) if name in there.names else pyarrow.field(name, pyarrow.string()) for name in names)
        schema = pyarrow.schema(list(kinds))
        stream = self.table.lake.stream([name for name in names if name in there.names], BATCH_ROWS)
        reader = pyarrow.RecordBatchReader.from_batches(schema, self._batches(stream, schema, on_rows))
        # Its own session: while this result is read, another may write the rows.
        with contextlib.closing(self._engine.cursor()) as engine:
            try:
                engine.register(LAKE, reader)
                yield engine
            except duckdb.Error as error:
                reason = (str(error) or type(error).__name__).splitlines()[0]
                raise LakeError(f"{self.table.lake.base_uri}: {reason}") from error

    def _batches(
        self, stream: Iterable[pyarrow.RecordBatch], schema: pyarrow.Schema, on_rows: Callable[[int], None]
    ) -> Iterator[pyarrow.RecordBatch]:
        """Yield the batches without rows that aren't inserts, where every event is a row."""
        for batch in stream:
            on_rows(batch.num_rows)
            found = fitted(batch, schema)
            if not self.table.key:
                operations = found.column(found.schema.get_field_index(OPERATION))
                if operations.null_count < len(operations):
                    found = found.filter(pyarrow.compute.is_in(operations, value_set=pyarrow.array(INSERTS)))
                    self.other_events += batch.num_rows - found.num_rows
            yield found


def chunk_sql(hash_: str, bits: int) -> str:
    """Write DuckDB's expression for a key hash's chunk number, of 2^bits."""
    return f"(CAST('0x' || {hash_}[1:4] AS INTEGER) >> {CHUNK_BITS - bits})"


def _python_rows(table: pyarrow.Table) -> list[dict[str, Any]]:
    """Return rows with days and microseconds since 1970: Python's dates end at year 9999, PostgreSQL's go beyond."""
    for index, field in enumerate(table.schema):
        if pyarrow.types.is_date32(field.type):
            numbers = table.column(index).cast(pyarrow.int32())
        elif pyarrow.types.is_timestamp(field.type):
            numbers = table.column(index).cast(pyarrow.timestamp("us", field.type.tz), safe=False).cast(pyarrow.int64())
        else:
            continue
        table = table.set_column(index, field.name, numbers)
    rows: list[dict[str, Any]] = table.to_pylist()
    return rows
