import json

import pytest
from pyspark.sql import Row

from analytics import quarantine_table
from analytics.queries import QUERIES, SQL_FOLDER, Queried, Query, marks, named_queries
from spark_jobs import quarantine

TABLES = (Queried(table="cdc_events", outbox=True), Queried(table="pagila_city", outbox=False))


def test_each_file_is_a_query() -> None:
    assert {path.stem for path in SQL_FOLDER.glob("*.sql")} == {query.name for query in QUERIES}


@pytest.mark.parametrize("query", QUERIES, ids=lambda query: query.name)
def test_a_query_says_what_it_is_and_reads_the_table_that_is_asked(query: Query) -> None:
    assert query.text.startswith("-- ")
    assert query.description.endswith(".")
    sql = query.sql("dev_lake", "pagila_city")
    assert sql.count('FROM "dev_lake"."pagila_city" AS ') == 1
    assert "datalake" not in sql
    assert "--" not in sql
    assert marks(sql) == len(query.parameters)


def test_what_is_of_orders_is_asked_of_the_outbox_alone() -> None:
    found = {query.name: query.table for query in named_queries("dev_lake", TABLES)}
    assert found == {
        "order_items": "cdc_events",
        "latest_orders": "cdc_events",
        "changed_since": "cdc_events",
        "changed_since_pagila_city": "pagila_city",
        "quarantine": "cdc_quarantine",
    }


def test_without_an_outbox_its_queries_arent_there() -> None:
    assert {query.name for query in named_queries("lake", TABLES[1:])} == {"changed_since_pagila_city", "quarantine"}


def test_that_deletes_dont_show_is_said() -> None:
    [query] = [query for query in named_queries("lake", TABLES[:1]) if query.name == "changed_since"]
    assert "Deletes don't show" in query.description
    assert [parameter.example[0] for parameter in query.parameters] == ["'"]


def test_a_captured_tables_folder_is_a_partition_of_the_quarantine() -> None:
    found = quarantine_table.parameters("s3://bucket", ["b", "a"])
    assert found["projection.lake_table.values"] == "a,b"
    assert found["storage.location.template"] == "s3://bucket/_quarantine/${lake_table}"


def test_a_captured_table_cant_take_the_quarantines_name() -> None:
    with pytest.raises(ValueError, match="give the captured one another"):
        quarantine_table.parameters("s3://bucket", ["cdc_quarantine"])


def test_the_quarantines_table_has_what_the_job_writes() -> None:
    row = Row(reason="type: a (not int)", line="{}")
    entry = json.loads(quarantine._entry(row, "2026-11-20T23:23:11.083+00:00", {"origin": "a.json", "line": 1}))
    assert set(entry) | {"offset", "file"} == {name for name, _ in quarantine_table.COLUMNS}
