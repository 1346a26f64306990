"""The queries of an example's tables return rows from its tables, and its snapshot is added once a day."""

import datetime
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow
import pytest

from analytics.create_table import inserted_rows
from analytics.queries import QUERIES
from contract.errors import UserError
from local.query.command import insert
from local.query.query import LakeTable, Period, QueriedLake, described
from settings.load import PIPELINES
from tests.local.query.lakes import KnownLake, known_table, lake_of, rows

ARROW = {
    "int": pyarrow.int32(),
    "long": pyarrow.int64(),
    "string": pyarrow.string(),
    "boolean": pyarrow.bool_(),
    "io.debezium.time.ZonedTimestamp": pyarrow.timestamp("us", "UTC"),
    "io.debezium.time.Date": pyarrow.date32(),
}
ROWS: dict[str, list[dict[str, Any]]] = {
    "address": [
        {"address_id": 100, "address": "1308 Arecibo Way", "district": "Georgia", "city_id": 41},
        {"address_id": 102, "address": "669 Firozabad Loop", "district": "Lake Turkana", "city_id": 601},
        {"address_id": 105, "address": "733 Mandaluyong Place", "district": "Asir", "city_id": 999},
    ],
    "city": [
        {"city_id": 41, "city": "Augusta-Richmond County", "country_id": 103},
        {"city_id": 601, "city": "Birnin Zana", "country_id": 110},
    ],
    "country": [{"country_id": 103, "country": "United States"}, {"country_id": 110, "country": "Wakanda"}],
    "customer": [
        {"customer_id": 1, "first_name": "MARY", "last_name": "SMITH", "address_id": 102},
        {"customer_id": 2, "first_name": "PATRICIA", "last_name": "JOHNSON", "address_id": 100},
        {"customer_id": 3, "first_name": "LINDA", "last_name": "WILLIAMS", "address_id": 104},
    ],
}
TEXTS = {query.name: query.text for query in QUERIES}


def lake_schema(table: str) -> pyarrow.Schema:
    """The lake's table as the job creates it from the example's Avro schema."""
    fields = json.loads((PIPELINES / "pagila" / f"{table}.avsc").read_text())["fields"]
    columns = {"_hoodie_commit_time": pyarrow.string(), "_hoodie_record_key": pyarrow.string()}
    for field in fields:
        kind = field["type"][1] if isinstance(field["type"], list) else field["type"]
        columns[field["name"]] = ARROW[kind["connect.name"] if isinstance(kind, dict) else kind]
    return pyarrow.schema(list(columns.items()))


def lake_table(name: str) -> LakeTable:
    rows = [{"_hoodie_commit_time": "20261122110000000"} | row for row in ROWS[name]]
    table = pyarrow.Table.from_pylist(rows, schema=lake_schema(name))
    return known_table(f"pagila_{name}", table, source=f"public.{name}", pipeline="pagila", example="pagila")


@pytest.fixture
def lake(tmp_path: Path) -> QueriedLake:
    return lake_of(tmp_path, *map(lake_table, ROWS))


def add(lake: QueriedLake, sql: str = TEXTS["snapshot_customer_addresses"]) -> dict[str, Any]:
    inserted = inserted_rows(sql)
    assert inserted is not None
    [row] = insert(lake, inserted, Period()).to_pylist()
    return dict(row)


@pytest.mark.parametrize("source", ["datalake.addresses", f"({TEXTS['addresses']}) AS x"])
def test_an_address_has_its_city_and_country_and_shows_before_they_are_there(lake: QueriedLake, source: str) -> None:
    assert rows(lake, f"SELECT address_id, city, state_province, country FROM {source} ORDER BY 1") == [
        {"address_id": 100, "city": "Augusta-Richmond County", "state_province": "Georgia", "country": "United States"},
        {"address_id": 102, "city": "Birnin Zana", "state_province": "Lake Turkana", "country": "Wakanda"},
        {"address_id": 105, "city": None, "state_province": "Asir", "country": None},
    ]


