"""A problem of a platform, as `up`, status, page and reconcile tell it."""

from dataclasses import dataclass
from pathlib import Path

ALARMS = "docs/aws/alarms.md"


@dataclass(frozen=True, kw_only=True)
class Problem:
    """`part`: what is to blame, by its whole name, such as `job`, `table public.orders` or `connector orders-source`.

    `what` stays the same while the problem lasts; `reason`, in one line, may change. `remedy`: what to do, or what is
    done about it. `log`: a service's log with more of it.
    """

    part: str
    what: str
    reason: str = ""
    remedy: str = ""
    log: Path | None = None

    def __str__(self) -> str:
        reason, remedy = (f": {self.reason}" if self.reason else ""), (f"; {self.remedy}" if self.remedy else "")
        return f"{self.part} {self.what}{reason}{remedy}" + (f" (see {self.log})" if self.log else "")


def of_line(part: str, what: str, line: str) -> Problem:
    """Return a problem from a line that gives the reason and then, after a colon, what to do with `./lake`."""
    end = line.rfind(": ", 0, max(line.find("`./lake "), 0))
    if end < 0:
        return Problem(part=part, what=what, reason=line)
    return Problem(part=part, what=what, reason=line[:end], remedy=line[end + 2 :])


def set_aside(table: str, line: str) -> Problem:
    """`line`: why a table's data doesn't flow, and what to do."""
    return of_line(f"table {table}", "is set aside", line)


def failing(table: str, reason: str, log: Path | None = None) -> Problem:
    """`log`: the job's."""
    remedy = f"the job tries again and its changes are kept; {ALARMS}#table-failing says what to do"
    return Problem(part=f"table {table}", what="fails in the job", reason=reason, remedy=remedy, log=log)
