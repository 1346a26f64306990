"""Histories by Spark and Hudi themselves: a version for each state that a commit of the table has had, once."""

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from contract.history import COMMIT, ENDED, VALID_FROM, VERSION
from spark_jobs.derived.history_table import HistoryTable
from spark_jobs.derived.made_table import as_of
from spark_jobs.errors import JobError, SettingsError
from spark_jobs.options import command_line, keys, settings
from spark_jobs.runtime.hadoop import Hadoop
from spark_jobs.table.hudi_table import HudiTable
from spark_jobs.table.timeline import Timeline
from spark_jobs.table_job import SharedParts, build_made
from tests import cases
from tests.spark_jobs.derived.test_derived_table import Row, Shop

pytestmark = pytest.mark.integration

FIELDS = "address_id int, street string, __read_ms bigint, __op string"
LOG_FIELDS = "address_id int, street string, __lsn bigint, __source_ts_ms bigint, __op string"
START = datetime(2026, 1, 1, tzinfo=UTC)


@dataclass
class Street(Shop):
    """A table of addresses and its history."""

    fields: str = FIELDS

    def set(self, **streets: str) -> None:
        """Commit addresses `a1`, `a2`, …, read at a second of their own."""
        self.order += 1
        self.put("address", *(self.row(int(name[1:]), street) for name, street in streets.items()), schema=self.fields)

    def remove(self, *numbers: int) -> None:
        self.put("address", gone=numbers, schema=self.fields)

    def row(self, number: int, street: str) -> Row:
        at = self.at(self.order)
        return {"address_id": number, "street": street, "__read_ms": at, "__source_ts_ms": at, "__op": "u"}

    def at(self, order: int) -> int:
        return int((START + timedelta(seconds=order)).timestamp() * 1000)

    def settings(self, **more: str) -> settings.Settings:
        given = command_line.parse(
            [
                *("--table-type", "COPY_ON_WRITE", "--source-ordering-field", COMMIT),
                *("--target-base-path", self.path("history"), "--target-table", "datalake.history"),
            ]
        )
        pairs = {
            keys.HISTORY_OF: self.path("address"),
            keys.RECORD_KEY: f"address_id,{COMMIT},{VERSION}",
            "hoodie.metadata.enable": "false",
            "hoodie.upsert.shuffle.parallelism": "2",
            **more,
        }
        return settings.decide(given, pairs, self.log.append)

    def history_job(self) -> HistoryTable:
        job = build_made(self.spark.newSession(), self.settings(), SharedParts(log=self.log.append))
        assert isinstance(job, HistoryTable)
        job.load()
        return job

    def follow(self, job: HistoryTable | None = None) -> int:
        """Bring all there is; return how many commits that took."""
        job, commits = job or self.history_job(), 0
        while job.run_batch() is not None:
            commits += 1
        return commits

    def versions(self) -> list[tuple[int, str | None, bool]]:
        found = self.spark.read.format("hudi").load(self.path("history")).orderBy("address_id", COMMIT)
        return [(row["address_id"], row["street"], row[ENDED]) for row in found.collect()]


@pytest.fixture
def street(spark: SparkSession, tmp_path: Path) -> Street:
    street = Street(spark, tmp_path)
    street.set(a1="one", a2="two")
    return street


def test_each_commit_gives_versions_of_what_changed_and_ends_what_is_gone(street: Street) -> None:
    job = street.history_job()
    assert street.follow(job) == 1
    street.set(a1="uno", a3="three")
    street.set(a1="eins")
    street.remove(2)
    assert street.follow(job) == 3
    street.set(a2="two")
    assert street.follow(job) == 1
    assert street.versions() == [
        *((1, name, False) for name in ("one", "uno", "eins")),
        *((2, "two", False), (2, None, True), (2, "two", False)),
        (3, "three", False),
    ]


def test_a_version_holds_from_when_its_row_was_read_and_its_end_from_the_commit(street: Street) -> None:
    street.follow()
    street.remove(1)
    before = datetime.now(UTC)
    street.follow()
    found = street.spark.read.format("hudi").load(street.path("history"))
    at = {(row["address_id"], row[ENDED]): row[VALID_FROM] for row in found.collect()}
    assert at[(1, False)].astimezone(UTC) == START + timedelta(seconds=1)
    assert timedelta(0) <= before - at[(1, True)].astimezone(UTC) < timedelta(minutes=2)


def test_what_is_read_again_with_the_same_values_is_no_version(street: Street) -> None:
    job = street.history_job()
    street.follow(job)
    street.set(a1="one")
    assert street.follow(job) == 0
    assert len(street.versions()) == 2


