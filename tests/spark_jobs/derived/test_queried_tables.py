"""The job's tables, of each type and layout: compared with their source, and queried in Athena's SQL."""

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from analytics.create_table import created_table
from analytics.queries import QUERIES, Queried
from local.comparison.compare import TableComparison
from local.comparison.rows import ComparedTable
from local.look.lake import InstantError, Lake
from local.query.command import create
from local.query.query import LakeTable, Period, QueriedLake, ask, described
from local.query.silver import Silver
from local.services.postgres import ConnectionParameters
from spark_jobs.options import command_line, properties, settings
from spark_jobs.options.keys import PROGRESS
from spark_jobs.table import commits
from spark_jobs.table.hudi_table import HudiTable
from tests.cases import long
from tests.conftest import execute
from tests.local.comparison.sides import column, compare, differences
from tests.spark_jobs.events import CONF

pytestmark = pytest.mark.integration

TYPES = {
    "COPY_ON_WRITE": (),
    "MERGE_ON_READ": ("hoodie.compact.inline=true", "hoodie.compact.inline.max.delta.commits=3"),
}
# Settings that clean and archive within a few commits.
CLEANED = (
    *("hoodie.clean.max.commits=1", "hoodie.cleaner.commits.retained=3"),
    *("hoodie.keep.min.commits=5", "hoodie.keep.max.commits=7"),
)
COMMITS = 10
ITEMS = [
    {"product_id": 11, "quantity": 12, "unit_price": 14, "discount": 0},
    {"product_id": 42, "quantity": 10, "unit_price": 9.8, "discount": 0.05},
]
by_type = pytest.mark.parametrize("table_type", ["COPY_ON_WRITE", long("MERGE_ON_READ")])

ROWS = 2_000
COLUMNS = {"id": "int8", "kind": "text", "price": "float8", "born": "date", "seen": "timestamptz"}
Write = Callable[[DataFrame], None]


def lake_of(path: Path, name: str = "things", *, outbox: bool = False) -> QueriedLake:
    table = LakeTable(queried=Queried(table=name, outbox=outbox), lake=Lake(base_uri=path.as_uri()))
    return QueriedLake(database="datalake", tables=[table], silver=Silver(path / "silver"))


def rows(lake: QueriedLake, sql: str, **period: str | None) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = ask(lake, sql, Period(**period)).to_pylist()
    return found


def order_rows(spark: SparkSession, orders: str) -> DataFrame:
    """Orders as the job decodes the outbox's, with the columns that the named queries use."""
    return spark.sql(orders).select(
        "id",
        F.lit("kind").alias("kind"),
        F.col("id").cast("int").alias("order_id"),
        F.lit("VINET").alias("customer_id"),
        F.expr("date'1996-07-04'").alias("order_date"),
        F.expr("cast(null as date)").alias("shipped_date"),
        F.expr("timestamp'2026-11-20 23:23:11.083659'").alias("updated_at"),
        F.lit(json.dumps(ITEMS)).alias("order_items"),
        F.lit(json.dumps({"company_name": "Vins et alcools Chevalier"})).alias("customer"),
        F.expr("1L").alias("__lsn"),
        F.lit(False).alias("_hoodie_is_deleted"),
    )


@by_type
def test_the_named_queries_read_what_the_job_has_written(spark: SparkSession, tmp_path: Path, table_type: str) -> None:
    write = writer(spark, tmp_path / "orders", table_type, *TYPES[table_type])
    write(order_rows(spark, "SELECT id FROM VALUES (10248L), (10249L) AS t(id)"))
    lake = lake_of(tmp_path / "orders", "cdc_events", outbox=True)
    texts = {query.name: query.text for query in QUERIES}
    items = rows(lake, texts["order_items"])
    assert sorted((row["order_id"], str(row["quantity"]), str(row["unit_price"])) for row in items) == [
        (order, quantity, price)
        for order in (10248, 10249)
        for quantity, price in (("10.00", "9.80"), ("12.00", "14.00"))
    ]
    assert {str(row["discount"]) for row in items} == {"0.00", "0.05"}
    latest = rows(lake, texts["latest_orders"])
    assert [row["order_id"] for row in latest] == [10249, 10248]
    assert latest[0]["customer"] == "Vins et alcools Chevalier"
    assert latest[0]["updated_at"].isoformat() == "2026-11-20T23:23:11.083659+00:00"
    first = lake.tables[0].lake.last_commit()
    write(order_rows(spark, "SELECT id FROM VALUES (10250L) AS t(id)"))
    changed = rows(lake, texts["changed_since"].replace("?", f"'{first}'"))
    assert [row["order_id"] for row in changed] == [10250]
    assert rows(lake, texts["quarantine"]) == []
    listed = {(row["table"], row["column"]): row["type"] for row in described(lake).to_pylist()}
    assert listed["order_items", "unit_price"] == "decimal(12, 2)"
    assert listed["cdc_events", "updated_at"].startswith("timestamp")


