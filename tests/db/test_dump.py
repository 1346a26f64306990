"""The dump reader: it parses what pg_dump writes, and names anything else with its line."""

import bz2
import gzip
import lzma
import os
from pathlib import Path

import pytest

from db.connecting import LoadError
from db.dump import read_dump
from db.sample import TABLES, Row

ORDER = "INSERT INTO orders (order_id) VALUES (1);\n"


def read(tmp_path: Path, text: str, *, order: bool = True) -> dict[str, list[Row]]:
    path = tmp_path / "dump.sql"
    path.write_text((ORDER if order else "") + text, encoding="utf-8")
    return read_dump(path)


def shipper(tmp_path: Path, literal: str) -> object:
    return read(tmp_path, f"INSERT INTO shippers VALUES (1, {literal}, NULL);")["shippers"][0][1]


@pytest.mark.parametrize(
    ("literal", "value"),
    [
        ("'plain'", "plain"),
        ("'it''s; -- not a comment'", "it's; -- not a comment"),
        ("''", ""),
        ("''''", "'"),
        (r"'back\slash'", r"back\slash"),
        ("'two\nlines'", "two\nlines"),
        ("'two\r\nlines'", "two\r\nlines"),
        (r"E'a\tb\'c\\d\x41\101\u00e8''f\303\244\\ä'", "a\tb'c\\dAAè'fä\\ä"),
        ("$$it's$$", "it's"),
        ("$q$a $$ b$q$", "a $$ b"),
        ("NULL", None),
        ("null", None),
        ("-12.5e3", "-12.5e3"),
        (".5", ".5"),
        ("TRUE", "TRUE"),
        ("'1996-07-04'::date", "1996-07-04"),
        ("'x'::character varying(40)", "x"),
        ("/* a /* nested */ comment */ 'x' -- and another", "x"),
    ],
)
def test_literals(tmp_path: Path, literal: str, value: str | None) -> None:
    assert shipper(tmp_path, literal + "\n") == value


def test_insert_forms(tmp_path: Path) -> None:
    rows = read(
        tmp_path,
        "insert into public.shippers values (1,'a',NULL),(2,'b','c') ON CONFLICT DO NOTHING;"
        'INSERT INTO "public"."shippers" (phone, "shipper_id") VALUES (\'d\', 3);',
    )
    assert rows["shippers"] == [("1", "a", None), ("2", "b", "c"), ("3", None, "d")]


def test_copy_as_pg_dump_writes_it(tmp_path: Path) -> None:
    data = "1\ta\\tb\\nc\\\\d\t\\N\n2\t\te;f'g\n\\.\n"
    rows = read(tmp_path, f"COPY public.shippers (shipper_id, company_name, phone) FROM stdin;\n{data}SELECT 1;\n")
    assert rows["shippers"] == [("1", "a\tb\nc\\d", None), ("2", "", "e;f'g")]


def test_other_statements_are_skipped_unexecuted(tmp_path: Path) -> None:
    text = (
        "\\connect northwind\nSET x = 'a;b';\nCREATE TABLE elsewhere (a int);\n"
        "CREATE FUNCTION f() RETURNS void AS $body$ BEGIN DROP TABLE orders; END $body$ LANGUAGE plpgsql;\n"
        "DROP SCHEMA public CASCADE;\nSELECT pg_catalog.setval('s', 1, true);;\n"
    )
    rows = read(tmp_path, text)
    assert sum(map(len, rows.values())) == 1


def test_the_walk_throughs_order_is_left_out(tmp_path: Path) -> None:
    rows = read(
        tmp_path,
        "INSERT INTO orders (order_id) VALUES (11075), (11076);"
        "INSERT INTO order_details VALUES (11075, 2, 19, 10, 0), (11076, 6, 25, 20, 0.25);",
    )
    assert [row[0] for row in rows["orders"]] == ["1", "11076"]
    assert [row[0] for row in rows["order_details"]] == ["11076"]


