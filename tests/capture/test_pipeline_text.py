"""What needs no database: a pipeline's text, a selection of tables, the page of types."""

import tomllib
from pathlib import Path
from typing import Any

import pytest

from capture.entry import is_secret, may_be_personal, propose_all, server_notes
from capture.obstacles import meant, obstacle
from capture.pipeline_file import staged
from capture.pipeline_text import with_left_out
from capture.type_page import PAGE, page
from contract.column_types.catalogue import ColumnType
from contract.errors import UserError
from db.source.catalogue import Column, Database, Kind, Server, Table, TableName
from settings.pipeline_rules import LONGEST_LAKE_NAME

BEFORE = (
    '[source]\ndatabase = "shop"   # ours\n\n# [[tables]] come now\n[[tables]]\nsource = "public.a"\nkey = ["id"]\n\n'
)
ENTRIES = {
    "none left out": '[[tables]]\nsource = "public.b"\nkey = ["id"]  # mine\nbuckets = 4\n',
    "one on the same line": '[[tables]]\nsource = "public.b"\nleave_out = ["x"]  # mine\nkey = ["id"]\n',
    "an empty list": '[[tables]]\nsource = "public.b"\nkey = ["id"]\nleave_out = []\n',
    "a list of lines": '[[ tables ]] # b\nsource = "public.b"\nkey = ["id"]\nleave_out = [\n    "x",  # y\n]\n',
    "a key of lines": '[[tables]]\nkey = [\n    "id",\n]\nsource = "public.b"',
    "no end of line": '[[tables]]\nsource = "public.b"\nkey = ["id"]',
}
AFTER = '\n[[tables]]\nsource = "public.c"\nleave_out = ["z"]\n'


@pytest.mark.parametrize("after", [AFTER, ""])
@pytest.mark.parametrize("entry", ENTRIES)
def test_a_column_is_left_out_of_its_table_and_all_else_stays(entry: str, after: str) -> None:
    text = BEFORE + ENTRIES[entry] + after
    made = with_left_out(text, 1, {"new": "why", 'a "b"': "why not"})
    assert made is not None
    tables, former = tomllib.loads(made)["tables"], tomllib.loads(text)["tables"]
    assert tables[1].pop("leave_out") == ["new", 'a "b"', *former[1].pop("leave_out", [])]
    assert tables == former
    kept = made.replace('    "new",  # why\n    "a \\"b\\"",  # why not\n', "").replace("leave_out = [\n]\n", "")
    assert "".join(kept.split()) == "".join(text.replace("leave_out = []\n", "").split())
    assert '"new",  # why' in made


@pytest.mark.parametrize(
    "text",
    [
        'tables = [{ source = "public.a" }, { source = "public.b" }]\n',
        '[[tables]]\nnote = """\n[[tables]]\nleave_out = [\n"""\n[[tables]]\nsource = "public.b"\n',
        '[["tables"]]\nsource = "public.a"\n\n[["tables"]]\nsource = "public.b"\n',
    ],
)
def test_a_file_that_cant_be_told_apart_by_its_lines_is_left_alone(text: str) -> None:
    assert with_left_out(text, 1, {"new": "why"}) is None


def test_a_file_that_cant_be_written_leaves_nothing_behind(tmp_path: Path) -> None:
    (tmp_path / "mine.toml").mkdir()
    with pytest.raises(UserError, match=r"mine\.toml: Is a directory"), staged("mine", tmp_path) as stage:
        (stage / "mine.toml").write_text("a = 1\n")
    assert [path.name for path in tmp_path.iterdir()] == ["mine.toml"]


TABLES = [TableName("public", "orders"), TableName("public", "order_log"), TableName("Sales Dept", "a.b")]


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("", ["orders", "order_log", "a.b"]),
        ("orders", ["orders"]),
        ("order*", ["orders", "order_log"]),
        ("order*,!*_log", ["orders"]),
        ("!public.*", ["a.b"]),
        ("Sales Dept.*", ["a.b"]),
        (" public.orders , *.a.b ", ["orders", "a.b"]),
    ],
)
def test_patterns_mean_tables(text: str, names: list[str]) -> None:
    assert [table.name for table in TABLES if table in meant(text, TABLES)] == names


@pytest.mark.parametrize("pattern", ["oders", "ORDERS", "!oders", "!", "! orders"])
def test_a_pattern_that_means_no_table_is_one_line(pattern: str) -> None:
    with pytest.raises(UserError, match=rf"^--tables: no table matches '{pattern}'$"):
        meant(f"orders,{pattern}", TABLES)


