"""A pipeline's file and its Avro schemas on disk: read, compared with the database, added to.

Existing content is never rewritten: entries are added at the end of the file, columns to an entry's `leave_out`, fields
to schemas that lack them. Files are written only once everything is valid: each atomically, the schemas before the file
that names them.
"""

import contextlib
import json
import re
import shutil
import tempfile
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from capture.entry import Entry, left_out_of
from capture.pipeline_text import entry_text, pipeline_text, with_left_out
from contract import events
from contract.column_types.catalogue import Carried, LeftOut
from contract.column_types.types import avro_field, carried, specials_field
from contract.events import SOURCE_NAME
from contract.table_names import lake_name
from db.connecting import LoadError
from db.source.catalogue import Column, Database, Table, TableName
from settings import load
from settings.pipeline import CapturedTableSettings, Pipeline
from settings.pipeline_rules import read_schema

_NAME = re.compile(r"[a-z][a-z0-9]{0,19}\Z")


def check_name(name: str) -> str:
    """Return a valid pipeline name. Raises LoadError."""
    if not _NAME.match(name):
        raise LoadError(f"the name {name}: a small letter first, then up to 19 small letters and digits")
    return name


def read(name: str, folder: Path) -> Pipeline | None:
    """Read the parts of the file about the database; its schemas may be missing. None if there is no file.

    Raises SettingsFileError.
    """
    path = folder / f"{name}.toml"
    if not path.is_file():
        return None
    return load.check(Pipeline, load.read(folder, name, "pipeline"), f"{folder.name}/{path.name}", lambda _: ())


@contextlib.contextmanager
def staged(name: str, folder: Path) -> Iterator[Path]:
    """Yield a folder with a copy of a pipeline's files; the block's changes are written if it ends without an error.

    Raises LoadError.
    """
    with tempfile.TemporaryDirectory() as temporary:
        stage = Path(temporary) / folder.name
        (stage / name).mkdir(parents=True)
        for path in _files(name, folder):
            shutil.copyfile(path, stage / path.relative_to(folder))
        yield stage
        for path in _files(name, stage):
            content, target = path.read_bytes(), folder / path.relative_to(stage)
            if not target.is_file() or target.read_bytes() != content:
                _replace(target, content)


def _files(name: str, folder: Path) -> list[Path]:
    return [path for path in (*sorted((folder / name).glob("*.avsc")), folder / f"{name}.toml") if path.is_file()]


@dataclass(frozen=True, kw_only=True)
class Changes:
    """Differences between a database and a pipeline's files.

    `entries`: tables to add. `left_out`: columns of the file's tables that can't be captured and aren't left out yet,
    with the reason. `schemas`: whole schemas to write, by their file's name below the folder of pipelines. `said`:
    decisions for the user, a line each.
    """

    entries: tuple[Entry, ...] = ()
    left_out: Mapping[TableName, Mapping[str, str]] = field(default_factory=dict)
    schemas: Mapping[str, dict[str, Any]] = field(default_factory=dict)
    said: tuple[str, ...] = ()

    @property
    def tables(self) -> tuple[TableName, ...]:
        """The tables to add."""
        return tuple(entry.table.name for entry in self.entries)


def tables_of(pipeline: Pipeline) -> dict[TableName, CapturedTableSettings]:
    """Return the file's tables by their names."""
    return {TableName(table.schema_name, table.table_name): table for table in pipeline.tables}


def compare(pipeline: Pipeline, database: Database, entries: tuple[Entry, ...], folder: Path) -> Changes:
    """Compare a file with the database; `entries` are proposals for tables missing from the file."""
    known = tables_of(pipeline)
    there = {table.name: table for table in database.tables}
    left_out: dict[TableName, dict[str, str]] = {}
    schemas: dict[str, dict[str, Any]] = {}
    said: list[str] = []
    for name, settings in known.items():
        if name not in there:
            said.append(f"{name} is in the file, but not in the database, or in a schema that --schema leaves out")
            continue
        file = folder / pipeline.schema_file(settings)
        lost = _not_captured(settings, there[name])
        settings = settings.model_copy(update={"leave_out": (*settings.leave_out, *lost)})
        changed, lines, fields = _compare_schema(avro_schema(pipeline.name, settings, there[name]), file)
        # A field of the schema can't be left out, too: its column has a line of its own.
        if others := {column: why for column, why in lost.items() if column not in fields}:
            left_out[name] = others
        said += [f"{name}: {line}" for line in lines]
        if changed:
            schemas[pipeline.schema_file(settings)] = changed
    return Changes(entries=entries, left_out=left_out, schemas=schemas, said=tuple(said))


def _not_captured(settings: CapturedTableSettings, table: Table) -> dict[str, str]:
    """Return the columns that a new entry would leave out and this one doesn't yet, each with the reason."""
    if settings.how == "outbox" or settings.query is not None:
        return {}
    columns = tuple(column for column in table.columns if column.name not in settings.leave_out)
    found = left_out_of(replace(table, columns=columns), settings.key, generated=settings.is_queried)
    return {name: reason for name, reason in found if name not in (*settings.key, *settings.hash)}


