"""The page in a browser: a header, and below it the overview of the pipeline or a table's page."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from http import HTTPStatus
from pathlib import Path
from urllib.parse import unquote

from nicegui import PageArguments, ui

from contract.states import Word
from local.dashboard import texts
from local.dashboard.parts import Show, Text, css_class, grid, redrawn, say, section
from local.dashboard.watcher import Picture
from local.files import tail
from local.problem import Problem
from local.state import rows

STYLE = Path(__file__).with_name("page.css")
# Vue makes a table's cells again when one has changed: the focus then moves from a head or a link to the table's body.
KEEP_FOCUS = """<script>
let focused = null;
function restore() {
  if (!focused || document.activeElement.tabIndex >= 0) return;
  const same = document.querySelectorAll(`section[aria-label="${focused.part}"] ${focused.tag}`);
  [...same].find(({textContent}) => textContent === focused.text)?.focus({preventScroll: true});
}
document.addEventListener("pointerdown", () => { focused = null; });
document.addEventListener("focusin", ({target}) => {
  const part = target.closest("section");
  if (target.tabIndex < 0) setTimeout(restore);
  else focused = part && {part: part.ariaLabel, tag: target.tagName, text: target.textContent};
});
new MutationObserver(restore).observe(document, {childList: true, subtree: true});
</script>"""
REFRESH_S = 0.5
# Shown of a log, and read of it.
LOG_LINES, LINE_CHARACTERS, LOG_BYTES = 15, 400, 16_384
LIGHTS = {None: "as the system", False: "light", True: "dark"}
PROBLEMS, STAGES, TABLES = "Problems", "Stages", "Tables of the lake"
SPEED, SERVICES = "Freshness and speed", "Services"
CHANGES, ERRORS, COMPARISON = "Last changes", "Errors", "Last comparison of source and lake"
FACTS, COMMITS, QUARANTINE, COLUMNS = "How far it is", "Commits", "Quarantine", "Columns"
NO_LOOK = "the first look isn't done yet"
NO_CHANGE, NO_COMMIT = "no change since the first load", "no commit in the lake yet"


def draw(picture: Callable[[], Picture]) -> None:
    """Draw the page for one viewer, and redraw what changes."""
    ui.add_css(STYLE.read_text(encoding="utf-8"))
    ui.add_head_html(KEEP_FOCUS)
    _follow([header(picture().pipeline)], picture)

    def at(where: PageArguments, name: str = "") -> None:
        name, names = unquote(name), [table.name for table in picture().found.data.tables]
        if where.remaining_path:
            _refuse("no such page")
        elif name and names and name not in names:
            _refuse(f"the pipeline has no table {name}")
        else:
            _follow(table_page(name) if name else overview(), picture)

    ui.sub_pages({"/": at, "/table/{name}": at}, show_404=False)


def _follow(parts: Iterable[Show], picture: Callable[[], Picture]) -> None:
    """Show the picture, and each new one for as long as the elements exist."""
    drawn = [*parts]

    def refresh() -> None:
        now = picture()
        for show in drawn:
            show(now)

    refresh()
    ui.timer(REFRESH_S, refresh)


def _refuse(reason: str) -> None:
    ui.context.client.status_code = HTTPStatus.NOT_FOUND
    Text("p", reason)


def header(pipeline: str) -> Show:
    with ui.element("header"):
        with Text("h1"):
            ui.link(f"Pipeline {pipeline}", "/")
        with ui.element("div").classes("state").props("role=status aria-live=polite"):
            word, reason = Text("strong"), Text("span")
        clock = Text("p").classes("quiet")
        ui.colors(primary="#0b5cad")  # white on it is readable
        dark = ui.dark_mode(None)
        choice = ui.toggle(LIGHTS, value=None, on_change=lambda event: dark.set_value(event.value)).classes("light")
        choice.props.update({"role": "group", "aria-label": "light or dark", "dense": True, "no-caps": True})

    def show(picture: Picture) -> None:
        word.show(picture.state.word)
        word.classes(replace=f"word {css_class(picture.state.word)}")
        reason.show(picture.state.reason)
        clock.show(f"as of {rows.clock(picture.at)}; times are UTC. {'; '.join(picture.unseen)}")

    return show


def overview() -> Iterator[Show]:
    yield redrawn(PROBLEMS, lambda picture: picture.found.problems, _draw_problem, "ul")
    yield redrawn(STAGES, texts.stages, _draw_stage, "ol")
    yield grid(TABLES, texts.TABLES, texts.table_rows, NO_LOOK, has_filter=True)
    yield charts()
    yield services()
    yield grid(CHANGES, texts.NEWEST_CHANGES, texts.newest_changes, NO_CHANGE)
    yield grid(ERRORS, texts.ERRORS, texts.errors, "none yet")
    yield redrawn(COMPARISON, lambda picture: picture.reconciled, say)


def table_page(name: str) -> Iterator[Show]:
    Text("h2", name).classes("title")
    ui.link("all tables", "/")
    yield grid(FACTS, texts.FACTS, partial(texts.facts, name), NO_LOOK)
    yield grid(CHANGES, texts.CHANGES, partial(texts.changes, name), NO_CHANGE)
    yield grid(COMMITS, texts.COMMITS, partial(texts.commits, name), NO_COMMIT)
    yield grid(QUARANTINE, texts.QUARANTINE, partial(texts.quarantine, name), "nothing was quarantined")
    yield grid(COLUMNS, texts.COLUMNS, partial(texts.columns, name), NO_COMMIT)


def _draw_problem(problem: Problem) -> None:
    with ui.element("li"):
        Text("strong", f"{problem.part} {problem.what}")
        for text in filter(None, (problem.reason, problem.remedy, f"see {problem.log}" if problem.log else "")):
            say(text)


def _draw_stage(stage: texts.StageTexts) -> None:
    name, word, lag, details = stage
    with ui.element("li").classes(f"stage {css_class(word)}"):
        Text("strong", name)
        Text("span", word).classes(f"word {css_class(word)}")
        Text("p", lag)
        for text in details:
            say(text)


def charts() -> Show:
    drawn, shown = list[ui.echart](), None
    with section(SPEED), ui.element("div").classes("pair"):
        for title, options in texts.time_charts(()).items():
            with ui.element("div"):
                Text("h3", title)
                chart = ui.echart(options).classes("chart")
            chart.props.update({"role": "img", "aria-label": f"{title}; each table's page lists its commits"})
            drawn.append(chart)

    def show(picture: Picture) -> None:
        nonlocal shown
        if shown is not picture.logged:
            shown = picture.logged
            for chart, options in zip(drawn, texts.time_charts(shown).values(), strict=True):
                chart.options.update(options)
                chart.update()

    return show


def services() -> Show:
    with section(SERVICES):
        place = ui.element("div")
    parts: dict[str, Service] = {}

    def show(picture: Picture) -> None:
        found = rows.service_rows(picture.found.services, picture.state.parts)
        if [name for name, *_ in found] != [*parts]:
            parts.clear()
            with place.clear():
                parts.update((name, Service(name, picture.logs / f"{name}.log")) for name, *_ in found)
        for name, *cells in found:
            parts[name].show(cells, failing=name in picture.state.parts)

    return show


class Service:
    """A service, which opens to the end of its log; one that has failed opens itself."""

    def __init__(self, name: str, log: Path) -> None:
        self._name = name
        self._log = log
        self._failing = False
        with ui.expansion(on_value_change=self._show_log) as self._expansion:
            self._end = Text("pre").props(f'tabindex=0 role=group aria-label="end of {name}\'s log"')

    def show(self, cells: Sequence[str], *, failing: bool) -> None:
        named = zip(rows.SERVICES[2:], cells[1:], strict=True)
        said = (f"{column} {value}" for column, value in named if value != rows.NOTHING)
        text = ", ".join([f"{self._name}: {cells[0]}", *said])
        if text != self._expansion.text:
            self._expansion.text = self._expansion.props["toggle-aria-label"] = text
        self._expansion.classes(replace=Word.FAILING if failing else "")
        if failing != self._failing:
            self._failing = self._expansion.value = failing
        self._show_log()

    def _show_log(self) -> None:
        if self._expansion.value:
            lines = tail(self._log, LOG_BYTES).splitlines()[-LOG_LINES:]
            self._end.show("\n".join(line[:LINE_CHARACTERS] for line in lines) or "(empty)")
