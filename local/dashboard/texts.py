"""The page's texts: rows of a picture's tables, states of its stages, and the options of its charts."""

import json
from collections.abc import Sequence
from typing import Any

from contract.states import CATALOGUE, JOB, LAKE, LANDING, SLOT, SOURCE, TOPIC, Word
from local.dashboard.changes import Change
from local.dashboard.commit_log import Logged, Point, over_time
from local.dashboard.watcher import Picture
from local.problem import Problem
from local.state import rows
from local.state.rows import NOTHING, Rows, clock, moment
from local.state.stages import Stage
from local.state.tables import TableStatus
from local.state.word import LATE_S

TIMELINE_LINES = 30
# On the overview; a table's page has more.
CHANGES_SHOWN = 5
# Tables whose first rows are being read, on the overview.
LOADS_SHOWN = 4
# Points of a line that are marked.
FEW = 60
UNKNOWN = "unknown"
# Readable on light and dark.
INK, GRID = "#808890", "#80808040"
AXIS = {"axisLabel": {"color": INK}, "nameTextStyle": {"color": INK}, "splitLine": {"lineStyle": {"color": GRID}}}

Cells = list[tuple[object, ...]]
# A stage's name, state, lag, and further lines.
StageTexts = tuple[str, str, str, tuple[str, ...]]
TABLES = ("table", "kind", "state", "rows", "events behind", "last commit", "quarantine")
FACTS = (*TABLES[1:], "written")
COLUMNS = ("column", "type")
COMMITS = ("time", "inserted", "updated", "deleted")
ERRORS = ("time", "until", "error")
CHANGES = ("time", "what", "row", "column", "before", "after")
NEWEST_CHANGES = ("time", "table", *CHANGES[1:])
QUARANTINE = ("time", "reason", "from", "line as it was")
# The stage that a part of a problem belongs to: by the part's whole name, or its first word.
_STAGES = {
    **dict.fromkeys(("postgres", "the database", "the source", "outbox"), SOURCE),
    **dict.fromkeys(("connect", "connector", "replication"), SLOT),
    **dict.fromkeys(("kafka", "Kafka"), TOPIC),
    **dict.fromkeys((JOB, "table"), JOB),
    "sink": LANDING,
    "s3": LAKE,
    "moto": CATALOGUE,
}


def stage_of(problem: Problem, stages: Sequence[Stage]) -> str | None:
    """Return the stage that a problem belongs to; the first where the pipeline has no such stage, None for none."""
    found = _STAGES.get(problem.part) or _STAGES.get(problem.part.split()[0])
    if found == SLOT and problem.part.endswith("-sink"):
        found = LANDING
    names = [stage.name for stage in stages]
    return found if found in names or found is None else next(iter(names), None)


def stages(picture: Picture) -> list[StageTexts]:
    """Return the stages; a broken one has its problem's lines, any other those that say where it is."""
    found = picture.found.stages
    wrong: dict[str | None, Problem] = {}
    for problem in picture.found.problems:
        wrong.setdefault(stage_of(problem, found), problem)
    loads = {JOB: picture.found.data.loads}
    return [
        _stage(stage, texts, wrong.get(stage.name), loads.get(stage.name, ()))
        for stage, texts in zip(found, rows.stage_rows(found), strict=True)
    ]


def _stage(stage: Stage, texts: Sequence[str], problem: Problem | None, loads: Sequence[str]) -> StageTexts:
    _, position, lag, events, rate, _, held = texts
    behind = [] if stage.lag_s is None else [f"{lag} behind"]
    behind += [f"{events} events"] if stage.lag_events else []
    if problem is not None:
        details = tuple(filter(None, (f"{problem.part} {problem.what}", problem.reason, problem.remedy)))
    else:
        found = (position, rate if stage.rate else NOTHING, f"{held} of WAL held")
        details = (*loads[:LOADS_SHOWN], *(text for text in found if not text.startswith(NOTHING)))
        details += (f"{left} more tables are loaded",) if (left := len(loads) - LOADS_SHOWN) > 0 else ()
    word = Word.FAILING if problem else Word.MOVING if loads else stage_word(stage)
    return stage.name, word, ", ".join(behind), details


def stage_word(stage: Stage) -> str:
    if stage.position is None:
        return UNKNOWN
    if (stage.lag_s or 0) > LATE_S:
        return Word.LATE
    return Word.MOVING if stage.lag_events or stage.lag_s else Word.UP_TO_DATE