def _compare_schema(wanted: dict[str, Any], path: Path) -> tuple[dict[str, Any] | None, list[str], Collection[str]]:
    """Return the schema with its missing fields, None if none are missing; other differences; the columns it has."""
    if not path.is_file():
        return wanted, [], ()
    present, fields = read_schema(path)
    if not present:
        return None, [f"{path.name} isn't an Avro schema: remove it, and run this again"], ()
    new = {field.get(SOURCE_NAME, field["name"]): field for field in wanted["fields"]}
    said = [
        f"{path.name} says {json.dumps(fields[column]['type'])} of {column}, the database"
        f" {json.dumps(new[column]['type'])}"
        for column in fields
        if column in new and _value_type(fields[column]) != _value_type(new[column])
    ]
    said += [
        f"{path.name} has {column}, the database hasn't (or it is left out): its values stay, new ones are null"
        for column in fields
        if column not in new
    ]
    lacking = [field for column, field in new.items() if column not in fields]
    if not lacking:
        return None, said, fields
    # Fields added by capturing stay at the end.
    ordered = sorted((*present["fields"], *lacking), key=lambda field: str(field["name"]).startswith("__"))
    return present | {"fields": ordered}, said, fields


def _value_type(avro_field: Mapping[str, Any]) -> Any:
    """Return the type without null: a file may be stricter about null than we are."""
    kind = avro_field["type"]
    branches = [branch for branch in kind if branch != "null"] if isinstance(kind, list) else [kind]
    return branches[0] if len(branches) == 1 else branches


def write_new(
    name: str, database: str, entries: tuple[Entry, ...], refused: tuple[tuple[Table, str], ...], stage: Path
) -> None:
    """Write a new pipeline into a stage."""
    _write_schemas(name, entries, stage)
    (stage / f"{name}.toml").write_text(pipeline_text(name, database, entries, refused), encoding="utf-8")


def _write_schemas(name: str, entries: tuple[Entry, ...], stage: Path) -> None:
    for entry in entries:
        text = schema_text(avro_schema(name, entry, entry.table))
        (stage / name / f"{entry.lake_table}.avsc").write_text(text, encoding="utf-8")


def add(name: str, changes: Changes, folder: Path) -> None:
    """Add what a stage's files lack. Raises LoadError."""
    path = folder / f"{name}.toml"
    before = path.read_text(encoding="utf-8")
    text = _with_left_out(name, before, changes, folder)
    for file, schema in changes.schemas.items():
        (folder / file).write_text(schema_text(schema), encoding="utf-8")
    _write_schemas(name, changes.entries, folder)
    if changes.entries:
        text += "" if text.endswith("\n") else "\n"
        text += "".join(f"\n{entry_text(entry)}" for entry in changes.entries)
    if text != before:
        path.write_text(text, encoding="utf-8")


def _with_left_out(name: str, text: str, changes: Changes, folder: Path) -> str:
    known = read(name, folder)
    tables = list(tables_of(known)) if known else []
    for table, columns in changes.left_out.items():
        made = with_left_out(text, tables.index(table), columns)
        if made is None:
            raise LoadError(
                f"pipelines/{name}.toml: put {', '.join(columns)} into leave_out of {table} yourself, the file isn't"
                " written as `./lake source describe` would; nothing was changed"
            )
        text = made
    return text


def _replace(path: Path, content: bytes) -> None:
    """Replace a file atomically: a reader sees the old one or the new one."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=path.parent, prefix=".") as folder:
            made = Path(folder, path.name)
            made.write_bytes(content)
            made.replace(path)
    except OSError as error:
        raise LoadError(f"cannot write {path.parent.name}/{path.name}: {error.strerror}") from error


_ENUM = "io.debezium.data.Enum"


def avro_schema(pipeline: str, settings: CapturedTableSettings | Entry, table: Table) -> dict[str, Any]:
    """Return the Avro record of a table's events.

    All but the key may be null: a delete has no other values, and a column's NOT NULL may be dropped. Columns that
    can't be carried are left out here even if the file doesn't say so: the caller reports them.
    """
    out, of_key, hashed = {*settings.leave_out}, {*settings.key}, {*settings.hash}
    fields, special = [], False
    for column in table.columns:
        kind = carried(column.type, column.modifier)
        if column.name in out or isinstance(kind, LeftOut):
            continue
        special = special or (kind.special and column.name not in hashed)
        fields.append(_field(column, kind, nullable=column.name not in of_key, hashed=column.name in hashed))
    if special:
        fields.append(specials_field())
    added = events.QUERIED_TYPES if settings.is_queried else events.ADDED_TYPES
    fields += [{"name": name, "type": ["null", kind], "default": None} for name, kind in added.items()]
    return {"type": "record", "name": settings.lake_table, "namespace": pipeline, "fields": fields}


def schema_text(schema: Mapping[str, Any]) -> str:
    """Write a schema with one field per line, so that a diff shows a line per field."""
    head = [f"  {_json(key)}: {_json(value)},\n" for key, value in schema.items() if key != "fields"]
    fields = ",\n".join(f"    {_json(field)}" for field in schema["fields"])
    return "".join(["{\n", *head, f'  "fields": [\n{fields}\n  ]\n', "}\n"])


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)


def _field(column: Column, kind: Carried, *, nullable: bool, hashed: bool) -> dict[str, Any]:
    field = avro_field(lake_name(column.name), column.name, kind, nullable=nullable)
    # Debezium hashes only what travels as its own text.
    is_text = kind.avro == "string" or (isinstance(kind.avro, dict) and kind.avro.get("connect.name") == _ENUM)
    if hashed and is_text:
        return field | {"type": ["null", "string"] if nullable else "string"}
    return field
