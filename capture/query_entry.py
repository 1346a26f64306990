"""The entry of one table or view that is queried: what is proposed, and what is said of it."""

import re
from collections.abc import Iterator

from capture.catalogue import Column, Table
from capture.entry import (
    Entry,
    is_secret,
    key_of,
    large_objects,
    left_out_of,
    may_be_personal,
    obstacle_of_key,
    renamed,
    types_of,
    unread,
)
from contract.table_names import lake_name
from plugins.captured import CapturedTable
from settings import query_rules

NAME_THE_KEY = 'name the columns that tell rows apart, by an entry of your own with how = "query" and key = […]'
_CHANGED = re.compile(r"(update|change|modif|edit)|(^|_)(mtime|touched)(_|$)")


def propose_query(table: Table, lake_table: str) -> Entry:
    """Propose how a table or view is queried."""
    key = key_of(table)
    leave_out = dict(left_out_of(table, key, generated=True))
    kept = [column for column in table.columns if column.name not in leave_out]
    return Entry(
        table=table,
        lake_table=lake_table,
        key=key,
        append_only=False,
        queried=True,
        leave_out=leave_out,
        may_leave_out=tuple(c.name for c in kept if c.name not in key and (may_be_personal(c) or is_secret(c))),
        types=tuple(types_of(kept, of_log=False)),
        losses=tuple(_losses_of_queries(table, key, kept)),
        change_columns=tuple(c.name for c in kept if _says_when_it_changed(c)),
        obstacle=_obstacle_to_queries(table, key, leave_out),
    )


def _obstacle_to_queries(table: Table, key: tuple[str, ...], leave_out: dict[str, str]) -> str | None:
    if not key and table.kind in ("table", "partitioned table"):
        return f"it has no primary key and no unique index without NULLs: {NAME_THE_KEY}"
    if not key:
        return f"a {table.kind} has no key: {NAME_THE_KEY}"
    if obstacle := obstacle_of_key(table, key, leave_out):
        return obstacle
    try:
        names = CapturedTable(schema=table.name.schema, table=table.name.name, key=key, leave_out=tuple(leave_out))
    except ValueError as error:
        return f"{error}: write an entry with a query in its place"
    return next((reason for _, reason in query_rules.unlisted(names)), None)


def _losses_of_queries(table: Table, key: tuple[str, ...], kept: list[Column]) -> Iterator[str]:
    """Say what whoever reads the lake has to know, or what the job needs."""
    if not table.primary_key:
        yield f"no primary key: known by the unique index over {', '.join(key)}, which mustn't be dropped"
    yield from renamed(kept)
    if table.has_children:
        yield "other tables inherit from it, and their rows are among its own: a key that two share stops the job"
    if table.row_security:
        yield "row security is on: the job stops rather than take rows that a policy hides for deleted ones"
    yield from unread(table, "the job's role must")
    yield from large_objects(table)


def _says_when_it_changed(column: Column) -> bool:
    return column.type.name in ("timestamp", "timestamptz") and bool(_CHANGED.search(lake_name(column.name)))
