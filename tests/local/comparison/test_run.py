"""A pipeline's tables are compared as their entries say, repaired by key, and reported in a line each."""

import hashlib
import io
import json
from collections import Counter
from decimal import Decimal
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import psycopg2
import pyarrow
import pytest
from rich.console import Console

from contract.errors import UserError
from contract.events import SPECIALS_COLUMN
from db.connecting import LIVENESS
from local.comparison import command
from local.comparison.command import lines, reconcile_tables, write
from local.comparison.compare import Difference, TableComparison
from local.comparison.describe import Compared
from local.comparison.lake import LakeLook
from local.comparison.repair import condition_of, repair_by_key
from local.comparison.run import NO_KEY, Sides, compare_tables, with_reasons
from local.comparison.source import SourceLook
from local.look.lake import Lake
from local.services.postgres import ConnectionParameters
from tests.conftest import EXTENSIONS_TYPE, execute
from tests.local.comparison.sides import ArrowLake, compare_entry, entry, login
from tests.local.sink.fakes import FakeS3

SALT = "s" * 16
LAKE_TYPES = {
    "int": pyarrow.int32(),
    "numeric(6,2)": pyarrow.decimal128(6, 2),
    "bytea": pyarrow.binary(),
    "date": pyarrow.date32(),
    "timestamptz": pyarrow.timestamp("us", "UTC"),
    "timestamp": pyarrow.timestamp("us", "UTC"),
    "boolean": pyarrow.bool_(),
    "float8": pyarrow.float64(),
}


@pytest.fixture
def people(database: ConnectionParameters) -> ConnectionParameters:
    """A table with unusual columns: names, a domain, an enum, NaN, and columns that aren't captured."""
    execute(
        database,
        f"{EXTENSIONS_TYPE}; CREATE TYPE mood AS ENUM ('good', 'bad'); CREATE DOMAIN money_like AS numeric(10, 2);"
        ' CREATE TABLE people (id int PRIMARY KEY, "Full Name" text, pay money_like, mood mood, mail text, photo bytea,'
        " bits varbit, twice int GENERATED ALWAYS AS (id * 2) STORED, any_size numeric);"
        ' INSERT INTO people (id, "Full Name", pay, mood, mail, photo, bits, any_size)'
        " VALUES (1, 'Ann', 12.5, 'good', 'a@b', '\\x00', '01', 1.50), (2, NULL, 'NaN', 'bad', NULL, NULL, NULL, 2)",
    )
    return database


def ints(*values: int | None) -> pyarrow.Array:
    return pyarrow.array(values, pyarrow.int32())


def lake_of_people(**changed: Any) -> ArrowLake:
    columns = {
        "id": ints(1, 2),
        "full_name": ["Ann", None],
        "pay": pyarrow.array([Decimal("12.50"), None], pyarrow.decimal128(10, 2)),
        "mood": ["good", "bad"],
        "mail": [hashlib.sha256((SALT + "a@b").encode()).hexdigest(), None],
        # Another spelling of the source's values.
        "any_size": ["1.5", "2.0"],
        SPECIALS_COLUMN: [None, '{"pay": "NaN"}'],
    }
    return ArrowLake(now=[pyarrow.table(columns | changed)])


PEOPLE: dict[str, Any] = {"fields": {"full_name": "Full Name"}, "leave_out": ["photo"], "hash": ["mail"]}


