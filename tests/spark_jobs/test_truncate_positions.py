"""What a table's commits remember of TRUNCATEs, from batch to batch."""

from collections.abc import Sequence

import pytest

from spark_jobs import checkpoint, truncates
from spark_jobs.checkpoint import Checkpoint
from spark_jobs.deletes_register import Delete
from spark_jobs.keys import TRUNCATE_APPLY, TRUNCATE_IGNORE
from spark_jobs.topic_place import TopicPlace
from spark_jobs.truncates import Truncates

# The newest positions that a batch has: of a TRUNCATE, and of what settles ignored ones.
Batch = tuple[int | None, int | None]


@pytest.mark.parametrize(
    ("mode", "batches", "expected"),
    [
        (TRUNCATE_APPLY, [(80, None)], Truncates(applied=80)),
        (TRUNCATE_APPLY, [(80, None), (72, None), (None, None)], Truncates(applied=80)),
        (TRUNCATE_IGNORE, [(80, None), (72, None)], Truncates(ignored=80)),
        (TRUNCATE_IGNORE, [(80, None), (None, 72)], Truncates(ignored=80, settled=72)),
        (TRUNCATE_IGNORE, [(80, None), (None, 88)], Truncates(settled=88)),
        (TRUNCATE_IGNORE, [(80, 88), (96, None)], Truncates(ignored=96, settled=88)),
        (TRUNCATE_IGNORE, [(None, 88), (80, None)], Truncates(settled=88)),
    ],
)
def test_the_newest_of_each_kind_counts(mode: str, batches: Sequence[Batch], expected: Truncates) -> None:
    found = Truncates()
    for truncated, settled in batches:
        found = found.following(truncated, settled, mode=mode)
    assert found == expected


def test_the_place_in_the_topic_is_the_newest_ones() -> None:
    first, second = TopicPlace(5, 1000), TopicPlace(9, 2000)
    found = Truncates().following(80, None, mode=TRUNCATE_APPLY, place=first)
    assert found.following(72, None, mode=TRUNCATE_APPLY, place=second).place == first
    assert found.following(80, None, mode=TRUNCATE_APPLY, place=second).place == first
    assert found.following(88, None, mode=TRUNCATE_APPLY, place=second).place == second


def test_one_that_is_applied_ends_those_ignored_before_it_alone() -> None:
    assert Truncates(ignored=80).following(88, None, mode=TRUNCATE_APPLY) == Truncates(applied=88)
    assert Truncates(ignored=80).following(72, None, mode=TRUNCATE_APPLY) == Truncates(applied=72, ignored=80)


def test_every_commit_carries_all_of_it() -> None:
    known = Truncates(applied=80, ignored=96, settled=88, place=TopicPlace(5, 1795216992726))
    stored, _ = Checkpoint().following("1", {}, limit=5, truncates=known)
    following, _ = stored.following("2", {"a": Delete("7")}, limit=5)
    assert checkpoint.from_commits([following.to_metadata(), stored.to_metadata()]).truncates == known
    assert truncates.from_metadata({}) == Truncates()
    assert Truncates().to_metadata() == {}