def test_a_name_may_say_personal_data_or_a_secret_and_another_only_looks_like_it() -> None:
    personal = ["email", "e_mail", "phone2", "home_phone", "first_name", "date_of_birth", "address"]
    neither = ["address_id", "female", "order_id", "company", "filename", "spin", "mailing_list_id"]
    names = [*personal, *neither, "api_token"]
    assert [name for name in names if may_be_personal(name)] == personal
    assert [name for name in names if is_secret(name)] == ["api_token"]


def test_the_page_is_what_the_table_of_types_makes_of_it() -> None:
    assert PAGE.read_text(encoding="utf-8") == page(), "run ./lake dev generate types"


@pytest.mark.parametrize(
    ("columns", "key", "kind", "queried", "why"),
    [
        ("id", ("id",), "table", False, None),
        ("id", ("id",), "table", True, None),
        ("id", (), "table", True, "it has no primary key and no unique index without NULLs: "),
        ("id", (), "view", True, "a view has no key: "),
        ("id a:b", ("a:b",), "table", False, "Debezium's lists can't name its column 'a:b': rename it"),
        ("id Name name", ("id",), "table", False, "columns differ only by case (Name, name), "),
        ("id Id", ("id", "Id"), "table", False, "columns of its key would have one name in the lake (id, Id): "),
        ("-a", (), "table", False, "none of its columns can be captured"),
        ("-a b", ("-a",), "table", False, "its key has -a, which can't be captured (odd)"),
    ],
)
def test_what_keeps_a_table_from_being_captured_is_named(
    columns: str, key: tuple[str, ...], kind: Kind, queried: bool, why: str | None
) -> None:
    integer = ColumnType(name="int4")
    made = [
        Column(name=name, position=number, type=integer, modifier=-1, type_text="integer")
        for number, name in enumerate(columns.split(), 1)
    ]
    table = Table(name=TableName("public", "t"), kind=kind, columns=tuple(made))
    leave_out = {name: "odd" for name in columns.split() if name.startswith("-")}
    found = obstacle(table, key, leave_out, queried=queried)
    assert (found or "").startswith(why or "")
    assert (found is None) == (why is None)


USUAL: dict[str, Any] = {"database": "shop", "version": 160_014, "encoding": "UTF8", "role": "me"}
USUAL |= {"senders": 8, "max_senders": 9, "slot_keep": "1GB"}
USUAL |= dict.fromkeys(("standby", "hosted", "large_objects"), False)


def test_tables_whose_names_in_the_lake_would_be_one_have_two_that_the_file_may_have() -> None:
    column = Column(name="id", position=1, type=ColumnType(name="int4"), modifier=-1, type_text="integer")
    names = [TableName("public", "字" * 20 + end) for end in "abc"]
    tables = [Table(name=name, kind="table", columns=(column,)) for name in names]
    database = Database(server=Server(**USUAL), tables=tuple(tables), sequences=0)
    found = {entry.lake_table for entry in propose_all(database, "", "p").entries}
    assert len(found) == 3
    assert {len(name) <= LONGEST_LAKE_NAME - len(f"{'p' * 20}_") for name in found} == {True}


def test_a_server_has_notes_for_the_log_and_others_for_queries() -> None:
    def notes(*, queried: bool, **changed: Any) -> list[str]:
        return [note[:15] for note in server_notes(Server(**USUAL | changed), queried=queried)]

    of_log, of_queries = {"senders": 9, "slot_keep": "-1", "large_objects": True}, {"standby": True}
    assert notes(queried=False, **of_queries) == notes(queried=True, **of_log) == []
    assert notes(queried=False, **of_log) == ["all 9 WAL sende", "max_slot_wal_ke", "it has large ob"]
    assert notes(queried=True, **of_queries, encoding="LATIN1") == ["it is a standby", "its encoding is"]


def test_a_file_that_isnt_text_stays_as_it_is(tmp_path: Path) -> None:
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "._of_an_editor.avsc").write_bytes(b"\xff")
    with staged("mine", tmp_path) as stage:
        (stage / "mine.toml").write_text("a = 1\n")
    assert [path.read_bytes() for path in sorted(tmp_path.glob("**/*.*"))] == [b"\xff", b"a = 1\n"]
