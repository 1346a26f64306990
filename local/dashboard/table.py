"""A text table: cells change in place, so readers keep their position; on a phone, rows become cards."""

from collections.abc import Sequence
from typing import Self

from nicegui import ui
from nicegui.elements.mixins.text_element import TextElement


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
