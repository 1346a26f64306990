"""What a commit carries: progress, applied options, remembered deletes."""

import random
import uuid
from collections.abc import Sequence
from dataclasses import replace

import pytest
from pyspark.sql import SparkSession

from spark_jobs.options.keys import TRUNCATE_APPLY, TRUNCATE_IGNORE
from spark_jobs.ordering import memory
from spark_jobs.ordering.memory import Delete, TopicPlace, Truncates
from spark_jobs.table import commits
from spark_jobs.table.commits import Checkpoint

# At random distances, as in a busy database's log, each in a file of its own.
CHANCE = random.Random(1)
FULL = {
    f'["{uuid.UUID(int=CHANCE.getrandbits(128))}"]': Delete(
        str(10**11 + number * 10**6 + CHANCE.randrange(10**6)), TopicPlace(number, 1_795_216_992_726 + number * 37)
    )
    for number in range(20_000)
}


def test_a_checkpoint_survives_a_commits_metadata() -> None:
    stored = Checkpoint(
        source="topic,0:5",
        reset="topic,0:1",
        deleted={'["1"]': Delete("77", TopicPlace(5, 1795216992726)), '["2"]': Delete("78")},
    )
    metadata = stored.to_metadata()
    assert set(metadata) == {
        "deltastreamer.checkpoint.key",
        "deltastreamer.checkpoint.reset_key",
        "deltastreamer.checkpoint.tombstones",
    }
    assert commits.from_commits([{**metadata, "schema": "{}"}]) == stored
    assert commits.from_commits([]) == Checkpoint()
    truncates = Truncates(applied=80, ignored=96, settled=88, place=TopicPlace(5, 1795216992726))
    following, _ = replace(stored, truncates=truncates).following("2", {"a": Delete("7")}, limit=5)
    assert commits.from_commits([following.to_metadata(), metadata]).truncates == truncates


@pytest.fixture
def history() -> list[tuple[Checkpoint, dict[str, str]]]:
    """Forty commits' checkpoints and their metadata, oldest first, with at most five deletes remembered."""
    progress, commits = Checkpoint(), []
    for number in range(1, 40):
        deletes = {f"k{number % 7}": Delete(str(number))} if number > 2 and number % 3 else {}
        progress, _ = progress.following(f"topic,0:{number}", deletes, limit=5)
        commits.append((progress, progress.to_metadata()))
    return commits


def test_wherever_a_job_starts_again_it_knows_what_the_one_before_knew(
    history: list[tuple[Checkpoint, dict[str, str]]],
) -> None:
    for number, (progress, _) in enumerate(history, 1):
        found = commits.from_commits([metadata for _, metadata in reversed(history[:number])])
        assert found.source == progress.source
        assert found.deleted.items() >= progress.deleted.items()  # the limit counts from the next commit on


def test_now_and_then_a_commit_carries_the_whole_register(history: list[tuple[Checkpoint, dict[str, str]]]) -> None:
    since_the_first_delete = [metadata for _, metadata in history[3:]]
    whole = [metadata for metadata in since_the_first_delete if commits.DELETES_KEY in metadata]
    assert 3 <= len(whole) <= 5
    assert all(commits.ADDED_DELETES_KEY in metadata for metadata in since_the_first_delete if metadata not in whole)


def test_no_more_commits_are_read_than_it_takes(history: list[tuple[Checkpoint, dict[str, str]]]) -> None:
    newest_first = iter([metadata for _, metadata in reversed(history)])
    commits.from_commits(newest_first)
    assert len(list(newest_first)) >= len(history) - commits.FULL_EVERY


def test_a_table_of_an_earlier_version_keeps_its_deletes() -> None:
    old = {commits.SOURCE_KEY: "1", commits.DELETES_KEY: memory.encode({"a": Delete("5"), "b": Delete("6")})}
    stored = commits.from_commits([old, {commits.SOURCE_KEY: "0"}])
    following, _ = stored.following("2", {"a": Delete("7")}, limit=10)
    assert commits.from_commits([following.to_metadata(), old]).deleted == {"a": Delete("7"), "b": Delete("6")}


def test_a_register_without_its_beginning_says_so_and_is_written_whole() -> None:
    added = {commits.SOURCE_KEY: "2", commits.ADDED_DELETES_KEY: memory.encode({"a": Delete("5")})}
    stored = commits.from_commits([added])
    assert (stored.deleted, stored.complete) == ({"a": Delete("5")}, False)
    assert commits.DELETES_KEY in stored.following("3", {}, limit=10)[0].to_metadata()


def test_a_commits_own_deletes_are_short_beside_a_full_register() -> None:
    following, _ = Checkpoint("1", deleted=FULL).following("2", {'["7"]': Delete("99999999")}, limit=20_000)
    assert sum(map(len, following.to_metadata().values())) < 100


