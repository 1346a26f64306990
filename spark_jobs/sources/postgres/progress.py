"""How far a table has been read: the text in its commits, JSON like the files' progress."""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from spark_jobs.errors import SettingsError

VERSION = 1
_SOURCE = "jdbc"


@dataclass(frozen=True, kw_only=True)
class Mark:
    """What a look saw: anything above it, or different from it, has changed since.

    `horizon`: transactions below this number were finished. `members`: the table and its partitions, by oid. `digests`:
    for a view, a text for each share of its keys. `since`: the running server; for standbys those that were read, the
    last one first. `low`: microseconds since 1970 from which on the column's values may not have been seen.
    """

    system: str
    shape: str
    horizon: int
    members: tuple[int, ...] = ()
    digests: str | None = None
    since: tuple[str, ...] = ()
    low: int | None = None


@dataclass(frozen=True, kw_only=True)
class Progress:
    """Where a table's job stands: `mark` is None before the first look at all rows has been completed.

    `target`: the mark that holds once the rows read in parts are complete; so far they are read up to the key with the
    digest `after`: commits contain no values of a key, which may be people's addresses. `read_ms`: the ordering value
    of the newest commit; `swept_ms`: when all rows were last read; `rows`: how many there were.
    """

    table: str
    mark: Mark | None = None
    target: Mark | None = None
    whole: bool = False
    after: str | None = None
    read_ms: int = 0
    swept_ms: int = 0
    rows: int | None = None

    def to_text(self) -> str:
        entries = {key: value for key, value in asdict(self).items() if value is not None}
        for key in ("mark", "target"):
            if key in entries:
                entries[key] = {name: value for name, value in entries[key].items() if value is not None}
        return json.dumps({"version": VERSION, "source": _SOURCE, **entries}, ensure_ascii=False, separators=(",", ":"))


def read_progress(text: str | None, table: str) -> Progress:
    """Return the progress in a text; a new one for None.

    Raises SettingsError for a text that isn't this job's, or another table's.
    """
    if text is None:
        return Progress(table=table)
    try:
        found = json.loads(text)
        if found["source"] != _SOURCE or found["version"] != VERSION:
            raise ValueError(text)
        progress = Progress(
            table=found["table"],
            mark=_mark(found.get("mark")),
            target=_mark(found.get("target")),
            whole=bool(found.get("whole", False)),
            after=_after(found.get("after")),
            read_ms=int(found["read_ms"]),
            swept_ms=int(found["swept_ms"]),
            rows=found.get("rows"),
        )
    except (ValueError, KeyError, TypeError) as error:
        raise SettingsError(
            f"checkpoint {text[:60]!r} isn't one of JdbcSource: give --ignore-checkpoint to read everything anew"
        ) from error
    if progress.table != table:
        raise SettingsError(
            f"the table has progress of {progress.table}, the settings say {table}: give --ignore-checkpoint to read "
            "everything anew; what isn't there is deleted then"
        )
    return progress


def _after(found: str | list[str] | None) -> str | None:
    # An earlier release stored values, which match no row in this release: it begins again.
    return found if found is None or isinstance(found, str) else ""


def _mark(entries: Mapping[str, Any] | None) -> Mark | None:
    if entries is None:
        return None
    since = entries.get("since", ())
    # An earlier release stored a text, which matches no running server: all rows are read once.
    known = (since,) if isinstance(since, str) else tuple(since)
    return Mark(**{**entries, "members": tuple(entries["members"]), "since": known})
