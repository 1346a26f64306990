"""Proposes a pipeline's entries: how to capture chosen tables, under distinct names, and why others can't be."""

import itertools
import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field, replace

from capture.obstacles import obstacle, select
from contract import events
from contract.column_types.catalogue import Carried, LeftOut
from contract.column_types.types import carried
from contract.events import SPECIALS_COLUMN
from contract.table_names import clashes, is_lake_name, lake_name, listed
from db.source.catalogue import Column, Database, Server, Table, TableName
from db.source.signals import can_name

# Fields added by the unwrap transformation and the job: they would overwrite a column of that name.
ADDED_FIELDS = frozenset({*events.ADDED_TYPES, *events.QUERIED_TYPES, SPECIALS_COLUMN})
RESERVED_PREFIXES = ("_hoodie_", "__debezium")
SHA256_DIGITS = 64
GENERATED = "generated, and PostgreSQL doesn't send those: compute it in the lake"
LARGE_TABLE_ROWS = 10_000_000
_CHANGED = re.compile(r"(update|change|modif|edit)|(^|_)(mtime|touched)(_|$)")
_LENGTH = re.compile(r"\([0-9,-]+\)")
# Usual names, in a few languages, of columns with personal data or secrets; only the user can decide.
# Parts of names in snake_case, as contract/table_names.py writes them.
_SECRET = re.compile(r"(?:^|_)(?:password|passwd|pwd|passphrase|secret|token|api_key|pin|salt|otp)(?:_|\d|$)")
_PERSONAL = re.compile(
    r"(?:^|_)(?:e_?mail|mail|(?:tele)?phone|mobile|fax|(?:first|last|full|sur|given|family|contact)_?name"
    r"|birth_?(?:day|date)|date_of_birth|dob|ssn|social_security|tax_id|passport|national_id|iban|bic"
    r"|(?:credit_)?card(?:_number)?|cvv|ip_addr(?:ess)?|address|street|postal_code|zip_code"
    r"|geburtsdatum|vorname|nachname|telefon|anschrift|prenom|adresse)(?:_|\d|$)"
)
# An address_id alone reveals nothing.
_REFERENCE = re.compile(r"(?<!tax)(?<!national)_id\Z")


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """A proposal. `leave_out` has a reason per column; `may_hash` are text columns that may be personal data.

    `may_leave_out`: such columns of other types, and secrets. `types`: columns whose values differ between the lake and
    PostgreSQL, with how. `long_values`: columns whose values may be so long that an event omits them when they don't
    change. `is_queried`: captured by queries, not from the log; then `change_columns` may show when a row changed.
    `obstacle`: why the table can't be captured at all.
    """

    table: Table
    lake_table: str
    key: tuple[str, ...]
    is_queried: bool = False
    hash: tuple[str, ...] = ()
    leave_out: dict[str, str] = field(default_factory=dict)
    may_hash: tuple[str, ...] = ()
    may_leave_out: tuple[str, ...] = ()
    types: tuple[tuple[str, str], ...] = ()
    long_values: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    change_columns: tuple[str, ...] = ()
    obstacle: str | None = None

    @property
    def append_only(self) -> bool:
        return not self.key and not self.is_queried

    @property
    def cut_hashes(self) -> tuple[str, ...]:
        """Columns that may be hashed but are shorter than SHA-256 in hexadecimal: Debezium cuts the hash."""
        return tuple(name for name in self.may_hash if _length(self.table.column(name)) < SHA256_DIGITS)


def propose(table: Table, lake_table: str, *, queried: bool = False) -> Entry:
    """Propose how to capture a table: from the log, or by queries, as for a view."""
    key = key_of(table)
    leave_out = dict(left_out_of(table, key, generated=queried))
    kept = [column for column in table.columns if column.name not in leave_out]
    others = [column for column in kept if column.name not in key]
    may_hash = [
        c.name for c in others if not queried and c.is_text and may_be_personal(c.name) and not is_secret(c.name)
    ]
    # An update of the key may omit them: the new key has no earlier row to take them from.
    long_values = [c.name for c in others if key and not queried and table.identity != "full" and c.may_be_long]
    stamps = [c.name for c in kept if queried and c.type.name in ("timestamp", "timestamptz")]
    return Entry(
        table=table,
        lake_table=lake_table,
        key=key,
        is_queried=queried,
        leave_out=leave_out,
        may_hash=tuple(may_hash),
        may_leave_out=tuple(
            c.name for c in others if (may_be_personal(c.name) or is_secret(c.name)) and c.name not in may_hash
        ),
        types=tuple(types_of(kept, of_log=not queried)),
        long_values=tuple(long_values),
        notes=tuple(_notes(table, key, kept, queried=queried)),
        change_columns=tuple(name for name in stamps if _CHANGED.search(lake_name(name))),
        obstacle=obstacle(table, key, leave_out, queried=queried),
    )