def table_rows(picture: Picture) -> Cells:
    """Return the tables' cells; numbers stay numbers, by which a viewer sorts."""
    tables = picture.found.data.tables
    return [
        (name, kind, state, one.lake_rows, _events_behind(one), last, quarantine)
        for one, (name, kind, state, *_, last, _, quarantine) in zip(tables, rows.table_rows(tables, 0), strict=True)
    ]


def _events_behind(table: TableStatus) -> int | None:
    return None if table.topic_end is None or table.read_to is None else max(table.topic_end - table.read_to, 0)


def facts(name: str, picture: Picture) -> Cells:
    """Return a table's cells, and what its commits have written."""
    commits, written = picture.commits.get(name), None
    if commits:
        counts = (f"{sum(getattr(one, what) for one in commits):,} {what}" for what in COMMITS[1:])
        written = f"{', '.join(counts)} in {len(commits):,} commits since {moment(commits[0].at)}"
    return [(*cells, written) for table, *cells in table_rows(picture) if table == name]


def columns(name: str, picture: Picture) -> Rows:
    """Return names and types of a table's columns from its Avro schema; without those that the platform adds."""
    try:
        fields = json.loads(picture.schemas.get(name, ""))["fields"]
        return [(field["name"], _type(field["type"])) for field in fields if not field["name"].startswith("_")]
    except (ValueError, LookupError, TypeError):
        return []


def _type(found: Any) -> str:
    if isinstance(found, list):
        return " or ".join(_type(one) for one in found if one != "null")
    if not isinstance(found, dict):
        return str(found)
    if found.get("logicalType") == "decimal":
        return f"decimal({found['precision']}, {found.get('scale', 0)})"
    inner = found.get("items") or found.get("values")
    return str(found.get("logicalType") or found["type"]) + (f" of {_type(inner)}" if inner else "")


def commits(name: str, picture: Picture) -> Cells:
    newest = reversed(picture.commits.get(name, ())[-TIMELINE_LINES:])
    return [(moment(one.at), one.inserted, one.updated, one.deleted) for one in newest]


def errors(picture: Picture) -> Rows:
    """Return what was wrong, the newest first; what lasts comes first."""
    found = sorted(picture.failures, key=lambda one: (one.ended is None, one.at), reverse=True)
    return [
        (moment(one.at), "lasts" if one.ended is None else moment(one.ended), one.text)
        for one in found[:TIMELINE_LINES]
    ]


def newest_changes(picture: Picture) -> Rows:
    found = (one for of_table in picture.changes.values() for one in of_table)
    newest = sorted(found, key=lambda one: one.at or 0, reverse=True)[:CHANGES_SHOWN]
    return [(time, change.table, *cells) for change in newest for time, *cells in _change_rows(change)]


def changes(name: str, picture: Picture) -> Rows:
    return [row for change in picture.changes.get(name, ()) for row in _change_rows(change)]


def _change_rows(change: Change) -> Rows:
    what = [(change.what, change.key), *[("", "")] * len(change.columns)]
    return [(clock(change.at), *first, *column) for first, column in zip(what, change.columns, strict=False)]


def quarantine(name: str, picture: Picture) -> Rows:
    found = (one.quarantined for one in picture.found.data.tables if one.name == name and one.quarantined)
    return [
        (one.at[:19].replace("T", " "), one.reason, one.origin, one.text) for known in found for one in known.newest
    ]


def time_charts(commits: Sequence[Logged]) -> dict[str, dict[str, Any]]:
    """Return ECharts' options by title: age of the newest change at each commit, and rows per second."""
    ages, rates = over_time(commits)
    return {
        "Age of the newest change at each commit": _time_chart("s", "#2a78c2", ages, showSymbol=len(ages) < FEW),
        "Rows per second": _time_chart("rows/s", "#1a7f37", rates, step="end", areaStyle={"opacity": 0.2}),
    }


def _time_chart(unit: str, colour: str, points: Sequence[Point], **series: Any) -> dict[str, Any]:
    return {
        "animation": False,
        "useUTC": True,
        "color": [colour],
        "tooltip": {"trigger": "axis"},
        "grid": {"left": 52, "right": 16, "top": 26, "bottom": 40},
        "xAxis": {
            **AXIS,
            "type": "time",
            "axisLabel": {"color": INK, "formatter": "{HH}:{mm}\n{d} {MMM}", "hideOverlap": True, "lineHeight": 15},
        },
        "yAxis": {**AXIS, "type": "value", "name": unit, "min": 0},
        "series": [{"type": "line", "name": unit, "data": points, "showSymbol": False, **series}],
    }
