"""Random histories of changes, delivered in random pieces, and the readers that compare a table with `model`.

hudi-rs and Spark merge a merge-on-read table's logs. Trino, and DuckDB, which reads Parquet here, see its base files:
they are compared with Spark's read-optimised view, and with the model once everything is compacted.
"""

import dataclasses
import datetime as dt
import itertools
import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pytest
from hudi import HudiReadOptions, HudiTableBuilder
from hypothesis import strategies as st
from pyspark.sql import SparkSession

from contract.table_names import lake_name
from spark_jobs.ingest import Ingest
from tests.spark_jobs.events import event
from tests.spark_jobs.fuzz import failing_commits
from tests.spark_jobs.lake import Lake
from tests.spark_jobs.model import PLACEHOLDER, VARIED, Entry, Model

KEYS = 24
FILES = 4
REMEMBERED = 12
NEW_COLUMNS = 3
BAD = (
    "{broken",
    json.dumps(event(1, 10**6, order_date="20777", foreign=1)),
    json.dumps(event(1, 10**6) | {"order_id": None, "alien": "x"}),
    json.dumps(event(1, 10**6) | {"bad name": 1, "bad_name": 1}),
    json.dumps(event(1, 10**6) | {"_hoodie_commit_time": 1}),
    json.dumps(event(1, 10**6) | {"Order_ID": 7}),
    json.dumps(event(1, 10**6) | {"note": "\ud800"}),
    '["no object"]',
)
# New fields by name; of those with the same lake name only one can become a column.
NEW: dict[str, tuple[Any, ...]] = {
    "note": ("a", "", "{}"),
    "Note": ("b",),
    "Net Weight": (0.5, 9.75),
    "amount": (7, 9.8, -(2**53)),
    "tags": ([], {"a": 1}),
}
PARTITIONED = {
    "hoodie.datasource.write.partitionpath.field": "customer_id",
    "hoodie.datasource.write.keygenerator.class": "org.apache.hudi.keygen.SimpleKeyGenerator",
    "hoodie.index.type": "GLOBAL_SIMPLE",
    "hoodie.simple.index.update.partition.path": "true",
    "hoodie.bucket.index.num.buckets": "1",
    "hoodie.storage.layout.type": "DEFAULT",
}
COMPACTED_AFTER = "hoodie.compact.inline.max.delta.commits"
Reader = Callable[[Lake], list[dict[str, Any]]]


@dataclasses.dataclass(frozen=True)
class History:
    """The lines of each batch's files, whether the job restarts before a batch, and its `--source-limit`.

    `failures`: whether a batch's first commit fails.
    """

    batches: tuple[tuple[tuple[Entry, ...], ...], ...]
    restarts: tuple[bool, ...]
    failures: tuple[bool, ...]
    file_by_file: bool


@st.composite
def histories(draw: st.DrawFn) -> History:
    """Draw some keys' changes and put each into one or more of a few files, in any order."""
    files: list[list[Entry]] = [[] for _ in range(FILES)]
    places = st.tuples(st.integers(0, FILES - 1), st.booleans())

    def deliver(entry: Entry) -> None:
        for number, first in draw(st.lists(places, min_size=1, max_size=2)):
            files[number].insert(0 if first else len(files[number]), entry)

    for key in range(1, KEYS + 1):
        for step in range(draw(st.integers(1, 5))):
            deliver(_entry(draw, key, (step * 3 + draw(st.integers(0, 3))) * KEYS + key))
    for text in draw(st.lists(st.sampled_from(BAD), max_size=4)):
        deliver(Entry(bad=text))
    first, second = sorted(draw(st.tuples(st.integers(1, FILES), st.integers(1, FILES))))
    batches = tuple(tuple(map(tuple, part)) for part in (files[:first], files[first:second], files[second:]) if part)
    restarts, failures = (draw(st.tuples(*[st.booleans()] * len(batches))) for _ in range(2))
    return History(batches, restarts, failures, draw(st.booleans()))


