"""The job, killed again and again at random moments."""

import json
import random
import time
from dataclasses import dataclass, field

import pytest

from local.comparison.lake import differs_in_spark
from local.look.lake import Lake as TableReader
from spark_jobs.options.submit import TableJob
from tests.cases import RUNS, chance
from tests.spark_jobs.events import Event, event
from tests.spark_jobs.programs import JobRun
from tests.waiting import PATIENCE_S

KEYS, CHANGES, KILLS = 40, 6, 5


@dataclass
class Sender:
    """Makes events of some keys' changes: each row's newest position, and lines that don't fit."""

    chance: random.Random
    rows: dict[int, int] = field(default_factory=dict)
    misfits: list[str] = field(default_factory=list)
    position: int = 2000

    def lines(self) -> list[Event | str]:
        sent: list[Event | str] = [self._change() for _ in range(CHANGES)]
        if self.chance.random() < 0.3:
            self.misfits.append(f"{{broken {self.position}")
            sent.append(self.misfits[-1])
        return sent

    def _change(self) -> Event:
        key, what = self.chance.randint(1, KEYS), self.chance.random()
        self.position += 8
        if what < 0.1:  # late: older than any row or delete
            return event(key, self.chance.randint(1, 999))
        if what < 0.3:
            self.rows.pop(key, None)
            return event(key, self.position, "d")
        self.rows[key] = self.position
        return event(key, self.position)


def start_and_kill(job_run: JobRun, table: TableJob, sender: Sender) -> None:
    """Kill a job during its start, a commit, or once a commit is whole: then the table is as sent."""
    known, chosen = job_run.instants("inflight"), sender.chance
    job = job_run.start(table)
    moment = chosen.choice(["start", "commit", "commit", "end"])
    if moment == "commit":
        job.wait_for(lambda: job_run.instants("inflight") - known, "commit in flight")
    elif moment == "end":
        job.wait_for(job.commits, "commit")
        assert job_run.lsns() == sender.rows
    time.sleep(chosen.uniform(0, 6 if moment == "start" else 0.6))
    job.kill()


@pytest.mark.long
@pytest.mark.integration
@pytest.mark.parametrize("table_type", ["COPY_ON_WRITE", "MERGE_ON_READ"])
def test_any_kills_leave_each_change_and_each_misfit_once(job_run: JobRun, table_type: str) -> None:
    table, sender = job_run.table(table_type=table_type), Sender(chance())
    sender.rows |= {key: 1000 + key for key in range(1, KEYS + 1)}
    job_run.land(*(event(key, position) for key, position in sender.rows.items()))
    for _ in range(RUNS or KILLS):
        job_run.land(*sender.lines())
        start_and_kill(job_run, table, sender)
    job = job_run.start(table, without=["--continuous"])
    assert job.process.wait(PATIENCE_S) == 0, job.text()
    assert job_run.lsns() == sender.rows
    # Spark's reader stops at what a failed commit left in a log.
    assert differs_in_spark(TableReader(base_uri=str(job_run.path()))) is None
    put_aside = [
        json.loads(line)["text"] for path in job_run.quarantine_files() for line in path.read_text().splitlines()
    ]
    assert sorted(put_aside) == sorted(sender.misfits)
