"""Draws the picture in a browser, and nothing else: all texts come from texts.py."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from nicegui import ui
from nicegui.elements.mixins.text_element import TextElement

from local.dashboard import charts, texts
from local.dashboard.charts import Orders
from local.dashboard.watcher import Picture
from local.state import rows

STYLE = Path(__file__).with_name("page.css")
REFRESH_S = 0.25
# White on it is readable.
PRESSED = "#0b5cad"
LIGHTS = {None: "as the system", False: "light", True: "dark"}


def plain(text: str) -> str:
    """Return a text that a page can be sent: half a surrogate pair, which JSON may contain, becomes a question mark."""
    return text.encode("utf-8", "replace").decode("utf-8")


class Text(TextElement):
    """A text element; markup is shown as text."""

    def __init__(self, tag: str, text: str = "") -> None:
        super().__init__(tag=tag, text=plain(text))

    def set_text(self, text: str) -> Self:
        return super().set_text(plain(text))


class TextTable:
    """A table with a caption and columns; without rows it shows `empty`."""

    def __init__(self, caption: str, columns: Sequence[str], empty: str) -> None:
        self._columns = columns
        self._rows: list[tuple[ui.element, list[Text]]] = []
        with ui.element("div").classes("scroll") as region:
            # A group: the section around it is the landmark of this name.
            region.props.update({"tabindex": "0", "role": "group", "aria-label": caption})
            with _part("table", "table") as table, _part("thead", "rowgroup"), _part("tr", "row"):
                table.props["aria-label"] = caption
                for column in columns:
                    Text("th", column).props.update({"scope": "col", "role": "columnheader"})
            with table:
                self._body = _part("tbody", "rowgroup")
        self._empty = Text("p", empty).classes("empty")

    def show(self, rows: Sequence[Sequence[str]]) -> None:
        while len(self._rows) > len(rows):
            self._rows.pop()[0].delete()
        for number, row in enumerate(rows):
            if number == len(self._rows):
                self._add()
            for cell, text in zip(self._rows[number][1], map(plain, row), strict=True):
                if cell.text != text:
                    cell.set_text(text)
        self._empty.set_visibility(not rows)

    def _add(self) -> None:
        with self._body, _part("tr", "row") as row:
            cells = []
            for number, column in enumerate(self._columns):
                cell = Text("td" if number else "th")
                cell.props.update({"data-label": column, "role": "cell" if number else "rowheader"})
                if not number:
                    cell.props["scope"] = "row"
                cells.append(cell)
        self._rows.append((row, cells))


def _part(tag: str, role: str) -> ui.element:
    """Create a table's part with an explicit role, since cards on a phone aren't laid out as a table."""
    part = ui.element(tag)
    part.props["role"] = role
    return part


def draw(picture: Callable[[], Picture]) -> None:
    """Draw the page for one viewer, and redraw it when the picture changes."""
    ui.add_css(STYLE.read_text(encoding="utf-8"))
    page = Page(picture().pipeline)
    shown: list[Picture] = []

    def refresh() -> None:
        now = picture()
        if not shown or shown[0] is not now:
            shown[:] = [now]
            page.show(now)

    refresh()
    ui.timer(REFRESH_S, refresh)


@dataclass(frozen=True, kw_only=True)
class Section:
    """A table of the page and the source of its rows."""

    title: str
    columns: Sequence[str]
    rows: Callable[[Picture], rows.Rows]
    empty: str


NO_LOOK = "the first look isn't done yet"
SECTIONS = (
    Section(title="Stages", columns=rows.STAGES, rows=lambda one: rows.stage_rows(one.found.stages), empty=NO_LOOK),
    Section(
        title="Tables of the lake",
        columns=rows.TABLES,
        rows=lambda one: rows.table_rows(one.found.data.tables, one.at),
        empty=NO_LOOK,
    ),
    Section(title="Rows by table", columns=texts.TOTALS, rows=texts.total_rows, empty="no commit in the lake yet"),
    Section(title="Commits and errors", columns=texts.TIMELINE, rows=texts.timeline_rows, empty="none yet"),
    Section(
        title="Last changes", columns=texts.CHANGES, rows=texts.change_rows, empty="no change since the first load"
    ),
    Section(title="Quarantine", columns=texts.QUARANTINE, rows=texts.quarantine_rows, empty="nothing was quarantined"),
    Section(
        title="Services",
        columns=rows.SERVICES,
        rows=lambda one: rows.service_rows(one.found.services, one.state.parts),
        empty="none runs",
    ),
)
CHARTED = "Commits and errors"
LOGS_TITLE = "Last lines of what has failed"
ITEMS_TITLE = "Order items of the newest orders"


class Page:
    """The elements of one viewer's page."""

    def __init__(self, pipeline: str) -> None:
        with ui.element("header"):
            Text("h1", f"Pipeline {pipeline}")
            with ui.element("div").classes("state") as state:
                state.props.update({"role": "status", "aria-live": "polite"})
                self._word = Text("strong")
                self._reason = Text("span")
            self._clock = Text("p").classes("quiet")
            _light_switch()
        with ui.element("div"):
            self._logs = _Logs()
            self._tables = [(section, self._section(section)) for section in SECTIONS]
            self._orders = _Orders()
            with _section("Last comparison of source and lake"):
                self._reconciled = Text("p").classes("lines")
        self._options: object = None

    def _section(self, section: Section) -> TextTable:
        with _section(section.title):
            if section.title == CHARTED:
                self._chart = ui.echart(texts.commits_chart(())).classes("chart")
                self._chart.props.update(
                    {"role": "img", "aria-label": "rows of the last commits; the table has them, too"}
                )
            return TextTable(section.title, section.columns, section.empty)

    def show(self, picture: Picture) -> None:
        _set(self._word, picture.state.word)
        _set(self._reason, picture.state.reason)
        self._word.classes(replace=f"word {picture.state.word.replace(' ', '-')}")
        _set(self._clock, f"as of {rows.clock(picture.at)}; times are UTC. {'; '.join(picture.unseen)}")
        for section, table in self._tables:
            table.show(section.rows(picture))
        self._logs.show(picture)
        self._orders.show(picture.orders)
        _set(self._reconciled, "\n".join(texts.reconciled_text(picture)))
        options = texts.commits_chart(picture.commits)
        if options != self._options:
            self._options = options
            self._chart.options.update(options)
            self._chart.update()


