"""The entry of one table in a pipeline's file: what is proposed, and what is said of it."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from capture import personal
from capture.catalogue import Column, Table
from contract import events
from contract.avro_names import no_key
from contract.column_types.carried import Carried, LeftOut
from contract.column_types.types import carried
from contract.special_values import SPECIALS_COLUMN
from contract.table_names import clashes, is_lake_name, lake_name, listed
from db.signals import can_name

# What the unwrap transformation and the job add to a row: a column of that name would be written over.
ADDED_FIELDS = frozenset({*events.ADDED_TYPES, *events.QUERIED_TYPES, SPECIALS_COLUMN})
RESERVED_PREFIXES = ("_hoodie_", "__debezium")
# Debezium hashes these, and leaves columns of other types in clear (db/source_queries.py).
_TEXT_TYPES = ("text", "varchar", "bpchar")
SHA256_DIGITS = 64
GENERATED = "generated, and PostgreSQL doesn't publish those before 18: compute it in the lake"
LARGE_TABLE_ROWS = 10_000_000
_LENGTH = re.compile(r"\([0-9,-]+\)")


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """A proposal. `leave_out` has a reason per column; `may_hash` are text columns that may be personal data.

    `may_leave_out`: such columns of other types, and secrets. `types`: columns whose values aren't in the lake as in
    PostgreSQL, with how. `long_values`: columns whose values may be so long that an event leaves them out when they
    don't change. `queried`: by queries, not by the log; then `change_columns` may say when a row changed. `obstacle`
    says why the table can't be captured at all.
    """

    table: Table
    lake_table: str
    key: tuple[str, ...]
    append_only: bool
    queried: bool = False
    leave_out: dict[str, str] = field(default_factory=dict)
    may_hash: tuple[str, ...] = ()
    may_leave_out: tuple[str, ...] = ()
    types: tuple[tuple[str, str], ...] = ()
    long_values: tuple[str, ...] = ()
    losses: tuple[str, ...] = ()
    change_columns: tuple[str, ...] = ()
    obstacle: str | None = None

    @property
    def cut_hashes(self) -> tuple[str, ...]:
        """Columns that may be hashed and are shorter than SHA-256 in hexadecimal: Debezium cuts it to their length."""
        return tuple(name for name in self.may_hash if _length(self.table.column(name)) < SHA256_DIGITS)

    @property
    def columns(self) -> tuple[Column, ...]:
        """The columns that are captured."""
        return tuple(column for column in self.table.columns if column.name not in self.leave_out)


def propose(table: Table, lake_table: str) -> Entry:
    """Propose how a table is captured by the log."""
    key = key_of(table)
    leave_out = dict(left_out_of(table, key))
    kept = [column for column in table.columns if column.name not in leave_out]
    may_hash = [c.name for c in kept if may_be_personal(c) and _is_text(c) and c.name not in key]
    may_leave_out = [c.name for c in kept if c.name not in key and _asks_to_be_left_out(c)]
    return Entry(
        table=table,
        lake_table=lake_table,
        key=key,
        append_only=not key,
        leave_out=leave_out,
        may_hash=tuple(name for name in may_hash if name not in may_leave_out),
        may_leave_out=tuple(may_leave_out),
        types=tuple(types_of(kept)),
        long_values=tuple(_long_values(table, kept, key)),
        losses=tuple(_losses(table, key, kept)),
        obstacle=_obstacle(table, key, leave_out),
    )


def key_of(table: Table) -> tuple[str, ...]:
    """The primary key, or the smallest unique index without a nullable column."""
    if table.primary_key:
        return table.primary_key
    usable = sorted((index for index in table.indexes if index.identity), key=lambda index: len(index.columns))
    return usable[0].columns if usable else ()


def left_out_of(table: Table, key: tuple[str, ...], *, generated: bool = False) -> Iterator[tuple[str, str]]:
    """Yield what can't be captured, and why; of two columns with one name in the lake the key's stays, or the first.

    `generated`: whether columns can be that PostgreSQL computes.
    """
    taken = {lake_name(name): name for name in key}
    for column in table.columns:
        name = lake_name(column.name)
        kind = carried(column.type, column.modifier)
        if isinstance(kind, LeftOut):
            yield column.name, f"{column.type_text}: {kind.reason}"
        elif column.generated and not generated:
            yield column.name, GENERATED
        elif column.name in ADDED_FIELDS or name in ADDED_FIELDS or name.startswith(RESERVED_PREFIXES):
            yield column.name, "its name is one of those that capturing adds: rename it to have it"
        elif taken.setdefault(name, column.name) != column.name:
            yield column.name, f"in the lake it would be {name}, as {taken[name]} is: rename one to have both"


def obstacle_of_key(table: Table, key: tuple[str, ...], leave_out: dict[str, str]) -> str | None:
    """Say why rows of the lake couldn't be told apart by a key; None where they can."""
    for column in map(table.column, key):
        if column.name in leave_out:
            return f"its key has {column.name}, which can't be captured ({leave_out[column.name]})"
        kind = carried(column.type, column.modifier)
        if isinstance(kind, Carried) and (reason := no_key(kind.avro)):
            return f"its key has {column.name}: {reason}"
    return None


def _obstacle(table: Table, key: tuple[str, ...], leave_out: dict[str, str]) -> str | None:
    if obstacle := obstacle_of_key(table, key, leave_out):
        return obstacle
    names = [lake_name(name) for name in key]
    if len(set(names)) < len(names):
        return f"columns of its key would have one name in the lake ({', '.join(key)}): rename one"
    if len(leave_out) == len(table.columns):
        return "none of its columns can be captured"
    # Debezium 3.7 tells columns apart without their case, those too that it leaves out: its connector would end.
    if alike := clashes([column.name for column in table.columns], str.lower):
        names = next(iter(alike.values()))
        return (
            f"columns differ only by case ({', '.join(names)}), which Debezium can't take: rename one, or --how query"
        )
    if wrong := [name for name in (*key, *leave_out) if any(sign in name for sign in ":;\n\r")]:
        return f"Debezium's lists can't name its column {wrong[0]!r}: rename it"
    return None