def _entry(draw: st.DrawFn, key: int, lsn: int) -> Entry:
    kind = draw(st.sampled_from(["whole"] * 5 + ["placeholder"] * 3 + ["delete"] * 2 + ["new field"]))
    value = f'["{lsn}"]'
    fields = {
        "customer_id": draw(st.sampled_from(["A", "B", "C d"])),
        "order_date": draw(st.sampled_from([20777, None, -200_000, -719_162])),
        "products": draw(st.sampled_from([value, value, None])),
        "employee": value,
    }
    if kind == "placeholder":
        fields["products"] = PLACEHOLDER
        fields["employee"] = draw(st.sampled_from([PLACEHOLDER, value]))
    added = {}
    if kind == "new field":
        for name in draw(st.lists(st.sampled_from(sorted(NEW)), min_size=1, max_size=2, unique=True)):
            added[name] = draw(st.sampled_from(NEW[name]))
    if kind == "delete" and draw(st.booleans()):  # by its key only, as without REPLICA IDENTITY FULL
        fields = dict.fromkeys(fields) | {"customer_id": fields["customer_id"]}
    return Entry(key, lsn, kind == "delete", fields, added)


def _line(entry: Entry) -> str:
    if entry.bad is not None:
        return entry.bad
    return json.dumps(event(entry.key, entry.lsn, "d" if entry.deleted else "u", **entry.fields, **entry.added))


def run(
    spark: SparkSession,
    history: History,
    table_type: str,
    extra: dict[str, str],
    folder: Path,
    base_readers: Sequence[Reader] = (),
) -> None:
    """Let the job write a history, and compare the table after each batch, at last as all readers see it.

    `base_readers`: further ones that see a merge-on-read table's base files alone.
    """
    arguments = ["--table-type", table_type, *(["--source-limit", "1"] if history.file_by_file else [])]
    limits = {
        "hoodie.streamer.deletes.max.keys": str(REMEMBERED),
        "hoodie.streamer.schema.max.new.columns": str(NEW_COLUMNS),
        COMPACTED_AFTER: "3",
        "hoodie.streamer.source.dfs.sweep.interval.seconds": "0",
    }
    lake = Lake(spark, folder, limits | extra, arguments)
    model = Model(REMEMBERED, NEW_COLUMNS)
    job: Ingest | None = None
    for number in range(len(history.batches)):
        job = _bring(lake, model, history, number, job)
        # Other readers take as long as a batch, so they read the last state of a table alone.
        _compare(lake, model, [by_hudi_rs])
    assert len(lake.quarantined()) == model.quarantined
    of_base_files = [by_duckdb, *base_readers]
    if table_type == "MERGE_ON_READ":
        _compare(lake, model, [by_spark])
        of_base_files += [base_files_by_hudi_rs, base_files_by_spark]
        _compare_views(lake, model, of_base_files)
        _compact(lake, model)
    _compare(lake, model, [by_spark, *of_base_files])


def _bring(lake: Lake, model: Model, history: History, number: int, job: Ingest | None) -> Ingest:
    """Land a batch and let the job commit it; return the job."""
    landed = [list(entries) for entries in history.batches[number] if entries]
    for entries in landed:
        lake.land(*map(_line, entries))
    if job is None or history.restarts[number]:
        job = lake.job()
    if history.failures[number] and landed:
        with failing_commits(), pytest.raises(Exception, match="Failed to"):
            job.run_batch()
        job.load()
    commits = landed if history.file_by_file else [list(itertools.chain(*landed))]
    for entries in commits:
        before = model.quarantined
        model.commit(entries)
        if entries:
            report = lake.run(job=job)
            assert (report.events, report.quarantined) == (len(entries), model.quarantined - before)
    assert job.run_batch() is None
    return job