def test_what_a_loaded_database_derives_is_ignored(tmp_path: Path) -> None:
    copied = "COPY datalake.cdc_events (order_id) FROM stdin;\n1\n\\.\n"
    rows = read(tmp_path, copied + "INSERT INTO datalake.outbox_gate VALUES (0, 5);")
    assert set(rows) == set(TABLES)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("INSERT INTO aliens VALUES (1);", "line 2: the table aliens isn't one of Northwind's 14"),
        ("COPY public.aliens (id) FROM stdin;\n1\n\\.\n", "line 2: the table aliens isn't one"),
        ("INSERT INTO shippers (name) VALUES (1);", "the table shippers has no column name"),
        ("INSERT INTO shippers VALUES (1, 'a');", "2 values for the 3 columns of shippers"),
        ("COPY shippers (shipper_id) FROM stdin;\n1\t2\n\\.\n", "line 3: 2 values for the 1 columns of shippers"),
        ("INSERT INTO shippers VALUES (1, 'a", "line 2: a quoted text doesn't end: the dump is truncated"),
        ("INSERT INTO shippers VALUES (1, $$a", "the text after $$ doesn't end: the dump is truncated"),
        ("/* comment", "a comment doesn't end: the dump is truncated"),
        ("INSERT INTO shippers VALUES (1,", "the dump ends where a value should follow: it is truncated"),
        ("INSERT INTO shippers VALUES (1, 'a', NULL)", "the dump ends where ',' or ';' should follow: it is truncated"),
        ("CREATE TABLE x (a int)", "the dump ends where ';' should follow: it is truncated"),
        ("COPY shippers FROM stdin;\n1\ta\tb\n", "the data of COPY doesn't end with '\\.': the dump is truncated"),
        (r"INSERT INTO shippers VALUES (1, E'\U00110000', NULL);", "line 2: '\\\\U00110000' has an escape that"),
        ("COPY shippers FROM stdin;\n1\t\\303\t2\n\\.\n", "has an escape that is no UTF-8"),
        ("INSERT INTO shippers SELECT 1;", "'SELECT' found where VALUES should be"),
        ("INSERT INTO shippers VALUES (now());", "'now' found where a value should be"),
        ("COPY shippers FROM '/etc/passwd';", "found where STDIN should be"),
        ("COPY shippers FROM stdin WITH (FORMAT csv);", "'WITH' found where ';' should be"),
        (
            "--\n-- PostgreSQL database dump\n--\n",
            "is truncated: the line '-- PostgreSQL database dump complete' is missing",
        ),
    ],
)
def test_what_cant_be_read_is_named_with_its_line(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(LoadError) as caught:
        read(tmp_path, text)
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_dump_without_orders_is_refused(tmp_path: Path) -> None:
    with pytest.raises(LoadError, match="holds no rows of the table orders"):
        read(tmp_path, "SELECT 1;", order=False)


# The first bytes of pg_dump's and compressors' formats, not all UTF-8, so that nothing else gives them away; `{}` is
# the file.
OTHER = {
    "custom": (
        b"PGDMP\x01\x0e\x00\x04\x08\xe9",
        "{} isn't a plain-text dump but pg_dump's custom format: turn it into plain text with `pg_restore"
        " --file=dump.sql {}`",
    ),
    "tar": (
        b"toc.dat".ljust(257, b"\0") + b"ustar\x0000\xe9",
        "{} isn't a plain-text dump but a tar archive; if `pg_dump --format=tar` made it, turn",
    ),
    "gzip": (gzip.compress(b"SELECT 1;"), "{} isn't a plain-text dump but compressed by gzip: unpack it with `gunzip"),
    "bzip2": (bz2.compress(b"SELECT 1;"), "compressed by bzip2: unpack it with `bunzip2 --keep {}`"),
    "xz": (lzma.compress(b"SELECT 1;"), "compressed by xz: unpack it with `unxz --keep {}`"),
    "zstd": (b"\x28\xb5\x2f\xfd\x04\xe9", "compressed by zstd: unpack it with `unzstd {}`"),
    "lz4": (b"\x04\x22\x4d\x18\xe9", "compressed by lz4: unpack it with `unlz4 {}`"),
    "zip": (b"PK\x03\x04\x14\xe9", "compressed by zip: unpack it with `unzip {}`"),
    "UTF-16": (
        b"\xff\xfeS\x00",
        "UTF-16 by PowerShell's `>`, which isn't UTF-8: write it with `pg_dump --file=dump.sql`",
    ),
    "Latin-1": (b"INSERT INTO orders VALUES ('\xe9')", "{} isn't UTF-8 text (byte 28)"),
    "binary": (b"SELECT '\x00';", "{} isn't a plain-text dump: write it with `pg_dump --format=plain`"),
}


@pytest.mark.parametrize(("content", "advice"), OTHER.values(), ids=OTHER)
def test_a_dump_of_another_format_is_told_how_to_become_plain_text(tmp_path: Path, content: bytes, advice: str) -> None:
    path = tmp_path / "dump"
    path.write_bytes(content)
    with pytest.raises(LoadError) as caught:
        read_dump(path)
    assert advice.replace("{}", str(path)) in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_missing_file_or_a_folder_is_refused_and_pg_dumps_own_told_what_to_do(tmp_path: Path) -> None:
    with pytest.raises(LoadError, match=r"cannot read .*nowhere\.sql: No such file or directory"):
        read_dump(tmp_path / "nowhere.sql")
    with pytest.raises(LoadError, match="Is a directory: name the dump in it"):
        read_dump(tmp_path)
    (tmp_path / "toc.dat").touch()
    with pytest.raises(LoadError, match=r"in pg_dump's directory format: .*`pg_restore --file=dump.sql /"):
        read_dump(tmp_path)


@pytest.mark.timeout(10)
def test_a_pipe_or_device_is_refused_at_once(tmp_path: Path) -> None:
    """A pipe without a writer blocks its reader for ever, and this device has no end."""
    pipe = tmp_path / "dump.sql"
    os.mkfifo(pipe)
    for path in (pipe, Path("/dev/zero")):
        with pytest.raises(LoadError, match=f"{path}: Is a pipe or device, which may never end"):
            read_dump(path)


def test_lines_may_end_as_on_windows(tmp_path: Path) -> None:
    path = tmp_path / "dump.sql"
    copied = "COPY shippers (shipper_id, company_name, phone) FROM stdin;\r\n1\ta\tb\r\n\\.\r\n"
    path.write_bytes(f"\ufeff{copied}{ORDER}".encode())
    assert read_dump(path)["shippers"] == [("1", "a", "b")]
