"""Reads the platform's own files: the last comparison, and the last lines of a log."""

import json
from dataclasses import dataclass
from pathlib import Path

LOG_LINES = 15
_LOG_BYTES = 16_384
_LINE_CHARACTERS = 400


@dataclass(frozen=True, kw_only=True)
class Reconciled:
    """The last comparison: when (ISO 8601), whether everything was equal, and a line per table."""

    at: str
    equal: bool
    tables: tuple[str, ...]


def read_reconciled(path: Path) -> Reconciled | None:
    """Return the report written by local/comparison/command.py; None without a readable one."""
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
        return Reconciled(
            at=str(found["at"]), equal=bool(found["equal"]), tables=tuple(_table(one) for one in found["tables"])
        )
    except (OSError, ValueError, LookupError, TypeError):
        return None


def _table(found: dict[str, object]) -> str:
    if found.get("problem"):
        return f"{found['table']}: not compared: {found['problem']}"
    if found["equal"]:
        return f"{found['table']}: equal, {found['source_rows']} rows"
    counts = ", ".join(f"{found[name]} {name}" for name in ("missing", "extra", "different", "late") if found.get(name))
    return f"{found['table']}: differs, {counts}"


def last_lines(path: Path, count: int = LOG_LINES) -> list[str]:
    """Return the last lines of a log, long ones cut; none where it can't be read."""
    try:
        with path.open("rb") as log:
            log.seek(max(0, path.stat().st_size - _LOG_BYTES))
            lines = log.read().decode(errors="replace").splitlines()
    except OSError:
        return []
    return [line[:_LINE_CHARACTERS] for line in lines[-count:]]
