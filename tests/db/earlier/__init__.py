"""A database in the state of an earlier version, in either of its modes; created from today's SQL."""

import contextlib
from pathlib import Path
from typing import Literal

import psycopg2

from local.services.postgres import ConnectionParameters

Mode = Literal["transaction", "statement"]
FOLDER = Path(__file__).parent


def make_earlier(parameters: ConnectionParameters, mode: Mode = "transaction") -> None:
    """Take a loaded database back to the version before the last."""
    with contextlib.closing(psycopg2.connect(**parameters)) as connection, connection, connection.cursor() as cursor:
        cursor.execute((FOLDER / "transaction.sql").read_text(encoding="utf-8"))
        if mode == "statement":
            cursor.execute((FOLDER / "statement.sql").read_text(encoding="utf-8"))
