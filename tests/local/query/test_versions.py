"""A history table's versions, queried with the time until which each was valid."""

from datetime import UTC, datetime
from pathlib import Path

import pyarrow
import pytest

from analytics.queries import QUERIES, Queried, named_queries
from contract.history import COMMIT, ENDED, VALID_FROM, VERSION
from local.query.query import QueriedLake
from tests.local.query.lakes import known_table, lake_of, rows


def at(hour: int) -> datetime:
    return datetime(2026, 11, 22, hour, tzinfo=UTC)


# Key, name, from when, whether it ended, the commit, and the version's number in the commit.
VERSIONS = [
    (1, "one", at(10), False, 1, 0),
    (1, "uno", at(11), False, 2, 1),
    (1, "un", at(11), False, 2, 0),
    (2, "two", at(10), False, 1, 0),
    (2, None, at(12), True, 3, 0),
    (2, "back", at(13), False, 3, 1),
]


@pytest.fixture
def lake(tmp_path: Path) -> QueriedLake:
    names = ["city_id", "city", VALID_FROM, ENDED, COMMIT, VERSION]
    versions = [dict(zip(names, version, strict=True)) for version in VERSIONS]
    kept = pyarrow.Table.from_pylist([{"_hoodie_record_key": "x", **version} for version in versions])
    city = known_table("pagila_city", kept.slice(0, 0), key=("city_id",), history="pagila_city_history")
    return lake_of(tmp_path, city, known_table("pagila_city_history", kept))


def test_a_version_holds_until_the_next_one_or_the_rows_end(lake: QueriedLake) -> None:
    columns = "city_id, city, valid_from, valid_to"
    found = rows(lake, f"SELECT {columns} FROM versions_pagila_city ORDER BY city_id, valid_from, valid_to")
    assert [tuple(row.values()) for row in found] == [
        (1, "one", at(10), at(11)),
        (1, "un", at(11), at(11)),
        (1, "uno", at(11), None),
        (2, "two", at(10), at(12)),
        (2, "back", at(13), None),
    ]


def test_a_key_of_several_columns_is_in_the_lakes_names() -> None:
    table = Queried(table="shop_lines", outbox=False, key=("orderId", "line"), history="shop_lines_history")
    [found] = [query for query in named_queries("lake", [table]) if query.name.startswith("versions")]
    assert "PARTITION BY h.order_id, h.line ORDER BY" in found.sql
    assert found.tables == ("shop_lines_history",)
    assert not [
        query.name
        for query in named_queries("lake", [Queried(table="x", outbox=False, key=("id",))])
        if query.name.startswith("versions")
    ]


def test_the_file_names_the_contracts_columns() -> None:
    [file] = [query for query in QUERIES if query.name == "versions"]
    assert all(f".{name}" in file.text for name in (VALID_FROM, ENDED, COMMIT, VERSION))
