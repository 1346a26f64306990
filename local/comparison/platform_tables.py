"""Compares, and repairs, the tables of a platform that runs."""

from collections.abc import Callable

from rich.console import Console

from local.comparison.command import REPORT, reconcile_tables
from local.comparison.compare import Limits, Repair
from local.comparison.describe import Compared
from local.comparison.repair import OutboxRepair, repair_of
from local.comparison.table import ComparedTable
from local.errors import PlatformError
from local.platform.platform import Platform
from local.resnapshot.command import resnapshot_platform
from local.resnapshot.run import Wanted
from settings.load_pipeline import PIPELINES, load_pipeline

ORDERS = "orders"


def reconcile_platform(
    console: Console, platform: Platform, *, table: str | None, repair: bool, timeout_s: float
) -> bool:
    """Compare the pipeline's tables, or the one of that name; tell whether they are equal (in the end).

    Raises PlatformError, LoadError and SettingsFileError, each with one line.
    """
    pipeline = load_pipeline(ORDERS)
    try:
        entries = pipeline.tables if table is None else (pipeline.table(table),)
    except ValueError as error:
        raise PlatformError(str(error)) from None
    tables = [
        Compared(entry=entry, schema_file=PIPELINES / pipeline.schema_file(entry), lake=platform.lake)
        for entry in entries
    ]
    source = platform.endpoints.source

    def say(line: str) -> None:
        console.print(line, highlight=False, markup=False, soft_wrap=True)

    def repairs(wanted: Compared, compared: ComparedTable) -> Repair:
        [key] = wanted.entry.key
        return repair_of(source, compared, OutboxRepair(key, _resnapshot(platform, timeout_s)), say)

    return reconcile_tables(
        console,
        source,
        tables,
        Limits(timeout_s=timeout_s),
        pipeline=pipeline.name,
        report=platform.state_dir / REPORT,
        repairs=repairs if repair else None,
    )


def _resnapshot(platform: Platform, timeout_s: float) -> Callable[[str], object]:
    def resnapshot(where: str) -> object:
        return resnapshot_platform(platform, Wanted(where=where, timeout_s=max(timeout_s, 1)), lambda _line: None)

    return resnapshot
