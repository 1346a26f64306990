"""The state lines of the job: on standard output, one per change.

`table=<database.table> state=<state>`, after `failing` with ` reason=<one line>`, after `loading` with
` progress=<one line>`. The job writes it (spark_jobs/table_job.py); `./lake up` and `./lake status` read it
(local/platform/job.py).
"""

import re

STARTING, LOADING, RUNNING, FAILING, ENDED, STOPPED = "starting", "loading", "running", "failing", "ended", "stopped"
_LINE = re.compile(r"table=(?P<table>\S+) state=(?P<state>[a-z]+)(?: (?:reason|progress)=(?P<detail>.+))?")


def line(table: str, state: str, detail: str | None = None) -> str:
    name = "progress" if state == LOADING else "reason"
    return f"table={table} state={state}" + (f" {name}={detail}" if detail else "")


def parse(text: str) -> tuple[str, str, str | None] | None:
    """Return a line's table, state and detail; None for any other line."""
    match = _LINE.fullmatch(text)
    return None if match is None else (match["table"], match["state"], match["detail"])
