"""Formats a result: as a table to read, or as CSV, JSON lines or Parquet for another program."""

import json
import unicodedata
from collections.abc import Iterator
from itertools import islice
from typing import BinaryIO, Literal

import pyarrow
import pyarrow.compute as pc
from pyarrow import csv, parquet, types

from contract.errors import printable
from local.console import cut
from local.query.engine import QueryError

Format = Literal["table", "csv", "json", "parquet"]
# A cell of a table to read; a whole JSON document would hide the others.
WIDEST = 60
# The calendar repeats after this cycle.
_CYCLE_YEARS, _CYCLE_DAYS = 400, 146_097
_PER_DAY = {"s": 86_400, "ms": 86_400_000, "us": 86_400_000_000, "ns": 86_400_000_000_000}


def write(result: pyarrow.Table, form: Format, out: BinaryIO) -> None:
    """Write a result in UTF-8, or as Parquet. Instants are in UTC. Raises QueryError for what Parquet can't hold."""
    if form == "parquet":
        try:
            parquet.write_table(result, out)
        except pyarrow.ArrowNotImplementedError as error:
            raise QueryError(f"Parquet can't hold this result: {str(error).splitlines()[0]}") from error
        return
    if form == "csv":
        columns = [pyarrow.array(texts(column), pyarrow.string()) for column in result.columns]
        rows = pyarrow.table(columns, names=result.column_names)
        # As Athena writes its results: every value in quotes, nothing for null.
        csv.write_csv(rows, out, csv.WriteOptions(quoting_style="all_valid"))
        return
    lines = {"table": _table, "json": _json}[form](result)
    out.writelines(f"{line}\n".encode(errors="backslashreplace") for line in lines)


def texts(column: pyarrow.ChunkedArray) -> list[str | None]:
    """Return a column's values as texts, None for null; nested ones as JSON, bytes in hexadecimal."""
    kind = column.type
    if types.is_floating(kind) or types.is_decimal(kind) or types.is_interval(kind) or types.is_union(kind):
        spelled = "{:f}".format if types.is_decimal(kind) else str
        return [None if value is None else spelled(value) for value in column.to_pylist()]
    if types.is_nested(kind):
        return [text for chunk in column.chunks for text in _nested_texts(chunk)]
    if types.is_binary(kind) or types.is_large_binary(kind):
        return [None if value is None else value.hex() for value in column.to_pylist()]
    if types.is_date32(kind) or types.is_timestamp(kind):
        return _calendar_texts(column)
    found: list[str | None] = pc.cast(column, pyarrow.string()).to_pylist()
    return found


def _nested_texts(array: pyarrow.Array) -> Iterator[str | None]:
    """Format lists and structs as JSON, their elements as in a flat column; a map as a list of its entries."""
    kind = array.type
    if types.is_map(kind):
        array = array.cast(pyarrow.list_(pyarrow.struct({"key": kind.key_type, "value": kind.item_type})))
    if types.is_struct(kind):
        names = [json.dumps(field.name, ensure_ascii=False) for field in kind]
        columns = [_tokens(pyarrow.chunked_array([part])) for part in array.flatten()]
        rows = zip(*columns, strict=True) if columns else ((),) * len(array)
        found = ("{" + ", ".join(map(": ".join, zip(names, row, strict=True))) + "}" for row in rows)
    else:
        tokens = iter(_tokens(pyarrow.chunked_array([array.flatten()])))
        lengths = pc.fill_null(pc.list_value_length(array), 0).to_pylist()
        found = ("[" + ", ".join(islice(tokens, length)) + "]" for length in lengths)
    return (text if valid else None for text, valid in zip(found, array.is_valid().to_pylist(), strict=True))


def _calendar_texts(column: pyarrow.ChunkedArray) -> list[str | None]:
    """Return dates or instants as texts: pyarrow keeps a year in 16 bits, so each is moved to the cycle from 1970."""
    kind = column.type
    cycle = _CYCLE_DAYS * (1 if types.is_date32(kind) else _PER_DAY[kind.unit])
    numbers = column.cast(pyarrow.int32() if types.is_date32(kind) else pyarrow.int64()).to_pylist()
    in_cycle = pyarrow.array([None if number is None else number % cycle for number in numbers], pyarrow.int64())
    near = in_cycle.cast(pyarrow.int32()).cast(kind) if types.is_date32(kind) else in_cycle.cast(kind)
    return [
        None if number is None else f"{_year(int(text[:4]) + _CYCLE_YEARS * (number // cycle))}{text[4:]}"
        for number, text in zip(numbers, pc.cast(near, pyarrow.string()).to_pylist(), strict=True)
    ]


def _year(number: int) -> str:
    return f"{number:04d}" if number >= 0 else f"{number:05d}"


def _table(result: pyarrow.Table) -> Iterator[str]:
    columns = [[_cell(text) for text in texts(column)] for column in result.columns]
    names = [_cell(name) for name in result.column_names]
    widths = [max(map(_width, [name, *column])) for name, column in zip(names, columns, strict=True)]
    right = [_is_number(field.type) for field in result.schema]

    def line(cells: tuple[str, ...]) -> str:
        padded = map(_padded, cells, widths, right)
        return " | ".join(padded).rstrip()

    yield line(tuple(names))
    yield "-+-".join("-" * width for width in widths)
    yield from map(line, zip(*columns, strict=True))
    yield f"({result.num_rows:,} row{'' if result.num_rows == 1 else 's'})"


def _cell(text: str | None) -> str:
    return "NULL" if text is None else cut(printable(text), WIDEST)


def _width(text: str) -> int:
    return sum(2 if unicodedata.east_asian_width(sign) in "WF" else 1 for sign in text)


def _padded(text: str, width: int, right: bool) -> str:
    space = " " * (width - _width(text))
    return space + text if right else text + space


def _json(result: pyarrow.Table) -> Iterator[str]:
    """One object a line; numbers with all their digits."""
    names = [json.dumps(name) for name in result.column_names]
    for row in zip(*map(_tokens, result.columns), strict=True):
        yield "{" + ", ".join(f"{name}: {token}" for name, token in zip(names, row, strict=True)) + "}"


def _tokens(column: pyarrow.ChunkedArray) -> list[str]:
    kind = column.type
    finite = {"nan", "inf", "-inf"}.isdisjoint
    bare = types.is_boolean(kind) or types.is_nested(kind) or _is_number(kind)
    return [
        "null" if text is None else text if bare and finite([text]) else json.dumps(text, ensure_ascii=False)
        for text in texts(column)
    ]


def _is_number(kind: pyarrow.DataType) -> bool:
    return bool(types.is_floating(kind) or types.is_integer(kind) or types.is_decimal(kind))
