"""How far a load is, in words, from the figures of Spark's stages."""

from typing import Any
from unittest.mock import Mock

import pytest

from spark_jobs.runtime.row_progress import READ, WRITTEN, Step, StepProgress, counted


@pytest.mark.parametrize(
    ("step", "rows", "looks", "said"),
    [
        pytest.param(READ, 3_000_000, [], "0 of about 3,000,000 rows read", id="at first"),
        pytest.param(READ, 3_000_000, [None, 0], "0 of about 3,000,000 rows read", id="no row yet"),
        pytest.param(
            READ,
            3_000_000,
            [None, 0, 45_000, 90_000],
            "90,000 of about 3,000,000 rows read, 45,000 rows/s, 65 s of reading left",
            id="since the first stage",
        ),
        pytest.param(
            READ,
            3_000,
            [0, 100, 100, None],
            "100 of about 3,000 rows read, 100 rows/s, 29 s of reading left",
            id="still",
        ),
        pytest.param(READ, 100, [0, 150], "150 rows read, 150 rows/s", id="more than estimated"),
        pytest.param(READ, 1, [0], "0 rows read", id="nobody knows how many"),
        pytest.param(
            READ,
            10**9,
            [0, 10_000],
            "10,000 of about 1,000,000,000 rows read, 10,000 rows/s, 28 h of reading left",
            id="long",
        ),
        pytest.param(WRITTEN, 3_000, [None, 0], "about 3,000 rows read, writing them", id="without figures"),
        pytest.param(
            WRITTEN,
            3_000,
            [0, 1_000],
            "1,000 of about 3,000 rows written, 1,000 rows/s, 2 s of writing left",
            id="written",
        ),
    ],
)
def test_a_step_says_its_rows_their_rate_and_the_time_left(
    step: Step, rows: int, looks: list[int | None], said: str
) -> None:
    """A look a second."""
    progress = StepProgress(step, rows)
    for now, done in enumerate(looks):
        progress.note(done, now)
    assert str(progress) == said


def stage(pool: str, read: int = 0, shuffled: int = 0, written: int = 0) -> Any:
    figures = {"inputRecords": read, "shuffleReadRecords": shuffled, "shuffleWriteRecords": written}
    return Mock(
        **{"schedulingPool.return_value": pool}, **{f"{name}.return_value": rows for name, rows in figures.items()}
    )


@pytest.mark.parametrize(
    ("step", "stages", "found"),
    [
        (READ, [], None),
        (READ, [stage("b", 7)], None),
        (READ, [stage("a", 0, 2), stage("a", 7, written=1), stage("b", 9)], 7),
        # The rows of a cached frame are put into buckets before they are written.
        (WRITTEN, [stage("a", 3, 0, written=7)], None),
        (WRITTEN, [stage("a", 3, 5)], 5),
    ],
)
def test_the_stages_of_a_tables_pool_count(step: Step, stages: list[Any], found: int | None) -> None:
    sequence = Mock(**{"size.return_value": len(stages)}, apply=lambda index: stages[index])
    assert counted(sequence, "a", step) == found
