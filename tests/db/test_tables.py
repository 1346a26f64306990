"""Rows on their way into COPY, and the table list against the SQL file."""

import re

from db.sql_text import SQL_FOLDER
from db.tables import TABLES, copy_lines


def test_copy_escapes_what_copy_would_misread() -> None:
    (line,) = copy_lines([("a\tb", "c\nd\r", "\\N", None, "", "\\", 1, 2.5, "Genève")])
    assert line == "a\\tb\tc\\nd\\r\t\\\\N\t\\N\t\t\\\\\t1\t2.5\tGenève\n"


def test_the_tables_are_those_of_the_sql_file() -> None:
    text = (SQL_FOLDER / "01_tables.sql").read_text(encoding="utf-8")
    found = {
        name: tuple(re.findall(r"^ {4}(\w+)", body, re.MULTILINE))
        for name, body in re.findall(r"CREATE TABLE datalake\.(\w+) \((.*?)^\);", text, re.MULTILINE | re.DOTALL)
    }
    assert found == dict(TABLES)
    assert len(found) == 14
