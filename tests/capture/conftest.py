"""A database with unusual catalog contents, created once."""

import contextlib
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import psycopg2
import pytest

from contract.source import CONNECTOR_ROLE
from local.services.postgres import ConnectionParameters, Postgres
from tests.conftest import execute, fresh_database

# We may not distribute the dump: it lies next to the checkout, or where the variable says.
BESIDE = Path(__file__).resolve().parents[3] / "shared" / "data" / "pagila"
PAGILA = Path(os.environ.get("PAGILA_DUMP", BESIDE))
WITHOUT_PAGILA = pytest.mark.skipif(
    not (PAGILA / "pagila-schema.sql").is_file(), reason=f"no Pagila dump: PAGILA_DUMP=FOLDER, or {PAGILA}"
)
NASTY = Path(__file__).with_name("nasty.sql")


@pytest.fixture(scope="session")
def nasty(postgres: Postgres) -> Iterator[ConnectionParameters]:
    """The database of nasty.sql; tests that change it use a copy (`fresh_database(…, template=…)`)."""
    with fresh_database(postgres) as parameters:
        execute(parameters, NASTY.read_text(encoding="utf-8"))
        yield parameters


@pytest.fixture
def no_role(postgres: Postgres) -> Iterator[None]:
    """Remove the connector's role, which all tests of the server share, for one test; restore it afterwards."""
    admin, aside = postgres.connection_parameters(), f"{CONNECTOR_ROLE}_of_others"
    with contextlib.suppress(psycopg2.errors.UndefinedObject):
        execute(admin, f"ALTER ROLE {CONNECTOR_ROLE} RENAME TO {aside}")
    yield
    execute(admin, f"DROP ROLE IF EXISTS {CONNECTOR_ROLE}")
    with contextlib.suppress(psycopg2.errors.UndefinedObject):
        execute(admin, f"ALTER ROLE {aside} RENAME TO {CONNECTOR_ROLE}")


def load_dump(postgres: Postgres, database: ConnectionParameters, file: Path) -> None:
    """Run a plain-text dump with psql, which understands its COPY blocks."""
    command = [str(postgres.program("psql")), "--quiet", "--file", str(file)]
    names = {"host": "PGHOST", "port": "PGPORT", "user": "PGUSER", "password": "PGPASSWORD", "dbname": "PGDATABASE"}
    values = {names[key]: str(value) for key, value in database.items()}
    subprocess.run(command, env=values, check=True, capture_output=True)
