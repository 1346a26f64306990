"""Draws the picture in a browser: a header, and below it the overview or a table's page."""

from collections.abc import Callable
from pathlib import Path
from urllib.parse import unquote

from nicegui import ui

from local.dashboard.overview import Overview
from local.dashboard.parts import Text
from local.dashboard.table_page import TablePage
from local.dashboard.watcher import Picture
from local.state import rows

STYLE = Path(__file__).with_name("page.css")
REFRESH_S = 0.5
# White on it is readable.
PRESSED = "#0b5cad"
LIGHTS = {None: "as the system", False: "light", True: "dark"}


def draw(picture: Callable[[], Picture]) -> None:
    """Draw the page for one viewer, and redraw what changes."""
    ui.add_css(STYLE.read_text(encoding="utf-8"))
    header, pages = Header(picture().pipeline), list[Overview | TablePage]()
    shown: list[Picture] = []

    def overview() -> None:
        open_page(Overview())

    def table(name: str) -> None:
        name, names = unquote(name), [table.name for table in picture().found.data.tables]
        if names and name not in names:
            pages.clear()
            ui.context.client.status_code = 404
            Text("p", f"the pipeline has no table {name}")
        else:
            open_page(TablePage(name))

    def open_page(page: Overview | TablePage) -> None:
        pages[:] = [page]
        page.show(picture())

    def refresh() -> None:
        now = picture()
        if not shown or shown[0] is not now:
            shown[:] = [now]
            header.show(now)
            for page in pages:
                page.show(now)

    ui.sub_pages({"/": overview, "/table/{name}": table})
    refresh()
    ui.timer(REFRESH_S, refresh)


class Header:
    """The pipeline's name and state, on every page."""

    def __init__(self, pipeline: str) -> None:
        with ui.element("header"):
            with Text("h1"):
                ui.link(f"Pipeline {pipeline}", "/")
            with ui.element("div").classes("state") as state:
                state.props.update({"role": "status", "aria-live": "polite"})
                self._word = Text("strong")
                self._reason = Text("span")
            self._clock = Text("p").classes("quiet")
            _light_switch()

    def show(self, picture: Picture) -> None:
        self._word.show(picture.state.word).classes(replace=f"word {picture.state.word.replace(' ', '-')}")
        self._reason.show(picture.state.reason)
        self._clock.show(f"as of {rows.clock(picture.at)}; times are UTC. {'; '.join(picture.unseen)}")


def _light_switch() -> None:
    ui.colors(primary=PRESSED)
    dark = ui.dark_mode(None)
    choice = ui.toggle(LIGHTS, value=None, on_change=lambda event: dark.set_value(event.value))
    choice.props.update({"role": "group", "aria-label": "light or dark", "dense": True, "no-caps": True})
    choice.classes("light")
