"""The page's first page: the pipeline's stages and problems, its tables, its speed, its services."""

from collections.abc import Sequence
from typing import Any

from nicegui import ui

from contract.states import Word
from local.dashboard import texts
from local.dashboard.files import last_lines
from local.dashboard.parts import Grid, Redrawn, Text, say, section
from local.dashboard.watcher import Picture
from local.state import rows
from local.state.problems import Problem

PROBLEMS, STAGES, TABLES, SPEED, SERVICES = (
    "Problems",
    "Stages",
    "Tables of the lake",
    "Freshness and speed",
    "Services",
)
CHANGES, ERRORS, COMPARISON = "Last changes", "Errors", "Last comparison of source and lake"
# On the overview; a table's page has more.
CHANGES_SHOWN = 5


class Overview:
    """The elements of one viewer's overview."""

    def __init__(self) -> None:
        with section(PROBLEMS) as self._wrong:
            self._problems = Redrawn(_draw_problems, "ul")
        with section(STAGES):
            self._stages = Redrawn(_draw_stages, "ol")
            self._stages.element.classes("stages")
        with section(TABLES):
            marks = {"table": "link", "state": "word"}
            self._tables = Grid(TABLES, texts.TABLES, "the first look isn't done yet", has_filter=True, marks=marks)
        self._speed = _Speed()
        with section(SERVICES):
            self._services = _Services()
        with section(CHANGES):
            self._changes = Grid(CHANGES, texts.CHANGES, "no change since the first load")
        with section(ERRORS):
            self._errors = Grid(ERRORS, texts.ERRORS, "none yet")
        with section(COMPARISON):
            self._reconciled = Redrawn(_draw_lines)

    def show(self, picture: Picture) -> None:
        found = picture.found
        self._wrong.set_visibility(bool(found.problems))
        self._problems.show(found.problems)
        self._stages.show(texts.stage_texts(picture))
        self._tables.show([texts.table_row(table) for table in found.data.tables])
        self._speed.show(picture)
        self._services.show(picture)
        changes = sorted(
            (one for of_table in picture.changes.values() for one in of_table), key=lambda one: one.at or 0
        )
        self._changes.show(texts.change_rows(reversed(changes[-CHANGES_SHOWN:])))
        self._errors.show(texts.error_rows(picture.failures))
        self._reconciled.show(picture.reconciled)


def _draw_problems(problems: Sequence[Problem]) -> None:
    for problem in problems:
        with ui.element("li"):
            Text("strong", f"{problem.part} {problem.what}")
            for text in filter(None, (problem.reason, problem.remedy, f"see {problem.log}" if problem.log else "")):
                say(text)


def _draw_stages(stages: Sequence[tuple[str, str, str, Sequence[str]]]) -> None:
    for name, word, lag, details in stages:
        with ui.element("li").classes(f"stage {word.replace(' ', '-')}"):
            Text("strong", name)
            Text("span", word).classes(f"word {word.replace(' ', '-')}")
            Text("p", lag)
            for text in details:
                say(text)


def _draw_lines(lines: Sequence[str]) -> None:
    for line in lines:
        say(line)


class _Speed:
    """The charts over time."""

    def __init__(self) -> None:
        self._shown: object = None
        with section(SPEED), ui.element("div").classes("pair"):
            self._charts = [self._chart(title, options) for title, options in texts.time_charts(()).items()]

    def show(self, picture: Picture) -> None:
        if self._shown is not picture.logged:
            self._shown = picture.logged
            for chart, options in zip(self._charts, texts.time_charts(picture.logged).values(), strict=True):
                chart.options.update(options)
                chart.update()

    def _chart(self, title: str, options: dict[str, Any]) -> ui.echart:
        with ui.element("div"):
            Text("h3", title)
            chart = ui.echart(options).classes("chart")
            chart.props.update({"role": "img", "aria-label": f"{title}; each table's page lists its commits"})
        return chart


class _Services:
    """The services; each opens to the end of its log, and one that has failed opens itself."""

    def __init__(self) -> None:
        self._place = ui.element("div")
        self._parts: dict[str, tuple[ui.expansion, Text]] = {}
        self._failed: frozenset[str] = frozenset()
        self._shown: Picture | None = None

    def show(self, picture: Picture) -> None:
        self._shown, found = picture, rows.service_rows(picture.found.services, picture.state.parts)
        if [row[0] for row in found] != [*self._parts]:
            with self._place.clear():
                self._parts = {row[0]: self._part() for row in found}
            self._failed = frozenset()
        for name, word, *values in found:
            said = (
                f"{column} {value}"
                for column, value in zip(rows.SERVICES[2:], values, strict=True)
                if value != rows.NOTHING
            )
            expansion, _ = self._parts[name]
            expansion.text = ", ".join([f"{name}: {word}", *said])
            expansion.props["toggle-aria-label"] = expansion.text
            expansion.classes(replace=Word.FAILING if name in picture.state.parts else "")
            if (name in picture.state.parts) != (name in self._failed):
                expansion.value = name in picture.state.parts
        self._failed = frozenset(picture.state.parts)
        self._show_logs()

    def _part(self) -> tuple[ui.expansion, Text]:
        with ui.expansion(on_value_change=self._show_logs) as expansion:
            text = Text("pre")
            text.props.update({"tabindex": "0", "role": "group"})
        return expansion, text

    def _show_logs(self) -> None:
        for name, (expansion, text) in self._parts.items():
            if expansion.value and self._shown is not None:
                text.props["aria-label"] = f"end of {name}'s log"
                text.show("\n".join(last_lines(self._shown.logs / f"{name}.log")) or "(empty)")
