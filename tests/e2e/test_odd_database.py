"""A database with every type, key and name: captured at the first try, and each table is equal or reported."""

import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import pytest

from contract.errors import CANNOT
from local.services.postgres import ConnectionParameters, Postgres
from tests.conftest import execute, fresh_database
from tests.e2e.commands import Commands

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(900), pytest.mark.long]

NAME = "odd"
MAKING = Path(__file__).with_name("odd.sql").read_text(encoding="utf-8")
# Each row again under a new key, each row rewritten unchanged, and one deleted.
CHANGES = """
DO $$
DECLARE one record;
BEGIN
    FOR one IN
        SELECT a.attrelid::regclass AS name, string_agg(quote_ident(b.attname), ', ') AS others
        FROM pg_attribute a
        JOIN pg_class c ON c.oid = a.attrelid AND c.relkind = 'r' AND NOT c.relispartition AND c.relreplident <> 'n'
        JOIN pg_attribute b ON b.attrelid = a.attrelid AND b.attnum > 1 AND NOT b.attisdropped AND b.attgenerated = ''
        WHERE c.relnamespace = 'odd'::regnamespace AND a.attname = 'id'
        GROUP BY a.attrelid
    LOOP
        EXECUTE format('INSERT INTO %1$s (id, %2$s) SELECT id + 100, %2$s FROM %1$s', one.name, one.others);
        EXECUTE format('UPDATE %1$s SET id = id', one.name);
        EXECUTE format('DELETE FROM %1$s WHERE id = 1', one.name);
    END LOOP;
END $$;
UPDATE odd.key_of_two SET touched = 1; UPDATE odd.key_of_text SET touched = 1; UPDATE odd.key_of_time SET touched = 1;
UPDATE odd.empty_text SET touched = 1; UPDATE odd.empty_bytes SET touched = 1; UPDATE odd.key_of_nan SET touched = 1;
UPDATE odd.key_of_uuid SET touched = 1; UPDATE odd.key_of_number SET k = -k; UPDATE odd.parts SET at = at + 400;
UPDATE odd.unique_key SET code = 'z' WHERE code = 'a'; INSERT INTO odd.no_key VALUES ('later');
INSERT INTO odd.no_identity VALUES (2, 'only inserts'); UPDATE odd."select" SET "from" = 2;
UPDATE "Größe.n"."Tabelle ""x"".y Ünï" SET "Schlüssel" = 3 WHERE "Schlüssel" = 1
"""
# Differences are reported with a reason.
NOT_TAKEN = "  odd.cased, odd.cased_in_part, table: columns differ only by case (val, Val), which Debezium can't take"
FLAT = "(not an array of one dimension)"
# Warnings of `./lake source describe` for a table's values, and reasons and keys of its quarantined rows: at first, and
# after the changes.
FOUND: Mapping[str, tuple[str, str, Sequence[str], Sequence[str]]] = {
    "matrices": (
        "an array of several dimensions: set aside",
        f"value: ints {FLAT}, texts {FLAT}",
        ["id = 3"],
        ["id = 103", "id = 3"],
    ),
    "late": (
        "after the year 294246: set aside",
        "value: at (not microseconds since 1970-01-01T00:00Z, until the year 294246),"
        " with_zone (not ISO 8601 text with an offset)",
        ["id = 2"],
        ["id = 102", "id = 2"],
    ),
    "unchanged": (
        "what Debezium writes for a value that didn't change",
        "placeholder: no earlier value of t",
        ["id = 2"],
        ["id = 102", "id = 2"],
    ),
    "empty_text": ("an empty key: set aside", "missing: k", ["k = "], ["k = "]),
    "empty_bytes": ("an empty key: set aside", "missing: k", ["k = "], ["k = "]),
    "key_of_nan": ("no number: in a key: set aside", "missing: k", ["k = NaN"], ["k = NaN"]),
}
# Equal once they have changed.
LATE = "of the ten days that Gregory left out: a snapshot has it 10 days late, changes have it right"
# Warnings of `./lake source describe`, and the reason for the table's quarantine.
STOPPED = {
    "large": ("of more than 16 MiB: no event may be so large", "an event of odd.large has "),
    "long": ("more than 2³¹ hours: stops its table", "a value of type interval of odd.long can't be converted"),
}


def differing(said: str) -> dict[str, list[str]]:
    """Return a comparison's messages on the rows of each table that differs, in key order."""
    tables = re.findall(r"^odd\.(\S+)  differs  .*\n((?:  .*\n)*)", said, re.MULTILINE)
    return {table: re.findall(r"^  ((?:missing|different|extra): .*)", lines, re.MULTILINE) for table, lines in tables}


@pytest.fixture
def source(postgres: Postgres) -> Iterator[ConnectionParameters]:
    with fresh_database(postgres) as database:
        execute(database, MAKING)
        yield database


@pytest.fixture
def make(source: ConnectionParameters, tmp_path: Path) -> Iterator[Commands]:
    with Commands(tmp_path / "checkout", NAME, source).removed() as commands:
        yield commands


# Reasons of first rows that the job reads itself, where they aren't the events'.
OF_ROWS = {"late": "type: at (not bigint)", "matrices": "type: ints (not array<int>)"}


@pytest.mark.parametrize("way", ["connector", "direct"])
def test_each_table_is_equal_or_named_with_its_reason(make: Commands, source: ConnectionParameters, way: str) -> None:
    """A snapshot of the connector has some values wrong and stops at others; rows that the job reads are right."""
    said = make.pipeline()
    assert NOT_TAKEN in said
    told = {"gregorian": LATE} | {table: found[0] for table, found in FOUND.items()}
    told |= {table: comes for table, (comes, _) in STOPPED.items()}
    for table, comes in told.items():
        assert re.search(rf"^  odd\.{table}: .*: 1 row, such as key .*: {re.escape(comes)}", said, re.MULTILINE), table
    make.replace('first_load = "connector"', f'first_load = "{way}"')
    make.replace('source = "odd.hashed"', 'source = "odd.hashed"\nhash = ["t", "v", "c", "mood", "short"]')
    make.pipeline("--update")
    make.prepare()
    captured = tomllib.loads(make.file.read_text(encoding="utf-8"))["tables"]
    direct = way == "direct"
    said = make.up(status=0 if direct else CANNOT)
    assert direct or f"up: {len(STOPPED)} of {len(captured)} tables are set aside; all else runs" in said
    _compare(make, captured, {} if direct else STOPPED, 0, OF_ROWS if direct else {}, [] if direct else ["gregorian"])
    execute(source, CHANGES)
    for table in STOPPED:
        make.wait_until_status_says(f"odd.{table} is set aside")
    _compare(make, captured, STOPPED, 1, {}, [])
    assert len(captured) == 37


def _compare(
    make: Commands,
    captured: Sequence[object],
    stopped: Mapping[str, tuple[str, str]],
    after: int,
    reasons: Mapping[str, str],
    late: Sequence[str],
) -> None:
    expected = {table: ["different: id = 2 in d"] for table in late}
    for table, (_, reason, *rows) in FOUND.items():
        why = reasons.get(table, reason)
        expected[table] = [f"missing: {row}; an event of it is in quarantine: {why}" for row in rows[after]]
    said = make.reconcile("--timeout", "120", status=1)
    assert differing(said) == expected, said
    for table, (_, reason) in stopped.items():
        assert f"odd.{table}  not compared: it is set aside: {reason}" in said
    equal = re.findall(r"^\S.*  equal  ", said, re.MULTILINE)
    assert len(equal) == len(captured) - len(expected) - len(stopped)
