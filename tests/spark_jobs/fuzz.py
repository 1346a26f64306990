"""Random histories, new ones in each run: a few, or as many as fit in FUZZ_MINUTES (`./lake dev test fuzz`).

A failure's output has the number that repeats it as FUZZ_SEED.
"""

import contextlib
import os
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TypeVar

import pytest
from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st
from pyspark.sql import SparkSession

from spark_jobs.table.hudi_table import HudiTable
from tests.cases import chance

MINUTES = float(os.environ.get("FUZZ_MINUTES", "0"))
# Number of tests that share the minutes.
CASES = 6
# Hudi runs it between the last data file and the commit's own.
_REFUSING_VALIDATOR = {
    "hoodie.precommit.validators": "org.apache.hudi.client.validator.SqlQuerySingleResultPreCommitValidator",
    "hoodie.precommit.validators.single.value.sql.queries": "SELECT count(*) FROM <TABLE_NAME>#-1",
}
T = TypeVar("T")


@contextmanager
def failing_commits() -> Iterator[None]:
    """Let Hudi write a batch's data files, and fail before the commit."""
    given_options = HudiTable.write_options
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(HudiTable, "write_options", lambda table, name: given_options(table, name) | _REFUSING_VALIDATOR)
        yield


@contextmanager
def interrupted(spark: SparkSession, after_s: float) -> Iterator[None]:
    """Fail every call of Spark from a moment on, like a kill: work already done stays."""
    over = threading.Event()

    def cancel() -> None:
        over.wait(after_s)
        while not over.wait(0.01):
            spark.sparkContext.cancelAllJobs()

    thread = threading.Thread(target=cancel)
    thread.start()
    try:
        with contextlib.suppress(Exception):
            yield
    finally:
        over.set()
        thread.join()


def try_histories(
    histories: st.SearchStrategy[T],
    run: Callable[[T], None],
    title: str,
    capsys: pytest.CaptureFixture[str],
    *,
    count: int = 1,
) -> None:
    """Run `count` histories, each of which must succeed; prints a failing one as small as Hypothesis can make it.

    `./lake dev test fuzz` and `trino` show how many there were.
    """
    histories_run = examples = 0
    numbers = chance()
    until = time.monotonic() + MINUTES * 60 / CASES

    @settings(
        max_examples=10 if MINUTES else count + 1,
        deadline=None,
        database=None,
        suppress_health_check=list(HealthCheck),
        phases=(Phase.generate, Phase.shrink) if MINUTES else (Phase.generate,),
    )
    @given(history=histories)
    def ends_as_it_should(history: T) -> None:
        nonlocal histories_run, examples
        examples += 1
        # Hypothesis draws the simplest one first.
        if examples > 1 and not (MINUTES and time.monotonic() > until):
            run(history)
            histories_run += 1

    seed(numbers.random())(ends_as_it_should)()
    while time.monotonic() < until:
        examples = 0
        seed(numbers.random())(ends_as_it_should)()
    if MINUTES or count > 1:
        with capsys.disabled():
            print(f"\n{title}: {histories_run} histories ended as they should")
