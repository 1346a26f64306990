"""The page's texts: what each stage, table and chart says."""

import json
from typing import Any

import pytest

from contract.states import CATALOGUE, JOB, LAKE, LANDING, SLOT, SOURCE, STAGES, TOPIC, Word
from contract.table_states import LOADING
from local.dashboard import texts
from local.dashboard.changes import Change
from local.platform.job import TableState
from local.problem import Problem
from local.state.history import Failure
from local.state.stages import Stage
from local.state.tables import TableStatus
from tests.local.dashboard.pictures import AT, SCRIPT, TABLE, picture

ALL = tuple(Stage(name=name) for name in STAGES)


def test_a_problem_marks_the_stage_of_its_part() -> None:
    parts = ["postgres", "the source", "replication slot s", "connector a-sink-source", "connector a-sink", "kafka"]
    parts += ["sink", "table public.sink", "s3", "moto", "disk"]
    stages = [SOURCE, SOURCE, SLOT, SLOT, LANDING, TOPIC, LANDING, JOB, LAKE, CATALOGUE, None]
    assert [texts.stage_of(Problem(part=part, what="fails"), ALL) for part in parts] == stages


def test_a_stage_that_the_pipeline_lacks_is_its_first() -> None:
    assert texts.stage_of(Problem(part="table t", what="fails"), [Stage(name=LAKE)]) == LAKE


@pytest.mark.parametrize(
    ("stage", "word"),
    [
        ({}, texts.UNKNOWN),
        ({"position": "7"}, Word.UP_TO_DATE),
        ({"position": "7", "lag_events": 2}, Word.MOVING),
        ({"position": "7", "lag_s": 61.0}, Word.LATE),
    ],
)
def test_a_stages_word_is_its_lags(stage: dict[str, Any], word: str) -> None:
    assert texts.stage_word(Stage(name=LAKE, **stage)) == word


def test_the_broken_stage_says_what_is_wrong_and_what_to_do() -> None:
    wrong = Problem(part="sink", what="is dead", reason="killed", remedy="`./lake up` starts it again")
    (landing, *_) = texts.stages(picture(problems=(wrong,)))
    assert landing == (LANDING, Word.FAILING, "1.2 s behind, 2 events", ("sink is dead", "killed", wrong.remedy))


def test_the_jobs_stage_says_which_tables_are_being_loaded() -> None:
    reads = [TableState(state=LOADING, detail=f"{rows} of about 7 rows read") for rows in range(6)]
    tables = tuple(TableStatus(name=f"t{rows}", state=state) for rows, state in enumerate(reads))
    (_, job, *_) = texts.stages(picture(tables=tables))
    said = [f"t{rows}: {rows} of about 7 rows read" for rows in range(4)]
    assert job == (JOB, Word.MOVING, "0.0 s behind", (*said, "next offset 7", "2 more tables are loaded"))


def test_numbers_are_where_they_belong() -> None:
    shown = picture()
    assert texts.table_rows(shown)[0] == (TABLE, "captured", "-", 826, 2, "2026-11-22 11:25:12", "1")
    assert texts.facts("items_history", shown) == [("history", "starting", None, None, "-", "-", None)]
    written = "829 inserted, 1 updated, 3 deleted in 2 commits since 2026-11-22 11:25:25"
    assert texts.facts(TABLE, shown)[0][-1] == written
    assert texts.commits(TABLE, shown)[0][1:] == (0, 1, 3)
    assert texts.quarantine(TABLE, shown)[0][1:] == ("not JSON", "a.json, line 3", SCRIPT)


def test_columns_are_the_schemas_without_the_platforms_own() -> None:
    decimal = {"type": "bytes", "logicalType": "decimal", "precision": 9, "scale": 2}
    found = [("a", ["null", decimal]), ("b", {"type": "array", "items": "int"}), ("_hoodie_x", "string")]
    schema = json.dumps({"fields": [{"name": name, "type": kind} for name, kind in found]})
    assert texts.columns("t", picture(schemas={"t": schema})) == [("a", "decimal(9, 2)"), ("b", "array of int")]
    assert texts.columns("none", picture()) == []


def test_an_error_that_lasts_comes_before_everything_newer() -> None:
    failures = (Failure(text="s3 hangs", at=AT - 40, ended=AT - 30), Failure(text="job is dead", at=AT - 60))
    assert [row[1:] for row in texts.errors(picture(failures=failures))] == [
        ("lasts", "job is dead"),
        ("2026-11-22 11:24:55", "s3 hangs"),
    ]


def test_every_row_of_a_change_has_its_time_for_a_head() -> None:
    columns = (("a", "1", "2"), ("b", "3", "4"))
    shown = picture(changes={"t": [Change(table="t", what="updated", key="id = 1", at=AT, columns=columns)]})
    first, second = ("updated", "id = 1", "a", "1", "2"), ("", "", "b", "3", "4")
    assert texts.changes("t", shown) == [("11:25:25", *cells) for cells in (first, second)]
    assert texts.newest_changes(shown) == [("11:25:25", "t", *cells) for cells in (first, second)]
