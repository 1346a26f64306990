"""Random histories of the job, and what interrupts them."""

import contextlib
import itertools
import tempfile
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TypeVar

import pytest
from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st
from pyspark.sql import SparkSession

from spark_jobs.table.hudi_table import HudiTable
from tests.cases import RUNS, chance

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
    run: Callable[[T, Path], None],
    title: str,
    capsys: pytest.CaptureFixture[str],
    *,
    count: int = 1,
) -> None:
    """Run a history for each seed, `count` or more, in a folder of its own; each must succeed.

    Prints how many did, if there were many.

    `./lake dev test fuzz` prints a failing one as small as Hypothesis can make it.
    """
    count = RUNS or count
    for number in range(count):
        _try_history(histories, run, chance(number).random())
    if count > 1:
        with capsys.disabled():
            print(f"\n{title}: {count} histories ended as they should")


def _try_history(histories: st.SearchStrategy[T], run: Callable[[T, Path], None], number: float) -> None:
    examples = itertools.count()

    @seed(number)
    @settings(
        max_examples=2,
        deadline=None,
        database=None,
        suppress_health_check=list(HealthCheck),
        phases=(Phase.generate, Phase.shrink) if RUNS else (Phase.generate,),
    )
    @given(history=histories)
    def ends_as_it_should(history: T) -> None:
        # Hypothesis draws the simplest one first.
        if next(examples):
            with tempfile.TemporaryDirectory() as folder:
                run(history, Path(folder))

    ends_as_it_should()
