"""Lakes in memory, and helpers to query them."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow

from analytics.queries import Queried
from local.look.json_lines import QUARANTINED
from local.look.lake import Lake
from local.query.query import LakeTable, Period, QueriedLake, ask
from local.query.silver import Silver


@dataclass(frozen=True, kw_only=True)
class KnownLake(Lake):
    """A table in memory, which records what is read of it."""

    rows_: pyarrow.Table
    read: list[list[str]] = field(default_factory=list)
    instants: list[str | None] = field(default_factory=list)

    def schema(self) -> pyarrow.Schema:
        return self.rows_.schema

    def exists(self) -> bool:
        return bool(self.rows_.num_rows)

    def stream(self, columns: list[str], batch_rows: int, *, as_of: str | None = None) -> Iterator[pyarrow.RecordBatch]:
        self.read.append(columns)
        self.instants.append(as_of)
        yield from self.rows_.select(columns).to_batches(max_chunksize=batch_rows)


def known_table(name: str, rows: pyarrow.Table, *, outbox: bool = False, **queried: Any) -> LakeTable:
    lake = KnownLake(base_uri="memory:", rows_=rows)
    return LakeTable(queried=Queried(table=name, outbox=outbox, **queried), lake=lake)


def lake_of(folder: Path, *tables: LakeTable, **more: Any) -> QueriedLake:
    """A lake of these tables, each with one event in quarantine."""
    silver = Silver(folder / "silver")
    return QueriedLake(database="datalake", tables=tables, silver=silver, **{"quarantine": set_aside, **more})


def set_aside(tables: Sequence[str]) -> Iterator[pyarrow.RecordBatch]:
    rows = [{"lake_table": table, "reason": "type: a (not int)", "text": "{}"} for table in tables]
    yield pyarrow.RecordBatch.from_pylist(rows, schema=QUARANTINED)


def rows(lake: QueriedLake, sql: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = ask(lake, sql, Period()).to_pylist()
    return found
