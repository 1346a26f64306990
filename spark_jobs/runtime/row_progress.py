"""Tells how many rows of a first load are done, from Spark's own figures of its running stages."""

import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from pyspark.sql import SparkSession

from spark_jobs.errors import Log, first_line

EVERY_S = 3.0
POOL = "spark.scheduler.pool"


@dataclass(frozen=True, kw_only=True)
class Step:
    """A step of a load, and the figure of Spark's stages that counts its rows.

    `last`: only stages count that write no shuffle. A cached frame is read in blocks, so nothing counts its rows.
    """

    done: str
    doing: str
    figure: str
    last: bool = False


READ = Step(done="read", doing="reading", figure="inputRecords")
# Nothing counts the rows of a comparison with the table: its joins read both.
COMPARED = Step(done="compared", doing="comparing", figure="", last=True)
WRITTEN = Step(done="written", doing="writing", figure="shuffleReadRecords", last=True)


@dataclass
class StepProgress:
    """Rows done of about `rows` (0: unknown) at a time in seconds; the rate is that since the first stage was seen."""

    step: Step
    rows: int
    done: int = 0
    _began: float | None = field(default=None, init=False)
    _counted: float = field(default=0, init=False)

    def note(self, done: int | None, now: float) -> None:
        """`done`: what the running stages have counted; None without any."""
        if done is None:
            return
        if self._began is None:
            self._began = self._counted = now
        if done > self.done:
            self.done, self._counted = done, now

    def __str__(self) -> str:
        if self.step.last and not self.done:
            return f"about {self.rows:,} rows read, {self.step.doing} them"
        known = self.rows if self.rows > max(self.done, 1) else 0
        of = f" of about {known:,}" if known else ""
        said = f"{self.done:,}{of} rows {self.step.done}"
        seconds = self._counted - (self._began or 0)
        if not self.done or seconds <= 0:
            return said
        rate = self.done / seconds
        left = f", {_duration((known - self.done) / rate)} of {self.step.doing} left" if known else ""
        return f"{said}, {rate:,.0f} rows/s{left}"


def _duration(seconds: float) -> str:
    for unit, long in (("h", 3600), ("min", 60)):
        if seconds >= 2 * long:
            return f"{seconds / long:.0f} {unit}"
    return f"{max(seconds, 1):.0f} s"


@dataclass(frozen=True)
class RowProgress:
    """Looks at the stages of one table's thread: those of its pool. Its failures never reach the load."""

    spark: SparkSession
    say: Callable[[str], None]
    log: Log

    @contextmanager
    def told(self, steps: Sequence[Step], rows: int) -> Iterator[None]:
        """Tell how far the last step is that has begun, of about `rows`, while the block runs: every few seconds."""
        ended, progress = threading.Event(), [StepProgress(step, rows) for step in steps]
        pool = pool_of(self.spark)
        thread = threading.Thread(target=self._watch, args=(progress, pool, ended), name="load progress", daemon=True)
        thread.start()
        try:
            yield
        finally:
            ended.set()
            thread.join()

    def _watch(self, steps: Sequence[StepProgress], pool: str, ended: threading.Event) -> None:
        try:
            store = self.spark._jsc.sc().statusStore()
            said = steps[0]
            self.say(str(said))
            while not ended.wait(EVERY_S):
                stages = store.activeStages()
                found = [counted(stages, pool, each.step) for each in steps]
                for each, done in zip(steps, found, strict=True):
                    each.note(done, time.monotonic())
                said = steps[-1] if steps[0].done and not found[0] else steps[0]
                self.say(str(said))
        except Exception as error:  # noqa: BLE001  (a Spark without this API, or one that is stopping)
            self.log(f"how far the load is isn't known: {first_line(error)}")


def pool_of(spark: SparkSession) -> str:
    """Return the pool of this thread's Spark jobs: one table's."""
    return spark.sparkContext.getLocalProperty(POOL) or "default"


def counted(stages: Any, pool: str, step: Step) -> int | None:
    """Return the most rows that a stage of this pool has counted; None without any. `stages` is a Seq[StageData]."""
    if not step.figure:
        return None
    found = [stages.apply(index) for index in range(stages.size())]
    mine = [stage for stage in found if stage.schedulingPool() == pool]
    figures = [int(getattr(stage, step.figure)()) for stage in mine if not (step.last and stage.shuffleWriteRecords())]
    return max(figures, default=None)
