"""A database with every type, key and name: it is captured at the first try, and each table is equal or is named."""

import re
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

from local.services.postgres import ConnectionParameters, Postgres
from tests.conftest import execute, fresh_database
from tests.e2e.commands import Commands

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(600)]

ODD = Path(__file__).with_name("odd.sql")
# Each row again under another key, each row written as it is, and one deleted.
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
UPDATE odd.key_of_uuid SET touched = 1; UPDATE odd.key_of_number SET k = -k; UPDATE odd.parts SET at = at + 400;
UPDATE odd.unique_key SET code = 'z' WHERE code = 'a'; INSERT INTO odd.no_key VALUES ('later');
INSERT INTO odd.no_identity VALUES (2, 'only inserts'); UPDATE odd."select" SET "from" = 2;
UPDATE "Größe.n"."Tabelle ""x"".y Ünï" SET "Schlüssel" = 3 WHERE "Schlüssel" = 1
"""
# What isn't equal is named with its reason.
NOT_TAKEN = "  odd.cased, table: columns differ only by case (val, Val), which Debezium can't take"
NOT_EQUAL = "odd.arrays"
REASON = "an event of it is in quarantine: value: ints (not an array of one dimension)"


@pytest.fixture(scope="module")
def odd(postgres: Postgres) -> Iterator[ConnectionParameters]:
    with fresh_database(postgres) as database:
        execute(database, ODD.read_text(encoding="utf-8"))
        yield database


@pytest.fixture(scope="module")
def make(odd: ConnectionParameters, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Commands]:
    commands = Commands(tmp_path_factory.mktemp("odd") / "checkout", "odd", odd)
    try:
        yield commands
    finally:
        commands.remove()


def test_each_table_is_equal_or_named_with_its_reason(make: Commands, odd: ConnectionParameters) -> None:
    assert NOT_TAKEN in make.pipeline()
    make.prepare()
    make.up()
    captured = tomllib.loads(make.file.read_text(encoding="utf-8"))["tables"]
    for changes, missing in ((None, {3}), (CHANGES, {3, 103})):
        if changes:
            execute(odd, changes)
        said = make.reconcile("--timeout", "60", status=1)
        assert re.findall(r"^(\S.*)  differs  ", said, re.MULTILINE) == [NOT_EQUAL], said
        assert {int(key) for key in re.findall(rf"missing: id = (\d+); {re.escape(REASON)}", said)} == missing
        assert len(re.findall(r"^\S.*  equal  ", said, re.MULTILINE)) == len(captured) - 1 == 26
