"""A database with what a catalogue may hold, made once."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from local.services.postgres import ConnectionParameters, Postgres
from tests.conftest import execute, fresh_database

NASTY = Path(__file__).with_name("nasty.sql")


@pytest.fixture(scope="session")
def nasty(postgres: Postgres) -> Iterator[ConnectionParameters]:
    """The database of nasty.sql; tests that change it take a copy (`fresh_database(…, template=…)`)."""
    with fresh_database(postgres) as parameters:
        execute(parameters, NASTY.read_text(encoding="utf-8"))
        yield parameters
