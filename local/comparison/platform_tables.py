"""Compares, and repairs, the tables of a platform that runs."""

from collections.abc import Callable

from rich.console import Console

from local.comparison.command import REPORT, reconcile_tables
from local.comparison.compare import Limits, Repair
from local.comparison.describe import Compared
from local.comparison.repair import OutboxRepair, repair_of
from local.comparison.table import ComparedTable
from local.errors import PlatformError
from local.platform.connectors import SALT_FILE, kept_salt
from local.platform.platform import Platform
from local.resnapshot.command import resnapshot_platform
from local.resnapshot.run import Wanted
from settings.load_pipeline import PIPELINES


def reconcile_platform(
    console: Console, platform: Platform, *, table: str | None, repair: bool, timeout_s: float
) -> bool:
    """Compare the pipeline's tables, or the one of that name; tell whether they are equal (in the end).

    Raises PlatformError, LoadError and SettingsFileError, each with one line.
    """
    services = platform.services
    pipeline = services.pipeline
    if repair and pipeline.outbox is None:
        raise PlatformError("REPAIR is for the outbox: `make resnapshot` reads ordinary tables again")
    tables = [
        Compared(entry=one.entry, schema_file=PIPELINES / pipeline.schema_file(one.entry), lake=one.lake)
        for one in services.chosen(table)
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
        salt=_salt(platform) if any(entry.hash for entry in pipeline.tables) else "",
        report=platform.state_dir / REPORT,
        repairs=repairs if repair else None,
    )


def _salt(platform: Platform) -> str:
    return kept_salt(platform.state_dir / "secrets" / SALT_FILE)


def _resnapshot(platform: Platform, timeout_s: float) -> Callable[[str], object]:
    def resnapshot(where: str) -> object:
        return resnapshot_platform(platform, Wanted(where=where, timeout_s=max(timeout_s, 1)), lambda _line: None)

    return resnapshot