@pytest.mark.integration
def test_a_table_is_compared_as_its_entry_says(
    people: ConnectionParameters, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened = Mock(wraps=psycopg2.connect)
    monkeypatch.setattr(psycopg2, "connect", opened)
    table = entry(lake_of_people(), tmp_path, source="public.people", **PEOPLE)
    found = compare_entry(people, table, salt=SALT)
    assert found.equal, found
    assert found.columns == 6
    assert [note.partition(" ")[0] for note in found.notes] == ["photo", "bits", "twice"]
    other = lake_of_people(full_name=["ann", None], **{SPECIALS_COLUMN: pyarrow.nulls(2, "string")})
    found = compare_entry(people, entry(other, tmp_path, source="public.people", **PEOPLE), salt=SALT)
    assert {one.key["id"]: one.columns for one in found.shown} == {"1": ("Full Name",), "2": ("pay",)}
    assert all(LIVENESS.items() <= call.kwargs.items() for call in opened.mock_calls)


@pytest.mark.integration
@pytest.mark.parametrize(
    ("more", "problem"),
    [
        ({"source": "public.gone"}, "the source has no such table"),
        ({"hash": ["mail"]}, "can't be compared without the salt"),
        ({"key": ["any"]}, "the source has no column any, which is of the key"),
    ],
)
def test_a_table_that_cannot_be_compared_does_not_keep_the_others(
    more: dict[str, Any], problem: str, people: ConnectionParameters, tmp_path: Path
) -> None:
    broken = entry(lake=lake_of_people(), folder=tmp_path, **{"source": "public.people", **more})
    sound = entry(
        lake_of_people(), tmp_path, source="public.people", **{**PEOPLE, "hash": [], "leave_out": ["photo", "mail"]}
    )
    first, second = compare_tables(Sides(people, [broken, sound]), timeout_s=0)
    assert problem in str(first.problem)
    assert not first.equal
    assert second.equal


@pytest.mark.integration
def test_a_table_without_key_is_compared_and_repaired_by_nobody(database: ConnectionParameters, tmp_path: Path) -> None:
    execute(database, "CREATE TABLE bare (line text); INSERT INTO bare VALUES ('a'), ('a'), ('b')")

    def never(_wanted: Any) -> Any:
        raise AssertionError

    for lines_there, differs in ((["a", "a", "b"], False), (["a", "b"], True)):
        lake = ArrowLake(now=[pyarrow.table({"line": lines_there})])
        table = entry(lake, tmp_path, source="public.bare", key=[], append_only=True)
        found = compare_entry(database, table, repairs=never)
        assert (found.problem, found.equal) == (None, not differs)
        assert (NO_KEY in found.notes) == differs


@pytest.mark.integration
def test_what_a_repair_brings_to_the_lake_is_compared_too(database: ConnectionParameters, tmp_path: Path) -> None:
    """A column that only the lake's newest commit has, and one whose type it has changed."""
    execute(database, "CREATE TABLE t (id int PRIMARY KEY, note text, qty text, added int)")
    execute(database, "INSERT INTO t VALUES (1, 'new', 'one', 7), (2, 'b', '2', NULL), (3, 'c', 'three', 9)")
    ids = ints(1, 2, 3)
    lake = ArrowLake(now=[pyarrow.table({"id": ids, "note": ["old", "b", "c"], "qty": ints(None, 2, None)})])
    before_the_second = {"qty": ["one", "2", None], "added": ints(7, None, 9)}
    after_it = {**before_the_second, "qty": ["one", "2", "three"]}
    repaired: list[list[str]] = []

    def repair(_suspects: Any, look: LakeLook) -> None:
        columns = after_it if repaired else before_the_second
        lake.now[:] = [pyarrow.table({"id": ids, "note": ["new", "b", "c"], **columns})]
        repaired.append([column.name for column in look.table.columns])

    compared = entry(lake, tmp_path, source="public.t")
    found = compare_entry(database, compared, repairs=lambda _wanted: repair)
    assert found.equal, found
    assert repaired == [["id", "note"], ["id", "note", "qty", "added"]]
    assert (found.repaired, found.columns, found.notes) == (2, 4, ())


@pytest.mark.integration
def test_hashes_are_cut_to_their_columns_as_debezium_does(database: ConnectionParameters, tmp_path: Path) -> None:
    """Seen with Debezium 3.7.0's MaskStrings: a varchar(10)'s hash has ten digits, and a number stays one."""
    columns = "id int, short varchar(10), domain brief, padded char(6), free text, number int"
    execute(database, f"CREATE DOMAIN brief AS varchar(10); CREATE TABLE h ({columns})")
    execute(database, "INSERT INTO h VALUES (1, 'abc', 'abc', 'ab', 'äb€', 7)")
    salt = "0123456789abcdef"
    rows = {
        "id": ints(1),
        "short": ["ac3897f0ee"],
        "domain": ["ac3897f0ee"],
        "padded": [hashlib.sha256(f"{salt}ab    ".encode()).hexdigest()[:6]],
        "free": ["6f415f28f9f4497d5458c594dc45334f328dac0d91df7ba7c564cc3790938b10"],
        "number": ints(7),
    }
    hashed = ["short", "domain", "padded", "free", "number"]
    table = entry(ArrowLake(now=[pyarrow.table(rows)]), tmp_path, source="public.h", hash=hashed)
    found = compare_entry(database, table, salt=salt)
    assert found.equal, found


@pytest.mark.integration
def test_a_column_that_the_role_may_not_read_is_named(people: ConnectionParameters, tmp_path: Path) -> None:
    table = entry(lake_of_people(), tmp_path, source="public.people", leave_out=["photo", "bits", "twice", "any_size"])
    role = login(people, "SELECT (id, pay) ON people")
    found = compare_entry(role, table)
    assert found.problem == f"{role['user']} may not read Full Name, mood, mail: GRANT SELECT on it"


@pytest.mark.integration
def test_without_a_lake_table_an_empty_table_is_equal(people: ConnectionParameters, tmp_path: Path) -> None:
    table = entry(Lake(base_uri=(tmp_path / "nothing").as_uri()), tmp_path, source="public.people")
    found = compare_entry(people, table)
    assert "has no commit yet" in str(found.problem)
    execute(people, "TRUNCATE people")
    found = compare_entry(people, table)
    assert found.equal


@pytest.mark.integration
@pytest.mark.parametrize(
    ("objects", "problem"),
    [
        ([], None),
        (["shop/.hoodie/hoodie.properties", "shop/.hoodie_partition_metadata", "shop/", "shop_b/a.parquet"], None),
        (["shop/country=1/a.parquet"], "s3://lake/shop has no commit yet"),
    ],
)
def test_a_table_that_lost_its_commits_is_not_equal_to_an_empty_one(
    objects: list[str],
    problem: str | None,
    database: ConnectionParameters,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    execute(database, "CREATE TABLE t (id int PRIMARY KEY)")
    monkeypatch.setattr(Lake, "exists", lambda _self: False)
    table = entry(Lake(base_uri="s3://lake/shop"), tmp_path, source="public.t")
    client: Any = FakeS3("lake", dict.fromkeys(objects, b""))
    [found] = compare_tables(Sides(database, [table], s3=client), timeout_s=0)
    assert str(found.problem).startswith(str(problem))


@pytest.mark.integration
@pytest.mark.parametrize(
    ("submitted", "problem"),
    [
        (Mock(return_value=(["sleep", "60"], None)), "memory://lake: Spark hasn't read it within 0 s"),
        (Mock(side_effect=UserError("java 17 is missing")), "java 17 is missing"),
    ],
)
def test_a_table_that_spark_cannot_read_does_not_keep_the_others(
    submitted: Mock,
    problem: str,
    database: ConnectionParameters,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    execute(database, "CREATE TABLE t (id int PRIMARY KEY)")
    monkeypatch.setattr("local.comparison.lake.TIMEOUT_S", 0.1)
    monkeypatch.setattr("local.comparison.lake.spark_submit", submitted)
    table = entry(
        ArrowLake(now=[pyarrow.table({"id": ints()})]), tmp_path, source="public.t", table_type="MERGE_ON_READ"
    )
    found = compare_entry(database, table)
    assert (found.problem, found.equal) == (problem, False)


@pytest.mark.integration
@pytest.mark.parametrize(
    "asked", [{"source": "public.people"}, {"query": "SELECT id FROM public.people", "name": "them"}]
)
def test_rows_that_a_policy_hides_are_not_missing(
    asked: dict[str, Any], people: ConnectionParameters, tmp_path: Path
) -> None:
    execute(people, "ALTER TABLE people ENABLE ROW LEVEL SECURITY")
    table = entry(Lake(base_uri=(tmp_path / "nothing").as_uri()), tmp_path, **asked)
    role = login(people, "SELECT ON people")
    found = compare_entry(role, table)
    assert "row-level security" in str(found.problem)
    execute(people, f"CREATE POLICY p ON people FOR SELECT TO {role['user']} USING (TRUE)")
    execute(people, "TRUNCATE people")
    assert compare_entry(role, table).equal == ("source" in asked)


# Two values of keys of each type.
KEYS = {
    "int": "1, 2",
    "text": "'a', ''",
    "char(4)": "'ab', 'c'",
    "numeric(6,2)": "1.5, -2",
    "bytea": "'\\x00ff', '\\x'",
    "date": "'0044-03-15 BC', 'infinity'",
    "timestamptz": "'1969-12-31 23:59:59.999999Z', '-infinity'",
    "timestamp": "'2026-02-28 12:00:00.123456', '0001-01-01 BC'",
    "uuid": "'00000000-0000-0000-0000-000000000001', '00000000-0000-0000-0000-000000000002'",
    "inet": "'10.0.0.1', '10.0.0.0/8'",
    "boolean": "true, false",
    "mood": "'good', 'bad'",
    "float8": "'NaN', 0.1",
    "interval": "'1 day', '-3 hours'",
    "isbn": "'0-393-04002-X', '0-306-40615-2'",
}
# No index finds these by their text.
NOT_FOUND = ("float8", "interval", "isbn")


@pytest.mark.integration
def test_a_key_of_any_type_is_found_again(
    people: ConnectionParameters, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Compared with an empty lake all rows are missing, and each is looked up by its key's canonical text."""
    scans = []
    original = SourceLook._scan

    def scan(self: SourceLook, *given: Any) -> Any:
        scans.append(self._table.title)
        return original(self, *given)

    monkeypatch.setattr(SourceLook, "_scan", scan)
    tables: list[Compared] = []
    for number, (type_, values) in enumerate(KEYS.items()):
        rows = f"SELECT unnest(ARRAY[{values}]::{type_}[])"
        execute(people, f"CREATE TABLE k{number} (id {type_} PRIMARY KEY); INSERT INTO k{number} {rows}")
        none = pyarrow.table({"id": pyarrow.array([], LAKE_TYPES.get(type_, pyarrow.string()))})
        tables.append(entry(ArrowLake(now=[none]), tmp_path, source=f"public.k{number}"))
    found = {one.table: one.missing for one in compare_tables(Sides(people, tables), timeout_s=0)}
    expected = {f"public.k{number}": 2 if type_ in NOT_FOUND else 1 for number, type_ in enumerate(KEYS)}
    assert found == dict.fromkeys(expected, 2)
    assert Counter(scans) == expected


@pytest.mark.integration
@pytest.mark.parametrize(
    ("type_", "numbers"),
    [
        ("date", {"infinity": 2_146_033_979, "0044-03-15 BC": -735_160}),
        ("timestamptz", {"-infinity": -9_223_372_036_832_400_000, "20000-01-01 00:00:00+00": 568_971_820_800_000_000}),
    ],
)
def test_a_row_that_only_the_lake_has_is_deleted_though_python_lacks_its_date(
    type_: str, numbers: dict[str, int], database: ConnectionParameters, tmp_path: Path
) -> None:
    execute(database, f"CREATE TABLE k (id {type_} PRIMARY KEY)")
    whole = pyarrow.int32() if type_ == "date" else pyarrow.int64()
    there = pyarrow.table({"id": pyarrow.array(numbers.values(), whole).cast(LAKE_TYPES[type_])})
    lake, deleted = ArrowLake(now=[there]), dict[Any, Any]()

    def delete(rows: Any) -> None:
        deleted.update(rows)
        lake.now[:] = [there.slice(2)]

    repair = repair_by_key(database, lambda _keys: None, delete, lambda _line: None)
    found = compare_entry(database, entry(lake, tmp_path, source="public.k"), repairs=lambda _wanted: repair)
    assert found.equal, found
    assert deleted == {(text,): {"id": number} for text, number in numbers.items()}


def test_a_line_says_what_a_table_is_like(tmp_path: Path) -> None:
    equal = TableComparison(table="public.a", source_rows=1_000_000, lake_rows=1_000_000, seconds=22.31)
    shown = (
        Difference(key={"id": "7", "line": None}, kind="different", columns=("price", "name")),
        Difference(key={"id": "8", "line": "x\x1b[2J\n"}, kind="missing", quarantined="type: price (not int)"),
    )
    other = TableComparison(
        table="public.b",
        source_rows=5,
        lake_rows=4,
        missing=1,
        different=1,
        unlike=("c",),
        shown=shown,
        notes=("a is left out",),
    )
    broken = TableComparison(table="public.c", problem="the source has no such table")
    assert lines(equal) == ["public.a  equal  1,000,000 rows  22.3 s"]
    assert lines(other) == [
        "public.b  differs  1 missing, 1 different, c can't be compared  5 rows, 4 in the lake  0.0 s",
        "  different: id = 7, line = NULL in price, name",
        r"  missing: id = 8, line = x\x1b[2J\n; an event of it is in quarantine: type: price (not int)",
        "  a is left out",
    ]
    assert lines(broken) == ["public.c  not compared: the source has no such table"]
    write(tmp_path / "state" / "reconcile.json", "shop", [equal, other])
    document = json.loads((tmp_path / "state" / "reconcile.json").read_text())
    assert (document["pipeline"], document["equal"]) == ("shop", False)
    assert [table["equal"] for table in document["tables"]] == [True, False]
    assert document["tables"][1]["shown"][0]["columns"] == ["price", "name"]


def test_no_text_becomes_part_of_the_outboxs_condition() -> None:
    assert condition_of("order_id", [("10248",), ("10250",)]) == "order_id IN (10248, 10250)"
    with pytest.raises(ValueError, match="invalid literal"):
        condition_of("order_id", [("1) OR (1 = 1",)])


def test_each_table_has_its_line_and_all_count_as_does_a_stale_outbox(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    equal = TableComparison(table="public.[a]", source_rows=2, lake_rows=2, seconds=1)
    broken = TableComparison(table="public.b", problem="no such table", seconds=1)
    monkeypatch.setattr(command, "compare_tables", lambda *_, **__: iter([equal, broken]))
    shown = io.StringIO()
    report = tmp_path / "reconcile.json"
    given: Any = {"timeout_s": 0, "pipeline": "shop", "report": report}
    assert not reconcile_tables(Console(file=shown), Sides({}, []), **given)
    assert shown.getvalue().splitlines() == [
        "public.[a]  equal  2 rows  1.0 s",
        "public.b  not compared: no such table",
        f"1 of 2 tables are equal, 0 s: {report}",
    ]
    stale = TableComparison(table="tables and outbox", different=1)
    monkeypatch.setattr(command, "compare_tables", lambda *_, **__: iter([equal]))
    assert reconcile_tables(Console(file=shown), Sides({}, []), **given, before=[stale])
    assert json.loads(report.read_text())["equal"] is False


def quarantined(reason: str, at: str, text: str) -> dict[str, Any]:
    return {"reason": reason, "origin": "t/0/1.json", "quarantined_at": at, "text": text}


def test_rows_are_known_by_their_keys() -> None:
    entries = [
        quarantined("type: qty (not int)", "2026-11-20T02:00:00Z", '{"id": 7, "of": "a", "qty": "x"}'),
        quarantined("value: price", "2026-11-20T01:00:00Z", '{"id": 7, "of": "a", "price": "x"}'),
        quarantined("type: qty (not int)", "2026-11-20T02:00:00Z", '{"id": 8, "of": "b"}'),
        quarantined("missing: id", "2026-11-20T02:00:00Z", '{"id": "NAN", "of": "a"}'),
        quarantined("not JSON", "2026-11-20T03:00:00Z", "{"),
    ]
    body = "\n".join(map(json.dumps, entries)).encode()
    client: Any = FakeS3("lake", {"_quarantine/shop_t/1.json": body})
    rows: list[dict[str, str | None]] = [
        {"id": "7", "of": "a"},
        {"id": "8", "of": "a"},
        {"id": "9", "of": None},
        {"id": "NaN", "of": "a"},
    ]
    shown = tuple(Difference(key=key, kind="different") for key in rows)
    lake = Lake(base_uri="s3://lake/shop_t")
    found = with_reasons(client, lake, TableComparison(table="t", different=3, shown=shown))
    assert found.notes == (
        "events of it in quarantine: 1 by missing: id, 1 by not JSON, 2 by type: qty (not int), 1 by value: price",
    )
    assert [one.quarantined for one in found.shown] == ["type: qty (not int)", None, None, "missing: id"]
