"""Compares, and repairs, the tables of a platform that runs."""

from collections.abc import Callable, Sequence

from rich.console import Console

from local.comparison.command import REPORT, reconcile_tables
from local.comparison.compare import TIMEOUT_S, Limits, Repair, TableComparison
from local.comparison.describe import Compared
from local.comparison.platform_arrivals import arrivals_of
from local.comparison.repair import OutboxRepair, repair_of, repairs_of_queried
from local.comparison.run import compare_tables
from local.comparison.table import ComparedTable
from local.platform.connectors import SALT_FILE, kept_salt
from local.platform.platform import Platform
from local.platform.queried_pipeline import QueriedPipeline
from local.resnapshot.command import NEEDED, resnapshot_platform
from local.resnapshot.deletes import EventWriter
from local.resnapshot.pipelines import repairs as log_repairs
from local.resnapshot.run import Wanted
from local.services.kafka.roles import SOURCE
from settings.load_pipeline import PIPELINES


def reconcile_platform(
    console: Console, platform: Platform, *, tables: Sequence[str] = (), repair: bool, timeout_s: float
) -> bool:
    """Compare the pipeline's tables, or those of these names; tell whether they are equal (in the end).

    Raises PlatformError, LoadError and SettingsFileError, each with one line.
    """
    pipeline = platform.services.pipeline
    queried = pipeline.is_queried
    if repair:
        # Without these nothing is asked for, and nothing arrives.
        platform.require(*(("postgres", "job") if queried else NEEDED))
    for derived in () if tables else platform.services.derived:
        console.print(
            f"{derived.lake_name} is derived from the lake's tables, not from the source's: see docs/aws/analysts.md",
            highlight=False,
            markup=False,
            soft_wrap=True,
        )
    return reconcile_tables(
        console,
        platform.source,
        compared_tables(platform, tables),
        Limits(timeout_s=timeout_s),
        pipeline=pipeline.name,
        salt=_salt(platform) if any(entry.hash for entry in pipeline.tables) else "",
        report=platform.state_dir / REPORT,
        repairs=_repairs(console, platform, timeout_s) if repair else None,
        arrivals=arrivals_of(platform),
        s3=platform.services.s3.client(),
        aside=platform.pipeline.tables_aside(),
    )


def compare_platform(platform: Platform, *, timeout_s: float = TIMEOUT_S) -> list[TableComparison]:
    """Compare all tables of a platform's pipeline."""
    limits = Limits(timeout_s=timeout_s)
    return list(compare_tables(platform.source, compared_tables(platform), limits, arrivals=arrivals_of(platform)))


def compared_tables(platform: Platform, tables: Sequence[str] = ()) -> list[Compared]:
    """Return what is compared of the pipeline's tables, or those of these names. Raises PlatformError."""
    pipeline = platform.services.pipeline
    return [
        Compared(entry=one.entry, schema_file=PIPELINES / pipeline.schema_file(one.entry), lake=one.lake)
        for one in platform.services.chosen(tables)
    ]


def _repairs(console: Console, platform: Platform, timeout_s: float) -> Callable[[Compared, ComparedTable], Repair]:
    """Return what mends a table by how it is captured."""
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
    # So that the supervisor doesn't start the job, too.
    with platform.lock.held():
        pipeline.read_anew()


def _salt(platform: Platform) -> str:
    return kept_salt(platform.state_dir / "secrets" / SALT_FILE)


def _resnapshot(platform: Platform, timeout_s: float) -> Callable[[str], object]:
    def resnapshot(where: str) -> object:
        return resnapshot_platform(platform, Wanted(where=where, timeout_s=max(timeout_s, 1)), lambda _line: None)

    return resnapshot