def test_a_customer_has_her_address(lake: QueriedLake) -> None:
    found = rows(lake, "SELECT customer_id, address, country FROM customer_addresses ORDER BY customer_id")
    assert [(row["customer_id"], row["address"], row["country"]) for row in found] == [
        (1, "669 Firozabad Loop", "Wakanda"),
        (2, "1308 Arecibo Way", "United States"),
        (3, None, None),
    ]


def test_the_latest_row_per_key_is_the_tables_row(lake: QueriedLake) -> None:
    columns = "address_id, address, postal_code, last_update"
    latest = rows(lake, f"SELECT {columns} FROM latest_addresses ORDER BY address_id")
    assert latest == rows(lake, f"SELECT {columns} FROM pagila_address ORDER BY address_id")


def test_a_snapshot_is_the_query_with_its_day() -> None:
    rows, at = (
        TEXTS[name][TEXTS[name].index("SELECT") :] for name in ("customer_addresses", "snapshot_customer_addresses")
    )
    columns, tables = rows.rstrip().split("\nFROM")
    assert at.startswith(f"{columns},\n    current_date AS snapshot_date\nFROM{tables}\nWHERE NOT EXISTS")


def test_a_snapshot_has_the_rows_of_its_day_once(lake: QueriedLake) -> None:
    assert rows(lake, "SELECT * FROM customer_address_snapshots") == []
    assert (add(lake)["rows"], add(lake)["rows"]) == (3, 0)
    today = datetime.datetime.now(datetime.UTC).date()
    found = rows(lake, "SELECT * FROM customer_address_snapshots ORDER BY customer_id")
    assert [(row["customer_id"], row["city"]) for row in found] == [
        (1, "Birnin Zana"),
        (2, "Augusta-Richmond County"),
        (3, None),
    ]
    # Midnight may have passed meanwhile.
    assert {row["snapshot_date"] for row in found} <= {today, today - datetime.timedelta(days=1)}
    listed = [row["column"] for row in described(lake).to_pylist() if row["table"] == "customer_address_snapshots"]
    assert listed == [name for name, _ in lake.declared["customer_address_snapshots"].columns]


def test_snapshots_of_days_lie_side_by_side(lake: QueriedLake) -> None:
    add(lake)
    yesterday = TEXTS["snapshot_customer_addresses"].replace("current_date", "DATE '2026-01-31'")
    assert add(lake, yesterday)["rows"] == 3
    found = rows(lake, "SELECT snapshot_date, count(*) AS n FROM customer_address_snapshots GROUP BY 1 ORDER BY 1")
    assert [row["n"] for row in found] == [3, 3]
    assert found[0]["snapshot_date"] == datetime.date(2026, 1, 31)


@pytest.mark.parametrize(
    ("sql", "said"),
    [
        ("INSERT INTO pagila_city SELECT 1", "pagila_city isn't one: customer_address_snapshots"),
        ("INSERT INTO other.customer_address_snapshots SELECT 1", "isn't one"),
        ("INSERT INTO customer_address_snapshots SELECT 1", "has 12 columns, the statement selects 1"),
    ],
)
def test_rows_of_another_table_are_refused(lake: QueriedLake, sql: str, said: str) -> None:
    with pytest.raises(UserError, match=said):
        add(lake, sql)
    assert not lake.silver.folder.exists()


def test_without_the_examples_tables_there_is_no_such_view(tmp_path: Path) -> None:
    less = lake_of(tmp_path, lake_table("address"))
    assert set(less.views) == {"latest_addresses", "quarantine"}
    assert less.declared == {}
    with pytest.raises(UserError, match="there is no table customer_addresses"):
        rows(less, "SELECT * FROM customer_addresses")


def test_a_view_waits_for_the_first_commit_of_each_of_its_tables(lake: QueriedLake) -> None:
    address, city, *others = lake.tables
    no_city = KnownLake(base_uri="memory:", rows_=lake_schema("city").empty_table())
    waiting = replace(lake, tables=[address, replace(city, lake=no_city), *others])
    listed = {row["table"] for row in described(waiting).to_pylist()}
    assert "latest_addresses" in listed
    assert not {"addresses", "customer_addresses", "pagila_city"} & listed
