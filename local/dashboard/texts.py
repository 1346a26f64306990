"""The page's texts: rows of a picture's tables, and the numbers of its chart."""

from collections.abc import Sequence
from typing import Any

from local.dashboard.charts import AXIS, INK, Chart
from local.dashboard.watcher import Picture
from local.state.history import Commit, Failure, rows
from local.state.rows import Rows, clock

TIMELINE_LINES = 30
# Bars of the chart.
CHARTED_COMMITS = 40
# On a logarithmic scale: gives a bar of one row a height.
LOWEST = {"min": 0.5, "startValue": 0.5}

TOTALS = ("table", "inserted", "updated", "deleted", "commits", "since")
TIMELINE = ("time", "what", "table", "details")
CHANGES = ("time", "table", "what", "row", "column", "before", "after")
QUARANTINE = ("time", "table", "reason", "from", "line as it was")


def total_rows(picture: Picture) -> Rows:
    """Return a row per lake table: totals of its commits."""
    return [
        (
            one.table,
            *(f"{number:,}" for number in (one.inserted, one.updated, one.deleted, one.commits)),
            clock(one.since),
        )
        for one in rows(picture.commits)
    ]


def timeline_rows(picture: Picture) -> Rows:
    """Return commits and errors, newest first; ongoing errors come first."""
    lasting = [_failure(one) for one in picture.failures if one.ended is None]
    past = [(one.at, _failure(one)) for one in picture.failures if one.ended is not None]
    past += [(one.at, _commit(one)) for one in picture.commits[-TIMELINE_LINES:]]
    past.sort(key=lambda one: one[0], reverse=True)
    return [*lasting, *(row for _, row in past)][:TIMELINE_LINES]


def _failure(one: Failure) -> tuple[str, ...]:
    what = "error, lasts" if one.ended is None else f"error, until {clock(one.ended)}"
    return clock(one.at), what, "", one.text


def _commit(one: Commit) -> tuple[str, ...]:
    details = f"{one.inserted:,} inserted, {one.updated:,} updated, {one.deleted:,} deleted"
    return clock(one.at), "commit", one.table, details


def change_rows(picture: Picture) -> Rows:
    """Return the last changes, a row per changed column; each row begins with the time as its head."""
    found: Rows = []
    for change in picture.changes:
        first = (clock(change.at), change.table, change.what, change.key)
        columns = change.columns if change.seen else (("", "not seen", ""), *change.columns)
        columns = (*columns, (f"and {change.more:,} more", "", "")) if change.more else columns
        found += [
            (*(first if number == 0 else (first[0], "", "", "")), *column)
            for number, column in enumerate(columns or (("", "", "the same"),))
        ]
    return found


def quarantine_rows(picture: Picture) -> Rows:
    return [(one.at[11:19], one.table, one.reason, one.origin, one.text) for one in picture.quarantined]


def reconciled_text(picture: Picture) -> list[str]:
    """Format when source and lake were last compared, and the result."""
    found = picture.reconciled
    if found is None:
        return ["not yet: `./lake reconcile` compares source and lake"]
    result = "equal" if found.equal else "not equal"
    return [f"{found.at.replace('T', ' ').replace('+00:00', ' UTC')}: {result}", *found.tables]


def commits_chart(found: Sequence[Commit]) -> dict[str, Any]:
    """Return ECharts' options: rows of the last commits, on a scale that shows one row next to a first load."""
    commits = found[-CHARTED_COMMITS:]
    return {
        "animation": False,
        "color": ["#2a78c2", "#b8860b", "#b3392f"],
        "tooltip": {"trigger": "axis"},
        "legend": {"top": 0, "textStyle": {"color": INK}},
        "grid": {"left": 50, "right": 12, "top": 32, "bottom": 28},
        "xAxis": {**AXIS, "type": "category", "data": [clock(one.at) for one in commits]},
        "yAxis": {**AXIS, "type": "log", **LOWEST, "axisLabel": {"color": INK, "showMinLabel": False}},
        "series": [
            {"name": name, "type": "bar", "barMaxWidth": 24, "data": _numbers(commits, name)}
            for name in ("inserted", "updated", "deleted")
        ],
    }


def chart_rows(chart: Chart) -> Rows:
    return [(str(name), *(f"{number:,.2f}".removesuffix(".00") for number in numbers)) for name, *numbers in chart.rows]


def _numbers(commits: Sequence[Commit], name: str) -> list[int | None]:
    """Return the bars' heights; no bar for zero, which has no logarithm."""
    return [int(getattr(one, name)) or None for one in commits]
