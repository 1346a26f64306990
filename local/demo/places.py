"""The walk-through of `make demo-query`: the rental shop's places, by queries alone, and the join of them."""

import contextlib
import time
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import psycopg2

from local.comparison.command import REPORT
from local.comparison.compare import Limits, TableComparison
from local.comparison.platform_arrivals import arrivals_of
from local.comparison.platform_tables import compared_tables
from local.comparison.report import write
from local.comparison.run import compare_tables
from local.demo.arrival import POLL_S, NotArrivedError, Row, Seen, Watch
from local.demo.beside import Beside, print_polled
from local.demo.change import Reached
from local.demo.display import Display, print_tables
from local.demo.place_changes import CHANGES
from local.demo.summary import Proof
from local.demo.walk import WalkThrough
from local.look.quarantine import count_quarantined
from local.platform.platform import Platform
from local.platform.services import PlatformOptions
from local.platform.tables import LocalTable

PIPELINE = "pagilaquery"
# What asks the database.
SOURCE = "JdbcSource"


@dataclass(frozen=True, kw_only=True)
class PlacesProof(Proof):
    """What is counted of all tables together, and each table's figures. `captured_by`: what has asked the database.

    `beside`: which JDBC connector has polled it, too, and what it has sent; None where none was given.
    """

    captured_by: str
    tables: tuple[Mapping[str, Any], ...]
    beside: Mapping[str, Any] | None = None

    @property
    def equal(self) -> bool:
        """True when each table was compared and is equal, and nothing was quarantined."""
        return super().equal and all(table["equal"] for table in self.tables)

    @property
    def counted(self) -> str:
        """The rows, and what has asked for them."""
        return f"{self.source_rows:,} rows of {len(self.tables)} tables by {self.captured_by}"


class PlacesWatch(Watch):
    """The two places where a change is looked at: the source database, by the table or the query, and the lake."""

    def __init__(self, platform: Platform, loaded: float) -> None:
        self.parameters = platform.endpoints.source
        self._platform = platform
        self._loaded = loaded

    def initial_load(self, *, timeout_s: float, on_count: Callable[[str], None]) -> tuple[int, float]:
        """Wait until each table is in the lake as it is in the source; the seconds are those since it was loaded.

        Those that the job makes of them have to be there, too: what it does for them is no part of the first change.
        """
        deadline = time.monotonic() + timeout_s
        services = self._platform.services
        of = sum(self._count(table) for table in services.tables)
        while (rows := sum(_lake_count(table) for table in services.tables)) != of:
            on_count(f"{rows:,} of {of:,} rows in the lake")
            _pause(f"initial load: {rows} of {of} rows", deadline, timeout_s)
        seconds = time.monotonic() - self._loaded
        while absent := [table.lake_name for table in services.derived if not table.lake.exists()]:
            _pause(f"initial load: no {', '.join(absent)}", deadline, timeout_s)
        different = [one.table for one in _compare(self._platform) if not one.equal]
        if different:
            raise NotArrivedError(f"initial load: {', '.join(different)} isn't in the lake as it is in the source")
        return rows, seconds

    def arrives(self, reached: Reached, keys: list[int]) -> Callable[[], bool]:
        """Return the question whether the lake has these rows, in all their columns, or has them no more."""
        table = self._table(reached)
        rows = {key: self._source_row(table, key) for key in keys}

        def arrived() -> bool:
            there = _lake_rows(table, keys)
            return all(_same(row, there.get(key)) for key, row in rows.items())

        return arrived

    def seen(self, reached: Reached, keys: list[int]) -> Seen:
        """Return what the source and the lake have of these rows."""
        table, first = self._table(reached), keys[0]
        lake = _lake_rows(table, [first]).get(first)
        return Seen(reached=reached, keys=keys, source=self._source_row(table, first), lake=lake)

    def _table(self, reached: Reached) -> LocalTable:
        [table] = self._platform.services.chosen([reached.what])
        return table

    def _source_row(self, table: LocalTable, key: int) -> Row | None:
        [name] = table.entry.key
        return self.source_row(f"SELECT * FROM {_rows_of(table)} WHERE {name} = %s", key)

    def _count(self, table: LocalTable) -> int:
        connection = psycopg2.connect(**self.parameters)
        with contextlib.closing(connection), connection, connection.cursor() as cursor:
            cursor.execute(f"SELECT count(*) FROM {_rows_of(table)}")
            (rows,) = cursor.fetchone() or (0,)
            return int(rows)


