"""Derived tables with Spark and Hudi: they equal their query's result after any change of their inputs."""

import contextlib
import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from contract.errors import UNLIKE_ATHENA
from spark_jobs.derived import differences
from spark_jobs.derived.derived_table import DerivedTable
from spark_jobs.errors import ConcurrentWriterError, JobError
from spark_jobs.options import keys
from spark_jobs.runtime.metrics import CommitReport
from spark_jobs.table.commits import Timeline
from tests import cases
from tests.cases import long
from tests.spark_jobs.derived.conftest import HudiTables, MadeTable, Row
from tests.spark_jobs.lake import rows_of

pytestmark = pytest.mark.integration

PLACES = """
SELECT k.customer_id, k.name, a.address, a.district, a.paid AS address_paid
FROM customer k LEFT JOIN address a ON a.address_id = k.address_id
"""
TABLES = {
    "customer": "customer_id int, name string, address_id int",
    "address": "address_id int, address string, district string, paid double",
}


@dataclass(kw_only=True)
class Shop(MadeTable):
    """Two tables of the lake, and one derived from them."""

    tables: HudiTables
    query: str = PLACES

    def put(self, name: str, *rows: Row, gone: Sequence[int] = (), schema: str | None = None) -> None:
        self.tables.put(name, *rows, gone=gone, schema=schema or TABLES[name])

    def job(self) -> DerivedTable:
        own = {
            keys.SQL_QUERY: self.query,
            keys.SQL_TABLES: ",".join(f"{name}={self.tables.path(name)}" for name in TABLES),
            keys.RECORD_KEY: "customer_id",
        }
        job = self.started(self.decided("__read_ms", own))
        assert isinstance(job, DerivedTable)
        return job

    def run(self) -> CommitReport | None:
        return self.job().run_batch()

    def commit(self, job: DerivedTable | None = None) -> CommitReport:
        report = (job or self.job()).run_batch()
        assert report is not None
        return report

    def found(self) -> list[Row]:
        """The table's rows without the job's columns, sorted."""
        rows = [{k: v for k, v in row.items() if not k.startswith("_")} for row in rows_of(self.path)]
        return sorted(rows, key=str)

    def computed(self) -> list[Row]:
        session = self.spark.newSession()
        for name in TABLES:
            session.read.format("hudi").load(str(self.tables.path(name))).createOrReplaceTempView(name)
        return sorted((row.asDict() for row in session.sql(self.query).collect()), key=str)

    def commits(self) -> int:
        return self.tables.commits("derived")


def empty(spark: SparkSession, folder: Path) -> Shop:
    return Shop(spark=spark, path=folder / "derived", tables=HudiTables(spark, folder))


def customer(number: int, address: int | None = 1, name: str = "Ann") -> Row:
    return {"customer_id": number, "name": name, "address_id": address}


def address(number: int, street: str = "1 Main St", paid: float | None = 1.5) -> Row:
    return {"address_id": number, "address": street, "district": "West", "paid": paid}


def filled(spark: SparkSession, folder: Path) -> Shop:
    shop = empty(spark, folder)
    shop.put("address", address(1), address(2))
    shop.put("customer", customer(1), customer(2, 2), customer(3, None))
    return shop


@pytest.fixture
def shop(spark: SparkSession, tmp_path: Path) -> Shop:
    return filled(spark, tmp_path)


