"""What is wrong between the entries of a pipeline's file, or between them and the tables' Avro schemas.

Every rule yields `(key, reason)` for what it refuses. The reason is one line and says what to do instead.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from contract import events
from contract.avro_names import SOURCE_NAME, no_key
from contract.events import LSN, READ_MS
from plugins.source import captured
from settings import derived_rules, query_rules
from settings.pipeline import CapturedTableSettings, Pipeline

Problem = tuple[str, str]
# What is longer isn't taken by Glue.
LONGEST_LAKE_NAME = 128


def broken(pipeline: Pipeline, folder: Path) -> Iterator[Problem]:
    """Yield what the rules refuse in this pipeline; `folder` is that of the pipelines, with the Avro schemas."""
    yield from _names(pipeline)
    yield from query_rules.together(pipeline)
    yield from derived_rules.broken(pipeline)
    for number, table in enumerate(pipeline.tables):
        where = f"tables[{number}]"
        yield from _rows(where, table)
        yield from query_rules.broken(where, table)
        yield from _columns(where, table)
        yield from _truncate(where, table)
        yield from _schema(where, pipeline, table, folder)


def _names(pipeline: Pipeline) -> Iterator[Problem]:
    """No two tables share a name, in the lake or as a topic."""
    by_lake_table: dict[str, str] = {}
    for number, table in enumerate(pipeline.tables):
        where, lake_table = f"tables[{number}].lake_table", pipeline.lake_table(table)
        other = by_lake_table.setdefault(lake_table, table.name)
        if other != table.name:
            yield where, f"{table.name} and {other} would both be {lake_table} in the lake: give one another name"
        if len(lake_table) > LONGEST_LAKE_NAME:
            yield where, f"{lake_table} is longer than {LONGEST_LAKE_NAME} characters: give a shorter one"
    try:
        captured.check_topics([table.captured for table in pipeline.tables], pipeline.source.topic_prefix)
    except ValueError as error:
        key, _, reason = str(error).partition(": ")
        yield key, f"{reason}: take one out, or capture it by a pipeline of its own"
    outboxes = [table.name for table in pipeline.tables if table.how == "outbox"]
    if len(outboxes) > 1:
        yield "tables", f"{', '.join(outboxes)}: a database has one outbox"


def _rows(where: str, table: CapturedTableSettings) -> Iterator[Problem]:
    """A row is known by its key, or every event is a row."""
    if table.append_only and table.key:
        yield f"{where}.append_only", "every event is a row there, so no key decides: take key out, or append_only"
    if table.append_only and table.how == "outbox":
        yield f"{where}.append_only", "an outbox has a row per key: take append_only out"
    if not table.append_only and not table.key:
        yield (
            f"{where}.key",
            f"{table.name} has none: name the columns that identify a row, or set append_only = true, by which every "
            "event becomes a row of its own",
        )


def _truncate(where: str, table: CapturedTableSettings) -> Iterator[Problem]:
    """A TRUNCATE has a place among changes by the log's position alone."""
    if table.captured.tells_of_truncate and not table.append_only and table.ordering != LSN:
        yield (
            f"{where}.truncate",
            f"{table.truncate!r} goes with the order of changes: take ordering = {table.ordering!r} out, or stop there",
        )


def _columns(where: str, table: CapturedTableSettings) -> Iterator[Problem]:
    """What identifies a row or places it is there, and is what the source has."""
    for name in ("key", "partition_by", "leave_out", "hash"):
        given: Sequence[str] = getattr(table, name)
        for twice in sorted({column for column in given if given.count(column) > 1}):
            yield f"{where}.{name}", f"{twice!r} is given twice"
    for column in table.key:
        if column in table.hash:
            yield f"{where}.hash", f"{column!r} is of the key, and nobody could look its row up: take it out"
    for column in table.partition_by:
        if column in (*table.hash, *table.leave_out):
            yield f"{where}.partition_by", f"{column!r} is hashed or left out: choose another column"


def _schema(where: str, pipeline: Pipeline, table: CapturedTableSettings, folder: Path) -> Iterator[Problem]:
    """The Avro schema has every column that is spoken of, and none that is left out."""
    shown = f"{folder.name}/{pipeline.schema_file(table)}"
    path = folder / pipeline.schema_file(table)
    if not path.is_file():
        yield f"{where}", f"there is no {shown}: `./lake source describe {pipeline.name}` writes it"
        return
    try:
        schema = json.loads(path.read_text(encoding="utf-8"))
        fields = {field.get(SOURCE_NAME, field["name"]): field for field in schema["fields"]}
        full_name = f"{schema.get('namespace')}.{schema.get('name')}"
    except (ValueError, AttributeError, LookupError, TypeError, UnicodeDecodeError):
        yield (
            f"{where}",
            f"{shown} isn't an Avro schema of a record: `./lake source describe {pipeline.name}` writes it",
        )
        return
    if table.how == "outbox" and full_name != table.name:
        yield (
            f"{where}",
            f"{shown} describes {full_name}, but the outbox is {table.name}: run `./lake dev generate schema`",
        )
    yield from _fields(where, table, fields, shown)


def _fields(
    where: str, table: CapturedTableSettings, fields: Mapping[str, Mapping[str, Any]], shown: str
) -> Iterator[Problem]:
    """What is said of columns goes with their fields."""
    for name in ("key", "partition_by", "hash"):
        for column in getattr(table, name):
            if column not in fields:
                yield f"{where}.{name}", f"{column!r} isn't a field of {shown}"
    yield from _types(where, table, {name: field.get("type") for name, field in fields.items()})
    if table.ordering not in fields:
        order = READ_MS if table.is_queried else LSN
        yield f"{where}.ordering", f"{table.ordering!r} isn't a field of {shown}: set {order}, the order of changes"
    for column in table.leave_out:
        if column in fields and column not in {**events.ADDED_TYPES, **events.QUERIED_TYPES}:
            yield (
                f"{where}.leave_out",
                f"{column!r} is a field of {shown}, and no event will have it: take it out there",
            )


def _types(where: str, table: CapturedTableSettings, types: Mapping[str, object]) -> Iterator[Problem]:
    for column in table.key:
        if reason := no_key(types.get(column)):
            yield f"{where}.key", f"{column!r} tells no rows apart, {reason}: name another unique column"
    for column in table.hash:
        if column in types and not _is_text(types[column]):
            yield (
                f"{where}.hash",
                f"{column!r} isn't text, and Debezium would send it in clear: leave it out (leave_out) in place of it",
            )


def _is_text(avro_type: object) -> bool:
    """Tell whether Debezium hashes a column of that type: text, and an enum's labels (db/source/catalogue.py)."""
    for branch in avro_type if isinstance(avro_type, list) else [avro_type]:
        named = branch.get("connect.name") if isinstance(branch, dict) else None
        if branch not in ("null", "string") and named != "io.debezium.data.Enum":
            return False
    return True
