"""Real Hudi tables from the job are read in batches and compared: each table type, layout and history."""

from collections.abc import Callable
from pathlib import Path

import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from local.comparison.compare import TableComparison
from local.comparison.rows import ComparedTable
from local.look.lake import Lake
from local.services.postgres import ConnectionParameters
from spark_jobs.options import command_line, properties, settings
from spark_jobs.table import commits
from spark_jobs.table.hudi_table import HudiTable
from tests.cases import long
from tests.conftest import execute
from tests.local.comparison.sides import column, compare, differences
from tests.spark_jobs.events import CONF

pytestmark = pytest.mark.integration

ROWS = 2_000
COLUMNS = {"id": "int8", "kind": "text", "price": "float8", "born": "date", "seen": "timestamptz"}
Write = Callable[[DataFrame], None]


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
    """The source's rows as the job decodes them."""
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
    """Writes commits to one table with the job's own options."""
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


def compared(source: ConnectionParameters, path: Path) -> TableComparison:
    lake = Lake(base_uri=path.as_uri())
    columns = tuple(column(*pair, value_sql=None) for pair in COLUMNS.items())
    return compare(
        source, ComparedTable(schema="public", name="things", lake=lake, columns=columns, key=("id", "kind"))
    )


def test_a_copy_on_write_table_of_two_buckets(
    spark: SparkSession, source: ConnectionParameters, tmp_path: Path
) -> None:
    write = writer(spark, tmp_path / "things", "COPY_ON_WRITE")
    write(things(spark))
    assert compared(source, tmp_path / "things").equal
    write(things(spark, "id = 7", price="0D", __lsn="2L"))
    write(things(spark, "id = 8", _hoodie_is_deleted="true", __lsn="2L"))
    found = compared(source, tmp_path / "things")
    assert differences(found) == {"different": {("7", "kind 1", "price")}, "missing": {("8", "kind 2")}}
    assert Lake(base_uri=(tmp_path / "things").as_uri()).progress() == "2"


def test_a_merge_on_read_table_with_updates_and_deletes_in_its_logs(
    spark: SparkSession, source: ConnectionParameters, tmp_path: Path
) -> None:
    write = writer(spark, tmp_path / "things", "MERGE_ON_READ", "hoodie.bucket.index.num.buckets=3")
    write(things(spark, price="0D"))
    write(things(spark, "id % 2 = 1", __lsn="2L"))
    write(things(spark, "id % 4 = 0", _hoodie_is_deleted="true", __lsn="3L"))
    assert list((tmp_path / "things").glob(".*.log.*"))
    found = compared(source, tmp_path / "things")
    assert (found.lake_rows, found.missing, found.extra, found.different) == (ROWS * 3 // 4, ROWS // 4, 0, ROWS // 4)
    write(things(spark, "id % 2 = 0", __lsn="4L"))
    assert compared(source, tmp_path / "things").equal
    assert Lake(base_uri=(tmp_path / "things").as_uri()).progress() == "3"


def test_a_table_with_folders(spark: SparkSession, source: ConnectionParameters, tmp_path: Path) -> None:
    write = writer(
        spark,
        tmp_path / "things",
        "COPY_ON_WRITE",
        "hoodie.datasource.write.partitionpath.field=kind",
        "hoodie.datasource.write.keygenerator.class=org.apache.hudi.keygen.ComplexKeyGenerator",
        "hoodie.datasource.write.hive_style_partitioning=true",
        "hoodie.index.type=GLOBAL_SIMPLE",
        "hoodie.storage.layout.type=DEFAULT",
    )
    write(things(spark, "id <> 5"))
    assert differences(compared(source, tmp_path / "things")) == {"missing": {("5", "kind 2")}}


@pytest.mark.parametrize("table_type", ["COPY_ON_WRITE", long("MERGE_ON_READ")])
def test_files_older_than_a_column_have_nulls_there(
    table_type: str, spark: SparkSession, source: ConnectionParameters, tmp_path: Path
) -> None:
    """The new column is in one row only, so the other bucket's file stays unchanged."""
    write = writer(spark, tmp_path / "things", table_type)
    write(things(spark))
    write(things(spark, "id = 7", __lsn="2L", note="nullif('new', '')"))
    execute(source, "ALTER TABLE things ADD note text; UPDATE things SET note = 'new' WHERE id = 7")
    lake = Lake(base_uri=(tmp_path / "things").as_uri())
    assert "note" in lake.schema().names
    columns = tuple(column(*pair) for pair in (COLUMNS | {"note": "text"}).items())
    table = ComparedTable(schema="public", name="things", lake=lake, columns=columns, key=("id", "kind"))
    assert compare(source, table).equal