@pytest.fixture(scope="module")
def refusing(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Shop:
    """Its derived table is never created."""
    return filled(spark, tmp_path_factory.mktemp("refusing"))


def test_it_is_what_its_query_gives_and_so_are_its_columns(shop: Shop, monkeypatch: pytest.MonkeyPatch) -> None:
    job = shop.job()
    report = shop.commit(job)
    assert (report.upserts, report.deletes) == (3, 0)
    assert shop.found() == shop.computed()
    assert shop.run() is None
    # Nothing new takes no Spark job, and what makes no difference no commit.
    scheduler: Any = shop.spark.sparkContext._jsc.sc().dagScheduler()
    before = scheduler.numTotalJobs()
    assert job.run_batch() is None
    assert scheduler.numTotalJobs() == before
    shop.put("address", {**address(1), "district": "West"})
    assert job.run_batch() is None
    assert scheduler.numTotalJobs() > before
    assert shop.commits() == 1
    # What is gone there goes, and a restart goes on.
    shop.put("address", address(1, "2 Side St"), gone=[2])
    shop.put("customer", gone=[3])
    monkeypatch.setattr(Timeline, "first_whole", lambda _: "9")
    with pytest.raises(TimeoutError, match="were removed while they were read"):
        shop.run()
    monkeypatch.undo()
    report = shop.commit()
    assert (report.upserts, report.deletes) == (2, 1)
    assert shop.found() == shop.computed()
    shop.query = PLACES.replace("k.name,", "upper(k.name) AS name,")
    report = shop.commit()
    assert report.upserts == 2
    assert shop.found() == shop.computed()
    # Another writer's progress stops the job.
    with pytest.raises(ConcurrentWriterError):
        job.run_batch()
    # The tables are read when its turn comes.
    job = shop.job()

    @contextlib.contextmanager
    def late() -> Iterator[None]:
        shop.put("address", address(1, "3 Late St"))
        yield

    monkeypatch.setattr(job, "_turn", late)
    shop.put("customer", customer(3, 1))
    assert shop.commit(job).upserts == 2
    assert shop.found() == shop.computed()
    _change_columns(shop)


def _change_columns(shop: Shop) -> None:
    """A column that comes, widens or goes follows the query."""
    # The query asks for one that is new in its table, too.
    with_email = f"{TABLES['customer']}, email string"
    shop.put("customer", {**customer(1), "email": "a@example.com"}, schema=with_email)
    shop.query = PLACES.replace("a.district,", "length(a.address) AS size, k.email,")
    shop.commit()
    assert shop.found() == [{**row, "district": None} for row in shop.computed()]
    assert [row["email"] for row in shop.found()] == ["a@example.com", None, None]
    shop.query = shop.query.replace("length(a.address)", "CAST(length(a.address) AS bigint) * 10000000000")
    shop.commit()
    assert {row["size"] for row in shop.found()} == {90000000000, None}
    shop.query = shop.query.replace("10000000000 AS size", "10000000000 || 'm' AS size")
    shop.commit()
    assert {row["size"] for row in shop.found()} == {"90000000000m", None}
    shop.query = shop.query.replace("a.paid AS", "CAST(a.paid AS decimal(10,2)) AS")
    with pytest.raises(JobError, match=r"address_paid comes as decimal\(10,2\), and the table has it as double, which"):
        shop.run()


@pytest.mark.long
def test_it_waits_for_tables_that_are_not_there_yet(spark: SparkSession, tmp_path: Path) -> None:
    shop = empty(spark, tmp_path)
    shop.put("customer", customer(1))
    job = shop.job()
    assert job.run_batch() is None
    assert job.run_batch() is None
    assert shop.log == ["waits for address: no commit yet"]
    shop.put("address", address(1))
    assert job.run_batch() is not None
    assert shop.found() == shop.computed()


def of(value: str) -> str:
    return f"SELECT address_id AS customer_id, {value} AS x FROM address WHERE address_id = 1"


_CAST = 'the query fails: [CAST_INVALID_INPUT] The value … of the type "STRING" cannot be cast'
UNFIT = f'{_CAST} to "INT" because it is malformed.'


@pytest.mark.parametrize(
    ("query", "line"),
    [
        (
            "SELECT k.customer_id, a.district FROM address a LEFT JOIN customer k ON false",
            "the query gives 2 rows without a value of the key customer_id: nothing was committed",
        ),
        (
            "SELECT 1 AS customer_id, address_id FROM address",
            "the query gives 2 rows of one key, so customer_id doesn't tell its rows apart: nothing was committed",
        ),
        long("SELECT customer_id, nme FROM customer", "the query can't be run: "),
        long("SELECT name FROM customer", "the query has no column customer_id, which the key names"),
        long("SELECT customer_id, 1 AS __read_ms FROM customer", "the query's column '__read_ms' can't be a column"),
        long("SELECT customer_id, NULL AS x FROM customer", "the query's column x has no type: cast it"),
        long("SELECT customer_id, map('a', 1) AS x FROM customer", "the query's column x is map<string,int>"),
        long("SELECT customer_id, name, address_id AS name FROM customer", "the query gives the column name twice"),
        # Values that Athena hasn't.
        (
            of("CAST(address_id + 9000000000 AS int)"),
            'the query fails: [CAST_OVERFLOW] The value … of the type "BIGINT"',
        ),
        long(of("9223372036854775807 + address_id"), "the query fails: [ARITHMETIC_OVERFLOW] long overflow."),
        long(of("1 DIV (address_id - 1)"), "the query fails: [DIVIDE_BY_ZERO] Division by zero."),
        long(of("CAST(address AS int)"), UNFIT),
        long(of("CAST(address || ' \"x\" isn''t\\n9' AS int)"), UNFIT),
        (
            of(f"CASE WHEN address_id = 1 THEN raise_error('{UNLIKE_ATHENA}a double') ELSE 'x' END"),
            "the query fails: not as in Athena: a double",
        ),
    ],
)
def test_what_can_not_be_a_table_is_one_line_and_no_commit(refusing: Shop, query: str, line: str) -> None:
    refusing.query = query
    with pytest.raises(JobError) as raised:
        refusing.run()
    assert str(raised.value).startswith(line)
    assert not any(text in str(raised.value) for text in ("\n", "spark.sql.ansi"))
    assert refusing.commits() == 0


def test_a_join_that_finds_nothing_is_a_table_and_a_text_with_a_variables_form_stays_so(
    refusing: Shop, tmp_path: Path
) -> None:
    shop = Shop(spark=refusing.spark, path=tmp_path / "derived", tables=refusing.tables)
    shop.query = (
        "SELECT a.address_id AS customer_id, k.name, '${java.home}' AS x FROM customer k RIGHT JOIN address a ON false"
    )
    shop.commit()
    assert shop.found() == [{"customer_id": number, "name": None, "x": "${java.home}"} for number in (1, 2)]


@pytest.mark.long
def test_rows_of_1600_columns_can_be_compared_and_a_zero_with_another_sign_is_another_value(
    spark: SparkSession,
) -> None:
    rows = spark.range(3).select(*(F.col("id").cast("int").alias(f"c{number}") for number in range(1599)))
    rows = rows.withColumn("c1599", F.col("c0").cast("double"))
    changed = rows.withColumn("c1599", F.when(F.col("c0") == 0, -0.0).otherwise(F.col("c1599")))
    difference = differences.compare(changed, rows, ["c0"])
    assert [str(row["c1599"]) for row in difference.to_write(1).collect()] == ["-0.0"]
    difference.release()


@pytest.mark.long
def test_a_clock_that_goes_back_loses_no_change(shop: Shop) -> None:
    shop.commit()
    job = shop.job()
    job._clock = lambda: 0.0
    shop.put("customer", customer(1, name="Bea"))
    assert job.run_batch() is not None
    assert shop.found() == shop.computed()


@pytest.mark.long
def test_kept_through_random_changes_it_is_what_is_computed_from_scratch(shop: Shop) -> None:
    chance = cases.chance()
    job = shop.job()
    for _ in range(6):
        if chance.random() < 0.7:
            rows = [customer(n, chance.choice([1, 2, 3, None]), chance.choice("ABC")) for n in _some(chance, 8)]
            shop.put("customer", *rows, gone=_others(chance, rows, "customer_id"))
        if chance.random() < 0.5:
            paid = [0.0, -0.0, None, 2.5]
            rows = [address(n, chance.choice(["x", "y"]), chance.choice(paid)) for n in _some(chance, 4)]
            shop.put("address", *rows, gone=_others(chance, rows, "address_id"))
        if chance.random() < 0.3:
            job = shop.job()
        job.run_batch()
        assert str(shop.found()) == str(shop.computed())
    kept = shop.found()
    shop.path.rename(shop.path.with_name("kept"))
    shop.run()
    assert str(shop.found()) == str(kept)


def _some(chance: random.Random, most: int) -> list[int]:
    return sorted(chance.sample(range(1, most + 1), chance.randint(1, 3)))


def _others(chance: random.Random, rows: Sequence[Row], key: str) -> list[int]:
    number = chance.randint(1, 6)
    return [] if number in {row[key] for row in rows} else [number]
