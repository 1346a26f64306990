"""Parts of the page's pages: texts, sections, lists that are drawn again, tables.

Each function adds a part and returns what shows a picture in it. What hasn't changed isn't sent again.
"""

from collections.abc import Callable, Sequence
from typing import TypeVar

from nicegui import ui
from nicegui.elements.mixins.text_element import TextElement

from local.dashboard.watcher import Picture

Item = TypeVar("Item")
Show = Callable[[Picture], None]
# In the browser: how a value is shown; a header's button sorts by keyboard, too; the first cell of a row is its head.
FORMAT = "(value) => typeof value === 'number' ? value.toLocaleString('en-US') : value ?? '-'"
HEAD = """
<q-tr :props="props">
  <q-th v-for="col in props.cols" :key="col.name" :props="props" scope="col"
    :aria-sort="/ sorted/.test(col.__thClass) ? (/sort-desc/.test(col.__thClass) ? 'descending' : 'ascending') : null">
    <button v-if="col.sortable" type="button">{{ col.label }}</button><template v-else>{{ col.label }}</template>
  </q-th>
</q-tr>"""
_VALUE = """<a v-if="COL.head && COL.name === 'table'" :href="'/table/' + encodeURIComponent(VALUE)">{{ VALUE }}</a>
<span v-else :class="COL.name === 'state' && VALUE !== '-' ? 'word ' + VALUE.replace(' ', '-') : ''">
{{ VALUE }}</span>"""
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


def css_class(word: str) -> str:
    return word.replace(" ", "-")


class Text(TextElement):
    """A text element; markup is shown as text."""

    def __init__(self, tag: str, text: str = "") -> None:
        super().__init__(tag=tag, text=plain(text))

    def show(self, text: str) -> None:
        self.set_text(plain(text))


def section(title: str) -> ui.element:
    with ui.element("section").props(f'aria-label="{title}"') as part:
        Text("h2", title)
    return part


def say(text: str) -> None:
    """Add a text in which `commands` stand out."""
    with ui.element("p"):
        for number, part in enumerate(text.split("`")):
            Text("code" if number % 2 else "span", part)


def redrawn(
    title: str, items: Callable[[Picture], Sequence[Item]], draw: Callable[[Item], None], tag: str = "div"
) -> Show:
    """Add a section of items that are drawn again when they change; it is hidden while there are none."""
    with section(title) as part:
        place = ui.element(tag)
    shown: Sequence[Item] | None = None

    def show(picture: Picture) -> None:
        nonlocal shown
        if (now := items(picture)) != shown:
            shown = now
            part.set_visibility(bool(now))
            with place.clear():
                for item in now:
                    draw(item)

    return show


def grid(
    title: str,
    columns: Sequence[str],
    rows: Callable[[Picture], Sequence[Sequence[object]]],
    empty: str,
    *,
    has_filter: bool = False,
) -> Show:
    """Add a section with a table: sorted by its heads, filtered by `filter`; on a phone, cards.

    `empty`: shown without rows. A first column `table` has links to tables, and a column `state` words.
    """
    heads = [{"name": name, "label": name, "field": name, "head": name == columns[0]} for name in columns]
    defaults = {"align": "left", "sortable": has_filter, ":format": FORMAT}
    with section(title):
        word = ui.input(f"filter {title.lower()}").props("dense outlined clearable") if has_filter else None
        table = ui.table(rows=[], columns=heads, column_defaults=defaults)
    table.props(f'flat dense wrap-cells :grid="Quasar.Screen.lt.sm" no-data-label="{empty}"')
    table.props(f'role=group aria-label="{title}"').props("virtual-scroll" if has_filter else "tabindex=0")
    table.classes("" if has_filter else "region")
    for slot, template in (("header", HEAD), ("body-cell", CELL), ("item", CARD)):
        table.add_slot(slot, template)
    if word is not None:
        word.bind_value_to(table, "filter")

    def show(picture: Picture) -> None:
        cells = ([plain(cell) if isinstance(cell, str) else cell for cell in row] for row in rows(picture))
        new = [{"id": number, **dict(zip(columns, row, strict=True))} for number, row in enumerate(cells)]
        if new != table.rows:
            table.rows = new

    return show