def test_checkpoint_options_count_once_per_value() -> None:
    stored = Checkpoint(source="100", deleted={"k": Delete("1")})
    reset = commits.starting_from(stored, reset="5", ignore=None)
    assert (reset.source, reset.deleted) == ("5", {"k": Delete("1")})
    later = Checkpoint(source="200", reset="5")
    assert commits.starting_from(later, reset="5", ignore=None) == later
    assert commits.starting_from(later, reset="6", ignore=None).source == "6"
    ignoring = commits.starting_from(stored, reset=None, ignore="a")
    assert (ignoring.source, ignoring.ignored) == (None, "a")
    assert commits.starting_from(Checkpoint("9", ignored="a"), reset=None, ignore="a").source == "9"


@pytest.mark.parametrize(
    ("register", "deletes", "limit", "kept", "dropped"),
    [
        ({"a": "9", "b": "100"}, {"a": "10", "b": "99"}, 10, {"a": "10", "b": "100"}, 0),
        ({"a": "9", "b": "100"}, {"c": "20"}, 2, {"b": "100", "c": "20"}, 1),
        ({}, {"a": "1"}, 0, {}, 1),
        # As numbers, beyond those that a float holds, too.
        ({"a": str(2**60)}, {"a": str(2**60 + 1)}, 1, {"a": str(2**60 + 1)}, 0),
        ({"a": "10.5"}, {"a": "9.75"}, 1, {"a": "10.5"}, 0),
        ({"a": "1.0E10"}, {"a": "9"}, 1, {"a": "1.0E10"}, 0),
        ({"a": "2026-01-01"}, {"a": "2025-12-31"}, 1, {"a": "2026-01-01"}, 0),
    ],
)
def test_the_register_keeps_the_highest_delete_of_a_key_and_drops_the_lowest_first(
    register: dict[str, str], deletes: dict[str, str], limit: int, kept: dict[str, str], dropped: int
) -> None:
    given, new, expected = ({key: Delete(at) for key, at in each.items()} for each in (register, deletes, kept))
    assert memory.merge(given, new, limit=limit) == (expected, dropped)


@pytest.mark.integration
@pytest.mark.parametrize(("limit", "kept", "others"), [(2, {"b": "100", "d": "20"}, 2), (0, {"b": "100"}, 3)])
def test_no_more_of_a_batchs_deletes_are_collected_than_are_remembered(
    spark: SparkSession, limit: int, kept: dict[str, str], others: int
) -> None:
    rows = [(key, at, 5, 1000) for key, at in {"a": "9", "b": "100", "c": "x", "d": "20"}.items()]
    frame = spark.createDataFrame(rows, "key string, deleted_at string, offset long, sent_ms long").coalesce(1)
    assert memory.collected(frame, 4, limit=limit) == ({key: Delete(at, FIRST) for key, at in kept.items()}, others)


def test_a_full_register_stays_small() -> None:
    encoded = memory.encode(FULL)
    assert memory.decode(encoded) == FULL
    assert len(encoded) < 1_000_000
    assert memory.decode(None) == {}


FIRST, SECOND = TopicPlace(5, 1000), TopicPlace(9, 2000)
# A batch's newest positions: of a TRUNCATE, and of an event that settles ignored ones; and the TRUNCATE's place.
Batch = tuple[int | None, int | None] | tuple[int | None, int | None, TopicPlace]


@pytest.mark.parametrize(
    ("mode", "known", "batches", "expected"),
    [
        (TRUNCATE_APPLY, Truncates(), [(80, None)], Truncates(applied=80)),
        (TRUNCATE_APPLY, Truncates(), [(80, None), (72, None), (None, None)], Truncates(applied=80)),
        (TRUNCATE_IGNORE, Truncates(), [(80, None), (72, None)], Truncates(ignored=80)),
        (TRUNCATE_IGNORE, Truncates(), [(80, None), (None, 72)], Truncates(ignored=80, settled=72)),
        (TRUNCATE_IGNORE, Truncates(), [(80, None), (None, 88)], Truncates(settled=88)),
        (TRUNCATE_IGNORE, Truncates(), [(80, 88), (96, None)], Truncates(ignored=96, settled=88)),
        (TRUNCATE_IGNORE, Truncates(), [(None, 88), (80, None)], Truncates(settled=88)),
        # One that is applied ends those ignored before it alone.
        (TRUNCATE_APPLY, Truncates(ignored=80), [(88, None)], Truncates(applied=88)),
        (TRUNCATE_APPLY, Truncates(ignored=80), [(72, None)], Truncates(applied=72, ignored=80)),
        # The place is the newest one's.
        (TRUNCATE_APPLY, Truncates(), [(80, None, FIRST), (72, None, SECOND)], Truncates(80, place=FIRST)),
        (TRUNCATE_APPLY, Truncates(), [(80, None, FIRST), (80, None, SECOND)], Truncates(80, place=FIRST)),
        (TRUNCATE_APPLY, Truncates(), [(80, None, FIRST), (88, None, SECOND)], Truncates(88, place=SECOND)),
    ],
)
def test_the_newest_of_each_kind_counts(
    mode: str, known: Truncates, batches: Sequence[Batch], expected: Truncates
) -> None:
    for truncated, settled, *place in batches:
        known = known.following(truncated, settled, mode=mode, place=place[0] if place else None)
    assert known == expected
