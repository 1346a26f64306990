"""How far a table has been read, and which rows changed since: by xmin, or by digests of a view's rows."""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any

from spark_jobs.errors import JobError, Log, SettingsError
from spark_jobs.options import keys
from spark_jobs.options.jdbc_settings import Detection, JdbcSettings
from spark_jobs.sources.postgres.access import Look
from spark_jobs.sources.postgres.control import Control, is_indexed
from spark_jobs.sources.postgres.relation import ALL, Relation, Seen, written_since

_LABELS = {"version": 1, "source": "jdbc"}


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
    of the newest commit; `rows`: how many there were when all were last read.
    """

    table: str
    mark: Mark | None = None
    target: Mark | None = None
    whole: bool = False
    after: str | None = None
    read_ms: int = 0
    rows: int | None = None

    def to_text(self) -> str:
        entries = asdict(self, dict_factory=lambda pairs: {key: value for key, value in pairs if value is not None})
        return json.dumps({**_LABELS, **entries}, ensure_ascii=False, separators=(",", ":"))


def read_progress(text: str | None, table: str) -> Progress:
    """Return the progress in a text, a new one for None. Raises SettingsError for another job's or another table's."""
    if text is None:
        return Progress(table=table)
    try:
        found = json.loads(text)
        if {name: found[name] for name in _LABELS} != _LABELS:
            raise ValueError(text)
        marks = {name: _stored_mark(found[name]) for name in ("mark", "target") if name in found}
        progress = Progress(**{name: value for name, value in found.items() if name not in _LABELS} | marks)
    except (ValueError, KeyError, TypeError) as error:
        raise SettingsError(
            f"checkpoint {text[:60]!r} isn't one of JdbcSource: give --ignore-checkpoint to read everything again"
        ) from error
    if progress.table != table:
        raise SettingsError(
            f"the table has progress of {progress.table}, the settings say {table}: give --ignore-checkpoint to read "
            "everything again; what isn't there is deleted then"
        )
    return progress


def _stored_mark(entries: Mapping[str, Any]) -> Mark:
    return Mark(**{**entries, "members": tuple(entries["members"]), "since": tuple(entries["since"])})


# Rows have 32-bit numbers, so a transaction looks like one 2^31 later; others begin while a look lasts.
_WRAPPED = 2**31 - 2**20
_INSTANTS = ("timestamptz", "timestamp")
# A sign that is in no digest.
_NEITHER = "?"
# As many standbys as Aurora's reader endpoint may have.
_STANDBYS = 15


def decided(settings: JdbcSettings, control: Control) -> Detection:
    """Return the detection to use, XMIN or HASH. Raises JobError where the settings' choice isn't possible."""
    wanted = settings.detection
    if wanted is Detection.HASH or (wanted is Detection.AUTO and not control.has_xmin):
        return Detection.HASH
    if not control.has_xmin:
        raise JobError(
            f"{keys.JDBC_DETECTION}={wanted.value}: the rows of {settings.name} don't say which transaction wrote them "
            f"(a view, a query, or foreign); say {Detection.HASH.value}"
        )
    return Detection.XMIN


def usable_column(look: Look, relation: Relation, control: Control, log: Log) -> str | None:
    """Return the column for looks between sweeps; None, with a line to `log`, where that could lose rows or is slow.

    Raises JobError instead of the line if the settings require the column.
    """
    settings = relation.settings
    if settings.column is None or settings.detection not in (Detection.AUTO, Detection.COLUMN):
        return None
    reason = _why_unusable(look, relation, control, settings.column)
    if reason is None:
        return settings.column
    if settings.detection is Detection.COLUMN:
        raise JobError(f"{keys.JDBC_DETECTION}=column isn't possible for {settings.name}: {reason}")
    log(f"{settings.name} isn't looked at by {settings.column} between sweeps: {reason}")
    return None


def _why_unusable(look: Look, relation: Relation, control: Control, name: str) -> str | None:
    kinds = {column.name: column.type.name for column in relation.columns}
    if name not in kinds:
        return f"it has no column {name}"
    if kinds[name] not in _INSTANTS:
        return f"{name} is a {kinds[name]}, not a timestamp"
    if not control.has_xmin:
        return "its rows don't say which transaction wrote them, so no sweep could find what this misses"
    if control.standby:
        return "a standby doesn't know the primary's running transactions"
    if control.oldest_micros is None:
        return f"role {relation.settings.server.user} can't see others' transactions: GRANT pg_monitor to it"
    if not is_indexed(look, relation.settings, name):
        return f"no index begins with {name}"
    return None


def why_all_rows(mark: Mark | None, control: Control, detection: Detection) -> str | None:
    """Return why changes since a mark can't be detected, so that all rows are read; None where they can."""
    if mark is None:
        return "the table has no progress"
    by_xmin, begun = detection is Detection.XMIN, control.next_transaction - mark.horizon
    changed = f"({mark.system}, now {control.system})"
    reasons = {
        f"this is another cluster or database than before, or it was restored {changed}": mark.system != control.system,
        "its columns are others than before": mark.shape != control.shape,
        "changes were found in another way before": by_xmin != (mark.digests is None),
        "the server has crashed since, was started again, or its statistics were reset": by_xmin
        and control.since not in mark.since,
        "the database knows fewer transactions than before: restored, or a standby that lags": by_xmin and begun < 0,
        "2^31 transactions were begun since the last look": by_xmin and begun >= _WRAPPED,
    }
    return next((reason for reason, holds in reasons.items() if holds), None)


