"""Repairs a table that is queried: its job reads all rows anew, and writes and deletes what differs in the lake."""

import contextlib
import time
from collections.abc import Callable

from local.comparison.compare import Repair
from local.comparison.describe import Compared
from local.comparison.lake import LakeLook
from local.comparison.run import Repairs
from local.comparison.suspects import EXTRA, IN_THE_SOURCE, Suspects
from local.comparison.table import ComparedTable
from local.errors import PlatformError
from local.look.lake import LakeError

# A start of Spark, and a read of all rows.
TIMEOUT_S = 600.0
PAUSE_S = 0.5


def repairs_of_queried(
    read_anew: Callable[[], None], say: Callable[[str], None], *, timeout_s: float = TIMEOUT_S
) -> Repairs:
    """Return what repairs tables; `read_anew` starts the job so that it reads everything. It raises PlatformError."""

    def of_table(wanted: Compared, table: ComparedTable) -> Repair:
        def repair(suspects: Suspects, _lake: LakeLook) -> None:
            count = suspects.count(IN_THE_SOURCE) + suspects.count(EXTRA)
            before = wanted.lake.last_commit()
            say(f"{table.title}: {count:,} rows differ, so the job reads the table anew")
            read_anew()
            _wait_for_commit(wanted, before, timeout_s)

        return repair

    return of_table


def _wait_for_commit(wanted: Compared, before: str | None, timeout_s: float) -> None:
    deadline = time.monotonic() + timeout_s
    while time.monotonic() < deadline:
        with contextlib.suppress(LakeError):
            if wanted.lake.last_commit() != before:
                return
        time.sleep(PAUSE_S)
    raise PlatformError(
        f"{wanted.entry.name}: the job was started anew and has committed nothing within {timeout_s:.0f} s: `make"
        " status` says how it is"
    )
