"""CREATE TABLE AS writes the files that Athena would, all or none, and the table can be queried from then on."""

import errno
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import pyarrow
import pytest
from pyarrow import dataset, parquet
from typer.testing import CliRunner

from analytics.create_table import created_table
from cli.__main__ import app
from contract.errors import UserError
from local.platform import command as up
from local.query import command
from local.query.command import create
from local.query.engine import QueryError
from local.query.query import Period, QueriedLake, ask, described
from tests.local.query.lakes import known_table, lake_of, rows

COUNTRIES = ["Anguilla", "Côte d'Ivoire / a=b", "", None, "100%"]
ADDRESSES = pyarrow.table(
    {
        "_hoodie_commit_time": ["20261122110000000"] * 500,
        "_hoodie_record_key": [str(number) for number in range(500)],
        "address_id": pyarrow.array(range(500), pyarrow.int32()),
        "country": [COUNTRIES[number % len(COUNTRIES)] for number in range(500)],
        "district": [f"district {number % 101}" for number in range(500)],
        "last_update": pyarrow.array([1_600_000_000_000_000] * 500, pyarrow.timestamp("us", "UTC")),
    }
)
BY_COUNTRY = (
    "CREATE TABLE datalake.by_country WITH (format='PARQUET', parquet_compression='SNAPPY',"
    " partitioned_by=ARRAY['country'], external_location='s3://bucket/by_country/') AS"
    " SELECT address_id, last_update, country FROM datalake.addresses ORDER BY address_id"
)


@pytest.fixture
def lake(tmp_path: Path) -> QueriedLake:
    return lake_of(tmp_path, known_table("addresses", ADDRESSES))


def make(lake: QueriedLake, sql: str, out: Path | None = None) -> dict[str, Any]:
    created = created_table(sql)
    assert created is not None
    [row] = create(lake, created, Period(), out).to_pylist()
    return dict(row)


def left(folder: Path) -> list[str]:
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*"))


def test_files_are_in_a_folder_for_each_partition_without_its_column(lake: QueriedLake) -> None:
    folder = lake.silver.folder / "by_country"
    assert make(lake, BY_COUNTRY) == {"table": "by_country", "rows": 500, "partitions": 5, "folder": str(folder)}
    assert len([path for path in folder.iterdir() if path.is_dir()]) == len(COUNTRIES)
    [file] = (folder / "country=Anguilla").iterdir()
    assert parquet.read_schema(file).names == ["address_id", "last_update"]
    assert parquet.ParquetFile(file).metadata.row_group(0).column(0).compression == "SNAPPY"
    # Other programs read it, too, by the folders' names.
    assert dataset.dataset(folder, partitioning="hive").count_rows() == 500


def test_a_made_table_is_asked_described_and_listed(lake: QueriedLake) -> None:
    make(lake, BY_COUNTRY)
    expected = rows(lake, "SELECT address_id, last_update, country FROM addresses ORDER BY address_id")
    assert rows(lake, "SELECT * FROM by_country ORDER BY address_id") == expected
    assert rows(lake, "SELECT count(*) AS n FROM by_country WHERE country IS NULL") == [{"n": 100}]
    assert "by_country" in lake.names
    listed = [row["column"] for row in described(lake).to_pylist() if row["table"] == "by_country"]
    assert listed == ["address_id", "last_update", "country"]
    with pytest.raises(QueryError, match="by_country was made by a statement"):
        ask(lake, "SELECT * FROM by_country", Period(as_of="20261122110000000"))


def test_a_table_without_partitions_and_one_without_rows(lake: QueriedLake) -> None:
    assert make(lake, "CREATE TABLE all_of_them AS SELECT * FROM addresses")["partitions"] == 0
    assert rows(lake, "SELECT count(*) AS n FROM all_of_them") == [{"n": 500}]
    empty = BY_COUNTRY.replace("ORDER", "WHERE address_id < 0 ORDER")
    assert (make(lake, empty)["rows"], rows(lake, "SELECT * FROM by_country")) == (0, [])


