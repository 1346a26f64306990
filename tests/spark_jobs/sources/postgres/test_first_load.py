"""A captured table's rows come from the database at first, and its events go on from there: nothing is lost."""

import itertools
import re
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar

import pytest
from pyspark.sql import SparkSession

from contract.events import ADDED_TYPES, PLACEHOLDER
from local.services.postgres import ConnectionParameters
from spark_jobs.ingest import Ingest
from spark_jobs.options import keys
from spark_jobs.runtime import row_progress
from spark_jobs.sources.postgres import first_load
from spark_jobs.sources.postgres.first_load import RewrittenError
from spark_jobs.sources.postgres.snapshot import snapshot_look
from tests import cases
from tests.conftest import execute
from tests.spark_jobs.events import TOPIC, as_lines
from tests.spark_jobs.sources.postgres import written_log
from tests.spark_jobs.sources.postgres.conftest import Queried

pytestmark = pytest.mark.integration

W: Mapping[str, Any] = {"id": "int", "v": "int", "large": "string"}


@dataclass
class Loaded(Queried):
    """A table in PostgreSQL, whose connector is played by the test, and the lake's table."""

    OWN: ClassVar[Sequence[str]] = ()
    ADDED = ADDED_TYPES
    landed: int = 0

    def properties(self) -> dict[str, str]:
        own = {
            keys.FILES_ROOT: str(self.folder / "landing"),
            keys.FIRST_LOAD_SLOT: self.parameters["dbname"],
            keys.FIRST_LOAD_PUBLICATION: "w",
            keys.JDBC_SWEEP: "",
            # Tables share these: a load that needed a second one would wait for another's.
            f"{keys.JDBC_PREFIX}connections": "1",
            **self.extra,
        }
        return {key: value for key, value in {**super().properties(), **own}.items() if value}

    def land(self) -> None:
        """Land the slot's changes as the connector would, 50 in an object."""
        events = map(_event, written_log.changes(self.parameters))
        for lines in iter(lambda: [*itertools.islice(events, 50)], []):
            self.put(lines)

    def put(self, lines: Sequence[dict[str, Any]]) -> None:
        self.landed += len(lines)
        path = self.folder / "landing" / TOPIC / "0" / f"{self.landed:012d}_1_2.json"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(as_lines(lines))


def _event(change: written_log.Change) -> dict[str, Any]:
    """As Debezium writes it: all of a row's columns, also those that weren't sent, and the metadata."""
    row: dict[str, Any] = dict.fromkeys(W)
    if change.values is not None:
        row |= {"v": int(str(change.values["v"])), "large": change.values.get("large", PLACEHOLDER)}
    return {
        **row,
        "id": change.key,
        "__deleted": "true" if change.values is None else "false",
        "__op": "d" if change.values is None else "u",
        "__db": "db",
        "__table": "w",
        "__schema": "public",
        "__lsn": change.position,
        "__source_ts_ms": 1,
        "__source_txId": change.transaction % 2**32,
    }


@pytest.fixture
def loaded(spark: SparkSession, database: ConnectionParameters, tmp_path: Path) -> Iterator[Loaded]:
    """A table of 20 rows of three columns, published, with a slot."""
    execute(database, written_log.TABLE)
    execute(database, f"INSERT INTO w SELECT i, i, {written_log.LARGE} FROM generate_series(1, 20) AS i")
    (tmp_path / "landing").mkdir()
    with written_log.slot(database):
        yield Loaded(spark, tmp_path, parameters=database, fields=W, key="id", table_name="public.w")


def in_the_lake(loaded: Loaded) -> dict[int, tuple[int, str]]:
    return {key: (row["v"], row["large"]) for key, row in loaded.lake().items()}


def test_rows_and_events_that_are_written_meanwhile_are_the_table(loaded: Loaded) -> None:
    # Each object is a commit: a repeated event isn't overtaken in its own batch.
    loaded.arguments = ("--source-limit", "1")
    with written_log.writers(loaded.parameters, cases.chance().randrange(10**9)):
        time.sleep(0.2)
        report = loaded.job().run_batch()
        time.sleep(0.1)
    loaded.land()
    more = loaded.run()
    assert report is not None
    assert report.upserts == report.events > 0
    assert sum(each.events for each in more) > 0
    assert not any(each.quarantined for each in more)
    assert in_the_lake(loaded) == written_log.rows(loaded.parameters)


MANY = f"INSERT INTO {{}} SELECT i, i, {written_log.LARGE} FROM generate_series({{}}, {{}}) AS i"
PARTITIONED = """DROP TABLE w; CREATE TABLE w (id int PRIMARY KEY, v int, large text) PARTITION BY RANGE (id);
    CREATE TABLE w_1 PARTITION OF w FOR VALUES FROM (0) TO (700); CREATE TABLE w_2 PARTITION OF w DEFAULT;
    ALTER PUBLICATION w SET (publish_via_partition_root = true); ALTER PUBLICATION w ADD TABLE w;"""
ODD = f"UPDATE w SET large = '{PLACEHOLDER}' WHERE id = 7"


