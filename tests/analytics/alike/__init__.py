"""Results of Athena's functions, from Trino, as data: `cases.tsv`, which DuckDB, Spark and Trino are compared with.

A line is an expression over the one row of `v`, or a statement over `v` and `r`; then Trino's answer, the answers of
DuckDB and Spark where they differ (`refused`: a line says so, or the engine fails), and the documents' words for it. To
add a line, leave the answer empty: `./lake dev test trino` reports it.
"""

import datetime
import decimal
import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

REFUSED = "refused"
FAILS = "fails"
_FILE = Path(__file__).parent / "cases.tsv"
# The names in the cases, in Athena's SQL.
TABLES = {
    "v": """SELECT 7 AS i, -7 AS n, CAST(9000000000 AS bigint) AS big, CAST(2.5 AS double) AS f,
        CAST(-2.5 AS double) AS g, CAST(2.5 AS decimal(10,2)) AS c, CAST(-2.5 AS decimal(10,2)) AS e, 'aä€😀' AS s,
        ' x ' AS w, '12' AS num, true AS b, CAST('2026-11-23' AS date) AS d, CAST('2024-02-29' AS date) AS d2,
        CAST('2026-11-23 23:59:59.999' AS timestamp) AS t, CAST('2026-11-24 00:00:00.001' AS timestamp) AS u,
        CAST(NULL AS integer) AS nul, CAST(NULL AS varchar) AS z, CAST(NULL AS array(integer)) AS z2,
        ARRAY[3, 1, 2] AS a, ARRAY[1, NULL, 3] AS an, '{"a": [1, {"b": "x"}], "n": null, "d": 1.50, "t": true, '
        || '"s": "ä", "o": {}, "l": 12345678901234567890, "e": ""}' AS j""",
    "r": """SELECT k, x, CAST(y AS double) AS y, CAST(p AS decimal(10,2)) AS p, b FROM (VALUES
        ('a', 1, 1.5, 1.10, true), ('a', 2, 2.5, 2.25, false), ('b', 2, -0.5, 0.01, true),
        ('b', NULL, NULL, NULL, NULL), (NULL, 3, 4.0, 3.33, true)) AS w (k, x, y, p, b)""",
}


@dataclass(frozen=True, kw_only=True)
class Case:
    """An expression or a statement, and each engine's result; `why` is in the documents where they differ."""

    text: str
    trino: str
    duckdb: str
    spark: str
    why: str

    @property
    def is_statement(self) -> bool:
        """Whether it names its rows itself."""
        return self.text.startswith(("SELECT ", "WITH "))

    @property
    def statement(self) -> str:
        return self.text if self.is_statement else f"SELECT {self.text} AS r FROM v"


def cases() -> list[Case]:
    names = ("text", "trino", "duckdb", "spark", "why")
    lines = [line.split("\t") for line in _FILE.read_text().splitlines()[1:]]
    found = [dict(zip(names, (*line, "", "", "", ""), strict=False)) for line in lines]
    return [Case(**{name: text.replace("\\t", "\t") for name, text in each.items()}) for each in found]


def shown(rows: Iterable[Iterable[Any]]) -> str:
    """Return rows as one text, with values in SQL notation: equal texts mean equal types and values."""
    return "; ".join(", ".join(map(_shown, row)) for row in rows)


def _shown(value: Any) -> str:
    if value is None:
        return "NULL"
    if isinstance(value, str):
        return "'" + value.replace("'", "''").replace("\n", "\\n") + "'"
    if isinstance(value, float):
        # A sum's last digits depend on the order.
        return f"{float(f'{value:.14g}')!r}e0" if math.isfinite(value) else str(value)
    if isinstance(value, decimal.Decimal):
        return f"DECIMAL '{value.normalize():f}'"
    if isinstance(value, bytes | bytearray):
        return f"X'{bytes(value).hex()}'"
    if isinstance(value, datetime.datetime):
        local = value.astimezone(datetime.UTC).replace(tzinfo=None) if value.tzinfo else value
        return f"TIMESTAMP '{local}'"
    if isinstance(value, datetime.date):
        return f"DATE '{value}'"
    if isinstance(value, tuple | list):
        within = ", ".join(map(_shown, value))
        return f"ROW({within})" if isinstance(value, tuple) else f"ARRAY[{within}]"
    if isinstance(value, dict):
        return f"MAP({', '.join(sorted(f'{_shown(key)}: {_shown(each)}' for key, each in value.items()))})"
    return str(value).lower() if isinstance(value, bool) else str(value)


def problems(engine: str, found: Mapping[str, str]) -> list[str]:
    """Return a line for each case that an engine, given by its column's name, answers differently from the file."""
    return [
        f"{case.text}\n    Trino: {case.trino}\n    {engine}: {found[case.text]}"
        for case in cases()
        if not _expected(case, getattr(case, engine), found[case.text])
    ]


def _expected(case: Case, own: str, found: str) -> bool:
    if own == REFUSED or (not own and case.trino == FAILS):
        return found in (REFUSED, FAILS)
    return found == (own or case.trino)
