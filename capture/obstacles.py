"""Why a table can't be captured."""

from collections.abc import Mapping

from contract.avro_names import no_key
from contract.column_types.carried import Carried
from contract.column_types.types import carried
from contract.table_names import clashes, lake_name
from db.source.catalogue import HAS_ROWS, Table
from plugins.source.captured import CapturedTable
from settings import query_rules

NAME_THE_KEY = 'name the columns that tell rows apart, by an entry of your own with how = "query" and key = […]'


def of_relation(table: Table, *, queried: bool) -> str | None:
    """Say why what a relation is keeps it from being captured, whatever its columns are."""
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
    """Say why a table's columns and key keep it from being captured."""
    if queried and not key:
        none = "it has no primary key and no unique index without NULLs"
        return f"{none if table.kind in HAS_ROWS else f'a {table.kind} has no key'}: {NAME_THE_KEY}"
    if said := _of_key(table, key, leave_out):
        return said
    return _of_queries(table, key, leave_out) if queried else _of_log(table, key, leave_out)


def _of_key(table: Table, key: tuple[str, ...], leave_out: Mapping[str, str]) -> str | None:
    """Say why rows of the lake couldn't be told apart by a key."""
    for column in map(table.column, key):
        if column.name in leave_out:
            return f"its key has {column.name}, which can't be captured ({leave_out[column.name]})"
        kind = carried(column.type, column.modifier)
        if isinstance(kind, Carried) and (reason := no_key(kind.avro)):
            return f"its key has {column.name}: {reason}"
    return None


def _of_queries(table: Table, key: tuple[str, ...], leave_out: Mapping[str, str]) -> str | None:
    try:
        names = CapturedTable(schema=table.name.schema, table=table.name.name, key=key, leave_out=tuple(leave_out))
    except ValueError as error:
        return f"{error}: write an entry with a query in its place"
    return next((reason for _, reason in query_rules.unlisted(names)), None)


def _of_log(table: Table, key: tuple[str, ...], leave_out: Mapping[str, str]) -> str | None:
    names = [lake_name(name) for name in key]
    if len(set(names)) < len(names):
        return f"columns of its key would have one name in the lake ({', '.join(key)}): rename one"
    if len(leave_out) == len(table.columns):
        return "none of its columns can be captured"
    # Debezium 3.7 tells columns apart without their case, those too that it leaves out: its connector would end.
    if alike := clashes([column.name for column in table.columns], str.lower):
        names = next(iter(alike.values()))
        return f"columns differ only by case ({', '.join(names)}), which Debezium can't take: rename one, or HOW=query"
    if wrong := [name for name in (*key, *leave_out) if any(sign in name for sign in ":;\n\r")]:
        return f"Debezium's lists can't name its column {wrong[0]!r}: rename it"
    return None
