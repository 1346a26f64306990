"""Implements `./lake reconcile`: compares a platform's source with its lake and repairs differences."""

from collections.abc import Callable, Sequence

from rich.console import Console

from contract.source import SCHEMA
from local.comparison.command import REPORT, reconcile_tables
from local.comparison.compare import TIMEOUT_S, Limits, Repair, TableComparison
from local.comparison.describe import Compared
from local.comparison.outbox import compare_outbox
from local.comparison.platform_sides import platform_sides
from local.comparison.repair import OutboxRepair, repair_of, repairs_of_queried
from local.comparison.report import print_comparison
from local.comparison.run import Repairs, compare_tables
from local.comparison.table import ComparedTable
from local.errors import PlatformError
from local.look.status import read_status, require_answers
from local.platform.pipeline import QueriedPipeline
from local.platform.platform import Platform
from local.platform.startup import SUPERVISOR
from local.resnapshot.command import NEEDED, resnapshot_platform
from local.resnapshot.deletes import EventWriter
from local.resnapshot.pipelines import repairs as log_repairs
from local.resnapshot.run import Wanted
from local.services.kafka_rights import SOURCE


def reconcile(
    console: Console,
    platform: Platform,
    *,
    tables: Sequence[str] = (),
    repair: bool = False,
    deep: bool = False,
    timeout_s: float = TIMEOUT_S,
) -> bool:
    """Compare every row and column of the source with the lake, print the result, and return whether they are equal.

    `deep`: compare the source's tables with the outbox first. Raises PlatformError, LoadError and SettingsFileError.
    """
    _refuse_to_wait_in_vain(platform)
    right = True
    if deep:
        outbox = compare_outbox(platform.source, timeout_s=timeout_s)
        print_comparison(console, outbox, there="in the outbox")
        if not (right := outbox.equal):
            console.print(f"the outbox is stale: CALL {SCHEMA}.usp_init_order_events() brings it up to date")
    equal = reconcile_platform(console, platform, tables=tables, repair=repair, timeout_s=timeout_s)
    for problem in [] if equal else _reasons(platform):
        console.print(problem, style="red", highlight=False, markup=False, soft_wrap=True)
    return equal and right


def _refuse_to_wait_in_vain(platform: Platform) -> None:
    """Raise PlatformError when a side is down or hangs, or a table is missing and nothing running would create it."""
    require_answers(platform, "postgres", "s3")
    if platform.pid("job") is None and not _comes_back(platform) and not platform.lake.exists():
        raise PlatformError(f"{platform.lake.base_uri} has no commit, and the job doesn't run: `./lake up` starts it")


def _reasons(platform: Platform) -> list[str]:
    problems = read_status(platform).problems
    if platform.pid("job") is None and "job" not in platform.expected():
        problems.append("the job doesn't run, so nothing reaches the lake: `./lake up` starts it")
    return problems


def _comes_back(platform: Platform) -> bool:
    return "job" in platform.expected() and platform.pid(SUPERVISOR) is not None


def reconcile_platform(
    console: Console, platform: Platform, *, tables: Sequence[str] = (), repair: bool, timeout_s: float
) -> bool:
    """Compare the pipeline's tables, or those of these names; tell whether they are equal in the end.

    Raises PlatformError, LoadError and SettingsFileError, each with one line.
    """
    pipeline = platform.services.pipeline
    if repair:
        # Without these services nothing can be queried and nothing arrives.
        platform.require(*(("postgres", "job") if pipeline.is_queried else NEEDED))
    for derived in () if tables else platform.services.derived:
        console.print(
            f"{derived.lake_name} is derived from the lake's tables, not from the source's: see docs/aws/analysts.md",
            highlight=False,
            markup=False,
            soft_wrap=True,
        )
    return reconcile_tables(
        console,
        platform_sides(platform, tables),
        Limits(timeout_s=timeout_s),
        pipeline=pipeline.name,
        report=platform.state_dir / REPORT,
        repairs=_repairs(console, platform, timeout_s) if repair else None,
        aside=platform.pipeline.tables_aside(),
    )


def compare_platform(platform: Platform, *, timeout_s: float = TIMEOUT_S) -> list[TableComparison]:
    return list(compare_tables(platform_sides(platform), Limits(timeout_s=timeout_s)))


def _repairs(console: Console, platform: Platform, timeout_s: float) -> Repairs:
    """Return the repair for each table, by capture mode."""
    services, source = platform.services, platform.source

    def say(line: str) -> None:
        console.print(line, highlight=False, markup=False, soft_wrap=True)

    if services.pipeline.is_queried:
        return repairs_of_queried(lambda: _read_anew(platform), say)
    ask_the_connector = log_repairs(
        source,
        services.pipeline,
        platform.pipeline.connectors.source_connector(),
        EventWriter(services.kafka.client(SOURCE)),
        timeout_s=Wanted.timeout_s,
        say=say,
    )

    def repairs(wanted: Compared, compared: ComparedTable) -> Repair:
        if wanted.entry.how != "outbox":
            return ask_the_connector(wanted, compared)
        [key] = wanted.entry.key
        return repair_of(source, compared, OutboxRepair(key, _resnapshot(platform, timeout_s)), say)

    return repairs


def _read_anew(platform: Platform) -> None:
    pipeline = platform.pipeline
    if not isinstance(pipeline, QueriedPipeline):
        raise TypeError(f"{platform.options.pipeline} isn't queried")
    # Keeps the supervisor from starting the job as well.
    with platform.lock.held():
        pipeline.read_anew()


def _resnapshot(platform: Platform, timeout_s: float) -> Callable[[str], object]:
    def resnapshot(where: str) -> object:
        return resnapshot_platform(platform, Wanted(where=where, timeout_s=max(timeout_s, 1)), lambda _line: None)

    return resnapshot
