"""Draws the picture in a browser, and nothing else: all texts come from texts.py."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from nicegui import ui

from local.dashboard import charts, texts
from local.dashboard.charts import Orders
from local.dashboard.table import Text, TextTable
from local.dashboard.watcher import Picture

STYLE = Path(__file__).with_name("page.css")
REFRESH_S = 0.25
# White on it is readable.
PRESSED = "#0b5cad"
LIGHTS = {None: "as the system", False: "light", True: "dark"}


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
    rows: Callable[[Picture], texts.Rows]
    empty: str


NO_LOOK = "the first look isn't done yet"
SECTIONS = (
    Section(title="Stages", columns=texts.STAGES, rows=texts.stage_rows, empty=NO_LOOK),
    Section(title="Tables of the lake", columns=texts.KEPT, rows=texts.kept_rows, empty=NO_LOOK),
    Section(title="Rows by table", columns=texts.TABLES, rows=texts.table_rows, empty="no commit in the lake yet"),
    Section(title="Commits and errors", columns=texts.TIMELINE, rows=texts.timeline_rows, empty="none yet"),
    Section(
        title="Last changes", columns=texts.CHANGES, rows=texts.change_rows, empty="no change since the first load"
    ),
    Section(title="Quarantine", columns=texts.QUARANTINE, rows=texts.quarantine_rows, empty="nothing was put aside"),
    Section(title="Services", columns=texts.SERVICES, rows=texts.service_rows, empty="none runs"),
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
        _set(self._clock, f"as of {texts.clock(picture.at)}; times are UTC. {'; '.join(picture.unseen)}")
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