def _compact(lake: Lake, model: Model) -> None:
    """Bring one more row, and with it all logs into base files."""
    lake.extra = {**lake.extra, COMPACTED_AFTER: "1"}
    last = Entry(KEYS + 1, 0, False, {"customer_id": "A", "order_date": None, "products": "[]", "employee": "{}"})
    model.commit([last])
    lake.run(_line(last))


def _compare(lake: Lake, model: Model, readers: Sequence[Reader]) -> None:
    names = _names(model)
    expected = [{"order_id": key} | {lake_name(name): row[name] for name in row} for key, row in model.rows.items()]
    wanted = [_stored(row, names) for row in expected]
    for reader in readers:
        rows = reader(lake)
        found = [_stored(row | {"lsn": row["__lsn"]}, names) for row in rows]
        differing = [row for row in found if row not in wanted], [row for row in wanted if row not in found]
        assert differing == ([], []), f"{reader.__name__}: found, wanted"
        assert len(found) == len(wanted), f"{reader.__name__}: a key is there twice"
        assert not {"foreign", "alien", "bad_name"} & {name for row in rows for name in row}


def _compare_views(lake: Lake, model: Model, readers: Sequence[Reader]) -> None:
    """Compare the readers with each other: a row may be older than the model's, or there twice after it moved."""
    names = _names(model)
    views = {
        reader.__name__: sorted((_stored(row | {"lsn": row["__lsn"]}, names) for row in reader(lake)), key=repr)
        for reader in readers
    }
    assert {name: rows for name, rows in views.items() if rows != views[base_files_by_spark.__name__]} == {}


def _names(model: Model) -> Sequence[str]:
    return ("order_id", "lsn", *VARIED, *map(lake_name, model.columns))


def _stored(row: dict[str, Any], names: Sequence[str]) -> dict[str, Any]:
    """Return a row's compared columns: days as dates, non-text values in a text column as JSON."""
    values = {name: row.get(name) for name in names}
    if isinstance(days := values["order_date"], int):
        values["order_date"] = dt.date(1970, 1, 1) + dt.timedelta(days)
    return {
        name: json.dumps(value, separators=(",", ":")) if isinstance(value, list | dict) else value
        for name, value in values.items()
    }


def by_spark(lake: Lake) -> list[dict[str, Any]]:
    return list(lake.rows(by_spark=True).values()) if lake.commits() else []


def base_files_by_spark(lake: Lake) -> list[dict[str, Any]]:
    view = lake.spark.read.format("hudi").option("hoodie.datasource.query.type", "read_optimized")
    return [row.asDict() for row in view.load(str(lake.table_path)).collect()]


def by_hudi_rs(lake: Lake) -> list[dict[str, Any]]:
    return _read(lake, HudiReadOptions())


def base_files_by_hudi_rs(lake: Lake) -> list[dict[str, Any]]:
    return _read(lake, HudiReadOptions().with_hudi_option("hoodie.read.use.read_optimized.mode", "true"))


def _read(lake: Lake, options: HudiReadOptions) -> list[dict[str, Any]]:
    batches = HudiTableBuilder.from_base_uri(str(lake.table_path)).build().read(options)
    return pa.Table.from_batches(batches).to_pylist() if batches else []


def by_duckdb(lake: Lake) -> list[dict[str, Any]]:
    """The newest committed base file of each group, chosen by name alone: `<group>_<task>_<instant>.parquet`."""
    committed = {path.stem for path in (lake.table_path / ".hoodie").glob("*commit")}
    newest: dict[str, tuple[str, str]] = {}
    for path in lake.table_path.glob("**/[!.]*.parquet"):
        group, _, instant = path.stem.split("_")
        if instant in committed:
            newest[group] = max((instant, str(path)), newest.get(group, ("", "")))
    files = [path for _, path in newest.values()]
    with duckdb.connect() as connection:
        rows = connection.read_parquet(files, union_by_name=True, hive_partitioning=False) if files else None
        return rows.to_arrow_table().to_pylist() if rows else []
