"""Selects the tables that a pipeline can capture, and explains why it can't capture the others."""

from collections.abc import Collection, Container, Mapping
from fnmatch import fnmatchcase

from contract.column_types.catalogue import Carried
from contract.column_types.types import carried
from contract.errors import UserError
from contract.events import no_key
from contract.source import HEARTBEAT, SCHEMA, SIGNAL
from contract.table_names import clashes, lake_name, table_topic, topic_identity
from db.source.catalogue import HAS_ROWS, Database, Table, TableName
from plugins.source.captured import CapturedTable
from settings.pipeline_rules import unlisted

_OUTBOX_TABLES = ("cdc_*", "outbox_*", "current_order_*")


def meant(text: str, tables: Collection[TableName]) -> set[TableName]:
    """Return the tables that `--tables` names: shell patterns, comma-separated, with `!` before those to leave out.

    A pattern without a dot is a table's name in any schema, one with a dot is `schema.table`. Without patterns: all.
    Raises UserError for a pattern that matches no table: it is misspelt, or the database is another.
    """
    found, left_out = set[TableName](), set[TableName]()
    patterns = [part.strip() for part in text.split(",") if part.strip()]
    for part in patterns:
        pattern = part.removeprefix("!")
        matched = {name for name in tables if fnmatchcase(str(name) if "." in pattern else name.name, pattern)}
        if not matched:
            raise UserError(f"--tables: no table matches {part!r}")
        (found if part == pattern else left_out).update(matched)
    return (found if any(not part.startswith("!") for part in patterns) else {*tables}) - left_out


def select(
    database: Database, patterns: str, topic_prefix: str | None, *, first: Container[TableName] = ()
) -> tuple[list[Table], list[tuple[Table, str]]]:
    """Return the tables to capture, and the others that match, with the reason; ours and the outbox's are passed over.

    If two clash, one of `first` is chosen, or the first by its name. Without a topic prefix they are queried, which
    works for any relation with columns. Raises UserError for wrong patterns.
    """
    theirs = [table for table in database.tables if not _is_ours(table.name)]
    wanted = meant(patterns, [table.name for table in theirs])
    chosen: list[Table] = []
    refused: list[tuple[Table, str]] = []
    topics: dict[str, TableName] = {}
    for table in sorted(theirs, key=lambda table: table.name not in first):
        if table.name not in wanted:
            continue
        reason = _of_relation(table, queried=topic_prefix is None)
        if topic_prefix is not None and table.name not in first:
            reason = reason or table.refuses_later
        if topic_prefix is not None and not reason:
            reason = _topic_clash(table, topic_prefix, topics)
        if reason:
            refused.append((table, reason))
        else:
            chosen.append(table)
    return chosen, refused


def _is_ours(name: TableName) -> bool:
    """Tell whether a table is a pipeline's own (contract/source.py), or part of the outbox's mechanism (db/sql)."""
    if name.schema == SCHEMA:
        return any(fnmatchcase(name.name, pattern) for pattern in _OUTBOX_TABLES)
    return name.schema.startswith("cdc_") and name.name in (HEARTBEAT, SIGNAL)


def _topic_clash(table: Table, prefix: str, topics: dict[str, TableName]) -> str | None:
    topic = table_topic(prefix, table.name.schema, table.name.name)
    other = topics.setdefault(topic_identity(topic), table.name)
    if other == table.name:
        return None
    return f"its topic would be {topic}, which Kafka doesn't tell from that of {other}: capture it by another pipeline"


NAME_THE_KEY = 'name the columns that tell rows apart, by an entry of your own with how = "query" and key = […]'


def _of_relation(table: Table, *, queried: bool) -> str | None:
    """Return why this kind of relation can't be captured, whatever its columns."""
    if not queried and table.unpublished:
        return table.unpublished
    if not table.columns:
        return "it has no columns"
    try:
        CapturedTable(schema=table.name.schema, table=table.name.name)
    except ValueError:
        # A queried table's clash is reported with its columns' names.
        return None if queried else "its name can't stand in Debezium's lists: rename it"
    return None


def obstacle(table: Table, key: tuple[str, ...], leave_out: Mapping[str, str], *, queried: bool) -> str | None:
    """Return why a table's columns and key make it impossible to capture."""
    if queried and not key:
        none = "it has no primary key and no unique index without NULLs"
        return f"{none if table.kind in HAS_ROWS else f'a {table.kind} has no key'}: {NAME_THE_KEY}"
    if said := _of_key(table, key, leave_out):
        return said
    if not queried:
        return _of_log(table, key, leave_out)
    try:
        names = CapturedTable(schema=table.name.schema, table=table.name.name, key=key, leave_out=tuple(leave_out))
    except ValueError as error:
        return f"{error}: write an entry with a query in its place"
    return next((reason for _, reason in unlisted(names)), None)


def _of_key(table: Table, key: tuple[str, ...], leave_out: Mapping[str, str]) -> str | None:
    """Return why no key could tell the lake's rows apart."""
    for column in map(table.column, key):
        if column.name in leave_out:
            return f"its key has {column.name}, which can't be captured ({leave_out[column.name]})"
        kind = carried(column.type, column.modifier)
        if isinstance(kind, Carried) and (reason := no_key(kind.avro)):
            return f"its key has {column.name}: {reason}"
    return None


def _of_log(table: Table, key: tuple[str, ...], leave_out: Mapping[str, str]) -> str | None:
    names = [lake_name(name) for name in key]
    if len(set(names)) < len(names):
        return f"columns of its key would have one name in the lake ({', '.join(key)}): rename one"
    if len(leave_out) == len(table.columns):
        return "none of its columns can be captured"
    # Debezium 3.7 ignores case in column names, also of those left out: its connector would fail.
    if alike := clashes([column.name for column in table.columns], str.lower):
        names = next(iter(alike.values()))
        return (
            f"columns differ only by case ({', '.join(names)}), which Debezium can't take: rename one, or --how query"
        )
    if wrong := [name for name in (*key, *leave_out) if any(sign in name for sign in ":;\n\r")]:
        return f"Debezium's lists can't name its column {wrong[0]!r}: rename it"
    return None