def key_of(table: Table) -> tuple[str, ...]:
    """The primary key, or the smallest unique index without a nullable column."""
    if table.primary_key:
        return table.primary_key
    usable = sorted((index for index in table.indexes if index.identity), key=lambda index: len(index.columns))
    return usable[0].columns if usable else ()


def left_out_of(table: Table, key: tuple[str, ...], *, generated: bool = False) -> Iterator[tuple[str, str]]:
    """Yield columns that can't be captured, and why; of two columns with one lake name, the key's stays, or the first.

    `generated`: whether columns that PostgreSQL computes can be captured.
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


def _notes(table: Table, key: tuple[str, ...], kept: list[Column], *, queried: bool) -> Iterator[str]:
    """Yield losses, and notes for those who write the table, read the lake or run the job."""
    if not key:
        yield (
            "no primary key and no unique index without NULLs: append-only, so each update and delete is a row of its"
            " own; ADD PRIMARY KEY is better"
        )
    elif not table.primary_key:
        yield f"no primary key: known by the unique index over {', '.join(key)}, which mustn't be dropped"
    if not queried:
        yield from _identity(table, key)
    renamed = [f"{c.name} → {lake_name(c.name)}" for c in kept if not is_lake_name(c.name)]
    if renamed:
        yield f"in the lake: {listed(renamed, 10)}"
    yield from _notes_of_queries(table) if queried else _notes_of_log(table)
    if table.hidden:
        what = "it" if len(table.hidden) == len(table.columns) else f"its columns {listed(table.hidden, 5)}"
        prepare = f"`./lake source prepare` lets the connector's role, if its owner ({table.owner}) runs it"
        way_out = "the job's role must" if queried else prepare
        yield f"you may not read {what}; {way_out}"
    large = [column.name for column in table.columns if column.type.name in ("oid", "lo")]
    if large:
        yield f"{', '.join(large)}: of a large object its number alone arrives, its content isn't in the log's changes"
    if not queried and table.rows is not None and table.rows >= LARGE_TABLE_ROWS:
        yield f"about {table.rows:,} rows, which the first snapshot reads one after the other"


def _notes_of_queries(table: Table) -> Iterator[str]:
    if table.has_children:
        yield "other tables inherit from it, and their rows are among its own: a key that two share stops the job"
    if table.row_security:
        yield "row security is on: the job stops rather than take rows that a policy hides for deleted ones"


def _notes_of_log(table: Table) -> Iterator[str]:
    if not can_name((table.name.schema, table.name.name)):
        yield "its name is more than letters, digits and _: whenever it is read again, the other tables wait"
    if table.kind == "partitioned table":
        count = len(table.partitions)
        yield f"{count} partition{'' if count == 1 else 's'}, captured as this one table; detached ones no longer are"
    if table.parents:
        yield f"inherits from {', '.join(map(str, table.parents))}: captured as a table of its own"
    if table.row_security:
        yield "row security is on: the connector's role gets a policy to see all rows, or its snapshot has holes"


def _identity(table: Table, key: tuple[str, ...]) -> Iterator[str]:
    """Explain REPLICA IDENTITY's effect here, where it isn't what the key needs."""
    if table.identity == "nothing":
        yield (
            "REPLICA IDENTITY NOTHING: updates and deletes would be refused once published; `./lake source prepare`"
            " changes it"
        )
    elif table.identity == "full":
        yield "REPLICA IDENTITY FULL: whole old rows go to the log, which capturing doesn't need"
    elif table.identity == "index":
        columns = table.identity_columns or ()
        if not set(key) <= set(columns):
            yield (
                f"REPLICA IDENTITY is the index over {', '.join(columns)}, so a delete wouldn't name {', '.join(key)}:"
                " `./lake source prepare` changes it, which other readers of its changes have to know"
            )


def _length(column: Column) -> int:
    """Return a text column's maximum length in characters; a domain has its base's."""
    kind, modifier = column.base_type
    # The modifier of varchar(n) and char(n) is n + 4.
    return modifier - 4 if kind.name in ("varchar", "bpchar") and modifier > 0 else SHA256_DIGITS


def types_of(columns: list[Column], *, of_log: bool = True) -> Iterator[tuple[str, str]]:
    """Yield columns whose values differ between the lake and PostgreSQL, with how; `of_log`: including the log's."""
    for column in columns:
        kind = carried(column.type, column.modifier)
        notes = (kind.note, kind.note_of_log if of_log else "") if isinstance(kind, Carried) else ()
        if note := "; ".join(filter(None, notes)):
            yield column.name, f"{_LENGTH.sub('', column.type_text)}: {note}"


