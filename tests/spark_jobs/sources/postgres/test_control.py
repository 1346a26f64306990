"""The control query's shape of a table: it changes once a value may be read differently, at any depth."""

from types import SimpleNamespace
from typing import Any

import pytest

from local.services.postgres import ConnectionParameters
from spark_jobs.sources.postgres.control import IDENTITIES, read_control
from tests.conftest import ask, execute

pytestmark = pytest.mark.integration

RENAME = "ALTER TYPE mood RENAME VALUE 'sad' TO 'blue'"


def shape(parameters: ConnectionParameters) -> str:
    settings: Any = SimpleNamespace(schema="public", table="t", query=None, name="public.t")
    look: Any = SimpleNamespace(before=None, text=lambda query: ask(parameters, query))
    return read_control(look, settings, IDENTITIES[0]).shape


@pytest.mark.parametrize(
    ("types", "column", "change"),
    [
        ("", "mood", RENAME),
        ("", "mood[]", RENAME),
        ("CREATE DOMAIN d AS mood", "d", RENAME),
        ("CREATE DOMAIN d AS mood", "d[]", RENAME),
        ("CREATE DOMAIN d AS mood[]", "d", RENAME),
        ("CREATE DOMAIN d AS mood; CREATE DOMAIN e AS d", "e", RENAME),
        ("CREATE TYPE c AS (m mood)", "c", RENAME),
        ("CREATE TYPE c AS (m mood); CREATE TYPE e AS (c c[])", "e[]", RENAME),
        ("CREATE TYPE r AS RANGE (subtype = mood)", "r", RENAME),
        ("CREATE TYPE r AS RANGE (subtype = mood, multirange_type_name = m)", "m[]", RENAME),
        ("CREATE TYPE c AS (m mood); CREATE TYPE e AS (c c)", "e", "ALTER TYPE c ADD ATTRIBUTE b int"),
        ("CREATE TABLE other (m mood)", "other", RENAME),
    ],
)
def test_a_type_that_a_columns_is_made_of_is_part_of_the_shape(
    database: ConnectionParameters, types: str, column: str, change: str
) -> None:
    execute(database, f"CREATE TYPE mood AS ENUM ('ok', 'sad'); {types}")
    execute(database, f"CREATE TABLE t (id int PRIMARY KEY, value {column})")
    before = shape(database)
    execute(database, "ALTER TYPE mood ADD VALUE 'glad'")
    added = shape(database)
    execute(database, change)
    assert len({before, added, shape(database)}) == 3
    assert shape(database) == shape(database)
