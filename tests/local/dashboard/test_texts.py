"""The page's texts for a picture."""

import pytest

from contract.states import Word
from local.dashboard import texts
from local.dashboard.changes import Change
from local.dashboard.history import Failure
from local.dashboard.kept import TableRow
from local.dashboard.stages import Stage
from local.dashboard.state import State
from local.look.status import ServiceStatus
from tests.local.dashboard.pictures import AT, SCRIPT, commit, picture


def test_numbers_are_where_they_belong() -> None:
    shown = picture()
    assert texts.stage_rows(shown) == [("landing", "next offset 7", "1.2 s", "2", "0.5 events/s", "11:25:25", "-")]
    assert texts.table_rows(shown) == [("datalake.cdc_events", "829", "1", "3", "2", "11:25:25")]
    assert texts.change_rows(shown)[0][-3:] == ("shipped_date", "NULL", "2026-11-22")
    assert texts.quarantine_rows(shown)[0][1:] == ("datalake.cdc_events", "not JSON", "a.json, line 3", SCRIPT)
    assert texts.reconciled_text(shown) == ["2026-11-22 11:30:00 UTC: equal", "cdc_events: equal, 829 rows"]


def test_zero_is_a_number_and_unknown_a_dash() -> None:
    stages = (Stage(name="lake", lag_s=0.0, lag_events=0, rate=0.0, held_bytes=0), Stage(name="job"))
    zero, unknown = texts.stage_rows(picture(stages=stages))
    assert zero == ("lake", "-", "0.0 s", "0", "0.0 events/s", "-", "0.0 MB")
    assert unknown == ("job", *("-",) * 6)


def test_a_table_without_a_commit_is_there_with_dashes() -> None:
    tables = (
        TableRow(table="t", kind="queried", rows=0, last_commit="20261122112505000", state="running"),
        TableRow(table="t_history", kind="history"),
    )
    assert texts.kept_rows(picture(tables=tables)) == [
        ("t", "queried", "0", "11:25:05", "20 s", "running"),
        ("t_history", "history", "-", "-", "-", "-"),
    ]


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(-1, "0 s"), (59.4, "59 s"), (60, "1 min"), (3_599, "59 min"), (86_399, "23 h"), (1e6, "11 d")],
)
def test_an_age_is_in_its_largest_unit(seconds: float, text: str) -> None:
    assert texts.age(seconds) == text


def test_an_error_that_lasts_comes_before_everything_newer() -> None:
    failures = (Failure(text="job is dead", at=AT - 60), Failure(text="s3 hangs", at=AT - 40, ended=AT - 30))
    found = texts.timeline_rows(picture(failures=failures, commits=(commit("20261122112531744", inserted=1),)))
    assert [(row[1].partition(",")[0], row[3]) for row in found] == [
        ("error", "job is dead"),
        ("commit", "1 inserted, 0 updated, 0 deleted"),
        ("error", "s3 hangs"),
    ]


def test_every_row_of_a_change_has_its_time_for_a_head() -> None:
    change = Change(
        table="t",
        offset=1,
        what="updated",
        key="id = 1",
        at=AT,
        columns=(("a", "1", "2"), ("b", "3", "4")),
        seen=True,
    )
    first, second = texts.change_rows(picture(changes=(change,)))
    assert first == ("11:25:25", "t", "updated", "id = 1", "a", "1", "2")
    assert second == ("11:25:25", "", "", "", "b", "3", "4")


def test_a_service_that_is_dead_hangs_or_fails_is_said_so() -> None:
    services = (
        ServiceStatus(name="job", running=False, pid=None),
        ServiceStatus(name="kafka", running=True, pid=2, silent=True),
        ServiceStatus(name="sink", running=True, pid=3),
        ServiceStatus(name="s3", running=True, pid=4),
    )
    failing = State(word=Word.FAILING, reason="sink fails", parts=("sink",))
    found = texts.service_rows(picture(services=services, state=failing))
    assert [row[:2] for row in found] == [("job", "dead"), ("kafka", "hangs"), ("sink", "failing"), ("s3", "running")]


def test_the_chart_has_no_bar_where_there_is_nothing() -> None:
    series = texts.commits_chart((commit("1", inserted=829), commit("2", updated=1)))["series"]
    assert {one["name"]: one["data"] for one in series} == {
        "inserted": [829, None],
        "updated": [None, 1],
        "deleted": [None, None],
    }
