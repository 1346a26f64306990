"""PostgreSQL's values that change, are quarantined or stop the source: SQL to find them, and their effect.

docs/reference/types.md lists them per type; docs/decisions/0070 has the measurements. `{c}` is the column. The
conditions work with only pg_catalog on the search path.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from contract.column_types.carried import Carried
from contract.column_types.catalogue import ColumnType, without_domains
from contract.column_types.types import carried
from contract.events import PLACEHOLDER
from contract.special_values import SPECIALS_COLUMN

STOPS = "stops its table (on AWS the source)"
ASIDE = "set aside"


@dataclass(frozen=True, slots=True)
class OddValue:
    """`condition` is SQL that is true for such a value, `comes` names the value and its effect.

    `of_log`: only the log's events are affected, not queried rows. `stops`: the connector fails at it.
    """

    condition: str
    comes: str
    of_log: bool = False
    stops: bool = False


_FLAT = OddValue("array_ndims({c}) > 1", f"an array of several dimensions: {ASIDE}")
_NULLS = OddValue(
    "cardinality({c}) > 0 AND NOT EXISTS (SELECT FROM unnest({c}) AS e (v) WHERE v IS DISTINCT FROM NULL)",
    f"an array of nothing but NULLs: {ASIDE}",
)
_INFINITE = OddValue("NOT isfinite({c})", "infinite: kept as a number (contract/special_values.py)")
# The limit of microseconds in 64 bits.
_LATE = OddValue("isfinite({c}) AND {c} >= '294247-01-10 04:00:54+00'", f"after the year 294246: {ASIDE}")
_NOT_NUMBER = "{c}::text IN ('NaN', 'Infinity', '-Infinity')"
_BEFORE_INSIDE = "EXISTS (SELECT FROM unnest({{c}}) AS e (v) WHERE isfinite(v) AND v < '{}')"
_BC_IN_ARRAY = OddValue(
    _BEFORE_INSIDE.format("0001-01-01"), "a date or timestamp BC within an array: comes as one AD", of_log=True
)
# Java counts those days in the Julian calendar.
_OLD_IN_ARRAY = OddValue(
    _BEFORE_INSIDE.format("1582-10-15"),
    "a timestamp before 1582-10-15 within an array: comes days late or early",
    of_log=True,
)
_INSTANT = (_LATE, _INFINITE)
_OF_TYPE: Mapping[str, tuple[OddValue, ...]] = {
    "timestamp": _INSTANT,
    "timestamptz": _INSTANT,
    "date": (
        OddValue(
            "{c} BETWEEN '1582-10-05' AND '1582-10-14'",
            "of the ten days that Gregory left out: a snapshot has it 10 days late, changes have it right",
            of_log=True,
        ),
        _INFINITE,
    ),
    "interval": (
        OddValue("abs(extract(hour FROM {c})) > 2147483647", f"more than 2³¹ hours: {STOPS}", of_log=True, stops=True),
    ),
}
_OF_ELEMENTS = {"date": _BC_IN_ARRAY, "timestamp": _OLD_IN_ARRAY, "timestamptz": _BC_IN_ARRAY}
_TEXTS = ("text", "varchar", "bpchar", "citext", "json", "xml")
_PLACEHOLDER = OddValue(
    f"{{c}}::text = '{PLACEHOLDER}'",
    f"what Debezium writes for a value that didn't change: taken for that, {ASIDE} where there is no earlier one",
)
_EMPTY_KEY = OddValue("{c}::text = ''", f"an empty key: {ASIDE}")
_EMPTY_BYTES_KEY = OddValue("octet_length({c}) = 0", f"an empty key: {ASIDE}")


def odd_values(kind: ColumnType, modifier: int, *, key_columns: int, of_log: bool) -> Iterator[OddValue]:
    """Yield what to look for in a column of a type, part of a key of `key_columns` columns (0: of none)."""
    for odd in _all_of(kind, modifier, key_columns):
        if of_log or not odd.of_log:
            yield odd


def _all_of(kind: ColumnType, modifier: int, key_columns: int) -> Iterator[OddValue]:
    becomes = carried(kind, modifier)
    if not isinstance(becomes, Carried):
        return
    kind, _ = without_domains(kind, modifier)
    if kind.kind == "array":
        [(_, element, _)] = kind.parts
        yield from (_FLAT, _NULLS)
        yield from [_OF_ELEMENTS[element.name]] if element.name in _OF_ELEMENTS else []
        return
    yield from _OF_TYPE.get(kind.name, ())
    if kind.name in _TEXTS:
        yield _PLACEHOLDER
    if becomes.special:
        what = f"in a key: {ASIDE}" if key_columns else f"null, and its name in {SPECIALS_COLUMN}"
        yield OddValue(_NOT_NUMBER, f"no number: {what}")
    if key_columns == 1 and kind.name != "bpchar":
        yield _EMPTY_BYTES_KEY if kind.name == "bytea" else _EMPTY_KEY
