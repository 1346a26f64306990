"""Waits while the job reads tables again from the database (docs/decisions/0024)."""

import contextlib
import time
from collections.abc import Sequence

from local.errors import PlatformError
from local.look.lake import LakeError
from local.platform.arriving import PATIENCE_S
from local.platform.job import loading
from local.platform.pipeline import LocalPipeline
from local.platform.services import LocalTable
from local.problem import failing
from local.resnapshot.log_tables import Say
from spark_jobs.options.keys import IGNORED

LOOK_S = 0.5


def wait_until_read(
    pipeline: LocalPipeline, tables: Sequence[LocalTable], request: str, *, timeout_s: float, say: Say
) -> None:
    """Wait until the lake's tables have met a request; `timeout_s`: how long nothing may move.

    Raises PlatformError with the reason when the job fails at one, and when nothing moves.
    """
    left, progress, failing_since = list(tables), list[str](), None
    moved = time.monotonic()
    while left := [table for table in left if not _has_met(table, request)]:
        states, now = pipeline.table_states(), time.monotonic()
        found = [(table.name, states.get(table.job_name)) for table in left]
        if (lines := loading(found)) != progress:
            for line in lines:
                if line not in progress:
                    say(line)
            progress, moved = lines, now
        fails = [str(failing(name, state.detail or "")) for name, state in found if state and state.fails]
        failing_since = (failing_since or now) if fails else None
        if failing_since is not None and now - failing_since > PATIENCE_S:
            raise PlatformError(fails[0])
        if now - moved > timeout_s:
            names = ", ".join(table.name for table in left)
            raise PlatformError(f"{names}: the job's reading doesn't move for {timeout_s:.0f} s: `./lake status`")
        time.sleep(LOOK_S)


def _has_met(table: LocalTable, request: str) -> bool:
    with contextlib.suppress(LakeError):
        return table.lake.newest_of_job()[1].get(IGNORED) == request
    return False
