import json

import pytest
from pyspark.sql import Row

from analytics.queries import QUERIES, SQL_FOLDER, Queried, Query, RequiredTables, named_queries
from analytics.tables import QUARANTINE
from spark_jobs.table import quarantine

TABLES = (Queried(table="cdc_events", outbox=True), Queried(table="pagila_city", outbox=False))


def test_each_file_is_a_query() -> None:
    assert {path.stem for path in SQL_FOLDER.glob("*.sql")} == {query.name for query in QUERIES}


@pytest.mark.parametrize("query", QUERIES, ids=lambda query: query.name)
def test_a_query_says_what_it_is_and_reads_the_table_that_is_asked(query: Query) -> None:
    assert query.text.startswith("-- ")
    assert query.description.endswith(".")
    sql = query.sql("dev_lake", {name: f"{name}_2" for name in query.names})
    assert query.names
    for name in query.names:
        assert f'"dev_lake"."{name}_2"' in sql
    assert " datalake." not in sql
    assert "--" not in sql
    assert sql.count("?") == len(query.parameters)


def test_what_is_of_orders_is_asked_of_the_outbox_alone() -> None:
    found = {query.name: query.tables for query in named_queries("dev_lake", TABLES)}
    assert found == {
        "order_items": ("cdc_events",),
        "latest_orders": ("cdc_events",),
        "changed_since": ("cdc_events",),
        "changed_since_pagila_city": ("pagila_city",),
        "quarantine": ("cdc_quarantine",),
    }
    assert {query.name for query in named_queries("lake", TABLES[1:])} == {"changed_since_pagila_city", "quarantine"}


ALL = {"addresses", "customer_addresses", "latest_addresses", "snapshot_customer_addresses"}


def captured(*tables: str, pipeline: str = "pagila", example: str | None = "pagila") -> list[Queried]:
    return [
        Queried(table=f"{pipeline}_{table}", outbox=False, source=f"public.{table}", pipeline=pipeline, example=example)
        for table in tables
    ]


def asked_of_examples(tables: list[Queried]) -> set[str]:
    names = {query.name for query in named_queries("lake", tables)}
    return {name for name in names if not name.startswith(("changed_since", "quarantine"))}


@pytest.mark.parametrize(
    ("tables", "names"),
    [
        (captured("address", "city", "country", "customer", "rental"), ALL),
        (captured("address", "city", "country"), {"addresses", "latest_addresses"}),
        (captured("address", "city"), {"latest_addresses"}),
        (captured("address", "city") + captured("country", "customer", pipeline="other"), {"latest_addresses"}),
        (captured("address", "city", "country", "customer", example=None), set()),
    ],
    ids=["all", "no customer", "no country", "of two pipelines", "not the example's"],
)
def test_a_query_of_an_examples_tables_is_there_where_all_of_them_are_captured(
    tables: list[Queried], names: set[str]
) -> None:
    assert asked_of_examples(tables) == names


def test_another_pipeline_of_the_example_has_queries_and_a_table_of_its_own() -> None:
    tables = captured("address", "city", "country", "customer", pipeline="second")
    found = {query.name: query for query in named_queries("lake", tables)}
    assert asked_of_examples(tables) == {f"{name}_second" for name in ALL}
    snapshot = found["snapshot_customer_addresses_second"]
    assert snapshot.writes is not None
    assert snapshot.writes.location("s3://lake") == "s3://lake/_silver/customer_address_snapshots_second"
    assert snapshot.sql.startswith('INSERT INTO "lake"."customer_address_snapshots_second"')
    assert '"lake"."second_city" AS c' in snapshot.sql
    assert "pagila" not in snapshot.sql


@pytest.mark.parametrize(
    "query", [query for query in QUERIES if isinstance(query.of, RequiredTables)], ids=lambda q: q.name
)
def test_what_a_query_needs_is_what_its_file_names(query: Query) -> None:
    assert isinstance(query.of, RequiredTables)
    declared = {query.writes.name} if query.writes else set()
    assert set(query.names) == set(query.of.tables) | declared


def test_that_deletes_dont_show_is_said() -> None:
    [query] = [query for query in named_queries("lake", TABLES[:1]) if query.name == "changed_since"]
    assert "Deletes don't show" in query.description
    assert [parameter.example[0] for parameter in query.parameters] == ["'"]


def test_the_quarantines_table_has_what_the_job_writes() -> None:
    row = Row(reason="type: a (not int)", line="{}")
    entry = json.loads(quarantine._entry(row, "2026-11-20T23:23:11.083+00:00", {"origin": "a.json", "line": 1}))
    assert set(entry) | {"offset", "file"} == {name for name, _ in QUARANTINE.columns}