def all_rows(look: Look, relation: Relation, control: Control, detection: Detection, before: Mark | None) -> Mark:
    """Return the mark that holds once all present rows are in the lake; `before` is the previous mark."""
    digests = None if detection is Detection.XMIN else relation.digests(look)[0]
    return _mark(control, digests, before)


def changes(look: Look, relation: Relation, control: Control, before: Mark) -> tuple[str, Seen, Mark]:
    """Query what changed since a mark: the rows, as an SQL condition, and the mark once the lake has them."""
    if before.digests is None:
        target = _mark(control, None, before)
        condition = _changed(relation, before, target)
        rows, changed = relation.counted(look, condition)
    else:
        digests, rows = relation.digests(look)
        target, changed = _mark(control, digests, before), digests != before.digests
        condition = _changed(relation, before, target)
    seen = relation.seen(look, condition, rows) if changed else Seen(rows, 0, 0, "")
    return condition, seen, target


def of_further_part(look: Look, relation: Relation, progress: Progress) -> Progress:
    """Return the progress for another part: a share of keys that isn't as the target has it has to be read again.

    Its rows may be back at the next sweep, while the lake keeps a value that they had in between, or lacks one.
    """
    target = progress.target
    if target is None or target.digests is None:
        return progress
    now, _ = relation.digests(look)
    digests = "".join(one if one == other else _NEITHER for one, other in zip(target.digests, now, strict=True))
    return replace(progress, target=replace(target, digests=digests))


def goes_on(progress: Progress, control: Control, detection: Detection) -> bool:
    """Tell whether the rest of the rows in parts can be told: unless all are read, by the mark before them, too."""
    marks = (progress.target,) if progress.whole else (progress.mark, progress.target)
    return not any(why_all_rows(mark, control, detection) for mark in marks)


def condition_of(progress: Progress, relation: Relation) -> str:
    """Return the condition of the rows being read in parts."""
    if progress.whole or progress.mark is None or progress.target is None:
        return ALL
    return _changed(relation, progress.mark, progress.target)


def _changed(relation: Relation, before: Mark, target: Mark) -> str:
    if before.digests is None or target.digests is None:
        return written_since(before.horizon, new_members=sorted({*target.members} - {*before.members}))
    return relation.of_other_shares(before.digests, target.digests)


def _mark(control: Control, digests: str | None, before: Mark | None) -> Mark:
    since = [control.since]
    # One name may stand for several standbys, and each look may reach another one. No running one has gone back, and
    # all have one primary's numbers; a restored server was started.
    if control.standby and before is not None and before.system == control.system:
        since += [server for server in before.since if server != control.since][: _STANDBYS - 1]
    return Mark(
        system=control.system,
        shape=control.shape,
        horizon=control.horizon,
        members=control.members if digests is None else (),
        digests=digests,
        since=tuple(since) if digests is None else (),
        low=control.oldest_micros,
    )
