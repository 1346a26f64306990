"""A comparison finds all differences between a PostgreSQL table and the lake, and no others, for any kind of table."""

import dataclasses
import hashlib
import itertools
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import duckdb
import psycopg2
import pyarrow
import pytest

from local.comparison import compare as module
from local.comparison.lake import LakeLook
from local.comparison.repair import repair_by_key
from local.comparison.rows import RowFilter
from local.comparison.source import look
from local.comparison.suspects import Suspects, suspects
from local.errors import PlatformError
from local.look.lake import LakeError
from local.services.postgres import ConnectionParameters
from tests import cases
from tests.conftest import execute
from tests.local.comparison.sides import before_each_pass, column, compare, compared, differences, login
from tests.waiting import wait_until

pytestmark = pytest.mark.integration

ITEMS = {"id": "int8", "name": "text", "price": "float8"}
# The same, with keys that an index finds.
KEYED = [column("id", "int8", value_sql="{t}::int8"), column("name"), column("price", "float8")]


def items(*ids: int, **changed: Any) -> pyarrow.Table:
    return pyarrow.table(
        {
            "id": pyarrow.array(ids, pyarrow.int64()),
            "name": pyarrow.array([changed.get(f"name_{i}", f"item {i}" if i % 7 else None) for i in ids]),
            "price": pyarrow.array([changed.get(f"price_{i}", i / 8) for i in ids], pyarrow.float64()),
        }
    )


@pytest.fixture
def shop(database: ConnectionParameters) -> ConnectionParameters:
    """A table of 500 items on several pages, each seventh without a name."""
    execute(
        database,
        "CREATE TABLE items (id bigint PRIMARY KEY, name text, price float8);"
        " INSERT INTO items SELECT i, CASE WHEN i % 7 > 0 THEN 'item ' || i END, i / 8.0"
        " FROM generate_series(1, 500) AS i; ANALYZE items",
    )
    return database


def test_an_equal_table_takes_one_look(shop: ConnectionParameters) -> None:
    seen: list[tuple[str, str, int, int]] = []
    table = compared("items", ITEMS, items(*range(500, 0, -1)))
    found = compare(shop, table, on_progress=lambda *step: seen.append(step))
    assert found.equal
    assert (found.source_rows, found.lake_rows, found.looks) == (500, 500, 1)
    assert {(what, of) for _, what, _, of in seen} == {("source", 500), ("lake", 500)}


def test_missing_extra_and_different_rows_are_found_and_named(shop: ConnectionParameters) -> None:
    execute(shop, "DELETE FROM items WHERE id = 77")
    lake = items(*(i for i in range(1, 501) if i != 99), 5, price_3=0.3, name_490="")
    found = compare(shop, compared("items", ITEMS, lake))
    assert (found.lake_rows, found.missing, found.extra, found.different) == (500, 1, 1, 3)
    assert differences(found) == {
        "missing": {("99",)},
        "extra": {("77",)},
        "different": {("3", "price"), ("5",), ("490", "name")},
    }
    assert not found.equal


def test_empty_tables_are_equal_and_an_empty_lake_is_not(shop: ConnectionParameters) -> None:
    assert compare(shop, compared("items", ITEMS, items())).missing == 500
    execute(shop, "TRUNCATE items")
    assert compare(shop, compared("items", ITEMS, items())).equal


def test_another_spelling_of_a_value_is_no_difference(database: ConnectionParameters) -> None:
    """The engines' hashes differ in key and value, so every row is compared in Python."""
    execute(
        database, "CREATE TABLE d (id text PRIMARY KEY, v text); INSERT INTO d VALUES ('1.0', '2.50'), ('2.0', '1')"
    )
    columns = [column(name, tidy=lambda text: str(float(text))) for name in ("id", "v")]
    lake = pyarrow.table({"id": ["1.00", "2"], "v": ["2.5", "1.1"]})
    found = compare(database, compared("d", columns, lake))
    assert (found.missing, found.extra) == (0, 0)
    assert differences(found) == {"different": {("2.0", "v")}}


