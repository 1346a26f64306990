"""The page's texts: rows of a picture's tables, states of its stages, and the options of its charts."""

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from contract.states import CATALOGUE, JOB, LAKE, LANDING, SLOT, SOURCE, TOPIC, Word
from local.dashboard.changes import Change
from local.dashboard.commit_log import Logged, Point, over_time
from local.dashboard.watcher import Picture
from local.state import rows
from local.state.history import Commit, Failure
from local.state.problems import Problem
from local.state.quarantine import QuarantinedLine
from local.state.rows import NOTHING, Rows, clock, moment
from local.state.stages import Stage
from local.state.tables import TableStatus
from local.state.word import LATE_S

TIMELINE_LINES = 30
# Points of a line that are marked.
FEW = 60
UNKNOWN = "unknown"
# Readable on light and dark.
INK, GRID = "#808890", "#80808040"
AXIS = {"axisLabel": {"color": INK}, "nameTextStyle": {"color": INK}, "splitLine": {"lineStyle": {"color": GRID}}}

TABLES = ("table", "kind", "state", "rows", "events behind", "last commit", "quarantine")
COLUMNS = ("column", "type")
COMMITS = ("time", "inserted", "updated", "deleted")
ERRORS = ("time", "until", "error")
CHANGES = ("time", "table", "what", "row", "column", "before", "after")
CHANGES_OF_TABLE = tuple(column for column in CHANGES if column != "table")
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
_SINK = "-sink"


def stage_of(problem: Problem, stages: Sequence[Stage]) -> str | None:
    """Return the stage that a problem belongs to; the first where the pipeline has no such stage, None for none."""
    found = _STAGES.get(problem.part) or _STAGES.get(problem.part.split()[0])
    if found == SLOT and problem.part.endswith(_SINK):
        found = LANDING
    names = [stage.name for stage in stages]
    return found if found in names or found is None else next(iter(names), None)


def stage_texts(picture: Picture) -> list[tuple[str, str, str, tuple[str, ...]]]:
    """Return each stage's name, state, lag, and further lines: its problem, or where it is."""
    stages = picture.found.stages
    wrong: dict[str | None, Problem] = {}
    for problem in picture.found.problems:
        wrong.setdefault(stage_of(problem, stages), problem)
    return [
        _stage_text(stage, texts, wrong.get(stage.name))
        for stage, texts in zip(stages, rows.stage_rows(stages), strict=True)
    ]


def _stage_text(stage: Stage, texts: Sequence[str], problem: Problem | None) -> tuple[str, str, str, tuple[str, ...]]:
    _, position, lag, events, rate, _, held = texts
    behind = [] if stage.lag_s is None else [f"{lag} behind"]
    behind += [f"{events} events"] if stage.lag_events else []
    if problem is not None:
        details = tuple(filter(None, (f"{problem.part} {problem.what}", problem.reason, problem.remedy)))
    else:
        found = (position, rate if stage.rate else NOTHING, f"{held} of WAL held")
        details = tuple(text for text in found if not text.startswith(NOTHING))
    return stage.name, stage_word(stage, failing=problem is not None), ", ".join(behind), details


def stage_word(stage: Stage, *, failing: bool) -> str:
    if failing:
        return Word.FAILING
    if stage.position is None:
        return UNKNOWN
    if (stage.lag_s or 0) > LATE_S:
        return Word.LATE
    return Word.MOVING if stage.lag_events or stage.lag_s else Word.UP_TO_DATE


def facts(table: TableStatus) -> list[tuple[str, str]]:
    """Return what is known of a table: titles and values."""
    known = [(title, value) for title, value in table_row(table).items() if value not in (None, NOTHING)]
    return [(title, f"{value:,}" if isinstance(value, int) else str(value)) for title, value in known[1:]]


def table_row(table: TableStatus) -> dict[str, object]:
    """Return a table's cells by column; numbers stay numbers, by which a viewer sorts."""
    [(name, kind, state, *_, last, _, quarantine)] = rows.table_rows([table], 0)
    behind = None if table.topic_end is None or table.read_to is None else max(table.topic_end - table.read_to, 0)
    return dict(zip(TABLES, (name, kind, state, table.lake_rows, behind, last, quarantine), strict=True))


def columns_of(schema: str | None) -> Rows:
    """Return names and types of an Avro schema's columns; without those that the platform adds."""
    try:
        fields = json.loads(schema or "")["fields"]
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


def commit_rows(commits: Sequence[Commit]) -> Rows:
    """Return a table's last commits, the newest first."""
    return [
        (moment(one.at), *(f"{count:,}" for count in (one.inserted, one.updated, one.deleted)))
        for one in reversed(commits[-TIMELINE_LINES:])
    ]


def totals(commits: Sequence[Commit]) -> str:
    """Say how many rows a table's commits have written."""
    if not commits:
        return "no commit in the lake yet"
    counts = (f"{sum(getattr(one, what) for one in commits):,} {what}" for what in ("inserted", "updated", "deleted"))
    return f"{', '.join(counts)} in {len(commits):,} commits since {moment(commits[0].at)}"


def error_rows(failures: Iterable[Failure]) -> Rows:
    """Return what was wrong, the newest first; what lasts comes first."""
    found = sorted(failures, key=lambda one: (one.ended is None, one.at), reverse=True)
    return [
        (moment(one.at), "lasts" if one.ended is None else moment(one.ended), one.text)
        for one in found[:TIMELINE_LINES]
    ]


def change_rows(changes: Iterable[Change]) -> Rows:
    """Return the changes, a row per changed column; each row begins with the time as its head."""
    found: Rows = []
    for change in changes:
        first = (clock(change.at), change.table, change.what, change.key)
        columns = change.columns if change.seen else (("", "not seen", ""), *change.columns)
        columns = (*columns, (f"and {change.more:,} more", "", "")) if change.more else columns
        found += [
            (*(first if number == 0 else (first[0], "", "", "")), *column)
            for number, column in enumerate(columns or (("", "", "the same"),))
        ]
    return found


def quarantine_rows(lines: Iterable[QuarantinedLine]) -> Rows:
    return [(one.at[:19].replace("T", " "), one.reason, one.origin, one.text) for one in lines]


def time_charts(commits: Sequence[Logged]) -> Mapping[str, dict[str, Any]]:
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
            "splitLine": {"show": False},
            "axisLabel": {"color": INK, "formatter": "{HH}:{mm}\n{d} {MMM}", "hideOverlap": True, "lineHeight": 15},
        },
        "yAxis": {**AXIS, "type": "value", "name": unit, "min": 0},
        "series": [{"type": "line", "name": unit, "data": points, "showSymbol": False, **series}],
    }
