"""Readable instants from the timeline: the newest cleaning, a running one, and the oldest commit."""

from pathlib import Path

import fastavro
import pytest

from local.look.lake import InstantError, Lake, LakeError, Readable, parse_instant, readable

COMMITS = [f"2026112211000{second}000" for second in range(6)]
DONE = {"name": "clean", "type": "record", "fields": [{"name": "earliestCommitToRetain", "type": "string"}]}
INSTANT = {"name": "instant", "type": "record", "fields": [{"name": "timestamp", "type": "string"}]}
PLAN = {
    "name": "plan",
    "type": "record",
    "fields": [{"name": "earliestInstantToRetain", "type": ["null", INSTANT]}],
}


@pytest.fixture
def timeline(tmp_path: Path) -> Path:
    folder = tmp_path / ".hoodie"
    folder.mkdir()
    for commit in COMMITS:
        (folder / f"{commit}.commit").touch()
        (folder / f"{commit}.commit.requested").touch()
    (folder / "20261122120000000.deltacommit.inflight").touch()
    (folder / "hoodie.properties").touch()
    return folder


def found(timeline: Path) -> tuple[str, str]:
    instants = readable(Lake(base_uri=timeline.parent.as_uri()))
    return instants.oldest, instants.newest


def clean(timeline: Path, instant: str, kept: str) -> None:
    with (timeline / f"{instant}.clean").open("wb") as file:
        fastavro.writer(file, DONE, [{"earliestCommitToRetain": kept}])


def test_without_a_cleaning_all_that_isnt_archived_is_whole(timeline: Path) -> None:
    assert found(timeline) == (COMMITS[0], COMMITS[-1])


def test_the_newest_cleaning_says_what_it_kept(timeline: Path) -> None:
    clean(timeline, "20261122110003500", COMMITS[1])
    clean(timeline, "20261122110005500", COMMITS[3])
    assert found(timeline) == (COMMITS[3], COMMITS[-1])


def test_what_a_cleaning_under_way_wont_keep_counts_as_gone(timeline: Path) -> None:
    clean(timeline, "20261122110003500", COMMITS[1])
    (timeline / "20261122110005500.clean.inflight").touch()
    with (timeline / "20261122110005500.clean.requested").open("wb") as file:
        fastavro.writer(file, PLAN, [{"earliestInstantToRetain": {"timestamp": COMMITS[4]}}])
    assert found(timeline) == (COMMITS[4], COMMITS[-1])


def test_a_cleaning_that_doesnt_say_leaves_the_newest(timeline: Path) -> None:
    clean(timeline, "20261122110005500", "")
    assert found(timeline) == (COMMITS[-1], COMMITS[-1])


def test_a_cleaning_that_cant_be_read_is_no_permission(timeline: Path) -> None:
    (timeline / "20261122110005500.clean").write_text("half")
    with pytest.raises(LakeError, match="its timeline can't be read"):
        found(timeline)


def test_no_table_is_one_line(tmp_path: Path) -> None:
    with pytest.raises(LakeError, match="its timeline can't be read"):
        readable(Lake(base_uri=(tmp_path / "none").as_uri()))


def test_an_instant_that_is_gone_is_refused_with_the_oldest() -> None:
    instants = Readable(oldest=COMMITS[3], newest=COMMITS[-1])
    instants.check(COMMITS[3], "things")
    with pytest.raises(InstantError, match=f"things can't be read as of {COMMITS[2]}: .* from {COMMITS[3]} on"):
        instants.check(COMMITS[2], "things")


@pytest.mark.parametrize(
    ("text", "instant"),
    [
        ("20261122110000123", "20261122110000123"),
        ("20261122110000", "20261122110000000"),
        ("2026-11-22T11:00:00.123Z", "20261122110000123"),
        ("2026-11-22 11:00", "20261122110000000"),
        ("2026-11-22T12:00:00+01:00", "20261122110000000"),
        ("2026-11-22", "20261122000000000"),
    ],
)
def test_an_instant_is_hudis_or_iso(text: str, instant: str) -> None:
    assert parse_instant(text) == instant


@pytest.mark.parametrize("text", ["yesterday", "2026", "20261122110000123456", "2026-13-01"])
def test_another_text_is_no_instant(text: str) -> None:
    with pytest.raises(InstantError, match="is no instant: give"):
        parse_instant(text)
