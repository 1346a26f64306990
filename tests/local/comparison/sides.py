"""Both sides of a comparison for tests: a real PostgreSQL, and an Arrow table instead of a Hudi table.

Real Hudi tables, which Spark has to write, are read in tests/spark_jobs; here DuckDB gets the same batches.
"""

import itertools
import json
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Any

import pyarrow
import pytest

from contract.column_types.catalogue import Carried, ColumnType
from contract.column_types.types import carried
from contract.events import SOURCE_NAME
from local.comparison.compare import WAIT_BETWEEN_LOOKS_S, Arrivals, TableComparison, comparing, step
from local.comparison.describe import Compared
from local.comparison.rows import ComparedColumn, ComparedTable
from local.comparison.run import Sides, compare_tables
from local.comparison.source import SourceLook
from local.look.lake import Lake
from local.services.postgres import ConnectionParameters
from settings.pipeline import CapturedTableSettings
from tests.conftest import execute

_numbers = itertools.count(1)


@dataclass(frozen=True, kw_only=True)
class ArrowLake(Lake):
    """Returns rows as hudi-rs does; replacing `now` lets the lake progress, one entry per pass."""

    now: list[pyarrow.Table] = field(default_factory=list)
    base_uri: str = "memory://lake"

    def schema(self) -> pyarrow.Schema:
        return self.now[0].schema

    def stream(self, columns: list[str], batch_rows: int, *, as_of: str | None = None) -> Iterator[pyarrow.RecordBatch]:
        assert as_of is None
        table = self.now.pop(0) if len(self.now) > 1 else self.now[0]
        yield from table.select(columns).to_batches(batch_rows)

    def exists(self) -> bool:
        return True

    def last_commit(self) -> str | None:
        """Each read is of another commit."""
        return None


def column(name: str, type_: str = "text", **more: Any) -> ComparedColumn:
    spelled = carried(ColumnType(type_))
    assert isinstance(spelled, Carried)
    return ComparedColumn(name=name, lake_name=name, spelled=spelled, any_sign=spelled.lake == "string", **more)


def compared(
    name: str, columns: Mapping[str, str] | list[ComparedColumn], *now: pyarrow.Table, **more: Any
) -> ComparedTable:
    made = columns if isinstance(columns, list) else [column(*pair) for pair in columns.items()]
    return ComparedTable(
        schema="public", name=name, lake=ArrowLake(now=list(now)), columns=tuple(made), **{"key": ("id",), **more}
    )


def entry(
    lake: Lake,
    folder: Path,
    *,
    fields: Mapping[str, str] = MappingProxyType({}),
    arrivals: Arrivals | None = None,
    **more: Any,
) -> Compared:
    """A table of a pipeline whose Avro schema has these fields: the lake's name and the source's."""
    schema_file = folder / "table.avsc"
    schema_file.write_text(json.dumps({"fields": [{"name": name, SOURCE_NAME: fields[name]} for name in fields]}))
    values = {"how": "log", "key": ["id"], "truncate": "stop", **more}
    made = CapturedTableSettings.model_validate(values)
    return Compared(entry=made, schema_file=schema_file, lake=lake, arrivals=arrivals)


def login(database: ConnectionParameters, right: str) -> ConnectionParameters:
    """A role of its own with one right alone, such as `SELECT ON t`.

    It stays until the session's server ends: to drop what it has could deadlock with an autovacuum's ANALYZE.
    """
    role = f"half_{next(_numbers)}"
    execute(database, f"CREATE ROLE {role} LOGIN PASSWORD 'h'; GRANT {right} TO {role}")
    return {**database, "user": role, "password": "h"}


def differences(comparison: TableComparison) -> dict[str, set[tuple[Any, ...]]]:
    """The shown differences by kind: key values, then columns."""
    found: dict[str, set[tuple[Any, ...]]] = {}
    for one in comparison.shown:
        found.setdefault(one.kind, set()).add((*one.key.values(), *one.columns))
    return found


def before_each_pass(monkeypatch: pytest.MonkeyPatch, act: Callable[[], object]) -> None:
    """Act before each pass over the source begins."""
    original = SourceLook.__init__

    def begin(self: SourceLook, *given: Any) -> None:
        act()
        original(self, *given)

    monkeypatch.setattr(SourceLook, "__init__", begin)


def compare_entry(database: Mapping[str, Any], wanted: Compared, *, salt: str = "", **more: Any) -> TableComparison:
    [found] = compare_tables(Sides(database, [wanted], salt=salt), timeout_s=0, **more)
    return found


def compare(database: Mapping[str, Any], table: ComparedTable, *, timeout_s: float = 0, **more: Any) -> TableComparison:
    comparison = comparing(database, table, timeout_s=timeout_s, **more)
    while (found := step(comparison)) is None:
        time.sleep(WAIT_BETWEEN_LOOKS_S)
    return found