def test_names_and_texts_may_hold_anything(database: ConnectionParameters) -> None:
    key, value = 'Kéy "%s" 1%', "a'b\\c.d"
    texts = ["\x01", "\x02", "\x020", "\x01\x02", "%", "'", '"', "é\n", "", "0", "\x021"]
    columns = f'"{key.replace(chr(34), chr(34) * 2)}" text, n int, "{value}" text'
    execute(database, f'CREATE TABLE "T %1 ""x""" ({columns}, PRIMARY KEY (1))'.replace(", PRIMARY KEY (1)", ""))
    with psycopg2.connect(**database) as connection, connection.cursor() as cursor:
        for number, text in enumerate(texts):
            cursor.execute('INSERT INTO "T %%1 ""x""" VALUES (%s, %s, %s)', [text, number, texts[-1 - number] or None])
    connection.close()
    rows = {key: texts, "n": pyarrow.array(range(len(texts)), pyarrow.int32()), value: [t or None for t in texts[::-1]]}
    lookup = [column(key, value_sql="{t}"), column("n", "int4", value_sql="{t}::int"), column(value)]
    equal = compared('T %1 "x"', lookup, pyarrow.table(rows), key=(key, "n"))
    assert compare(database, equal).equal
    changed = pyarrow.table({**rows, value: [*rows[value][:-1], "\x01\x020"]})
    found = compare(database, dataclasses.replace(equal, lake=compared("", [], changed).lake))
    assert differences(found) == {"different": {("\x021", "10", value)}}


def test_no_two_rows_share_a_text(database: ConnectionParameters) -> None:
    """NULL, the empty text and a text that moves to the neighbouring column are told apart."""
    execute(database, "CREATE TABLE p (id int PRIMARY KEY, a text, b text); INSERT INTO p VALUES (1, 'x', NULL)")
    for a, b in (("x", ""), ("x\x01\x020", None), (None, "x"), ("", "x"), ("x", "\x020")):
        lake = pyarrow.table(
            {
                "id": pyarrow.array([1], pyarrow.int32()),
                "a": pyarrow.array([a], "string"),
                "b": pyarrow.array([b], "string"),
            }
        )
        assert compare(database, compared("p", {"id": "int4", "a": "text", "b": "text"}, lake)).different == 1


def test_a_table_without_key_is_compared_as_a_multiset(database: ConnectionParameters) -> None:
    execute(database, "CREATE TABLE log (line text); INSERT INTO log VALUES ('a'), ('a'), ('b'), (NULL), ('c')")

    def lake(*lines: str | None, operations: str) -> pyarrow.Table:
        return pyarrow.table({"line": pyarrow.array(lines, "string"), "__op": list(operations)})

    same = lake("b", "a", None, "c", "a", operations="rccrc")
    assert compare(database, compared("log", {"line": "text"}, same, key=())).equal
    other = lake("b", "a", None, "c", "d", "b", operations="rccccu")
    found = compare(database, compared("log", {"line": "text"}, other, key=()))
    assert (found.different, found.extra, found.missing) == (1, 1, 0)
    assert found.notes == ("1 events in the lake are updates or deletes, and only inserts can be compared",)


def test_partitions_are_one_table_and_heirs_are_others(database: ConnectionParameters) -> None:
    execute(
        database,
        "CREATE TABLE m (id bigint, name text, price float8, PRIMARY KEY (id)) PARTITION BY RANGE (id);"
        " CREATE TABLE m1 PARTITION OF m FOR VALUES FROM (0) TO (300);"
        " CREATE TABLE m2 PARTITION OF m DEFAULT PARTITION BY RANGE (id);"
        " CREATE TABLE m3 PARTITION OF m2 DEFAULT;"
        " INSERT INTO m SELECT i, CASE WHEN i % 7 > 0 THEN 'item ' || i END, i / 8.0 FROM generate_series(1, 500) AS i;"
        " CREATE TABLE parent (id bigint, name text, price float8); CREATE TABLE child () INHERITS (parent);"
        " INSERT INTO parent VALUES (1, 'item 1', 0.125); INSERT INTO child VALUES (2, 'item 2', 0.25)",
    )
    assert compare(database, compared("m", ITEMS, items(*range(1, 501)), partitioned=True)).equal
    found = compare(database, compared("m", ITEMS, items(*range(1, 500)), partitioned=True))
    assert differences(found) == {"missing": {("500",)}}
    assert compare(database, compared("parent", ITEMS, items(1))).equal


@pytest.mark.parametrize("count", [160, cases.long(1_600)])  # the most that a table can have
def test_one_column_of_many_differs(database: ConnectionParameters, count: int) -> None:
    names = [f"c{number}" for number in range(count)]
    columns, last = ", ".join(f"{name} int" for name in names), names[-1]
    execute(database, f"CREATE TABLE wide ({columns}); INSERT INTO wide (c0, {last}) VALUES (1, 2)")
    values = {name: pyarrow.array([None], pyarrow.int32()) for name in names}
    values |= {name: pyarrow.array([value], pyarrow.int32()) for name, value in (("c0", 1), (last, 2), ("c150", 0))}
    found = compare(database, compared("wide", dict.fromkeys(names, "int4"), pyarrow.table(values), key=("c0",)))
    assert differences(found) == {"different": {("1", "c150")}}