def _losses(table: Table, key: tuple[str, ...], kept: list[Column]) -> Iterator[str]:
    """Say what would be lost, or what whoever writes there would feel."""
    if not key:
        yield (
            "no primary key and no unique index without NULLs: append-only, so each update and delete is a row of its"
            " own; ADD PRIMARY KEY is better"
        )
    elif not table.primary_key:
        yield f"no primary key: known by the unique index over {', '.join(key)}, which mustn't be dropped"
    yield from _identity(table, key)
    yield from renamed(kept)
    if not can_name((table.name.schema, table.name.name)):
        yield "its name is more than letters, digits and _: whenever it is read again, the other tables wait"
    if table.kind == "partitioned table":
        count = len(table.partitions)
        yield f"{count} partition{'' if count == 1 else 's'}, captured as this one table; detached ones no longer are"
    if table.parents:
        yield f"inherits from {', '.join(map(str, table.parents))}: captured as a table of its own"
    if table.row_security:
        yield "row security is on: the connector's role gets a policy to see all rows, or its snapshot has holes"
    yield from unread(table, f"`./lake source prepare` lets the connector's role, if its owner ({table.owner}) runs it")
    yield from large_objects(table)
    if table.rows is not None and table.rows >= LARGE_TABLE_ROWS:
        yield f"about {table.rows:,} rows, which the first snapshot reads one after the other"


def unread(table: Table, way_out: str) -> Iterator[str]:
    """Say which columns the role that looks may not read."""
    hidden = [column.name for column in table.columns if not column.readable]
    if hidden:
        what = "it" if len(hidden) == len(table.columns) else f"its columns {listed(hidden, 5)}"
        yield f"you may not read {what}; {way_out}"


def large_objects(table: Table) -> Iterator[str]:
    """Say which columns name large objects."""
    large = [column.name for column in table.columns if column.type.name in ("oid", "lo")]
    if large:
        yield f"{', '.join(large)}: of a large object its number alone arrives, its content isn't in the log's changes"


def renamed(kept: list[Column]) -> Iterator[str]:
    """Say which columns have another name in the lake."""
    others = [f"{c.name} → {lake_name(c.name)}" for c in kept if not is_lake_name(c.name)]
    if others:
        yield f"in the lake: {listed(others, 10)}"


def _identity(table: Table, key: tuple[str, ...]) -> Iterator[str]:
    """Say what REPLICA IDENTITY means here, where it isn't what the key needs."""
    if table.identity == "nothing":
        yield (
            "REPLICA IDENTITY NOTHING: updates and deletes would be refused once published; `./lake source prepare`"
            " changes it"
        )
    elif table.identity == "full":
        yield "REPLICA IDENTITY FULL: whole old rows go to the log, which capturing doesn't need"
    elif table.identity == "index":
        columns = next((index.columns for index in table.indexes if index.is_identity), ())
        if not set(key) <= set(columns):
            yield (
                f"REPLICA IDENTITY is the index over {', '.join(columns)}, so a delete wouldn't name {', '.join(key)}:"
                " `./lake source prepare` changes it, which whoever else reads the changes has to know"
            )


def _long_values(table: Table, columns: list[Column], key: tuple[str, ...]) -> Iterator[str]:
    """Yield what an update of the key may leave out: of the new key there is no earlier row to keep it from."""
    if key and table.identity != "full":
        long = [column for column in columns if column.toastable and _is_long(column)]
        yield from (column.name for column in long if column.name not in key)


def _length(column: Column) -> int:
    """The most characters that a text column takes; domains have their base's."""
    kind, modifier = column.type, column.modifier
    while kind.kind == "domain":
        [(_, kind, modifier)] = kind.parts
    # varchar(n) and char(n) keep n + 4.
    return modifier - 4 if kind.name in ("varchar", "bpchar") and modifier > 0 else SHA256_DIGITS


def _is_long(column: Column) -> bool:
    """Tell whether a value may be so long that it is stored apart: about 2 kB."""
    if column.type.name in ("varchar", "bpchar"):
        return column.modifier < 0 or column.modifier > 500
    return column.type.name != "numeric"


def types_of(columns: list[Column], *, of_log: bool = True) -> Iterator[tuple[str, str]]:
    """Yield columns whose values aren't in the lake as in PostgreSQL, with how; by what the log makes of them, too."""
    for column in columns:
        kind = carried(column.type, column.modifier)
        if isinstance(kind, Carried):
            note = "; ".join(filter(None, (kind.note, kind.note_of_log if of_log else "")))
            if note:
                yield column.name, f"{_LENGTH.sub('', column.type_text)}: {note}"


def _is_text(column: Column) -> bool:
    kind = column.type
    while kind.kind == "domain":
        kind = kind.parts[0][1]
    return kind.schema == "pg_catalog" and kind.name in _TEXT_TYPES


def may_be_personal(column: Column) -> bool:
    """Tell by a column's name whether it may be personal data."""
    return personal.is_personal(lake_name(column.name))


def is_secret(column: Column) -> bool:
    """Tell by a column's name whether it is a secret."""
    return personal.is_secret(lake_name(column.name))


def _asks_to_be_left_out(column: Column) -> bool:
    return is_secret(column) or (may_be_personal(column) and not _is_text(column))