class _Orders:
    """The order items and their charts, drawn once there are any, and redrawn when they change."""

    def __init__(self) -> None:
        self._place = ui.element("div").classes("orders")
        self._shown: Orders | None = None
        self._charts: list[tuple[ui.echart, TextTable]] = []
        self._items: TextTable | None = None

    def show(self, orders: Orders | None) -> None:
        if orders is None or orders is self._shown:
            return
        self._shown = orders
        if self._items is None:
            with self._place:
                self._charts = [self._chart(chart) for chart in orders.charts]
                with _section(ITEMS_TITLE):
                    self._items = TextTable(ITEMS_TITLE, orders.columns, "no order")
        self._items.show(orders.items)
        for chart, (drawn, table) in zip(orders.charts, self._charts, strict=True):
            drawn.options.update(charts.options(chart))
            drawn.update()
            table.show(texts.chart_rows(chart))

    def _chart(self, chart: charts.Chart) -> tuple[ui.echart, TextTable]:
        with _section(chart.title):
            drawn = ui.echart(charts.options(chart)).classes("chart large")
            drawn.props.update({"role": "img", "aria-label": f"{chart.alt}; the table has the numbers"})
            return drawn, TextTable(chart.title, chart.columns, "no order")


class _Logs:
    """The last log lines of failed services."""

    def __init__(self) -> None:
        with _section(LOGS_TITLE) as self._section:
            self._text = Text("pre")
            self._text.props.update({"tabindex": "0", "role": "group", "aria-label": LOGS_TITLE})

    def show(self, picture: Picture) -> None:
        self._section.set_visibility(bool(picture.logs))
        _set(self._text, "\n\n".join(f"{name}\n" + "\n".join(lines) for name, lines in picture.logs))


def _section(title: str) -> ui.element:
    section = ui.element("section")
    section.props["aria-label"] = title
    with section:
        Text("h2", title)
    return section


def _set(element: Text, text: str) -> None:
    if element.text != text:
        element.set_text(text)


def _light_switch() -> None:
    ui.colors(primary=PRESSED)
    dark = ui.dark_mode(None)
    choice = ui.toggle(LIGHTS, value=None, on_change=lambda event: dark.set_value(event.value))
    choice.props.update({"role": "group", "aria-label": "light or dark", "dense": True, "no-caps": True})
    choice.classes("light")
