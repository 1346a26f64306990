"""The lake tables that the job maintains: kind, rows, last commit and state."""

from dataclasses import dataclass

from local.look.lake import Lake
from local.look.status import DataStatus, DerivedStatus, TableStatus, count_rows

CAPTURED, QUERIED = "captured", "queried"


@dataclass(frozen=True, kw_only=True)
class TableRow:
    """A table; None where unknown. `kind`: a word for the source of its rows.

    `last_commit`: its instant. `state`: as reported by the job of many tables.
    """

    table: str
    kind: str
    rows: int | None = None
    last_commit: str | None = None
    state: str | None = None


def kept_tables(data: DataStatus) -> tuple[TableRow, ...]:
    """Return the pipeline's tables in their order, then those derived from them."""
    kind = QUERIED if data.queried else CAPTURED
    return (
        *(_kept(table, kind) for table in data.tables),
        *(_kept(table, table.kind) for table in data.derived),
    )


def _kept(table: TableStatus | DerivedStatus, kind: str) -> TableRow:
    state = table.state.state if table.state else None
    return TableRow(table=table.name, kind=kind, rows=table.lake_rows, last_commit=table.last_commit, state=state)


class RowCounts:
    """Counts a table's rows, only when its last commit has changed."""

    def __init__(self) -> None:
        self._counted: dict[str, tuple[str, int | None]] = {}

    def __call__(self, lake: Lake, column: str) -> int | None:
        """Return the row count, using one of its columns; None before its first commit. Raises LakeError."""
        commit = lake.last_commit()
        if commit is None:
            return None
        known = self._counted.get(lake.base_uri)
        if known is None or known[0] != commit:
            # A commit that arrives meanwhile is included in the count, and counted again next time.
            known = self._counted[lake.base_uri] = commit, count_rows(lake, column)
        return known[1]

    def clear(self) -> None:
        self._counted.clear()