def test_rows_of_a_log_hold_from_their_change(spark: SparkSession, tmp_path: Path) -> None:
    street = Street(spark, tmp_path, fields=LOG_FIELDS.replace("__lsn bigint, ", ""))
    street.set(a1="one")
    street.follow()
    [row] = spark.read.format("hudi").load(street.path("history")).collect()
    assert row[VALID_FROM].astimezone(UTC) == START + timedelta(seconds=1)


def test_each_version_is_there_once_after_a_failure_and_a_restart(
    street: Street, monkeypatch: pytest.MonkeyPatch
) -> None:
    street.follow()
    street.set(a1="uno")
    street.set(a1="eins")
    write = HudiTable.write

    def written_and_lost(*given: Any, **named: Any) -> Any:
        write(*given, **named)
        raise ConnectionError("gone after the commit")

    job = street.history_job()
    with monkeypatch.context() as patch:
        patch.setattr(HudiTable, "write", written_and_lost)
        with pytest.raises(ConnectionError):
            job.run_batch()
    job.load()
    assert street.follow(job) == 1
    assert street.follow() == 0
    assert [street for number, street, _ in street.versions() if number == 1] == ["one", "uno", "eins"]


def test_of_each_commit_the_versions_are_the_table_as_it_was(street: Street) -> None:
    chance, job = cases.chance(), street.history_job()
    street.follow(job)
    for _ in range(6):
        numbers = chance.sample(range(1, 6), 3)
        if chance.random() < 0.7:
            street.set(**{f"a{number}": chance.choice("xyz") for number in numbers[:2]})
        else:
            street.remove(numbers[2])
        if chance.random() < 0.5:
            job = street.history_job()
            street.follow(job)
    street.follow(job)
    versions = street.spark.read.format("hudi").load(street.path("history")).orderBy(COMMIT).collect()
    for instant in Timeline(Hadoop(street.spark), street.path("address")).instants_after(""):
        newest = {row["address_id"]: row for row in versions if row[COMMIT] <= int(instant)}
        found = {number: row["street"] for number, row in newest.items() if not row[ENDED]}
        was = as_of(street.spark, street.path("address"), instant).collect()
        assert found == {row["address_id"]: row["street"] for row in was}


def test_a_new_column_of_the_table_comes_and_one_that_goes_is_null(street: Street) -> None:
    street.follow()
    # Two are called as columns of the history, one as it calls the second.
    new = dict.fromkeys(("zip", "ended", "valid_from", "valid_from_"), "07")
    street.fields = FIELDS.replace("street string,", f"street string, {' string, '.join(new)} string,")
    street.set(a1="one")
    assert street.follow() == 0
    street.put("address", street.row(1, "one") | new | {"valid_from_": "08"}, schema=street.fields)
    assert street.follow() == 1
    found = street.spark.read.format("hudi").load(street.path("history")).filter("address_id = 1").orderBy(COMMIT)
    for name, last in {"zip": "07", "ended_": "07", "valid_from_": "07", "valid_from__": "08"}.items():
        assert [row[name] for row in found.collect()] == [None, last]
    street.remove(1)
    assert street.follow() == 1
    assert (1, None, True) in street.versions()


def test_it_waits_for_its_table_and_refuses_another_kinds_progress(spark: SparkSession, tmp_path: Path) -> None:
    street = Street(spark, tmp_path)
    assert street.history_job().run_batch() is None
    street.set(a1="one")
    street.follow()
    other = street.history_job()
    other._write(
        spark.read.format("hudi")
        .load(street.path("history"))
        .drop(
            "_hoodie_commit_time",
            "_hoodie_commit_seqno",
            "_hoodie_record_key",
            "_hoodie_partition_path",
            "_hoodie_file_name",
        ),
        '{"x": 1}',
    )
    with pytest.raises(JobError, match="isn't a history's"):
        street.history_job()


@pytest.mark.parametrize(
    ("change", "line"),
    [
        ({keys.RECORD_KEY: "address_id"}, "a history's is its table's key and, behind it, __commit,__version"),
        (
            {keys.RECORD_KEY: f"valid_from,{COMMIT},{VERSION}"},
            "is a column of each history: its table's is valid_from_",
        ),
        ({keys.PARTITION_PATH: "street"}, "a history has no partitions"),
    ],
)
def test_what_a_history_can_not_be_is_said(street: Street, change: dict[str, str], line: str) -> None:
    with pytest.raises(SettingsError, match=line):
        street.settings(**change)
