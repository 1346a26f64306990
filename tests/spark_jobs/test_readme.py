"""The job's README has every option and property with its real default, and nothing else.

`python -m tests.spark_jobs.test_readme` writes the defaults, and what `--help` says of options, anew.
"""

import re
from dataclasses import fields

from spark_jobs import options, settings
from spark_jobs.declared import Declared
from tests.spark_jobs.conftest import ROOT
from tests.spark_jobs.test_loop import REPORT

README = ROOT / "spark_jobs" / "README.md"
_TABLE = re.compile(r"\| (?:option|property) \| default \| meaning \|\n\|---\|---\|---\|\n((?:\| .*\n)*)")
_OF_MANY = [field.metadata["declared"] for field in fields(options.OfManyTables)]
# In the page's order.
TABLES: list[dict[str, Declared]] = [
    {option.key: option for option in options.ONE_TABLE.declared.values()},
    settings.PROPERTIES,
    {option.key: option for option in _OF_MANY},
    settings.OF_MANY_TABLES,
]


def row(line: str, declared: Declared) -> str:
    """A table's line as it should be; the page alone has what a property means and why there is no default."""
    names, default, meaning = line.strip("| ").split(" | ", 2)
    is_option = declared.key.startswith("--")
    names = ", ".join(f"`{name}`" for name in declared.names) if is_option else names
    says = declared.default not in (None, ()) or declared.number or (is_option and declared.needed_by)
    return f"| {names} | {declared.default_cell() if says else default} | {declared.help if is_option else meaning} |"


def tables() -> list[list[str]]:
    """The lines of the page's tables."""
    return [found.splitlines() for found in _TABLE.findall(README.read_text())]


def key(line: str) -> str:
    """The first name in a table's line."""
    return line.split("`")[1]


def test_each_table_has_what_is_declared() -> None:
    assert [sorted(map(key, table)) for table in tables()] == [sorted(declared) for declared in TABLES]
    for table, declared in zip(tables(), TABLES, strict=True):
        assert table == [row(line, declared[key(line)]) for line in table]


def test_the_line_of_a_commit_is_the_real_one() -> None:
    assert REPORT.line() in README.read_text().splitlines()


if __name__ == "__main__":
    text = README.read_text()
    for found, known in zip(tables(), TABLES, strict=True):
        for old in found:
            text = text.replace(old, row(old, known[key(old)]))
    README.write_text(text)
