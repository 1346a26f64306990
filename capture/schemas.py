"""The Avro schema of a table's events: its columns, named as in the lake, and the fields that capturing adds."""

import json
from collections.abc import Iterable, Mapping
from typing import Any

from contract import events
from contract.column_types.catalogue import Carried, LeftOut
from contract.column_types.types import avro_field, carried, specials_field
from contract.table_names import lake_name
from db.source.catalogue import Column, Table

_ENUM = "io.debezium.data.Enum"


def avro_schema(
    table: Table,
    *,
    pipeline: str,
    lake_table: str,
    key: Iterable[str],
    leave_out: Iterable[str],
    hashed: Iterable[str],
    queried: bool = False,
) -> dict[str, Any]:
    """Return the Avro record of a table's events.

    All but the key may be null: a delete has no other values, and a column's NOT NULL may be dropped. Columns that
    can't be carried are left out here even if the file doesn't say so: the caller reports them.
    """
    out, of_key = {*leave_out}, {*key}
    fields, special = [], False
    for column in table.columns:
        kind = carried(column.type, column.modifier)
        if column.name in out or isinstance(kind, LeftOut):
            continue
        special = special or (kind.special and column.name not in hashed)
        fields.append(_field(column, kind, nullable=column.name not in of_key, hashed=column.name in hashed))
    if special:
        fields.append(specials_field())
    added = events.QUERIED_TYPES if queried else events.ADDED_TYPES
    fields += [{"name": name, "type": ["null", kind], "default": None} for name, kind in added.items()]
    return {"type": "record", "name": lake_table, "namespace": pipeline, "fields": fields}


def schema_text(schema: Mapping[str, Any]) -> str:
    """Write a schema with one field per line, so that a diff shows a line per field."""
    head = [f"  {_json(key)}: {_json(value)},\n" for key, value in schema.items() if key != "fields"]
    fields = ",\n".join(f"    {_json(field)}" for field in schema["fields"])
    return "".join(["{\n", *head, f'  "fields": [\n{fields}\n  ]\n', "}\n"])


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)


def _field(column: Column, kind: Carried, *, nullable: bool, hashed: bool) -> dict[str, Any]:
    field = avro_field(lake_name(column.name), column.name, kind, nullable=nullable)
    if not hashed or not _is_hashed(kind):
        return field
    return field | {"type": ["null", "string"] if nullable else "string"}


def _is_hashed(kind: Carried) -> bool:
    """Tell whether a type travels as its own text: only such columns are hashed, so only they may be marked so."""
    return kind.avro == "string" or (isinstance(kind.avro, dict) and kind.avro.get("connect.name") == _ENUM)