@pytest.mark.long
@by_type
def test_what_is_still_whole_is_answered_and_the_rest_refused(
    spark: SparkSession, tmp_path: Path, table_type: str
) -> None:
    write = writer(spark, tmp_path / "things", table_type, *CLEANED, *TYPES[table_type])
    lake = lake_of(tmp_path / "things")
    instants: list[str] = []
    for number in range(COMMITS):
        write(things(spark, "true" if number == 0 else f"id <= {number}", price=f"{number}D", __lsn=f"{number}L"))
        instants.append(max(row["at"] for row in rows(lake, "SELECT max(_hoodie_commit_time) AS at FROM things")))
    asked = "SELECT count(*) AS n, max(price) AS price FROM things"
    answers = {}
    for number, instant in enumerate(instants):
        try:
            [row] = rows(lake, asked, as_of=instant)
        except InstantError:
            continue
        answers[number] = (row["n"], row["price"])
    assert answers == {number: (ROWS, float(number)) for number in answers}
    # Some of each: cleaned ones, and the newest.
    assert 2 <= len(answers) < COMMITS - 4
    assert max(answers) == COMMITS - 1
    with pytest.raises(InstantError, match="the cleaner may have removed"):
        rows(lake, asked, since=instants[0])


@by_type
def test_changes_since_an_instant_are_inserts_updates_and_deletes(
    spark: SparkSession, tmp_path: Path, table_type: str
) -> None:
    write = writer(spark, tmp_path / "things", table_type, *TYPES[table_type])
    lake = lake_of(tmp_path / "things")
    write(things(spark, "id BETWEEN 2 AND 100"))
    before = lake.tables[0].lake.last_commit()
    write(things(spark, "id = 7", price="0D", __lsn="2L"))
    write(things(spark, "id = 8", _hoodie_is_deleted="true", __lsn="2L"))
    after = lake.tables[0].lake.last_commit()
    write(things(spark, "id = 1"))
    asked = "SELECT _change, id, price FROM things ORDER BY id"
    insert, update, delete = (
        {"_change": "insert", "id": 1, "price": 0.125},
        {"_change": "update", "id": 7, "price": 0.0},
        {"_change": "delete", "id": 8, "price": 1.0},
    )
    assert rows(lake, asked, since=before) == [insert, update, delete]
    assert rows(lake, asked, since=before, as_of=after) == [update, delete]
    assert rows(lake, asked, since=lake.tables[0].lake.last_commit()) == []
    created = created_table("CREATE TABLE then_there AS SELECT id FROM things")
    assert created is not None
    [made] = create(lake, created, Period(as_of=before)).to_pylist()
    assert (made["rows"], rows(lake, "SELECT min(id) AS first FROM then_there")) == (99, [{"first": 2}])


@pytest.fixture
def source(database: ConnectionParameters) -> ConnectionParameters:
    execute(
        database,
        "CREATE TABLE things (id bigint, kind text, price float8, born date, seen timestamptz, PRIMARY KEY (id, kind));"
        " INSERT INTO things SELECT i, (ARRAY['', 'kind 1', 'kind 2'])[i % 3 + 1], i / 8.0, DATE '1969-12-01' + i,"
        f" to_timestamp(i / 4.0) FROM generate_series(1, {ROWS}) AS i; ANALYZE things",
    )
    return database


