"""The lake's tables: how far each has come, its rows, its quarantine; what hasn't changed is read once."""

from dataclasses import dataclass

from local.look.lake import Lake
from local.platform.job import TableState, loading
from local.services.source_database import OutboxQueue, Slot
from local.state.quarantine import Quarantined

CAPTURED, QUERIED = "captured", "queried"


@dataclass(frozen=True, kw_only=True)
class TableStatus:
    """A table's progress; None where a service doesn't say. `kind`: a word for the source of its rows.

    `topic_end`, `sink_offset` and `read_to` are offsets: of the next event, and those at which sink and job resume.
    `last_commit`: its instant. `state`: as the job reports it. `ignored_truncate`: the lake still has rows that a
    TRUNCATE removed.
    """

    name: str
    kind: str = CAPTURED
    topic_end: int | None = None
    sink_offset: int | None = None
    lake_rows: int | None = None
    last_commit: str | None = None
    quarantined: Quarantined | None = None
    ignored_truncate: bool = False
    state: TableState | None = None
    read_to: int | None = None


@dataclass(frozen=True, kw_only=True)
class DataStatus:
    """Progress of the data; None where a service doesn't say. `outbox_rows` is also None without an outbox.

    `tables`: derived ones come last. `wal`: the end of the source's log. `catalogued` tables are in the catalog, whose
    newest commit is `synced`. `queried`: the tables are queried, so there are no slot, topics and landing.
    """

    tables: tuple[TableStatus, ...] = ()
    outbox_rows: int | None = None
    landing_objects: int | None = None
    outbox_queue: OutboxQueue | None = None
    slot: Slot | None = None
    wal: str | None = None
    catalogued: int | None = None
    synced: str | None = None
    queried: bool = False

    @property
    def captured(self) -> tuple[TableStatus, ...]:
        """The tables that have their rows from the source."""
        return tuple(table for table in self.tables if table.kind in (CAPTURED, QUERIED))

    @property
    def loads(self) -> list[str]:
        """A line for each table whose first rows are being read from the source."""
        return loading((table.name, table.state) for table in self.tables)


class RowCounts:
    """Counts a table's rows, only when its last commit has changed; until a count ends, the one before holds."""

    def __init__(self) -> None:
        self._counted: dict[str, tuple[str, int]] = {}
        self._counting: set[str] = set()

    def count(self, lake: Lake, column: str, commit: str) -> int | None:
        """Return the row count as of the newest commit, using one of its columns. Raises LakeError."""
        table = lake.base_uri
        known = self._counted.get(table)
        if (known is None or known[0] != commit) and table not in self._counting:
            self._counting.add(table)
            try:
                # A commit that arrives meanwhile is included in the count, and counted again next time.
                known = self._counted[table] = commit, lake.rows([column]).num_rows
            finally:
                self._counting.discard(table)
        return None if known is None else known[1]
