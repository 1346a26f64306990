"""The state lines of the job: on standard output, one per change.

`table=<database.table> state=<state>`, and after `failing` ` reason=<one line>`. The job
writes it (spark_jobs/table_job.py); `./lake up` and `./lake status` read it (local/platform/job.py).
"""

import re

STARTING, RUNNING, FAILING, ENDED, STOPPED = "starting", "running", "failing", "ended", "stopped"
_LINE = re.compile(r"table=(?P<table>\S+) state=(?P<state>[a-z]+)(?: reason=(?P<reason>.+))?")


def line(table: str, state: str, reason: str | None = None) -> str:
    return f"table={table} state={state}" + (f" reason={reason}" if reason else "")


def parse(text: str) -> tuple[str, str, str | None] | None:
    """Return a line's table, state and reason; None for any other line."""
    match = _LINE.fullmatch(text)
    return None if match is None else (match["table"], match["state"], match["reason"])
