"""A database with what a catalogue may hold, made once."""

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from local.services.postgres import ConnectionParameters, Postgres
from tests.conftest import execute, fresh_database

# The dump isn't ours to distribute: it lies beside the checkout, or where the variable says.
BESIDE = Path(__file__).resolve().parents[3] / "shared" / "data" / "pagila"
PAGILA = Path(os.environ.get("PAGILA_DUMP", BESIDE))
WITHOUT_PAGILA = pytest.mark.skipif(
    not (PAGILA / "pagila-schema.sql").is_file(), reason=f"no Pagila dump: PAGILA_DUMP=FOLDER, or {PAGILA}"
)
NASTY = Path(__file__).with_name("nasty.sql")


@pytest.fixture(scope="session")
def nasty(postgres: Postgres) -> Iterator[ConnectionParameters]:
    """The database of nasty.sql; tests that change it take a copy (`fresh_database(…, template=…)`)."""
    with fresh_database(postgres) as parameters:
        execute(parameters, NASTY.read_text(encoding="utf-8"))
        yield parameters


def load_dump(postgres: Postgres, database: ConnectionParameters, file: Path) -> None:
    """Run a plain-text dump with psql, which knows its COPY blocks."""
    command = [str(postgres.program("psql")), "--quiet", "--file", str(file)]
    names = {"host": "PGHOST", "port": "PGPORT", "user": "PGUSER", "password": "PGPASSWORD", "dbname": "PGDATABASE"}
    values = {names[key]: str(value) for key, value in database.items()}
    subprocess.run(command, env=values, check=True, capture_output=True)