def _pause(what: str, deadline: float, timeout_s: float) -> None:
    """Wait for another look. Raises NotArrivedError when the time is over."""
    if time.monotonic() > deadline:
        raise NotArrivedError(f"{what} after {timeout_s:.0f} s")
    time.sleep(POLL_S)


def _rows_of(table: LocalTable) -> str:
    """Write where the source has the rows: the pipeline is ours, so its names need no quotes."""
    entry = table.entry
    return f"({entry.query}) AS rows" if entry.query is not None else f"{entry.schema_name}.{entry.table_name}"


def _lake_count(table: LocalTable) -> int:
    return table.lake.rows(list(table.entry.key)).num_rows if table.lake.exists() else 0


def _lake_rows(table: LocalTable, keys: list[int]) -> dict[int, Row]:
    [name] = table.entry.key
    rows: list[dict[str, Any]] = table.lake.rows().to_pylist()
    return {row[name]: row for row in rows if row[name] in keys}


def _same(source: Row | None, lake: Row | None) -> bool:
    if source is None or lake is None:
        return source is lake
    return all(name in lake and lake[name] == value for name, value in source.items())


def _compare(platform: Platform) -> list[TableComparison]:
    compared, arrivals = compared_tables(platform), arrivals_of(platform)
    return list(compare_tables(platform.endpoints.source, compared, Limits(), arrivals=arrivals))


def prove(platform: Platform, display: Display) -> PlacesProof:
    """Reconcile all tables, and count what the job has put aside."""
    with display.step("reconcile") as step:
        found = _compare(platform)
        step.note("equal" if all(one.equal for one in found) else "NOT EQUAL")
    write(platform.state_dir / REPORT, platform.services.pipeline.name, found)
    print_tables(display.console, found)
    client = platform.services.s3.client()
    return PlacesProof(
        source_rows=sum(one.source_rows for one in found),
        lake_rows=sum(one.lake_rows for one in found),
        missing=sum(one.missing for one in found),
        extra=sum(one.extra for one in found),
        different=sum(one.different + one.late for one in found),
        quarantined=sum(count_quarantined(client, table.lake_name) for table in platform.services.tables),
        captured_by=SOURCE,
        tables=tuple(_figures(one) for one in found),
    )


def _figures(one: TableComparison) -> dict[str, Any]:
    kept = ("table", "source_rows", "lake_rows", "missing", "extra", "different", "late")
    return {name: value for name, value in asdict(one).items() if name in kept} | {"equal": one.equal}


def prove_beside(beside: Beside, platform: Platform, display: Display) -> PlacesProof:
    """Do what `prove` does, and look at what a JDBC connector has sent."""
    proof = prove(platform, display)
    with display.step("what the JDBC connector has sent") as step:
        found = beside.sent(platform)
        step.note(f"{sum(one.records for one in found):,} records")
    print_polled(display.console, beside.called, found)
    return replace(proof, beside={"connector": beside.called, "topics": [asdict(one) for one in found]})


PLACES_DEMO = WalkThrough(
    name="demo-query",
    options=PlatformOptions(pipeline=PIPELINE),
    changes=CHANGES,
    watch=PlacesWatch,
    prove=prove,
)


def places_demo(*, dump: Path | None = None, release: Path | None = None) -> WalkThrough:
    """Return the walk-through on a dump's rows, or generated ones; beside it, if given, a JDBC connector."""
    walk = replace(PLACES_DEMO, options=replace(PLACES_DEMO.options, dump=dump))
    if release is None:
        return walk
    beside = Beside(release)
    return replace(walk, also=beside.start, prove=partial(prove_beside, beside))
