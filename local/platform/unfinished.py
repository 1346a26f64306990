"""The mark of an unfinished resnapshot: by then, other signs of lost changes, such as a lost slot, may be gone."""

from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Unfinished:
    """A file that is there until both sides are equal. It names the tables that may miss changes; empty: all."""

    path: Path

    def begin(self, tables: Collection[str] = ()) -> None:
        """Note that these tables, all for none, may miss changes."""
        before = self._tables()
        whole = not tables or before == set()
        self.path.write_text("" if whole else "\n".join(sorted({*tables, *(before or ())})), encoding="utf-8")

    def end(self, tables: Collection[str] = ()) -> None:
        """Note that these tables, all for none, are equal."""
        before = self._tables()
        if before is not None and (not tables or (before and before <= {*tables})):
            self.path.unlink()

    @property
    def problem(self) -> str | None:
        tables = self._tables()
        if tables is None:
            return None
        options = "".join(f" --table {each}" for each in sorted(tables))
        rows = ", ".join(sorted(tables)) or "all rows"
        return f"a resnapshot of {rows} hasn't ended: run `./lake resnapshot{options}`"

    def _tables(self) -> set[str] | None:
        return {*self.path.read_text(encoding="utf-8").splitlines()} if self.path.exists() else None
