"""Implements `./lake reconcile`: compares a platform's source with its lake and repairs differences.

With `--deep`, first recomputes each row of the outbox from the source's tables: comparing the outbox with the lake
can't find a stale outbox row.
"""

# ruff: noqa: S608  # all names are our own schema's

import contextlib
import time
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Any, cast

from rich.console import Console

from contract.source import SCHEMA
from db.connecting import connect
from db.rewriting import KEY, OUTBOX
from local.comparison.command import REPORT, print_comparison, put, reconcile_tables
from local.comparison.compare import SHOWN_ROWS, WAIT_BETWEEN_LOOKS_S, Difference, Repair, TableComparison
from local.comparison.describe import Compared
from local.comparison.platform_sides import platform_sides
from local.comparison.repair import repair_of_outbox, repair_of_queried
from local.comparison.run import Repairs, compare_tables
from local.errors import PlatformError
from local.platform.pipeline import QueriedPipeline
from local.platform.platform import Platform
from local.platform.startup import SUPERVISOR
from local.problem import Problem
from local.resnapshot.command import NEEDED, channel_of, resnapshot_platform
from local.resnapshot.run import Wanted
from local.state.collect import Collector
from local.state.services import require_answers

# What the outbox should contain (db/sql/03_outbox.sql): all of the outbox's columns except the write time.
RECOMPUTED = f"{SCHEMA}.current_order_events"


def compare_outbox(parameters: Any, *, timeout_s: float) -> TableComparison:
    """Compare the tables with the outbox; repeat for the differences until none are left or `timeout_s` has passed.

    In the result, `source` are the tables' orders and `lake` the outbox's rows. An edit embedded in many orders reaches
    the outbox some time after its commit, so only a difference that stays counts. Raises psycopg2.Error, LoadError, and
    PlatformError when there is no outbox.
    """
    started = time.monotonic()
    first, keys = _look(parameters, None)
    found = first
    while not found.equal and time.monotonic() < started + timeout_s:
        time.sleep(WAIT_BETWEEN_LOOKS_S)
        found, keys = _look(parameters, keys)
    counts = {name: getattr(first, name) for name in ("position", "source_rows", "lake_rows")}
    return replace(found, **counts, seconds=time.monotonic() - started)


def _look(parameters: Any, keys: list[int] | None) -> tuple[TableComparison, list[int]]:
    """Compare all orders, or those of `keys`; the counts are of all. Also return the differing keys."""
    with contextlib.closing(connect(parameters)) as connection:
        connection.set_session(isolation_level="REPEATABLE READ", readonly=True)
        with connection, connection.cursor() as cursor:
            columns = _columns(cursor)
            cursor.execute(
                "SELECT pg_current_wal_insert_lsn()::text,"
                f" (SELECT count(*) FROM {SCHEMA}.orders), (SELECT count(*) FROM {OUTBOX})"
            )
            [(position, orders, rows)] = cursor.fetchall()
            cursor.execute(_differences(columns), {"keys": keys})
            found = cursor.fetchall()
    of_kind = {kind: [one for one in found if one[1] == kind] for kind in ("missing", "extra", "different")}
    shown = (
        Difference(key={KEY: str(key)}, kind=kind, columns=tuple(names or ()))
        for some in of_kind.values()
        for key, kind, names in some[:SHOWN_ROWS]
    )
    comparison = TableComparison(
        table="tables and outbox",
        position=position,
        columns=len(columns) + 1,
        source_rows=orders,
        lake_rows=rows,
        shown=tuple(shown),
        missing=len(of_kind["missing"]),
        extra=len(of_kind["extra"]),
        different=len(of_kind["different"]),
    )
    return comparison, [key for key, _, _ in found]


def _columns(cursor: Any) -> list[str]:
    cursor.execute(
        "SELECT attname FROM pg_attribute WHERE attrelid = to_regclass(%s) AND attnum > 0 AND attname <> %s"
        " ORDER BY attnum",
        (RECOMPUTED, KEY),
    )
    if names := [name for (name,) in cursor.fetchall()]:
        return names
    raise PlatformError(f"--deep is for the orders' outbox, and the source has no view {RECOMPUTED}: leave it out")


