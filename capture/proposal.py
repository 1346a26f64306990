"""Proposes how to capture a database's chosen tables, under names that don't clash, and lists refused tables."""

import itertools
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, replace

from capture.entry import Entry, propose
from capture.obstacles import Patterns, select
from contract.table_names import clashes, lake_name
from db.source.catalogue import Database, Server, Table, TableName

# Glue takes 255 characters; the pipeline's name comes first (settings/pipeline_rules.py).
_LONGEST_LAKE_TABLE = 107


@dataclass(frozen=True, kw_only=True)
class Proposal:
    """The entries, by the tables' names, and the tables that can't be captured, with the reason."""

    entries: tuple[Entry, ...]
    refused: tuple[tuple[Table, str], ...]


def propose_all(
    database: Database, patterns: Patterns, topic_prefix: str | None, *, known: Mapping[TableName, str] | None = None
) -> Proposal:
    """Propose an entry for each matching table, except for those `known`, given with their names in the lake.

    Without a topic prefix they are queried. Raises SelectionError for a pattern that matches no table.
    """
    known = known or {}
    selection = select(database, patterns, topic_prefix, first=known)
    names = _lake_tables(selection.tables)
    entries: list[Entry] = []
    refused = [pair for pair in selection.refused if pair[0].name not in known]
    used = set(known.values())
    for table in selection.tables:
        if table.name in known:
            continue
        entry = propose(table, names[table.name.schema, table.name.name], queried=topic_prefix is None)
        if entry.obstacle:
            refused.append((table, entry.obstacle))
        else:
            entry = _with_own_name(entry, used)
            used.add(entry.lake_table)
            entries.append(entry)
    return Proposal(entries=tuple(entries), refused=tuple(sorted(refused, key=lambda pair: pair[0].name)))


def _with_own_name(entry: Entry, used: Collection[str]) -> Entry:
    if entry.lake_table not in used:
        return entry
    name = next(name for number in itertools.count(2) if (name := f"{entry.lake_table}_{number}") not in used)
    said = f"another table is {entry.lake_table} in the lake, so this one is {name}"
    return replace(entry, lake_table=name, notes=(*entry.notes, said))


def _lake_tables(tables: Collection[Table]) -> dict[tuple[str, str], str]:
    """Name each table in the lake after itself, with its schema first if another schema has a table of that name."""
    alike = clashes([table.name.name for table in tables], lake_name)
    names = {}
    for table in tables:
        short = lake_name(table.name.name)
        if short in alike and table.name.schema != "public":
            short = f"{lake_name(table.name.schema)}_{short}"
        names[table.name.schema, table.name.name] = short[:_LONGEST_LAKE_TABLE]
    return names


def server_notes(server: Server, *, queried: bool) -> Iterator[str]:
    """Yield notes on a server, in addition to the plan's problems (db/source/plan.py)."""
    if queried and server.standby:
        yield "it is a standby: fit to be queried, but not by a `column` (it doesn't see who is writing)"
    if not queried and server.senders >= server.max_senders:
        yield f"all {server.max_senders} WAL senders are in use: raise max_wal_senders (a restart)"
    if not queried and server.slot_keep == "-1":
        yield (
            "max_slot_wal_keep_size is -1: a connector that stays away fills the disk; with a limit, changes are lost"
            " beyond it, and said to be"
        )
    if server.encoding != "UTF8":
        yield f"its encoding is {server.encoding}; values arrive as UTF-8"
    if not queried and server.large_objects:
        yield "it has large objects, whose content no log of changes has"
