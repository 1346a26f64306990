"""What `./lake reconcile` does: compares a platform's source with its lake, and says what may explain a difference."""

from collections.abc import Sequence

from rich.console import Console

from contract.source import SCHEMA
from local.comparison.command import REPORT
from local.comparison.compare import TableComparison
from local.comparison.platform_tables import reconcile_platform
from local.comparison.report import write
from local.demo.display import print_comparison
from local.errors import PlatformError
from local.look import by_spark
from local.look.deep import compare_outbox
from local.look.reconcile import RECONCILE_TIMEOUT_S, Comparison
from local.look.reconcile import reconcile as compare_source_and_lake
from local.look.status import read_status, silent_services
from local.platform.order import SUPERVISOR
from local.platform.platform import Platform

# What is asked for the two sides.
NEEDED = ("postgres", "s3")


def reconcile(
    console: Console,
    platform: Platform,
    *,
    tables: Sequence[str] = (),
    repair: bool = False,
    deep: bool = False,
    chunks: bool = False,
    timeout_s: float = RECONCILE_TIMEOUT_S,
) -> bool:
    """Compare every row and column of the source with the lake, print what was found, and tell whether they are equal.

    `deep`: the source's tables with the outbox first. `chunks`: by chunks, as tables of any size are. Raises
    PlatformError.
    """
    source = platform.endpoints.source
    equal = True
    _refuse_to_wait_in_vain(platform)
    if deep:
        outbox = compare_outbox(source, timeout_s=timeout_s)
        print_comparison(console, outbox, title="tables and outbox", sides=("orders", "outbox rows"))
        equal = outbox.equal
        if not equal:
            console.print(f"the outbox is stale: CALL {SCHEMA}.usp_init_order_events() brings it up to date")
    if tables or repair or chunks or platform.services.pipeline.outbox is None:
        return reconcile_platform(console, platform, tables=tables, repair=repair, timeout_s=timeout_s) and equal
    comparison = compare_source_and_lake(source, platform.lake, timeout_s=timeout_s)
    _report(platform, comparison)
    kind = platform.services.pipeline.tables[0].table_type
    by_another = by_spark.difference(platform.lake, kind) if comparison.equal else None
    print_comparison(console, comparison)
    for problem in [by_another] if by_another else [] if comparison.equal else _reasons(platform):
        console.print(problem, style="red", highlight=False, markup=False, soft_wrap=True)
    return equal and comparison.equal and not by_another


def _report(platform: Platform, found: Comparison) -> None:
    """Write the result where every comparison of a platform's tables is written."""
    pipeline = platform.services.pipeline
    table = TableComparison(
        table=pipeline.tables[0].name,
        position=found.lsn,
        columns=found.columns,
        source_rows=found.source_rows,
        lake_rows=found.lake_rows,
        missing=len(found.missing),
        extra=len(found.extra),
        different=len(found.different),
    )
    write(platform.state_dir / REPORT, pipeline.name, [table])


def _refuse_to_wait_in_vain(platform: Platform) -> None:
    """Raise PlatformError when a side is away or hangs, or there is no table yet and nobody who would make one."""
    platform.require(*NEEDED)
    if silent := silent_services(platform, set(NEEDED)):
        logs = ", ".join(str(platform.processes.log_file(name)) for name in sorted(silent))
        raise PlatformError(f"{', '.join(sorted(silent))} can't answer, stopped by a signal or hanging: see {logs}")
    if platform.pid("job") is None and not _comes_back(platform) and not platform.lake.exists():
        raise PlatformError(f"{platform.lake.base_uri} has no commit, and the job doesn't run: `./lake up` starts it")


def _reasons(platform: Platform) -> list[str]:
    """Say what is wrong with the platform that may explain a difference."""
    problems = read_status(platform).problems
    if platform.pid("job") is None and "job" not in platform.expected():
        problems.append("the job doesn't run, so nothing reaches the lake: `./lake up` starts it")
    return problems


def _comes_back(platform: Platform) -> bool:
    """Whether the supervisor starts the job again."""
    return "job" in platform.expected() and platform.pid(SUPERVISOR) is not None
