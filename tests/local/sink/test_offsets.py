from collections.abc import Callable

import pytest

from local.sink.errors import SinkError
from local.sink.offsets import DELETED_EARLY, OBJECTS_GONE, CommittedOffset, Gap, Landing, Start, decide_start


def landing(*, exists: bool = True, end: int | None = None) -> Landing:
    return Landing(exists=lambda _: exists, end=lambda: end)


def never(what: str) -> Callable[..., int | None]:
    def fail(*_: object) -> int | None:
        raise AssertionError(f"asked for {what}")

    return fail


def test_a_note_is_read_as_it_was_written() -> None:
    for progress in (
        CommittedOffset(offset=5),
        CommittedOffset(offset=5, until=9),
        CommittedOffset(offset=5, landed='a/ü"/[missing].json'),
    ):
        assert CommittedOffset.of(5, progress.note()) == progress
        assert len(progress.note().encode()) < 4096


@pytest.mark.parametrize("note", [None, "", "x", "[1]", '{"v": 2, "until": 7}', '{"until": 7}'])
def test_a_commit_of_someone_else_has_only_its_offset(note: str | None) -> None:
    assert CommittedOffset.of(5, note) == CommittedOffset(offset=5)


def test_it_goes_on_from_what_is_committed_without_a_listing() -> None:
    bucket = Landing(exists=lambda key: key == "k", end=never("a listing"))
    progress = CommittedOffset(offset=5, until=8, landed="k")
    assert decide_start(progress, low=0, high=9, landing=bucket) == Start(offset=5, until=8)


def test_the_first_start_reads_from_the_begin() -> None:
    assert decide_start(None, low=0, high=9, landing=landing()) == Start(offset=0)
    assert decide_start(None, low=0, high=0, landing=landing()) == Start(offset=0)


def test_when_the_groups_offsets_are_gone_it_goes_on_behind_what_is_landed() -> None:
    assert decide_start(None, low=2, high=9, landing=landing(end=6)) == Start(offset=6)
    assert decide_start(None, low=2, high=9, landing=landing(end=2)) == Start(offset=2)


@pytest.mark.parametrize(("landed_end", "first"), [(None, 0), (4, 4)])
def test_records_deleted_before_the_first_start_are_a_gap(landed_end: int | None, first: int) -> None:
    start = decide_start(None, low=6, high=9, landing=landing(end=landed_end))
    assert start == Start(offset=6, gap=Gap(first=first, end=6, reason=DELETED_EARLY))


@pytest.mark.parametrize(("until", "kept"), [(None, None), (5, None), (6, None), (8, 8)])
def test_records_deleted_before_they_were_landed_are_a_gap(until: int | None, kept: int | None) -> None:
    start = decide_start(CommittedOffset(offset=4, until=until), low=6, high=9, landing=landing())
    assert start == Start(offset=6, until=kept, gap=Gap(first=4, end=6, reason=DELETED_EARLY))


def test_a_log_that_ends_before_what_is_landed_isnt_read() -> None:
    for progress in (CommittedOffset(offset=10), CommittedOffset(offset=5, until=10)):
        with pytest.raises(SinkError, match="offset 10 was landed but the log ends at 9"):
            decide_start(progress, low=0, high=9, landing=landing())
    with pytest.raises(SinkError, match="offset 9 is landed but the log ends at 9"):
        decide_start(None, low=0, high=9, landing=landing(end=10))
    assert decide_start(CommittedOffset(offset=9), low=0, high=9, landing=landing()) == Start(offset=9)


def test_objects_that_were_taken_away_are_landed_again_as_far_as_kafka_has_them() -> None:
    progress = CommittedOffset(offset=8, landed="k")
    assert decide_start(progress, low=0, high=9, landing=landing(exists=False, end=3)) == Start(
        offset=3, rewound_from=8
    )
    assert decide_start(progress, low=5, high=9, landing=landing(exists=False, end=3)) == Start(
        offset=5, rewound_from=8, gap=Gap(first=3, end=5, reason=OBJECTS_GONE)
    )
    assert decide_start(progress, low=0, high=9, landing=landing(exists=False)) == Start(offset=0, rewound_from=8)
