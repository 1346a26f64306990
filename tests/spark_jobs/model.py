"""A table's required content, in plain Python: the job's promises without Spark, Hudi or any of the job's code.

An event is an `Entry`; a model applies one commit's entries in the source's order.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from contract.table_names import lake_name

PLACEHOLDER = "__debezium_unavailable_value"
# The columns that histories vary, and which of them may come as a placeholder.
VARIED = ("customer_id", "order_date", "products", "employee")
TOASTED = ("products", "employee")


@dataclass(frozen=True)
class Entry:
    """A line: an event of `key` at `lsn`, its varied fields and new ones, or a text that fits nowhere (`bad`)."""

    key: int = 0
    lsn: int = 0
    deleted: bool = False
    fields: dict[str, Any] = field(default_factory=dict)
    added: dict[str, Any] = field(default_factory=dict)
    bad: str | None = None


@dataclass
class Model:
    """A table's rows by key, each with its `lsn`, the remembered deletes, and the number of quarantined lines."""

    remembered: int
    max_new_columns: int
    rows: dict[int, dict[str, Any]] = field(default_factory=dict)
    deletes: dict[int, int] = field(default_factory=dict)
    columns: list[str] = field(default_factory=list)
    quarantined: int = 0

    def commit(self, entries: Sequence[Entry]) -> None:
        """Apply the lines of one commit, in the order of their positions in the source."""
        fitting = self._fitting(entries)
        deleted = {}
        for key in {entry.key for entry in fitting}:
            gone_at = self.deletes.get(key, -1)
            events = [entry for entry in fitting if entry.key == key and entry.lsn > gone_at]
            newest = self._newest(key, sorted(events, key=lambda entry: entry.lsn))
            if newest is not None:
                self._apply(key, newest)
                if newest.deleted:
                    deleted[key] = max(newest.lsn, gone_at)
        self.deletes.update(deleted)
        newest_first = sorted(self.deletes.items(), key=lambda item: -item[1])
        self.deletes = dict(newest_first[: self.remembered])

    def _fitting(self, entries: Sequence[Entry]) -> list[Entry]:
        """Add columns for the new fields' usable names; quarantine entries with others."""
        good = [entry for entry in entries if entry.bad is None]
        sets = {tuple(sorted(map(str.swapcase, {*entry.added} - {*self.columns}))) for entry in good}
        for swapped in sorted(sets):
            names = [name.swapcase() for name in swapped]  # `note` goes before `Note`
            added = [name for name in names if name not in self.columns]
            if self._usable(added) and len(self.columns) + len(added) <= self.max_new_columns:
                self.columns.extend(added)
        fitting = [entry for entry in good if set(entry.added) <= set(self.columns)]
        self.quarantined += len(entries) - len(fitting)
        return fitting

    def _usable(self, names: Sequence[str]) -> bool:
        """Check whether all names can become columns: no two may have the same lake name."""
        taken = [lake_name(name) for name in (*VARIED, "order_id", *self.columns, *names)]
        return len(set(taken)) == len(taken)

    def _newest(self, key: int, events: list[Entry]) -> Entry | None:
        """Return the newest event that can be written, its placeholders filled; quarantine newer ones that can't."""
        stored = self.rows.get(key)
        known: dict[str, Any] = {}
        pending = stored
        newest: Entry | None = None
        lacking: list[Entry] = []
        for event in events:
            if pending is not None and pending["lsn"] <= event.lsn:
                known, pending, lacking = {name: pending[name] for name in TOASTED}, None, []
            if event.deleted:
                known, newest, lacking = {}, event, []
                continue
            filled = dict(event.fields)
            for name in TOASTED:
                if filled.get(name) == PLACEHOLDER:
                    filled[name] = known.get(name)
                else:
                    known[name] = filled.get(name)
            if any(event.fields.get(name) == PLACEHOLDER and filled[name] is None for name in TOASTED):
                lacking.append(event)
            else:
                newest = Entry(key, event.lsn, False, filled, event.added)
                lacking = []
        if pending is None:  # else the stored row is newer than all of them
            self.quarantined += len(lacking)
        return newest

    def _apply(self, key: int, event: Entry) -> None:
        stored = self.rows.get(key)
        if stored is not None and stored["lsn"] > event.lsn:
            return
        if event.deleted:
            self.rows.pop(key, None)
        else:
            self.rows[key] = {"lsn": event.lsn, **event.fields, **event.added}
