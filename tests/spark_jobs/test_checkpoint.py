"""What a commit carries: progress, applied options, remembered deletes."""

from spark_jobs import checkpoint, tombstones
from spark_jobs.checkpoint import Checkpoint


def test_a_checkpoint_survives_a_commits_metadata() -> None:
    stored = Checkpoint(source="topic,0:5", reset="topic,0:1", deleted={'["1"]': "77"})
    metadata = stored.to_metadata()
    assert set(metadata) == {
        "deltastreamer.checkpoint.key",
        "deltastreamer.checkpoint.reset_key",
        "deltastreamer.checkpoint.tombstones",
    }
    assert checkpoint.from_metadata({**metadata, "schema": "{}"}) == stored
    assert checkpoint.from_metadata({}) == Checkpoint()


def test_checkpoint_options_count_once_per_value() -> None:
    stored = Checkpoint(source="100", deleted={"k": "1"})
    reset = checkpoint.starting_from(stored, reset="5", ignore=None)
    assert (reset.source, reset.deleted) == ("5", {"k": "1"})
    later = Checkpoint(source="200", reset="5")
    assert checkpoint.starting_from(later, reset="5", ignore=None) == later
    assert checkpoint.starting_from(later, reset="6", ignore=None).source == "6"
    ignoring = checkpoint.starting_from(stored, reset=None, ignore="a")
    assert (ignoring.source, ignoring.ignored) == (None, "a")
    assert checkpoint.starting_from(Checkpoint("9", ignored="a"), reset=None, ignore="a").source == "9"


def test_the_register_keeps_the_highest_delete_of_a_key() -> None:
    merged, dropped = tombstones.merge({"a": "9", "b": "100"}, {"a": "10", "b": "99"}, limit=10)
    assert (merged, dropped) == ({"a": "10", "b": "100"}, 0)


def test_the_register_drops_the_lowest_first() -> None:
    merged, dropped = tombstones.merge({"a": "9", "b": "100"}, {"c": "20"}, limit=2)
    assert (merged, dropped) == ({"b": "100", "c": "20"}, 1)
    assert tombstones.merge({}, {"a": "1"}, limit=0) == ({}, 1)


def test_ordering_values_compare_as_numbers_beyond_what_a_float_holds() -> None:
    assert tombstones.merge({"a": str(2**60)}, {"a": str(2**60 + 1)}, limit=1)[0] == {"a": str(2**60 + 1)}
    dates = tombstones.merge({"a": "2026-01-01"}, {"a": "2025-12-31"}, limit=1)[0]
    assert dates == {"a": "2026-01-01"}


def test_a_full_register_stays_small() -> None:
    register = {f'["{number}"]': str(26_694_864 + number * 512) for number in range(20_000)}
    encoded = tombstones.encode(register)
    assert tombstones.decode(encoded) == register
    assert len(encoded) < 200_000
    assert tombstones.decode(None) == {}
