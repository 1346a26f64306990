"""Rows on their way into COPY, and the table list against the SQL file."""

import re

from contract import source
from contract.source import CONNECTOR_ROLE
from db.outbox import SQL_FOLDER
from db.tables import TABLES, copy_lines


def test_copy_escapes_what_copy_would_misread() -> None:
    (line,) = copy_lines([("a\tb", "c\nd\r", "\\N", None, "", "\\", 1, 2.5, "Genève")])
    assert line == "a\\tb\tc\\nd\\r\t\\\\N\t\\N\t\t\\\\\t1\t2.5\tGenève\n"


def test_the_sql_files_say_the_contracts_names() -> None:
    words = {
        word for path in SQL_FOLDER.rglob("*.sql") for word in re.findall(r"\w+", path.read_text(encoding="utf-8"))
    }
    names = (source.SCHEMA, source.OUTBOX_TABLE, source.HEARTBEAT_TABLE, source.HEARTBEAT_PROCEDURE, source.PUBLICATION)
    assert words >= {*names, CONNECTOR_ROLE}


def test_the_tables_are_those_of_the_sql_file() -> None:
    text = (SQL_FOLDER / "01_tables.sql").read_text(encoding="utf-8")
    found = {
        name: tuple(re.findall(r"^ {4}(\w+)", body, re.MULTILINE))
        for name, body in re.findall(r"CREATE TABLE datalake\.(\w+) \((.*?)^\);", text, re.MULTILINE | re.DOTALL)
    }
    assert found == dict(TABLES)
    assert len(found) == 14
