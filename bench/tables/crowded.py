"""How long a small table's changes wait while others load: `python -m bench.tables.crowded`.

Some tables have many events to bring, and one more gets a change a second. What is measured is the time from landing a
change to the commit that has it.
"""

import statistics
import tempfile
import time
from pathlib import Path
from typing import Annotated

import typer
from botocore.exceptions import BotoCoreError, ClientError

from bench.running_job import RunningJob
from bench.s3_requests.server import CountedS3, counted_s3
from bench.tables.application import application, land, line, name
from contract.errors import one_line_errors
from contract.lake import DATABASE
from spark_jobs import keys

# As on the local platform: a look five times a second, and no wait between two commits.
POLL = {keys.POLL_INTERVAL: "0.2"}
LOADED_EVENTS = 50_000
WARM_UP = 5
EVERY_S = 1.0
_LOOK_S = 0.05
# Nested documents of the sample: a table that is loaded has plain columns.
SHORT = {"order_items": "[]", "products": "[]", "employee": "{}", "customer": "{}"}
app = typer.Typer(add_completion=False, pretty_exceptions_enable=False)


@app.command()
def main(
    *,
    loads: Annotated[int, typer.Option(min=1, help="Tables that are loaded at the same time.")] = 4,
    events: Annotated[int, typer.Option(min=1000, help="Events of each of them.")] = LOADED_EVENTS,
) -> None:
    """Print how long the loads took, and a small table's changes meanwhile."""
    with one_line_errors("error", BotoCoreError, ClientError):
        took, waits = measure(loads, events)
    waits.sort()
    p95 = waits[round(0.95 * (len(waits) - 1))]
    print(
        f"{loads} loads of {events:,} events: {took:.1f} s; {len(waits)} changes of another table meanwhile: median"
        f" {statistics.median(waits):.1f} s, p95 {p95:.1f} s, longest {waits[-1]:.1f} s"
    )


def measure(loads: int, events: int) -> tuple[float, list[float]]:
    """Return how long the loads took, and how long each change meanwhile, in seconds. Raises PlatformError."""
    with tempfile.TemporaryDirectory(prefix="bench-tables-") as folder, counted_s3(Path(folder)) as s3:
        for number in range(loads + 1):
            land(s3, number, [line(number, lsn=1000, **SHORT)], offset=0)
        with application(Path(folder), s3, loads + 1, own=POLL, shared=POLL, sync_interval_s=0) as job:
            job.wait_for_commits(loads + 1)
            small = Changes(job, s3, loads)
            for _ in range(WARM_UP):
                small.land()
                job.wait(small.all_there, "commit")
            small.waits.clear()
            for number in range(loads):
                lines = [line(number, lsn=2000 + key, order_id=key, **SHORT) for key in range(2, events + 2)]
                land(s3, number, lines, offset=1)
            return _wait_for_loads(job, small, loads), small.waits


def _wait_for_loads(job: RunningJob, small: "Changes", loads: int) -> float:
    began, before = time.monotonic(), small.others()

    def loaded() -> bool:
        small.land_when_due()
        return small.others() - before == loads

    job.wait(loaded, "loads")
    took = time.monotonic() - began
    job.wait(small.all_there, "commit of the small table")
    return took


class Changes:
    """The changes of one table: lands them and sees when they are committed."""

    def __init__(self, job: RunningJob, s3: CountedS3, number: int) -> None:
        self.waits: list[float] = []
        self._job = job
        self._s3 = s3
        self._number = number
        self._offset = 0
        self._seen = 1
        self._open: list[float] = []
        self._next = 0.0

    def land(self) -> None:
        """Land the next change."""
        self._offset += 1
        event = line(self._number, lsn=1000 + self._offset, **SHORT)
        land(self._s3, self._number, [event], offset=self._offset)
        self._open.append(time.monotonic())

    def land_when_due(self) -> None:
        """Land a change each second, however long the commits take."""
        now = time.monotonic()
        if now >= self._next:
            self._next = now + EVERY_S
            self.land()
        self.all_there()

    def all_there(self) -> bool:
        """Note what has been committed since; tell whether that is everything."""
        events = sum(int(report["events"]) for report in self._reports(small=True))
        arrived, self._open = self._open[: events - self._seen], self._open[events - self._seen :]
        self.waits += [time.monotonic() - landed for landed in arrived]
        self._seen = events
        return not self._open

    def others(self) -> int:
        """Return how many commits other tables have."""
        return len(self._reports(small=False))

    def _reports(self, *, small: bool) -> list[dict[str, str]]:
        own = f"{DATABASE}.{name(self._number)}"
        return [report for report in self._job.reports() if (report["table"] == own) is small]


if __name__ == "__main__":
    app()