@pytest.mark.parametrize("key", [("id",), ()])
def test_hashed_columns_are_compared_by_their_hash(database: ConnectionParameters, key: tuple[str, ...]) -> None:
    execute(
        database, "CREATE TABLE people (id int, mail text); INSERT INTO people VALUES (1, 'ä@b'), (2, NULL), (3, 'c')"
    )
    hashes = [hashlib.sha256(b"salt" + mail.encode()).hexdigest() for mail in ("ä@b", "x")]
    rows = {"id": pyarrow.array([1, 2, 3], pyarrow.int32()), "mail": [hashes[0], None, hashes[1]], "__op": ["r"] * 3}
    columns = [column("id", "int4", value_sql="{t}::int"), column("mail", hash_digits=64)]
    found = compare(database, compared("people", columns, pyarrow.table(rows), salt=b"salt", key=key))
    assert (found.missing + found.extra + 2 * found.different) == 2
    if key:
        assert differences(found) == {"different": {("3", "mail")}}


def test_the_salt_never_reaches_the_database(shop: ConnectionParameters, postgres_log: Path) -> None:
    execute(shop, "ALTER SYSTEM SET log_statement = 'all'; ")
    execute(shop, "SELECT pg_reload_conf()")
    columns = [column("id", "int8"), column("name", hash_digits=64), column("price", "float8")]
    compare(shop, compared("items", columns, items(1), salt=b"pepper and salt"))
    execute(shop, "ALTER SYSTEM RESET log_statement")
    execute(shop, "SELECT pg_reload_conf()")
    logged = postgres_log.read_text()
    assert '"items"' in logged
    assert not {salt for salt in ("pepper", b"pepper".hex()) if salt in logged}


@pytest.mark.parametrize("lake_id", ["99999999999999999999", "no number"])
def test_a_key_that_the_source_cannot_have_is_an_extra_row(database: ConnectionParameters, lake_id: str) -> None:
    execute(database, "CREATE TABLE k (id int PRIMARY KEY); INSERT INTO k VALUES (1), (2)")
    columns = [column("id", "int4", value_sql="{t}::int4")]
    found = compare(database, compared("k", columns, pyarrow.table({"id": ["1", lake_id]})))
    assert differences(found) == {"missing": {("2",)}, "extra": {(lake_id,)}}