@pytest.mark.parametrize(
    ("change", "table", "rows", "quarantined"),
    [
        pytest.param("DELETE FROM w", "w", 0, 0, id="empty"),
        pytest.param(ODD, "w", 19, 1, id="a value that is no value"),
        pytest.param(MANY.format("w", 21, 1500), "w", 1500, 0, id="in parts"),
        pytest.param(PARTITIONED + MANY.format("w", 1, 1500), "w", 1500, 0, id="partitioned"),
        pytest.param(f"CREATE TABLE c () INHERITS (w); {MANY.format('c', 21, 1500)}", "ONLY w", 20, 0, id="with heirs"),
        pytest.param(f"{MANY.format('w', 21, 1500)}; {ODD}", "w", 1499, 1, id="in parts, one with no value"),
    ],
)
def test_all_rows_of_a_table_come_and_then_its_events(
    loaded: Loaded, monkeypatch: pytest.MonkeyPatch, change: str, table: str, rows: int, quarantined: int
) -> None:
    monkeypatch.setattr(first_load, "_BYTES_PER_PART", 64 << 10)
    loaded.execute(change, "ANALYZE w")
    [report] = loaded.run()
    assert (report.upserts, report.quarantined) == (rows, quarantined)
    there = written_log.rows(loaded.parameters, table)
    assert in_the_lake(loaded) == {key: row for key, row in there.items() if row[1] != PLACEHOLDER}
    loaded.execute("INSERT INTO w VALUES (5000, 1, 'new'); UPDATE w SET v = -1 WHERE id = 5")
    loaded.land()
    loaded.run()
    assert in_the_lake(loaded)[5000] == (1, "new")
    assert {key: v for key, (v, _) in in_the_lake(loaded).items() if v == -1} == ({5: -1} if rows else {})


@pytest.mark.parametrize(
    "rewrites", ["TRUNCATE w; INSERT INTO w VALUES (1, 1, 'new')", "ALTER TABLE w ALTER v TYPE bigint"]
)
def test_a_table_that_was_rewritten_meanwhile_is_read_again(
    loaded: Loaded, monkeypatch: pytest.MonkeyPatch, rewrites: str
) -> None:
    """Its rows aren't in the snapshot, and an ALTER TABLE has no event."""

    def rewritten(*given: Any) -> Any:
        found = snapshot_look(*given)
        loaded.execute(rewrites)
        return found

    job = loaded.job()
    with monkeypatch.context() as patch:
        patch.setattr(first_load, "snapshot_look", rewritten)
        with pytest.raises(RewrittenError, match=r"^public\.w was truncated or rewritten while it was read$"):
            job.run_batch()
    assert loaded.commits() == 0
    loaded.run(job)
    assert in_the_lake(loaded) == written_log.rows(loaded.parameters)


def test_rows_that_the_connector_had_read_before_are_passed_over(loaded: Loaded) -> None:
    """They have no transaction, and from an incremental snapshot no position either. Later settings change nothing."""
    stale = {"v": -1, "large": "old", "__deleted": "false", "__op": "r", "__source_ts_ms": 1}
    loaded.put([{"id": 1, **stale, "__lsn": None}])
    loaded.run()
    loaded.put([{"id": 2, **stale, "__lsn": 100}])
    loaded.extra = {keys.FIRST_LOAD_SLOT: "", keys.FIRST_LOAD_PUBLICATION: ""}
    loaded.run()
    assert in_the_lake(loaded) == written_log.rows(loaded.parameters)


def told_by(job: Ingest, said: list[str]) -> None:
    """Have a job tell a test how far its load is."""
    assert job._first_load is not None
    job._first_load._say = said.append
    job._row_progress = replace(job._row_progress, say=said.append)


@pytest.mark.parametrize("analysed", [True, False])
def test_a_load_tells_how_far_it_is(loaded: Loaded, monkeypatch: pytest.MonkeyPatch, *, analysed: bool) -> None:
    monkeypatch.setattr(first_load, "_BYTES_PER_PART", 1 << 20)
    monkeypatch.setattr(row_progress, "EVERY_S", 0.02)
    loaded.execute(
        "ALTER TABLE w SET (autovacuum_enabled = off)",
        "INSERT INTO w SELECT i, i, repeat('x', 100) FROM generate_series(21, 50000) AS i",
        "ANALYZE w" if analysed else "SELECT 1",
    )
    said, job = list[str](), loaded.job()
    told_by(job, said)
    loaded.run(job)
    lines = [*dict.fromkeys(said)]
    assert lines[:2] == [
        "waits for a snapshot: the transactions that run now have to end",
        "waits for its turn to be read",
    ]
    estimates = {int(found[1].replace(",", "")) for line in lines if (found := re.search(r"of about ([\d,]+)", line))}
    assert estimates == {50_000} if analysed else 0 < abs(estimates.pop() - 50_000) < 5_000
    assert any(re.fullmatch(r"[1-9][\d,]* of about .*, [\d,]+ rows/s, \d+ s of reading left", line) for line in lines)
    assert "50,000 rows read, writing them" in lines
    assert not job.awaits_load


@pytest.mark.parametrize("lacking", [{keys.FIRST_LOAD_SLOT: "none"}, {keys.FIRST_LOAD_PUBLICATION: "none"}])
def test_a_load_waits_for_the_connector(loaded: Loaded, lacking: dict[str, str]) -> None:
    """What comes after the rows would be lost otherwise."""
    loaded.extra = lacking
    said, job = list[str](), loaded.job()
    told_by(job, said)
    assert (loaded.run(job), job.awaits_load, loaded.commits()) == ([], True, 0)
    [line] = said
    assert line.startswith("waits until slot ")
    assert line.endswith("with public.w")
