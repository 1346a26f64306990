"""A database as the first release made it, before outboxes had versions: its SQL is kept in tests/db/released."""

import contextlib
import io
from pathlib import Path

import psycopg2

from contract.capture_objects import CONNECTOR_ROLE
from db.outbox import Mode
from db.sample import generate
from db.tables import TABLES, copy_lines
from local.services.postgres import ConnectionParameters

FOLDER = Path(__file__).parent / "released"


def load_released(parameters: ConnectionParameters, mode: Mode) -> None:
    """Load the generated rows of scale 1 with the first release's tables, outbox and triggers."""
    with contextlib.closing(psycopg2.connect(**parameters)) as connection, connection, connection.cursor() as cursor:
        cursor.execute("CREATE PUBLICATION cdc_publication")
        cursor.execute(_text("01_tables.sql"))
        for table, rows in generate():
            columns = ", ".join(TABLES[table])
            cursor.copy_expert(f"COPY datalake.{table} ({columns}) FROM STDIN", io.StringIO("".join(copy_lines(rows))))
        names = ("02_keys", "03_outbox", "04_outbox_functions", f"05_outbox_{mode}", "07_replication")
        for name in names:
            cursor.execute(_text(f"{name}.sql"))
        cursor.execute("CALL datalake.usp_init_order_events()")
        cursor.execute(_text("06_outbox_triggers.sql"))
        cursor.execute("SELECT 1 FROM pg_roles WHERE rolname = %s", (CONNECTOR_ROLE,))
        if cursor.fetchone() is None:
            cursor.execute(f"CREATE ROLE {CONNECTOR_ROLE} LOGIN REPLICATION")
        cursor.execute(_text("08_connector_rights.sql"))


def _text(name: str) -> str:
    return (FOLDER / name).read_text(encoding="utf-8")