def may_be_personal(column: str) -> bool:
    """Tell by a column's name whether it may hold personal data."""
    name = lake_name(column)
    return _PERSONAL.search(name) is not None and not _REFERENCE.search(name)


def is_secret(column: str) -> bool:
    """Tell by a column's name whether it may hold a secret."""
    return _SECRET.search(lake_name(column)) is not None


# Glue takes 255 characters; the pipeline's name comes first (settings/pipeline_rules.py).
_LONGEST_LAKE_TABLE = 107


@dataclass(frozen=True, kw_only=True)
class Proposal:
    """The entries, by the tables' names, and the tables that can't be captured, with the reason."""

    entries: tuple[Entry, ...]
    refused: tuple[tuple[Table, str], ...]


def propose_all(
    database: Database, patterns: str, topic_prefix: str | None, *, known: Mapping[TableName, str] | None = None
) -> Proposal:
    """Propose an entry for each matching table, except for those `known`, given with their names in the lake.

    Without a topic prefix they are queried. Raises UserError for a pattern that matches no table.
    """
    known = known or {}
    chosen, refused = select(database, patterns, topic_prefix, first=known)
    names = _lake_tables(chosen)
    entries: list[Entry] = []
    used = set(known.values())
    for table in chosen:
        if table.name in known:
            continue
        entry = propose(table, names[table.name], queried=topic_prefix is None)
        if entry.obstacle:
            refused.append((table, entry.obstacle))
        else:
            entry = _with_own_name(entry, used)
            used.add(entry.lake_table)
            entries.append(entry)
    new = [pair for pair in refused if pair[0].name not in known]
    return Proposal(entries=tuple(entries), refused=tuple(sorted(new, key=lambda pair: pair[0].name)))


def _with_own_name(entry: Entry, used: Collection[str]) -> Entry:
    if entry.lake_table not in used:
        return entry
    begins = entry.lake_table[: _LONGEST_LAKE_TABLE - len("_999")]
    name = next(name for number in itertools.count(2) if (name := f"{begins}_{number}") not in used)
    said = f"another table is {entry.lake_table} in the lake, so this one is {name}"
    return replace(entry, lake_table=name, notes=(*entry.notes, said))


def _lake_tables(tables: Collection[Table]) -> dict[TableName, str]:
    """Name each table in the lake after itself, with its schema first if another schema has a table of that name."""
    alike = clashes([table.name.name for table in tables], lake_name)
    names = {}
    for table in tables:
        short = lake_name(table.name.name)
        if short in alike and table.name.schema != "public":
            short = f"{lake_name(table.name.schema)}_{short}"
        names[table.name] = short[:_LONGEST_LAKE_TABLE]
    return names


def server_notes(server: Server, *, queried: bool) -> Iterator[str]:
    """Yield notes on a server, in addition to the plan's problems (db/source/plan.py)."""
    if queried and server.standby:
        yield "it is a standby: fit to be queried, but not by a `column` (it doesn't see who is writing)"
    if not queried and server.senders >= server.max_senders:
        yield f"all {server.max_senders} WAL senders are in use: raise max_wal_senders (a restart)"
    if not queried and server.slot_keep == "-1":
        yield (
            "max_slot_wal_keep_size is -1: a connector that stays away fills the disk; with a limit, changes beyond it"
            " are lost, and status says so"
        )
    if server.encoding != "UTF8":
        yield f"its encoding is {server.encoding}; values arrive as UTF-8"
    if not queried and server.large_objects:
        yield "it has large objects, whose content no log of changes has"
