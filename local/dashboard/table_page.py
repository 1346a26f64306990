"""A table's page: how far it is, its columns, commits, changes and quarantine."""

from nicegui import ui

from local.dashboard import texts
from local.dashboard.parts import Grid, Redrawn, Text, section
from local.dashboard.watcher import Picture

COLUMNS, COMMITS, CHANGES, QUARANTINE = "Columns", "Commits", "Last changes", "Quarantine"
NO_COMMIT = "no commit in the lake yet"


class TablePage:
    """The elements of one viewer's page of a table."""

    def __init__(self, name: str) -> None:
        self._name = name
        Text("h2", name).classes("title")
        ui.link("all tables", "/")
        self._facts = Redrawn(_draw_facts, "dl")
        with section(CHANGES):
            self._changes = Grid(CHANGES, texts.CHANGES_OF_TABLE, "no change since the first load")
        with section(COMMITS):
            self._totals = Text("p")
            self._commits = Grid(COMMITS, texts.COMMITS, NO_COMMIT)
        with section(QUARANTINE):
            self._quarantine = Grid(QUARANTINE, texts.QUARANTINE, "nothing was quarantined")
        with section(COLUMNS):
            self._columns = Grid(COLUMNS, texts.COLUMNS, NO_COMMIT)

    def show(self, picture: Picture) -> None:
        found = [table for table in picture.found.data.tables if table.name == self._name]
        commits = picture.commits.get(self._name, ())
        self._facts.show([fact for one in found for fact in texts.facts(one)])
        changes = texts.change_rows(picture.changes.get(self._name, ()))
        self._changes.show([(time, *cells) for time, _, *cells in changes])
        self._totals.show(texts.totals(commits))
        self._commits.show(texts.commit_rows(commits))
        lines = [line for one in found if one.quarantined for line in one.quarantined.newest]
        self._quarantine.show(texts.quarantine_rows(lines))
        self._columns.show(texts.columns_of(picture.schemas.get(self._name)))


def _draw_facts(facts: list[tuple[str, str]]) -> None:
    for title, value in facts:
        with ui.element("div"):
            Text("dt", title)
            Text("dd", value)
