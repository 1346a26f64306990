"""Reads the rows of the Northwind tables from a plain-text SQL dump. Nothing in the dump is ever executed."""

import re
import stat
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from contract.source import HEARTBEAT_TABLE, OUTBOX_TABLE
from db.connecting import LoadError
from db.dump_tokens import END, Tokens
from db.sample import TABLES, WALK_THROUGH_ORDER, Cell, Row

# Our derived tables: a dump of a loaded database includes them.
DERIVED_TABLES = frozenset({OUTBOX_TABLE, HEARTBEAT_TABLE})
DERIVED_PREFIX = "outbox_"
_HEADER = "-- PostgreSQL database dump\n"
_FOOTER = "-- PostgreSQL database dump complete"

_RESTORE = "turn it into plain text with `pg_restore --file=dump.sql {}` and load that"
_UNPACK = "compressed by {}: unpack it with `{} {{}}` and load what comes out"
# Position in a file, its bytes there, and the format that they identify.
_FORMATS: tuple[tuple[int, bytes, str], ...] = (
    (0, b"PGDMP", f"pg_dump's custom format: {_RESTORE}"),
    (257, b"ustar", f"a tar archive; if `pg_dump --format=tar` made it, {_RESTORE}"),
    (0, b"\x1f\x8b", _UNPACK.format("gzip", "gunzip --keep")),
    (0, b"BZh", _UNPACK.format("bzip2", "bunzip2 --keep")),
    (0, b"\xfd7zXZ\0", _UNPACK.format("xz", "unxz --keep")),
    (0, b"\x28\xb5\x2f\xfd", _UNPACK.format("zstd", "unzstd")),
    (0, b"\x04\x22\x4d\x18", _UNPACK.format("lz4", "unlz4")),
    (0, b"PK\x03\x04", _UNPACK.format("zip", "unzip")),
    (0, b"\xff\xfe", "UTF-16 by PowerShell's `>`, which isn't UTF-8: write it with `pg_dump --file=dump.sql`"),
)

_ESCAPE = re.compile(rb"\\([0-7]{1,3}|x[0-9A-Fa-f]{1,2}|u[0-9A-Fa-f]{4}|U[0-9A-Fa-f]{8}|.)", re.DOTALL)
_ESCAPE_LETTERS = {b"b": b"\b", b"f": b"\f", b"n": b"\n", b"r": b"\r", b"t": b"\t", b"v": b"\v"}
Item = TypeVar("Item")


@dataclass(frozen=True, kw_only=True)
class Wanted:
    """What to read of a dump of `whose` data: columns by table. `others`: skip unknown tables instead of failing."""

    whose: str
    tables: Mapping[str, tuple[str, ...]]
    others: bool = False


NORTHWIND = Wanted(whose="Northwind", tables=TABLES)


def read_dump(path: Path) -> dict[str, list[Row]]:
    """Return each table's rows of Northwind as `read_rows` does, without the walk-through's order."""
    rows = read_rows(path, NORTHWIND, known_by="orders")
    for table in ("orders", "order_details"):
        rows[table] = [row for row in rows[table] if row[0] != str(WALK_THROUGH_ORDER)]
    return rows


def read_rows(path: Path, wanted: Wanted, *, known_by: str) -> dict[str, list[Row]]:
    """Return each wanted table's rows, with their columns in that order; the table `known_by` must have some.

    Understands pg_dump's output: INSERT (with or without column names) and COPY ... FROM stdin. Other statements are
    skipped. Raises LoadError with file, line and reason if the dump is unreadable or incomplete.
    """
    tokens = Tokens(path, _text(path))
    rows: dict[str, list[Row]] = {table: [] for table in wanted.tables}
    while (token := tokens.next()).kind != END:
        if token.is_one_of("\\"):  # a command of psql, such as \connect
            tokens.rest_of_line()
        elif token.is_one_of("INSERT"):
            _read_insert(tokens, wanted, rows)
        elif token.is_one_of("COPY"):
            _read_copy(tokens, wanted, rows)
        elif not token.is_one_of(";"):
            _skip_statement(tokens)
    if not rows[known_by]:
        raise LoadError(f"{path} holds no rows of the table {known_by}: is it a dump of {wanted.whose}'s data?")
    return rows


def read_file(path: Path) -> bytes:
    """Return a dump file's content. Raises LoadError for anything but a file: a pipe, for example, may never end."""
    try:
        kind = path.stat().st_mode
        if stat.S_ISREG(kind):
            return path.read_bytes()
    except OSError as error:
        raise LoadError(f"cannot read {path}: {error.strerror}") from error
    if not stat.S_ISDIR(kind):
        what = "Is a pipe or device, which may never end: write the dump to a file and name that"
    elif (path / "toc.dat").exists():
        what = f"Is a directory, in pg_dump's directory format: {_RESTORE.format(path)}"
    else:
        what = "Is a directory: name the dump in it"
    raise LoadError(f"cannot read {path}: {what}")


def _text(path: Path) -> str:
    content = read_file(path)
    for at, magic, what in _FORMATS:
        if content.startswith(magic, at):
            raise LoadError(f"{path} isn't a plain-text dump but {what.format(path)}")
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise LoadError(f"{path} isn't UTF-8 text (byte {error.start}): write it with `pg_dump -E UTF8`") from error
    if "\0" in text:
        raise LoadError(f"{path} isn't a plain-text dump: write it with `pg_dump --format=plain`")
    if text.count("\n") == text.count("\r\n"):
        # Written on Windows, values included; elsewhere a value has the line ends that it should have.
        text = text.replace("\r\n", "\n")
    if _HEADER in text[:2000] and _FOOTER not in text[-2000:]:
        raise LoadError(f"{path} is truncated: the line {_FOOTER!r} is missing at its end")
    return text