def things(spark: SparkSession, condition: str = "true", **changed: str) -> DataFrame:
    made = {
        "kind": "if(id % 3 > 0, concat('kind ', id % 3), '')",
        "price": "id / 8D",
        "born": "date_add(date'1969-12-01', cast(id AS int))",
        "seen": "timestamp_millis(id * 250)",
        "__lsn": "1L",
        "_hoodie_is_deleted": "false",
    }
    rows = spark.range(1, ROWS + 1).where(condition)
    return rows.select("id", *(F.expr(text).alias(name) for name, text in (made | changed).items()))


def writer(spark: SparkSession, path: Path, table_type: str, *given: str) -> Write:
    arguments = ["--table-type", table_type, "--target-base-path", str(path), "--target-table", "datalake.things"]
    parsed = command_line.parse([*arguments, "--source-ordering-field", "__lsn", "--disable-compaction"])
    overrides = {
        "hoodie.streamer.source.dfs.root": str(path),
        "hoodie.streamer.schemaprovider.source.schema.file": "unused",
        "hoodie.datasource.write.recordkey.field": "id,kind",
        **dict(pair.split("=", 1) for pair in given),
    }
    pairs = properties.load(str(CONF / "cdc_events.properties"), lambda name: Path(name).read_text())
    overridden = properties.parse_overrides(f"{key}={value}" for key, value in overrides.items())
    decided = settings.decide(parsed, properties.combine(pairs, overridden), lambda _line: None)
    table = HudiTable(spark, decided.table)
    numbers = iter(range(100))

    def write(rows: DataFrame) -> None:
        table.write(rows, {commits.SOURCE_KEY: str(next(numbers))}, operation="upsert")

    return write


def compared(source: ConnectionParameters, path: Path, **more: str) -> TableComparison:
    lake = Lake(base_uri=path.as_uri())
    columns = tuple(column(*pair, value_sql=None) for pair in (COLUMNS | more).items())
    return compare(
        source, ComparedTable(schema="public", name="things", lake=lake, columns=columns, key=("id", "kind"))
    )


FOLDERS = (
    "hoodie.datasource.write.partitionpath.field=kind",
    "hoodie.datasource.write.keygenerator.class=org.apache.hudi.keygen.ComplexKeyGenerator",
    "hoodie.datasource.write.hive_style_partitioning=true",
    "hoodie.index.type=GLOBAL_SIMPLE",
    "hoodie.storage.layout.type=DEFAULT",
)


@pytest.mark.parametrize(
    ("table_type", "layout"),
    [
        ("COPY_ON_WRITE", ()),
        ("MERGE_ON_READ", ("hoodie.bucket.index.num.buckets=3",)),
        long("COPY_ON_WRITE", FOLDERS),
    ],
    ids=["two buckets", "logs", "folders"],
)
def test_a_table_is_compared_with_its_source(
    spark: SparkSession, source: ConnectionParameters, tmp_path: Path, table_type: str, layout: Sequence[str]
) -> None:
    path = tmp_path / "things"
    write = writer(spark, path, table_type, *layout)
    write(things(spark))
    assert compared(source, path).equal
    write(things(spark, "id % 2 = 1", price="if(id = 7, 0D, id / 8D)", __lsn="2L"))
    write(things(spark, "id = 8", _hoodie_is_deleted="true", __lsn="2L"))
    assert bool(list(path.glob(".*.log.*"))) is (table_type == "MERGE_ON_READ")
    found = compared(source, path)
    assert (found.lake_rows, found.missing, found.extra, found.different) == (ROWS - 1, 1, 0, 1)
    assert differences(found) == {"different": {("7", "kind 1", "price")}, "missing": {("8", "kind 2")}}
    assert Lake(base_uri=path.as_uri()).newest_of_job()[1][PROGRESS] == "2"
    # Files older than a column have nulls there: it comes with two rows, so another bucket's file stays unchanged.
    write(things(spark, "id IN (7, 8)", __lsn="3L", note="if(id = 7, 'new', null)"))
    execute(source, "ALTER TABLE things ADD note text; UPDATE things SET note = 'new' WHERE id = 7")
    assert compared(source, path, note="text").equal
