"""Draws the picture in a browser: a header, and below it the overview or a table's page."""

from collections.abc import Callable
from http import HTTPStatus
from pathlib import Path
from typing import Protocol
from urllib.parse import unquote

from nicegui import PageArguments, ui

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
    _follow(Header(picture().pipeline), picture)

    def overview(where: PageArguments) -> None:
        if where.remaining_path:
            _refuse("no such page")
        else:
            _follow(Overview(), picture)

    def table(where: PageArguments, name: str) -> None:
        name, names = unquote(name), [table.name for table in picture().found.data.tables]
        if where.remaining_path or (names and name not in names):
            _refuse(f"the pipeline has no table {name}")
        else:
            _follow(TablePage(name), picture)

    ui.sub_pages({"/": overview, "/table/{name}": table}, show_404=False)


class Shows(Protocol):
    """Elements that show a picture."""

    def show(self, picture: Picture) -> None:
        """Show another picture; what hasn't changed isn't sent again."""


def _follow(elements: Shows, picture: Callable[[], Picture]) -> None:
    """Show the picture, and each new one for as long as the elements exist."""
    shown = picture()
    elements.show(shown)

    def refresh() -> None:
        nonlocal shown
        if (now := picture()) is not shown:
            shown = now
            elements.show(now)

    ui.timer(REFRESH_S, refresh)


def _refuse(reason: str) -> None:
    ui.context.client.status_code = HTTPStatus.NOT_FOUND
    Text("p", reason)


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
