"""Writes docs/reference/types.md from the table of types: `./lake dev generate types`; a test compares them."""

from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path

from contract.column_types.catalogue import Carried, ColumnType, LeftOut, numeric_modifier
from contract.column_types.types import ARRAY_NOTE, carried
from contract.events import PLACEHOLDER

PAGE = Path(__file__).resolve().parents[1] / "docs" / "reference" / "types.md"
_HEAD = f"""# PostgreSQL's types in the lake

`./lake dev generate types` writes this page from `contract/column_types/`.
[Decision 0070](../decisions/0070-types-and-column-changes.md) has the measurements. A domain becomes what its base type
becomes; a type that isn't listed becomes its text. The notes on wrong dates and on values that stop a table don't apply
to query-only tables.

- `*`: values over about 2 kB need `REPLICA IDENTITY FULL`. Without it the log omits those that an update left
  unchanged, Debezium can't mark them for this type, and it stops.
- A text equal to `{PLACEHOLDER}`, or an array of only that, counts as an unchanged large value.
- A key of only empty texts and bytea, or with `NaN` in a `numeric(10,2)`, goes to quarantine as "missing".

| PostgreSQL | Lake | In events | Notes |
|---|---|---|---|
"""
_ARRAYS = """
## Arrays

Arrays are `string` in the lake, {note}.

| PostgreSQL | Notes |
|---|---|
"""
_LEFT_OUT = """
## Left out

`./lake source describe` puts columns of these types into `leave_out`, because Debezium changes their values.

| PostgreSQL | Reason |
|---|---|
"""


_OF_ITS_OWN = {
    "composite types": ColumnType("composite", "public", "composite"),
    "enums": ColumnType("enum", "public", "enum"),
    "ranges of one's own": ColumnType("range", "public", "range"),
    "multiranges": ColumnType("int4multirange", kind="multirange"),
}
_NAMES = (
    *("smallint:int2", "integer:int4", "bigint:int8", "real:float4", "double precision:float8", "numeric", "money"),
    *("boolean:bool", "text", "varchar", "char:bpchar", '"char":char', "name", "bytea", "date", "time", "timetz"),
    *("timestamp", "timestamptz", "interval", "uuid", "json", "jsonb", "xml", "inet", "cidr", "macaddr", "macaddr8"),
    *("int4range", "int8range", "numrange", "tsrange", "tstzrange", "daterange", "tsvector", "tsquery", "jsonpath"),
    *("point", "line", "lseg", "box", "path", "polygon", "circle", "oid", "pg_lsn", "xid8", "varbit", "refcursor"),
    *("regclass", "int2vector"),
)
_EXTENSIONS = ("citext", "hstore", "ltree", "vector", "halfvec", "sparsevec", "geometry", "geography")


def _types() -> dict[str, tuple[ColumnType, int]]:
    """Return the page's rows: a type's name → the type and its modifier."""
    pairs = [(written, name or written) for written, _, name in (entry.partition(":") for entry in _NAMES)]
    base: dict[str, tuple[ColumnType, int]] = {written: (ColumnType(name), -1) for written, name in pairs}
    base["numeric(10,2)"] = (ColumnType("numeric"), numeric_modifier(10, 2))
    base["numeric(40,2)"] = (ColumnType("numeric"), numeric_modifier(40, 2))
    base["bit"] = (ColumnType("bit"), 1)
    base["bit(8)"] = (ColumnType("bit"), 8)
    base["time(3)"], base["timestamp(3)"] = (ColumnType("time"), 3), (ColumnType("timestamp"), 3)
    base |= {name: (ColumnType(name, "public"), -1) for name in _EXTENSIONS}
    base |= {name: (kind, -1) for name, kind in _OF_ITS_OWN.items()}
    ordered = dict(sorted(base.items(), key=lambda item: item[0].strip('"').lower()))
    no_arrays = ("refcursor", "regclass", "int2vector", "multiranges", "numeric(10,2)", "numeric(40,2)", "bit(8)")
    arrays: dict[str, tuple[ColumnType, int]] = {
        f"{written}[]": (ColumnType(f"_{kind.name}", kind.schema, "array", (("", kind, -1),)), modifier)
        for written, (kind, modifier) in ordered.items()
        if written not in no_arrays and written not in _OF_ITS_OWN
    }
    return ordered | arrays


def main() -> None:
    PAGE.write_text(page(), encoding="utf-8")


def page() -> str:
    plain: dict[str, list[str]] = defaultdict(list)
    arrays: dict[str, list[str]] = defaultdict(list)
    left_out: dict[str, list[str]] = defaultdict(list)
    for written, (kind, modifier) in _types().items():
        found = carried(kind, modifier)
        if isinstance(found, LeftOut):
            left_out[found.reason.partition(": ")[2] if kind.kind == "array" else found.reason].append(_code(written))
        elif kind.kind == "array":
            arrays[found.note_of_log].append(_starred(written, found))
        else:
            note = "; ".join(filter(None, (found.note, found.note_of_log)))
            plain[f"`{found.lake}` | {found.wire} | {note}"].append(_starred(written, found))
    text = _HEAD + _rows(plain.items()) + _ARRAYS.format(note=ARRAY_NOTE) + _rows(arrays.items())
    return text + _LEFT_OUT + _rows(left_out.items())


def _rows(grouped: Iterable[tuple[str, list[str]]]) -> str:
    return "".join(f"| {', '.join(types)} | {rest} |\n" for rest, types in grouped)


def _starred(written: str, found: Carried) -> str:
    return _code(written) + ("" if found.has_placeholder else "*")


def _code(written: str) -> str:
    return written if written in _OF_ITS_OWN else f"`{written}`"