def _skip_statement(tokens: Tokens) -> None:
    while not (token := tokens.next()).is_one_of(";"):
        if token.kind == END:
            raise tokens.unexpected(token, "';'")


def _read_insert(tokens: Tokens, wanted: Wanted, rows: dict[str, list[Row]]) -> None:
    tokens.expect("INTO")
    keep = _read_target(tokens, wanted, rows)
    tokens.expect("VALUES")
    while True:
        start = tokens.position
        keep(tuple(_read_list(tokens, _read_value)), start)
        token = tokens.next()
        if token.is_one_of("ON"):
            _skip_statement(tokens)
        if token.is_one_of("ON", ";"):
            return
        if not token.is_one_of(","):
            raise tokens.unexpected(token, "',' or ';'")


def _read_copy(tokens: Tokens, wanted: Wanted, rows: dict[str, list[Row]]) -> None:
    keep = _read_target(tokens, wanted, rows)
    for text in ("FROM", "STDIN", ";"):
        tokens.expect(text)
    tokens.rest_of_line()
    while True:
        start = tokens.position
        line = tokens.rest_of_line()
        if line is None:
            raise tokens.fail("the data of COPY doesn't end with '\\.': the dump is truncated")
        if line == "\\.":
            return
        keep((None if field == "\\N" else _unescape(tokens, field) for field in line.split("\t")), start)


def _read_target(tokens: Tokens, wanted: Wanted, rows: dict[str, list[Row]]) -> Callable[[Iterable[Cell], int], None]:
    """Read a table and its column names; return what keeps a row that begins at a position, or skips it."""
    start = tokens.peek().position
    table = _read_name(tokens)
    while tokens.peek().is_one_of("."):
        tokens.next()
        table = _read_name(tokens)
    columns = wanted.tables.get(table, ())
    named = tuple(_read_list(tokens, _read_name)) if tokens.peek().is_one_of("(") else columns
    is_derived = table in DERIVED_TABLES or table.startswith(DERIVED_PREFIX)
    if is_derived or (wanted.others and not columns):
        return lambda _values, _start: None
    if not columns:
        raise tokens.fail(f"the table {table} isn't one of {wanted.whose}'s {len(wanted.tables)}", start)
    unknown = [column for column in named if column not in columns]
    if unknown and not wanted.others:
        raise tokens.fail(f"the table {table} has no column {unknown[0]}", start)

    def keep(values: Iterable[Cell], start: int) -> None:
        row = tuple(values)
        if len(row) != len(named):
            raise tokens.fail(f"{len(row)} values for the {len(named)} columns of {table}", start)
        # A column that the dump doesn't name is NULL.
        rows[table].append(row if named == columns else tuple(map(dict(zip(named, row, strict=True)).get, columns)))

    return keep


def _read_list(tokens: Tokens, read: Callable[[Tokens], Item]) -> Iterator[Item]:
    """Read a comma-separated list in parentheses."""
    tokens.expect("(")
    while True:
        yield read(tokens)
        token = tokens.next()
        if token.is_one_of(")"):
            return
        if not token.is_one_of(","):
            raise tokens.unexpected(token, "',' or ')'")


def _read_name(tokens: Tokens) -> str:
    token = tokens.next()
    if token.kind == "quoted":
        return token.text[1:-1].replace('""', '"')
    if token.kind != "word":
        raise tokens.unexpected(token, "a name")
    return token.text.lower()


def _read_value(tokens: Tokens) -> Cell:
    """Read a literal, with or without a cast. It stays text: PostgreSQL gives it its column's type."""
    token = tokens.next()
    if token.is_one_of("NULL"):
        value = None
    elif token.kind == "number" or token.is_one_of("TRUE", "FALSE"):
        value = token.text
    elif token.kind == "string":
        value = token.text[1:-1].replace("''", "'")
    elif token.kind == "escaped":
        value = _unescape(tokens, token.text[2:-1].replace("''", "'"))
    elif token.kind == "dollar":
        value = token.text
    else:
        raise tokens.unexpected(token, "a value")
    if tokens.peek().kind == "cast":
        tokens.next()
        _skip_type(tokens)
    return value


def _skip_type(tokens: Tokens) -> None:
    _read_name(tokens)
    while tokens.peek().kind in ("word", "quoted") or tokens.peek().is_one_of("."):
        tokens.next()
    if tokens.peek().is_one_of("("):
        list(_read_list(tokens, _read_value))


def _unescape(tokens: Tokens, text: str) -> str:
    """Resolve backslash escapes, which COPY and E'...' share: octal ones and \\x are bytes, the others characters."""
    try:
        return _ESCAPE.sub(_escaped, text.encode()).decode() if "\\" in text else text
    except ValueError as error:
        raise tokens.fail(f"{text[:40]!r} has an escape that is no UTF-8: take it out") from error


def _escaped(match: re.Match[bytes]) -> bytes:
    code = match.group(1)
    if code[0] in b"01234567":
        return bytes([int(code, 8) % 256])
    if len(code) > 1:
        number = int(code[1:], 16)
        return bytes([number]) if code.startswith(b"x") else chr(number).encode()
    return _ESCAPE_LETTERS.get(code, code)
