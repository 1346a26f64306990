"""Parts of the page's pages: texts, sections, tables, and parts that are drawn again when their data changes."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Generic, Self, TypeVar

from nicegui import ui
from nicegui.elements.mixins.text_element import TextElement

Data = TypeVar("Data")
# Narrower windows show a table's rows as cards.
CARDS_BELOW = "sm"
# In the browser: a header's button sorts by keyboard, too; the first cell of a row is its head.
HEAD = """
<q-tr :props="props">
  <q-th v-for="col in props.cols" :key="col.name" :props="props" scope="col"
    :aria-sort="/ sorted/.test(col.__thClass) ? (/sort-desc/.test(col.__thClass) ? 'descending' : 'ascending') : null">
    <button v-if="col.sortable" type="button">{{ col.label }}</button><template v-else>{{ col.label }}</template>
  </q-th>
</q-tr>"""
_VALUE = """<a v-if="COL.link" :href="'/table/' + encodeURIComponent(VALUE)">{{ VALUE }}</a>
<span v-else :class="COL.word && VALUE !== '-' ? 'word ' + VALUE.replace(' ', '-') : ''">{{ VALUE }}</span>"""
_CELL = _VALUE.replace("VALUE", "props.value").replace("COL", "props.col")
CELL = f"""
<th v-if="props.col.head" scope="row">{_CELL}</th>
<q-td v-else :props="props">{_CELL}</q-td>"""
CARD = f"""
<div class="card"><div v-for="col in props.cols.filter((col) => col.value !== '-' && col.value !== '')" :key="col.name">
  <span class="quiet">{{{{ col.label }}}}: </span>{_VALUE.replace("VALUE", "col.value").replace("COL", "col")}
</div></div>"""


def plain(text: str) -> str:
    """Return a text that a page can be sent: half a surrogate pair, which JSON may contain, becomes a question mark."""
    return text.encode("utf-8", "replace").decode("utf-8")


class Text(TextElement):
    """A text element; markup is shown as text."""

    def __init__(self, tag: str, text: str = "") -> None:
        super().__init__(tag=tag, text=plain(text))

    def show(self, text: str) -> Self:
        """Show another text, unless it is the same."""
        return self if self.text == plain(text) else self.set_text(plain(text))


def section(title: str) -> ui.element:
    part = ui.element("section")
    part.props["aria-label"] = title
    with part:
        Text("h2", title)
    return part


def say(text: str, tag: str = "p") -> None:
    """Add a text in which `commands` stand out."""
    with ui.element(tag):
        for number, part in enumerate(text.split("`")):
            Text("code" if number % 2 else "span", part)


class Redrawn(Generic[Data]):
    """An element that `draw` fills again when its data changes."""

    def __init__(self, draw: Callable[[Data], None], tag: str = "div") -> None:
        self.element = ui.element(tag)
        self._draw = draw
        self._shown: Data | None = None

    def show(self, data: Data) -> None:
        if data != self._shown:
            self._shown = data
            with self.element.clear():
                self._draw(data)


class Grid:
    """A table: sorted by its heads, filtered by `filter`; on a phone, cards."""

    def __init__(
        self,
        caption: str,
        columns: Sequence[str],
        empty: str,
        *,
        has_filter: bool = False,
        marks: Mapping[str, str] | None = None,
    ) -> None:
        """`marks`: columns whose values are a `link` to a table or a `word` for a state."""
        self._columns = columns
        names = [
            {
                "name": name,
                "label": name,
                "field": name,
                "align": "left",
                "sortable": has_filter,
                "head": not number,
                ":format": "(value) => typeof value === 'number' ? value.toLocaleString('en-US') : value ?? '-'",
                **({mark: True} if (mark := (marks or {}).get(name)) else {}),
            }
            for number, name in enumerate(columns)
        ]
        word = ui.input(f"filter {caption.lower()}").props("dense outlined clearable") if has_filter else None
        self._table = ui.table(rows=[], columns=names)
        self._table.props("flat dense wrap-cells").props[":grid"] = f"Quasar.Screen.lt.{CARDS_BELOW}"
        self._table.props.update({"no-data-label": empty, "role": "group", "aria-label": caption})
        self._table.props.update({"virtual-scroll": True} if has_filter else {"tabindex": "0"})
        self._table.classes("" if has_filter else "region")
        for slot, template in (("header", HEAD), ("body-cell", CELL), ("item", CARD)):
            self._table.add_slot(slot, template)
        if word is not None:
            word.bind_value_to(self._table, "filter")

    def show(self, rows: Sequence[Mapping[str, Any] | Sequence[str]]) -> None:
        """Show rows, of cells by column or in the columns' order."""
        cells = [row if isinstance(row, Mapping) else dict(zip(self._columns, row, strict=True)) for row in rows]
        new = [
            {"id": number, **{name: _sent(value) for name, value in row.items()}} for number, row in enumerate(cells)
        ]
        if new != self._table.rows:
            self._table.rows = new


def _sent(value: object) -> object:
    return plain(value) if isinstance(value, str) else value
