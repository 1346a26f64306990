"""First loads of many rows, inserted in bulk: all arrive, and none twice, despite events in between."""

from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from spark_jobs.sources.postgres import source
from spark_jobs.table.hudi_table import HudiTable
from tests.spark_jobs.sources.postgres.conftest import Queried

pytestmark = [pytest.mark.integration, pytest.mark.long]

MANY = "INSERT INTO address SELECT i, 'Street ' || i, NULL, now() FROM generate_series(604, 4500) AS i"
BUCKETED = {"hoodie.bucket.index.num.buckets": "3"}
UNBUCKETED = {
    "hoodie.index.type": "",
    "hoodie.storage.layout.type": "",
    "hoodie.storage.layout.partitioner.class": "",
    "hoodie.bucket.index.num.buckets": "",
}
FOLDERS = {
    **UNBUCKETED,
    "hoodie.datasource.write.partitionpath.field": "district",
    "hoodie.datasource.write.keygenerator.class": "org.apache.hudi.keygen.SimpleKeyGenerator",
}
PARTS = ("--source-limit", "1500")


@pytest.fixture
def operations(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    found: list[str] = []
    write = HudiTable.write

    def noted(table: HudiTable, *arguments: Any, operation: str) -> Any:
        found.append(operation)
        return write(table, *arguments, operation=operation)

    monkeypatch.setattr(HudiTable, "write", noted)
    return found


@pytest.mark.parametrize(
    ("extra", "table_type", "expected"),
    [
        (UNBUCKETED, "COPY_ON_WRITE", ["bulk_insert", "bulk_insert", "bulk_insert"]),
        (UNBUCKETED, "MERGE_ON_READ", ["bulk_insert", "bulk_insert", "bulk_insert"]),
        # Its buckets can only be filled in bulk once.
        (BUCKETED, "COPY_ON_WRITE", ["bulk_insert", "upsert", "upsert"]),
        (BUCKETED, "MERGE_ON_READ", ["bulk_insert", "upsert", "upsert"]),
        # Each task would have a file open in each folder.
        (FOLDERS, "COPY_ON_WRITE", ["upsert", "upsert", "upsert"]),
    ],
)
def test_parts_of_a_first_load_are_inserted_in_bulk_where_that_does_and_found_by_later_changes(
    queried: Queried, operations: list[str], extra: Mapping[str, str], table_type: str, expected: Sequence[str]
) -> None:
    queried.extra, queried.arguments = extra, (*PARTS, "--table-type", table_type)
    queried.equal_after(MANY)
    assert operations == expected
    queried.equal_after(
        "UPDATE address SET address = 'new', district = 'District 8' WHERE address_id % 2 = 0",
        "DELETE FROM address WHERE address_id % 50 = 3",
    )
    assert {*operations[len(expected) :]} == {"upsert"}


def test_a_delete_alongside_a_row_without_a_key_arrives(queried: Queried, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(source, "_FOR_ONE", 1000)
    columns = "nullif(address_id, 0) AS address_id, address, district, last_update"
    queried.execute(MANY, f"CREATE VIEW keyed AS SELECT {columns} FROM address")
    queried.table_name = "public.keyed"
    job = queried.job()
    queried.run(job)
    queried.execute(
        "BEGIN; UPDATE address SET address = address || '!'; DELETE FROM address WHERE address_id = 5;"
        " INSERT INTO address VALUES (0, 'no key'); COMMIT"
    )
    queried.run(job)
    job.close()
    assert {*queried.source()} - {None} == {*queried.lake()}


def test_rows_that_are_there_are_compared_when_a_load_begins_again(queried: Queried, operations: list[str]) -> None:
    queried.extra = UNBUCKETED
    queried.execute(MANY)
    queried.run()
    queried.execute(
        "UPDATE address SET address = 'new' WHERE address_id = 4500",
        "INSERT INTO address SELECT i, 'new' FROM generate_series(-2999, 0) AS i",
    )
    queried.arguments = (*PARTS, "--ignore-checkpoint", "once")
    reports = queried.equal_after()
    # The keys before the first existing one aren't in the table.
    assert operations[1:] == ["bulk_insert", "bulk_insert", "upsert"]
    assert [report.upserts for report in reports] == [1500, 1500, 1]


@pytest.mark.parametrize("key", ["code", "code,number"])
def test_deletes_are_found_by_keys_of_several_types(queried: Queried, key: str) -> None:
    queried.execute(
        f"CREATE TABLE coded (code varchar, number bigint, address text, PRIMARY KEY ({key}))",
        """INSERT INTO coded SELECT E'a\\tb"' || i || ' ü\\\\', i, 'x' FROM generate_series(1, 21000) AS i""",
    )
    queried.fields, queried.key, queried.table_name = (
        {"code": "string", "number": "long", "address": "string"},
        key,
        "coded",
    )
    queried.run()
    queried.execute("DELETE FROM coded WHERE number % 1000 = 1", "INSERT INTO coded VALUES ('new', 0, '')")
    [report] = queried.run()
    assert (report.upserts, report.deletes) == (1, 21)
    with queried.transaction() as cursor:
        cursor.execute("SELECT code, number, address FROM coded")
        there = sorted(cursor.fetchall())
    found = queried.spark.read.format("hudi").load(str(queried.table_path)).select("code", "number", "address")
    assert sorted(map(tuple, found.collect())) == there


def test_a_part_has_no_other_parts_rows_with_odd_values(queried: Queried, operations: list[str]) -> None:
    queried.extra, queried.arguments = UNBUCKETED, PARTS
    queried.execute(MANY, "UPDATE address SET last_update = 'infinity' WHERE address_id IN (1, 4500)")
    assert [report.events for report in queried.run()] == [1500, 1500, 1500]
    assert operations == ["bulk_insert"] * 3
