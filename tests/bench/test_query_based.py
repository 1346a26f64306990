"""The trial of capture queries: the comparison, and one on the real job."""

from pathlib import Path

import pytest

from bench import query_trial as trial
from bench.job import running_on
from bench.query_trial import Load
from local.services.postgres import ConnectionParameters

# As long as the benchmark's, which has other seeds.
SECONDS, SEED = 60, 5


def test_what_is_missing_stale_and_too_much_is_counted_by_key() -> None:
    found = trial.compare("x", {1: ("a",), 2: ("b",), 3: ("c",)}, {2: ("b",), 3: ("old",), 4: ("d",)}, 7)
    assert (found.missing, found.stale, found.extra, found.is_equal) == (1, 1, 1, False)
    assert trial.compare("x", {1: ("a",)}, {1: ("a",)}, 1).is_equal


@pytest.mark.integration
@pytest.mark.long
def test_a_random_load_ends_equal_in_our_lake_and_each_poll_by_the_stamp_loses_of_it(
    tmp_path: Path, database: ConnectionParameters
) -> None:
    trial.prepare(database, tmp_path / "password")
    load = Load(database, seconds=SECONDS, seed=SEED)
    with running_on(trial.job_arguments(database, tmp_path, sweep_seconds=0.5), folder=tmp_path) as job:
        job.wait_for_commits(1)
        found = trial.run(database, tmp_path, job, load, poll_seconds=0.5)
    *polls, ours = found.outcomes
    assert (load.writers, load.long_share) == (8, 0.03)
    assert (ours.missing, ours.stale, ours.extra) == (0, 0, 0)
    assert all(poll.missing and poll.stale and poll.extra for poll in polls), f"a trial without teeth: {polls}"
    assert load.versions > 100