def _differences(columns: list[str]) -> str:
    changed = ", ".join(f"CASE WHEN v.{name} IS DISTINCT FROM e.{name} THEN '{name}' END" for name in columns)
    chosen = f"WHERE %(keys)s::int[] IS NULL OR {KEY} = ANY (%(keys)s::int[])"
    return (
        f"SELECT * FROM (SELECT {KEY}, CASE WHEN e.{KEY} IS NULL THEN 'missing' WHEN v.{KEY} IS NULL THEN 'extra'"
        f" ELSE 'different' END AS kind, CASE WHEN e.{KEY} = v.{KEY} THEN array_remove(ARRAY[{changed}], NULL) END AS"
        f" names FROM (SELECT * FROM {RECOMPUTED} {chosen}) AS v FULL JOIN (SELECT * FROM {OUTBOX} {chosen}) AS e"
        f" USING ({KEY})) AS d WHERE kind <> 'different' OR cardinality(names) > 0 ORDER BY 1"
    )


def reconcile(
    console: Console, platform: Platform, *, tables: Sequence[str], repair: bool, deep: bool, timeout_s: float
) -> bool:
    """Compare every row and column of the source with the lake, print the result, and return whether they are equal.

    `deep`: compare the source's tables with the outbox first. Raises PlatformError, LoadError and SettingsFileError.
    """
    _refuse_to_wait_in_vain(platform)
    before = [compare_outbox(platform.source, timeout_s=timeout_s)] if deep else []
    for outbox in before:
        print_comparison(console, outbox, there="in the outbox")
        if not outbox.equal:
            console.print(f"the outbox is stale: CALL {SCHEMA}.usp_init_order_events() brings it up to date")
    equal = reconcile_platform(console, platform, tables=tables, repair=repair, timeout_s=timeout_s, before=before)
    if not equal:
        problems = [*Collector(platform).look().problems]
        if platform.pid("job") is None and "job" not in platform.expected():
            problems.append(Problem(part="job", what="wasn't started", remedy="`./lake up` starts it"))
        for problem in problems:
            put(console, str(problem), style="red")
    return equal and all(outbox.equal for outbox in before)


def _refuse_to_wait_in_vain(platform: Platform) -> None:
    """Raise PlatformError when a side is down or hangs, or a table is missing and nothing running would create it."""
    require_answers(platform, "postgres", "s3")
    comes_back = "job" in platform.expected() and platform.pid(SUPERVISOR) is not None
    if platform.pid("job") is None and not comes_back and not platform.lake.exists():
        raise PlatformError(f"{platform.lake.base_uri} has no commit, and the job doesn't run: `./lake up` starts it")


def reconcile_platform(
    console: Console,
    platform: Platform,
    *,
    tables: Sequence[str] = (),
    repair: bool,
    timeout_s: float,
    before: Sequence[TableComparison] = (),
) -> bool:
    """Compare all tables or these; tell whether all are equal. Raises PlatformError, LoadError, SettingsFileError.

    `before`: what was compared already, for the report.
    """
    pipeline = platform.services.pipeline
    if repair:
        # Without these services nothing can be queried and nothing arrives.
        platform.require(*(("postgres", "job") if pipeline.is_queried else NEEDED))
    return reconcile_tables(
        console,
        platform_sides(platform, tables),
        timeout_s=timeout_s,
        pipeline=pipeline.name,
        report=platform.state_dir / REPORT,
        repairs=_repairs(console, platform, timeout_s) if repair else None,
        aside=platform.pipeline.tables_aside(),
        derived=() if tables else pipeline.lake_tables[len(pipeline.tables) :],
        before=before,
    )


def compare_platform(platform: Platform, *, timeout_s: float = 60.0) -> list[TableComparison]:
    return list(compare_tables(platform_sides(platform), timeout_s=timeout_s))


def _repairs(console: Console, platform: Platform, timeout_s: float) -> Repairs:
    source, say = platform.source, partial(put, console)
    if platform.services.pipeline.is_queried:

        def read_all() -> None:
            # Keeps the supervisor from starting the job as well.
            with platform.lock.held():
                cast(QueriedPipeline, platform.pipeline).read_again()

        return lambda _wanted: repair_of_queried(read_all, say)
    channel = channel_of(platform, timeout_s=Wanted.timeout_s, say=say)

    def resnapshot(where: str) -> None:
        resnapshot_platform(platform, Wanted(where=where, timeout_s=max(timeout_s, 1)), lambda _line: None)

    def repair(wanted: Compared) -> Repair:
        if wanted.entry.how == "outbox":
            return repair_of_outbox(source, wanted, resnapshot, say)
        return channel.repair(wanted)

    return repair
