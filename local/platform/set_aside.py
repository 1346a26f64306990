"""Tables that the source connector fails at: it omits them until `./lake resnapshot` brings them back.

All other tables flow, and `status` names these until they are read again.
"""

import contextlib
import json
from collections.abc import Iterable, Sequence
from pathlib import Path

from local.private_files import write_private
from plugins.source.captured import CapturedTable


class SetAside:
    """Content of the file at `path`: the tables, as `schema.table`, and why each was set aside.

    A missing or corrupt file names none: the tables are added again, and read.
    """

    def __init__(self, path: Path) -> None:
        self._path = path

    def read(self) -> dict[str, str]:
        with contextlib.suppress(FileNotFoundError, ValueError, AttributeError):
            content = json.loads(self._path.read_text(encoding="utf-8"))
            return {str(table): str(reason) for table, reason in content.items()}
        return {}

    def put(self, table: str, reason: str) -> None:
        self._write({**self.read(), table: reason})

    def take_back(self, tables: Iterable[str]) -> list[str]:
        """Forget that these tables were set aside; name those that were."""
        before = self.read()
        back = [table for table in tables if table in before]
        if back:
            self._write({table: reason for table, reason in before.items() if table not in back})
        return back

    def without(self, tables: Sequence[CapturedTable]) -> tuple[CapturedTable, ...]:
        aside = self.read()
        return tuple(table for table in tables if table.name not in aside)

    def _write(self, content: dict[str, str]) -> None:
        write_private(self._path, json.dumps(content, indent=1, ensure_ascii=False) + "\n")
