"""Errors between the entries of a pipeline's file, or between them and the tables' Avro schemas.

Every rule yields `(key, reason)` for what it refuses. The reason is one line and says what to do instead.
"""

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from analytics.alike.parts import TranslationError
from contract import events
from contract.events import LSN, READ_MS, SOURCE_NAME, no_key
from contract.source import CONNECTOR_ROLE, PUBLICATION
from plugins.source import captured
from plugins.source.captured import CapturedTable
from settings.pipeline import QUERY_FIELDS, CapturedTableSettings, DerivedTableSettings, Pipeline

Problem = tuple[str, str]
# Glue's limit.
LONGEST_LAKE_NAME = 128
_NO_SALT = (
    "a queried table can't hash: the salt would have to go to the database or its values in clear to the job; leave"
    " the column out (leave_out), or capture the table by its log"
)


def broken(pipeline: Pipeline, folder: Path) -> Iterator[Problem]:
    """Yield what the rules refuse in this pipeline; `folder` is that of the pipelines, with the Avro schemas."""
    yield from _names(pipeline)
    yield from _derived(pipeline)
    for number, table in enumerate(pipeline.tables):
        where = f"tables[{number}]"
        yield from _rows(where, table)
        yield from _queried(where, table)
        yield from _columns(where, table)
        yield from _truncate(where, table)
        yield from _first_load(where, table)
        yield from _schema(where, pipeline, table, folder)


def _names(pipeline: Pipeline) -> Iterator[Problem]:
    by_lake_table: dict[str, str] = {}
    for number, table in enumerate(pipeline.tables):
        where, lake_table = f"tables[{number}].lake_table", pipeline.lake_table(table)
        other = by_lake_table.get(lake_table)
        by_lake_table.setdefault(lake_table, table.name)
        if other == table.name and table.is_queried:
            yield "tables", f"{table.name} is named twice: take one out, or give it another lake_table"
        elif other not in (None, table.name):
            yield where, f"{table.name} and {other} would both be {lake_table} in the lake: give one another name"
        if len(lake_table) > LONGEST_LAKE_NAME:
            yield where, f"{lake_table} is longer than {LONGEST_LAKE_NAME} characters: give a shorter one"
    try:
        of_log = [table.captured for table in pipeline.tables if not table.is_queried]
        captured.check_topics(of_log, pipeline.source.topic_prefix)
    except ValueError as error:
        key, _, reason = str(error).partition(": ")
        yield key, f"{reason}: take one out, or capture it by a pipeline of its own"
    made = {"publication": PUBLICATION, "role": CONNECTOR_ROLE} if pipeline.outbox is not None else {}
    for key, name in made.items():
        if getattr(pipeline.source, key) != name:
            yield f"source.{key}", f"the outbox is made with {name}, not {getattr(pipeline.source, key)}: set that"
    if pipeline.outbox is not None and len(pipeline.tables) > 1:
        yield "tables", f"{pipeline.outbox.name}: an outbox is its pipeline's only table: make a pipeline of the others"
    queried = [table.name for table in pipeline.tables if table.is_queried]
    if queried and not pipeline.is_queried:
        reason = "queried, and others are captured by the log or the outbox: make a pipeline of the queried ones"
        yield "tables", f"{', '.join(queried[:3])}: {reason}"


def _rows(where: str, table: CapturedTableSettings) -> Iterator[Problem]:
    if table.append_only and table.key:
        yield f"{where}.append_only", "every event is a row there, so no key decides: take key out, or append_only"
    if table.partition_by and not table.history and "buckets" in table.model_fields_set:
        yield f"{where}.buckets", "has no effect with partition_by, whose folders are the layout: take one out"
    if table.append_only and table.how == "outbox":
        yield f"{where}.append_only", "an outbox has a row per key: take append_only out"
    if not table.append_only and not table.key:
        yield (
            f"{where}.key",
            f"{table.name} has none: name the columns that identify a row, or set append_only = true, by which every "
            "event becomes a row of its own",
        )


def _truncate(where: str, table: CapturedTableSettings) -> Iterator[Problem]:
    """Require the log's order for a TRUNCATE: only its position places it among changes."""
    if table.captured.tells_of_truncate and not table.append_only and table.ordering != LSN:
        yield (
            f"{where}.truncate",
            f"{table.truncate!r} goes with the order of changes: take ordering = {table.ordering!r} out, or stop there",
        )


def _first_load(where: str, table: CapturedTableSettings) -> Iterator[Problem]:
    if table.first_load == "connector":
        return
    if table.how != "log":
        reason = 'only tables captured from the log (how = "log") have one: say first_load = "connector" for it'
        yield f"{where}.first_load", reason
    elif not table.append_only and table.ordering != LSN:
        yield (
            f"{where}.first_load",
            f"rows that the job reads itself go with the log's order: take ordering = {table.ordering!r} out, or say "
            'first_load = "connector" for it',
        )
    for name, reason in unlisted(table.captured):
        yield f"{where}.{name}", f'{reason}, or say first_load = "connector" for it'


def _columns(where: str, table: CapturedTableSettings) -> Iterator[Problem]:
    for column in table.key:
        if column in table.hash:
            yield f"{where}.hash", f"{column!r} is of the key, and nobody could look its row up: take it out"
    for column in table.partition_by:
        if column in (*table.hash, *table.leave_out):
            yield f"{where}.partition_by", f"{column!r} is hashed or left out: choose another column"


