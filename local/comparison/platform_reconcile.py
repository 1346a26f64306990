"""What `./lake reconcile` does: compares a platform's source with its lake, with what may explain a difference."""

from collections.abc import Sequence

from rich.console import Console

from contract.source import SCHEMA
from local.comparison.compare import TIMEOUT_S
from local.comparison.outbox import compare_outbox
from local.comparison.platform_tables import reconcile_platform
from local.comparison.report import print_comparison
from local.errors import PlatformError
from local.look.status import read_status, silent_services
from local.platform.platform import Platform
from local.platform.steps import SUPERVISOR

# What is asked for the two sides.
NEEDED = ("postgres", "s3")


def reconcile(
    console: Console,
    platform: Platform,
    *,
    tables: Sequence[str] = (),
    repair: bool = False,
    deep: bool = False,
    timeout_s: float = TIMEOUT_S,
) -> bool:
    """Compare every row and column of the source with the lake, print what was found, and tell whether they are equal.

    `deep`: the source's tables with the outbox first. Raises PlatformError, LoadError and SettingsFileError.
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
    """Raise PlatformError when a side is away or hangs, or there is no table yet and nobody who would make one."""
    platform.require(*NEEDED)
    if silent := silent_services(platform, set(NEEDED)):
        logs = ", ".join(str(platform.processes.log_file(name)) for name in sorted(silent))
        raise PlatformError(f"{', '.join(sorted(silent))} can't answer, stopped by a signal or hanging: see {logs}")
    if platform.pid("job") is None and not _comes_back(platform) and not platform.lake.exists():
        raise PlatformError(f"{platform.lake.base_uri} has no commit, and the job doesn't run: `./lake up` starts it")


def _reasons(platform: Platform) -> list[str]:
    """Return what is wrong with the platform that may explain a difference."""
    problems = read_status(platform).problems
    if platform.pid("job") is None and "job" not in platform.expected():
        problems.append("the job doesn't run, so nothing reaches the lake: `./lake up` starts it")
    return problems


def _comes_back(platform: Platform) -> bool:
    """Tell whether the supervisor starts the job again."""
    return "job" in platform.expected() and platform.pid(SUPERVISOR) is not None