def test_many_rows_that_differ_are_found_without_their_index(
    shop: ConnectionParameters, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = compared("items", KEYED, items(*range(1, 401), price_9=1.0))
    monkeypatch.setattr(module, "TIDIED_ROWS", 10)
    monkeypatch.setattr(module, "LOOKED_UP_ROWS", 20)
    found = compare(shop, table)
    assert (found.missing, found.extra, found.different) == (100, 0, 1)


def test_a_column_that_the_lake_lacks_counts_once_it_has_a_value(
    shop: ConnectionParameters, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also a composite one with a null, where the server ends transactions that are idle while the lake is read."""
    monkeypatch.setenv("PGOPTIONS", "-c idle_in_transaction_session_timeout=100")
    execute(shop, "CREATE TYPE remark AS (text text, author text); ALTER TABLE items ADD note remark")
    table = compared("items", ITEMS, items(*range(1, 501)), missing=(column("note"),))
    assert compare(shop, table).equal
    execute(shop, "UPDATE items SET note = ('new', NULL) WHERE id = 8")
    found = compare(shop, table, on_progress=lambda *_: time.sleep(0.5))
    assert (found.absent, found.equal, found.different) == (("note",), False, 0)


def test_a_row_that_never_rests_is_equal_once_the_lake_has_what_it_was(
    shop: ConnectionParameters, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The source's item 5 changes on each pass, and the lake is one pass behind."""
    looks = iter(range(100))
    before_each_pass(monkeypatch, lambda: execute(shop, f"UPDATE items SET price = {next(looks)} WHERE id = 5"))
    states = [items(*range(1, 501), price_5=price) for price in (-1.0, -1.0, -1.0, 2.0, 3.0, 4.0)]
    assert compare(shop, compared("items", ITEMS, *states), timeout_s=20).equal


def test_what_a_row_was_between_two_passes_counts_too(
    shop: ConnectionParameters, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = compared("items", ITEMS, items(*range(1, 501), price_5=77.0))
    begun = list[None]()

    def note() -> None:
        """Once a second look begins, one that began after this is complete."""
        before = len(begun)
        wait_until(lambda: len(begun) >= before + 2)

    before_each_pass(monkeypatch, lambda: begun.append(None))
    # However long a look takes on a busy machine.
    monkeypatch.setattr("local.comparison.suspects.REST", 0)
    with suspects() as found:
        lake, looks = LakeLook(table, found.engine), list[int]()
        for chosen in (RowFilter(), found.choose(["5"])):
            with look(shop, table) as source:
                looks.append(found.look(source, lake, chosen, tidied=bool(looks)))
            with found.noting(shop, table):
                for price in (77, 78):
                    execute(shop, f"UPDATE items SET price = {price} WHERE id = 5")
                    note()
    assert looks == [1, 0]


def test_the_right_to_read_is_enough_and_rows_that_a_policy_may_hide_are_an_error(shop: ConnectionParameters) -> None:
    table, reader = compared("items", ITEMS, items(*range(1, 500))), login(shop, "SELECT ON items")
    policies = {
        "ENABLE ROW LEVEL SECURITY": False,
        f"first_ten ON items FOR SELECT TO {reader['user']} USING (id < 10)": False,
        f"reads ON items FOR SELECT TO {reader['user']} USING (TRUE)": True,
        "others ON items AS RESTRICTIVE TO CURRENT_USER USING (id < 10)": True,
        "less ON items AS RESTRICTIVE FOR SELECT TO PUBLIC USING (id < 10)": False,
    }
    assert compare(reader, table).missing == 1
    for policy, shows_all in policies.items():
        execute(shop, f"ALTER TABLE items {policy}" if policy.startswith("ENABLE") else f"CREATE POLICY {policy}")
        if shows_all:
            assert compare(reader, table).missing == 1
            continue
        with pytest.raises(psycopg2.Error, match="row-level security"):
            compare(reader, table)


@pytest.mark.parametrize("number", range(4))
def test_a_disturbed_look_at_the_lake_is_repeated(
    shop: ConnectionParameters, monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    """Of all rows, of differing chunks, of these rows in Python, and of their columns."""
    table = compared("items", ITEMS, items(*range(1, 501), price_5=1.0))
    stream, reads = type(table.lake).stream, itertools.count()

    def disturbed(self: Any, *given: Any) -> Iterator[pyarrow.RecordBatch]:
        yield from stream(self, *given)
        if next(reads) == number:
            raise LakeError("a file is gone")

    monkeypatch.setattr(type(table.lake), "stream", disturbed)
    assert differences(compare(shop, table)) == {"different": {("5", "price")}}
    assert next(reads) == 5


def test_rows_that_differ_and_find_no_room_are_a_line(
    shop: ConnectionParameters, monkeypatch: pytest.MonkeyPatch
) -> None:
    full = duckdb.IOException("IO Error: No space left on device\nand more")
    monkeypatch.setattr(Suspects, "_settle", Mock(side_effect=full))
    with pytest.raises(PlatformError, match=r"^the rows that differ can't be kept in /.*: IO Error: No space left .*$"):
        compare(shop, compared("items", ITEMS, items(1)))


class TakesFromTheSource:
    """Repairs an Arrow lake as the pipeline would: re-read rows come from the source, others disappear."""

    def __init__(self, lake: Any, *rows: pyarrow.Table) -> None:
        """`rows`: the lake's rows after a re-read, and after deletes."""
        self.lake, self.rows = lake, rows
        self.read: list[tuple[str, ...]] = []
        self.deleted: dict[tuple[str, ...], Any] = {}

    def read_again(self, keys: Any) -> None:
        self.read += keys
        self.lake.now[:] = [self.rows[0]]

    def delete(self, rows: Any) -> None:
        self.deleted |= rows
        self.lake.now[:] = [self.rows[-1]]


def test_exactly_what_differs_is_repaired(shop: ConnectionParameters, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("local.comparison.repair.BATCH_KEYS", 1)
    execute(shop, "DELETE FROM items WHERE id = 77")
    there = [i for i in range(1, 501) if i != 77]
    table = compared("items", KEYED, items(*(i for i in range(1, 501) if i != 99), price_3=0.3))
    keys = TakesFromTheSource(table.lake, items(*there, 77), items(*there))
    said: list[str] = []
    repair = repair_by_key(shop, keys.read_again, keys.delete, said.append)
    found = compare(shop, table, repair=repair)
    assert (keys.read, keys.deleted) == ([("3",), ("99",)], {("77",): {"id": 77}})
    assert found.equal
    assert found.repaired == 3
    assert said == ["public.items: 2 rows read again, 1 that only the lake had deleted"]


def test_a_repair_that_changes_nothing_is_tried_a_few_times(shop: ConnectionParameters) -> None:
    stale = items(*range(1, 500), 501)
    table = compared("items", KEYED, stale)
    keys = TakesFromTheSource(table.lake, stale)
    repair = repair_by_key(shop, keys.read_again, keys.delete, lambda _line: None)
    found = compare(shop, table, repair=repair)
    assert keys.read == [("500",)] * module.REPAIRS
    assert (found.missing, found.extra, found.repaired) == (1, 1, 0)