def _schema(where: str, pipeline: Pipeline, table: CapturedTableSettings, folder: Path) -> Iterator[Problem]:
    shown, describe = f"{folder.name}/{pipeline.schema_file(table)}", f"`./lake source describe {pipeline.name} --dsn …"
    path = folder / pipeline.schema_file(table)
    if not path.is_file():
        yield where, f"there is no {shown}: {describe} --update` writes it"
        return
    schema, fields = read_schema(path)
    if not schema:
        yield where, f"{shown} isn't an Avro schema of a record: remove it, and {describe} --update` writes it"
        return
    full_name = f"{schema.get('namespace')}.{schema.get('name')}"
    if table.how == "outbox" and full_name != table.name:
        yield where, f"{shown} describes {full_name}, but the outbox is {table.name}: run `./lake dev generate schema`"
    yield from _fields(where, table, fields, shown)


def read_schema(path: Path) -> tuple[dict[str, Any], dict[str, dict[str, Any]]]:
    """Return an Avro record, and its fields by the names of their columns; an empty one if the file has none."""
    try:
        schema = json.loads(path.read_text(encoding="utf-8"))
        fields = {each.get(SOURCE_NAME, each["name"]): each | {"type": each["type"]} for each in schema["fields"]}
    except (ValueError, AttributeError, LookupError, TypeError, RecursionError):
        return {}, {}
    return schema, fields


def _fields(
    where: str, table: CapturedTableSettings, fields: Mapping[str, Mapping[str, Any]], shown: str
) -> Iterator[Problem]:
    for name in ("key", "partition_by", "hash", "column"):
        given = getattr(table, name) or ()
        for column in (given,) if isinstance(given, str) else given:
            if column not in fields:
                yield f"{where}.{name}", f"{column!r} isn't a field of {shown}"
    yield from _types(where, table, {name: field["type"] for name, field in fields.items()})
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
            why = "isn't text, and only texts are hashed: leave it out (leave_out) in place of it"
            yield f"{where}.hash", f"{column!r} {why}"


def _is_text(avro_type: object) -> bool:
    """Tell whether the connector hashes a column of that type: text, and an enum's labels (db/source/catalogue.py)."""
    for branch in avro_type if isinstance(avro_type, list) else [avro_type]:
        named = branch.get("connect.name") if isinstance(branch, dict) else None
        if branch not in ("null", "string") and named != "io.debezium.data.Enum":
            return False
    return True


def _queried(where: str, table: CapturedTableSettings) -> Iterator[Problem]:
    if not table.is_queried:
        for name in QUERY_FIELDS:
            if name in table.model_fields_set:
                yield f"{where}.{name}", f'it is for how = "query", and how is {table.how!r}: take it out'
        return
    yield from _detection(where, table)
    yield from ((f"{where}.{name}", reason) for name, reason in unlisted(table.captured))
    if table.append_only:
        yield f"{where}.append_only", "rows that are queried are told by their key: name its columns (key)"
    if table.hash:
        yield f"{where}.hash", _NO_SALT
    if table.truncate != "stop":
        yield f"{where}.truncate", "no query sees a TRUNCATE: deletes_max_percent says how many rows may go at a time"
    if table.ordering != READ_MS:
        yield f"{where}.ordering", f"a column may go back: take it out, queried rows are ordered by {READ_MS}"


def unlisted(table: CapturedTable) -> Iterator[Problem]:
    """Yield names that the job can't take: it reads the columns to skip as a list."""
    for name, columns in (("leave_out", table.leave_out), ("hash", table.hashed)):
        for column in columns:
            if "," in column or column != column.strip():
                yield name, f"{column!r} can't stand in a list: give a query in the table's place"


def _detection(where: str, table: CapturedTableSettings) -> Iterator[Problem]:
    if table.detect == "column" and table.column is None:
        yield f"{where}.column", 'detect = "column" needs it: the timestamp of a row\'s last change'
    if table.column is not None and table.detect not in ("auto", "column"):
        yield f"{where}.column", f"detect = {table.detect!r} asks for no column: take one of them out"
    if table.column is not None and table.column in table.leave_out:
        yield f"{where}.column", f"{table.column!r} is left out: take it out there"
    if table.query is not None and table.detect not in ("auto", "hash"):
        yield f"{where}.detect", f'a query\'s rows have no {table.detect}: say "hash", or nothing'
    if table.query is not None and table.column is not None:
        yield f"{where}.column", "the rows of a query are found by their hashes: take it out"


def _derived(pipeline: Pipeline) -> Iterator[Problem]:
    """Allow a query only the captured tables, and the derived ones before its own."""
    there = [pipeline.lake_table(table) for table in pipeline.tables]
    for table in pipeline.with_history:
        where, own = f"tables[{pipeline.tables.index(table)}].history", pipeline.history_table(table)
        if not table.key:
            yield where, "an append-only table has each version itself: take history out"
        if own in there:
            yield where, f"{own} is another table in the lake: give that one another name"
        there.append(own)
    for number, derived in enumerate(pipeline.derived):
        where, own = f"derived[{number}]", pipeline.lake_table(derived)
        if own in there:
            yield f"{where}.name", f"{own} is another table in the lake: give one another name"
        yield from _query(where, derived, there)
        there.append(own)


def _query(where: str, table: DerivedTableSettings, there: list[str]) -> Iterator[Problem]:
    try:
        query = table.query
    except TranslationError as error:
        yield f"{where}.sql", str(error)
        return
    if not query.tables:
        yield f"{where}.sql", "it names no table"
    for name in query.tables:
        if name not in there:
            yield f"{where}.sql", f"there is no table {name} before it: there are {', '.join(there)}"
    if query.columns is None:
        return
    for name in table.key:
        if name not in query.columns:
            yield f"{where}.key", f"{name!r} isn't a column of the query: {', '.join(query.columns)}"