def test_more_than_a_hundred_partitions_are_refused_and_nothing_is_left(lake: QueriedLake) -> None:
    sql = "CREATE TABLE t WITH (partitioned_by=ARRAY['district']) AS SELECT address_id, district FROM addresses"
    with pytest.raises(UserError, match="would have 101 partitions by district"):
        make(lake, sql)
    assert left(lake.silver.folder.parent) == []
    assert make(lake, f"{sql} WHERE district <> 'district 0'")["partitions"] == 100


def test_a_place_that_is_taken_is_refused(lake: QueriedLake) -> None:
    make(lake, BY_COUNTRY)
    with pytest.raises(QueryError, match=r"datalake\.by_country is there already: take another name, or remove /"):
        make(lake, BY_COUNTRY)
    with pytest.raises(QueryError, match=r"datalake\.addresses is there already: take another name$"):
        make(lake, "CREATE TABLE addresses AS SELECT 1 AS a")
    with pytest.raises(QueryError, match="there is no database other"):
        make(lake, "CREATE TABLE other.t AS SELECT 1 AS a")
    with pytest.raises(QueryError, match="isn't empty"):
        make(lake, "CREATE TABLE t AS SELECT 1 AS a", lake.silver.folder / "by_country")


def test_out_is_the_folder(lake: QueriedLake, tmp_path: Path) -> None:
    out = tmp_path / "mine"
    out.mkdir()
    assert make(lake, BY_COUNTRY, out)["folder"] == str(out)
    assert lake.silver.names() == []
    assert dataset.dataset(out, partitioning="hive").count_rows() == 500


@pytest.mark.parametrize(
    ("sql", "said"),
    [
        (BY_COUNTRY.replace("last_update, country", "country, last_update"), "the last selected is last_update"),
        ("CREATE TABLE t AS SELECT 1 AS a, 2 AS a", "a is there more than once"),
        (
            "CREATE TABLE t WITH (partitioned_by=ARRAY['last_update']) AS SELECT 1 AS a, last_update FROM addresses",
            "partitioned_by has last_update, which is timestamp",
        ),
        ("CREATE TABLE t AS SELECT nothing FROM addresses", "nothing"),
        ("CREATE TABLE t AS SELECT 1 / 0 AS a", "Division by zero"),
    ],
)
def test_what_cant_be_a_table_is_one_line_and_leaves_nothing(lake: QueriedLake, sql: str, said: str) -> None:
    with pytest.raises(UserError) as refused:
        make(lake, sql)
    assert said in str(refused.value)
    assert "\n" not in str(refused.value)
    assert left(lake.silver.folder.parent) == []


def test_a_disk_that_fills_leaves_nothing(lake: QueriedLake, monkeypatch: pytest.MonkeyPatch) -> None:
    full = OSError(errno.ENOSPC, "No space left on device")
    monkeypatch.setattr("pyarrow.parquet.write_metadata", Mock(side_effect=full))
    with pytest.raises(QueryError, match=r"by_country can't be written: .*No space left on device"):
        make(lake, BY_COUNTRY)
    assert left(lake.silver.folder) == []


def test_files_that_are_gone_are_one_line(lake: QueriedLake) -> None:
    made = make(lake, "CREATE TABLE t AS SELECT 1 AS a")
    [file] = Path(made["folder"]).glob("*.parquet")
    file.write_bytes(b"half")
    with pytest.raises(QueryError, match="silver/t can't be read"):
        rows(lake, "SELECT * FROM t")


def test_json_and_a_sum_are_what_they_are_in_an_answer(lake: QueriedLake) -> None:
    selected = "json_parse('[1]') AS j, sum(address_id) AS total"
    make(lake, f"CREATE TABLE t AS SELECT {selected} FROM addresses")
    assert rows(lake, "SELECT * FROM t") == rows(lake, f"SELECT {selected} FROM addresses")


def test_the_command_says_what_was_written(lake: QueriedLake, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(up, "find_platform", lambda *_: None)
    monkeypatch.setattr(command, "_lake", lambda *_: lake)
    done = CliRunner().invoke(app, ["query", BY_COUNTRY, "--format", "csv"])
    assert done.stdout.splitlines() == [
        '"table","rows","partitions","folder"',
        f'"by_country","500","5","{lake.silver.folder}/by_country"',
    ]
