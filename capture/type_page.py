"""Writes docs/types.md from the table of types: `python -m capture.type_page`. A test holds the page true."""

from dataclasses import dataclass, field
from pathlib import Path

from contract.column_types.carried import Carried, CatalogueType, LeftOut
from contract.column_types.types import carried
from contract.events import PLACEHOLDER

PAGE = Path(__file__).resolve().parents[1] / "docs" / "types.md"
HEAD = f"""# PostgreSQL's types in the lake

Written by `python -m capture.type_page` from `contract/column_types/`; [decision
0070](decisions/0070-types-and-column-changes.md) says what was measured, and why it is so. A domain is what it is made
of; a type that isn't listed is its text. Tables that are queried have the same types; no value of theirs stops the
source, and no date comes wrong. A text that is
`{PLACEHOLDER}` itself, or an array of that alone, is taken for a large value that didn't change. A key
of nothing but empty texts and bytea, or with `NaN` in a `numeric(10,2)`, goes to quarantine as "missing".

"Full" in the last column: `REPLICA IDENTITY FULL` is needed where values may be large (2 kB). Without it the log lacks
those that an update left as they were, and Debezium can't say so for this type: it stops.

| PostgreSQL | Lake | In events | Notes | |
|---|---|---|---|---|
"""
LEFT_OUT = """
## Left out

Columns of these types aren't captured (`leave_out` in the pipeline's file): what Debezium makes of them isn't what
they were.

| PostgreSQL | Why |
|---|---|
"""


@dataclass(frozen=True)
class _Type:
    """A type of the catalogue, by what the table of types asks."""

    name: str
    schema: str = "pg_catalog"
    kind: str = "base"
    parts: tuple[tuple[str, CatalogueType, int], ...] = field(default=())


_OF_ITS_OWN = {
    "composite types": _Type("composite", "public", "composite"),
    "enums": _Type("enum", "public", "enum"),
    "ranges of one's own": _Type("range", "public", "range"),
    "multiranges": _Type("int4multirange", kind="multirange"),
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


def _numeric(precision: int, scale: int) -> int:
    return (precision << 16 | scale & 0x7FF) + 4


def _types() -> dict[str, tuple[CatalogueType, int]]:
    """Return the page's rows: how a type is written → the type and its modifier."""
    pairs = [(written, name or written) for written, _, name in (entry.partition(":") for entry in _NAMES)]
    base: dict[str, tuple[CatalogueType, int]] = {written: (_Type(name), -1) for written, name in pairs}
    base["numeric(10,2)"] = (_Type("numeric"), _numeric(10, 2))
    base["numeric(40,2)"] = (_Type("numeric"), _numeric(40, 2))
    base["bit"] = (_Type("bit"), 1)
    base["bit(8)"] = (_Type("bit"), 8)
    base["time(3)"], base["timestamp(3)"] = (_Type("time"), 3), (_Type("timestamp"), 3)
    base |= {name: (_Type(name, "public"), -1) for name in _EXTENSIONS}
    base |= {name: (kind, -1) for name, kind in _OF_ITS_OWN.items()}
    ordered = dict(sorted(base.items(), key=lambda item: item[0].strip('"').lower()))
    no_arrays = ("refcursor", "regclass", "int2vector", "multiranges", "numeric(10,2)", "numeric(40,2)", "bit(8)")
    arrays: dict[str, tuple[CatalogueType, int]] = {
        f"{written}[]": (_Type(f"_{kind.name}", kind.schema, "array", (("", kind, -1),)), modifier)
        for written, (kind, modifier) in ordered.items()
        if written not in no_arrays and written not in _OF_ITS_OWN
    }
    return ordered | arrays


def page() -> str:
    """Return the page's text."""
    taken, left_out = [], []
    for written, (kind, modifier) in _types().items():
        found = carried(kind, modifier)
        if isinstance(found, LeftOut):
            left_out.append(f"| {_code(written)} | {found.reason} |")
        else:
            taken.append(_row(written, found))
    return HEAD + "\n".join(taken) + "\n" + LEFT_OUT + "\n".join(left_out) + "\n"


def _row(written: str, found: Carried) -> str:
    full = "" if found.has_placeholder else "full"
    note = "; ".join(filter(None, (found.note, found.note_of_log)))
    return f"| {_code(written)} | `{found.lake}` | {found.wire} | {note} | {full} |"


def _code(written: str) -> str:
    return written if written in _OF_ITS_OWN else f"`{written}`"


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
