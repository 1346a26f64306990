"""Histories with Spark and Hudi: one version for each state after a commit of the table, once."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from contract.history import COMMIT, ENDED, VALID_FROM
from spark_jobs.errors import JobError
from spark_jobs.runtime.hadoop import Hadoop
from spark_jobs.table.commits import Timeline
from spark_jobs.table.kept_table import as_of
from tests import cases
from tests.spark_jobs.derived.conftest import Failing, History, HudiTables, Row

pytestmark = pytest.mark.integration

FIELDS = "address_id int, street string, __read_ms bigint, __op string"
START = datetime(2026, 1, 1, tzinfo=UTC)


@dataclass(kw_only=True)
class Street(History):
    """A table of addresses, and its history."""

    tables: HudiTables
    fields: str = FIELDS

    def set(self, **streets: str) -> None:
        """Commit addresses `a1`, `a2`, …, each with its own second as read time."""
        self.tables.order += 1
        self.put(*(self.row(int(name[1:]), street) for name, street in streets.items()))

    def put(self, *rows: Row, gone: Sequence[int] = ()) -> None:
        self.tables.put("address", *rows, gone=gone, schema=self.fields)

    def row(self, number: int, street: str) -> Row:
        at = int((START + timedelta(seconds=self.tables.order)).timestamp() * 1000)
        return {"address_id": number, "street": street, "__read_ms": at, "__op": "u"}

    def versions(self) -> list[tuple[int, str | None, bool]]:
        found = self.rows().orderBy("address_id", COMMIT).collect()
        return [(row["address_id"], row["street"], row[ENDED]) for row in found]


def empty(spark: SparkSession, folder: Path) -> Street:
    tables = HudiTables(spark, folder)
    return Street(spark=spark, path=folder / "history", of=tables.path("address"), key="address_id", tables=tables)


@pytest.fixture
def street(spark: SparkSession, tmp_path: Path) -> Street:
    street = empty(spark, tmp_path)
    street.set(a1="one", a2="two")
    return street


def test_each_commit_gives_versions_once_and_new_columns_come(street: Street, fails: Failing) -> None:
    job = street.job()
    assert street.follow(job) == 1
    street.set(a1="uno", a3="three")
    # Reading the same values again makes no version.
    street.set(a3="three")
    street.set(a1="eins")
    street.put(gone=[2])
    before = datetime.now(UTC)
    # A failure behind the commit: it is not made again.
    fails(job.run_batch, committed=True)
    job.load()
    assert street.follow(job) == 2
    assert street.follow() == 0
    # A version holds from its row's read time, and ends at the commit's.
    at = {(row["address_id"], row["street"]): row[VALID_FROM].astimezone(UTC) for row in street.rows().collect()}
    assert at[1, "one"] == START + timedelta(seconds=1)
    assert timedelta(0) <= before - at[2, None] < timedelta(minutes=2)
    street.set(a2="two")
    assert street.follow(job) == 1
    assert street.versions() == [
        *((1, name, False) for name in ("one", "uno", "eins")),
        *((2, "two", False), (2, None, True), (2, "two", False)),
        (3, "three", False),
    ]
    _change_columns(street)


def _change_columns(street: Street) -> None:
    """A new column of the table comes, and one that goes is null."""
    # Two have the name of a history column, one the second's new name.
    new = dict.fromkeys(("zip", "ended", "valid_from", "valid_from_"), "07")
    street.fields = FIELDS.replace("street string,", f"street string, {' string, '.join(new)} string,")
    street.set(a1="eins")
    assert street.follow() == 0
    street.put(street.row(1, "eins") | new | {"valid_from_": "08"})
    assert street.follow() == 1
    found = street.rows().filter("address_id = 1").orderBy(COMMIT).collect()
    for name, last in {"zip": "07", "ended_": "07", "valid_from_": "07", "valid_from__": "08"}.items():
        assert [row[name] for row in found] == [None, None, None, last]
    street.put(gone=[1])
    assert street.follow() == 1
    assert (1, None, True) in street.versions()


@pytest.mark.long
def test_of_each_commit_the_versions_are_the_table_as_it_was(street: Street) -> None:
    chance, job = cases.chance(), street.job()
    street.follow(job)
    for _ in range(6):
        numbers = chance.sample(range(1, 6), 3)
        if chance.random() < 0.7:
            street.set(**{f"a{number}": chance.choice("xyz") for number in numbers[:2]})
        else:
            street.put(gone=numbers[2:])
        if chance.random() < 0.5:
            job = street.job()
            street.follow(job)
    street.follow(job)
    versions = street.rows().orderBy(COMMIT).collect()
    for instant in Timeline(Hadoop(street.spark), str(street.of)).instants_after(""):
        newest = {row["address_id"]: row for row in versions if row[COMMIT] <= int(instant)}
        found = {number: row["street"] for number, row in newest.items() if not row[ENDED]}
        was = as_of(street.spark, str(street.of), instant).collect()
        assert found == {row["address_id"]: row["street"] for row in was}


def test_it_waits_for_its_table_and_refuses_another_kinds_progress(spark: SparkSession, tmp_path: Path) -> None:
    street = empty(spark, tmp_path)
    assert street.job().run_batch() is None
    street.set(a1="one")
    street.follow()
    other = street.job()
    own = [column for column in street.rows().columns if column.startswith("_hoodie_")]
    other._write(street.rows().drop(*own), '{"x": 1}')
    with pytest.raises(JobError, match="isn't of this kind of table"):
        street.job()
