"""JdbcSource: the rows of a table, view or query that changed since the look before (docs/decisions/0090)."""

import time
from collections.abc import Callable, Sequence
from dataclasses import KW_ONLY, dataclass, replace
from functools import partial

from py4j.protocol import Py4JJavaError
from pyspark.sql import SparkSession

from spark_jobs.errors import JobError, Log, first_line
from spark_jobs.options.jdbc_settings import Detection, JdbcSettings
from spark_jobs.sources.batches import SMALL_EVENTS, SWEEPS_SHARE
from spark_jobs.sources.postgres import detection
from spark_jobs.sources.postgres.access import Database, Look, state_of
from spark_jobs.sources.postgres.batch import JdbcBatch
from spark_jobs.sources.postgres.control import IDENTITIES, OLDEST, Control, described, read_control
from spark_jobs.sources.postgres.detection import Progress, read_progress
from spark_jobs.sources.postgres.relation import ALL, Key, Relation, Seen, stamped_since

# Below this many rows, one reader is as fast as several.
_FOR_ONE = 20_000
# The answer of a service that hides its cluster's identity.
_KEPT_BACK = ("42", "0A", "55")


@dataclass(frozen=True, kw_only=True)
class _Sight:
    """A look's subject, and how far the lake's table has come."""

    look: Look
    relation: Relation
    control: Control
    checkpoint: str | None
    progress: Progress


@dataclass(eq=False)
class Jdbc:
    """Finds changes in one table; between two commits it knows more than the lake's progress says.

    `key` are the key's columns by the source's names; `newest_ms` returns the highest __read_ms in the lake.
    """

    spark: SparkSession
    settings: JdbcSettings
    database: Database
    key: Sequence[str]
    _: KW_ONLY
    log: Log
    newest_ms: Callable[[], int | None] = lambda: None
    clock: Callable[[], float] = time.time
    elapsed: Callable[[], float] = time.monotonic
    _identity: str | None = None
    _relation: Relation | None = None
    _described_as: tuple[object, ...] = ()
    _detection: Detection = Detection.XMIN
    _column: str | None = None
    _open: Look | None = None
    _missing: int = 0
    # The last key of the newest part, by its digest.
    _last: tuple[str, Key | None] = ("", None)
    _suspicion: str | None = None
    # The progress after a suspicion's look at all rows: once the lake has it, there is none.
    _cleared: str | None = None
    _horizon: tuple[int, float] = (-1, 0.0)
    _watched: float = 0.0
    # Start of the last look at all rows whose result the lake has completely, by the clock in milliseconds.
    looked_ms: int | None = None
    _ahead: tuple[str | None, Progress] | None = None
    # The progress after a look at all rows, and when that look began.
    _brought: tuple[str, int] | None = None
    _next_sweep: float = 0.0
    _swept: tuple[str, Seen] | None = None
    _stamped: Seen | None = None
    # Rows in the lake, as long as its keys are known to be the source's.
    _lake_rows: int | None = None

    def next_batch(self, checkpoint: str | None) -> JdbcBatch | None:
        """Return the changes since `checkpoint`; None when there are none, or no look is due."""
        self._close()
        # The lake has the previous look completely, if its progress is the lake's.
        if self._brought is not None and self._brought[0] == checkpoint:
            self.looked_ms = self._brought[1]
        self._brought = None
        if checkpoint is not None and checkpoint == self._cleared:
            self._suspicion = self._cleared = None
        progress = self._known(checkpoint)
        sweeps = progress.target is not None or self.elapsed() >= self._next_sweep
        if not sweeps and self._column is None:
            return None
        if self._identity is None:
            self._identity = self._identified()
        began, began_ms, batch = self._look(checkpoint, progress, sweeps=sweeps)
        if sweeps:
            took = self.elapsed() - began
            self._next_sweep = began + max(self.settings.sweep_seconds, took / SWEEPS_SHARE)
        if batch is None:
            self._close()
            self.looked_ms = began_ms if sweeps else self.looked_ms
        elif batch.complete and progress.after is None:
            # After the last of several parts, changes in the others since they were read are still to come.
            self._brought = (batch.checkpoint, began_ms)
        return batch

    def _look(self, checkpoint: str | None, progress: Progress, *, sweeps: bool) -> tuple[float, int, JdbcBatch | None]:
        """Return when a look began and what it found. Raises TimeoutError if the table is rewritten again and again.

        A look may wait for a lock and then read a changed table: one that ALTER TABLE rewrote has no rows for older
        snapshots, and a column in the catalog's description may be gone.
        """
        for again in (False, True):
            self._open = look = self.database.look(OLDEST if self.settings.column else None)
            # Don't count the wait for a connection.
            began, began_ms = self.elapsed(), self._now_ms()
            try:
                batch = self._looked(look, checkpoint, progress, sweeps=sweeps)
                if batch is None or not look.is_outrun():
                    return began, began_ms, batch
            except BaseException as error:
                self._close(broken=isinstance(error, Py4JJavaError))
                if again or not isinstance(error, JobError):
                    raise
            self._close()
            self._relation = None
        raise TimeoutError(f"{self.settings.name} was rewritten during each of two looks")

    def reset(self) -> None:
        self._close()
        self._ahead = self._brought = self._swept = self._stamped = self._lake_rows = None
        self._next_sweep = 0.0

    @property
    def horizon_age_seconds(self) -> float:
        """How long one transaction is known to have held the horizon back: rows since then are read at each sweep."""
        return self._watched - self._horizon[1] if self._horizon[1] else 0.0

    def _close(self, *, broken: bool = False) -> None:
        if self._open is not None:
            self._open.close(broken=broken)
            self._open = None

    def _known(self, checkpoint: str | None) -> Progress:
        if self._ahead is not None and self._ahead[0] == checkpoint:
            return self._ahead[1]
        progress = read_progress(checkpoint, self.settings.name)
        # Without progress, as when it is ignored, the clock may be behind the read times of the lake's rows.
        return progress if checkpoint is not None else replace(progress, read_ms=self.newest_ms() or 0)

    def _identified(self) -> str:
        first, otherwise = IDENTITIES
        try:
            self.database.look(f"SELECT {first}").close()
        except (JobError, Py4JJavaError) as error:
            if isinstance(error, Py4JJavaError) and not str(state_of(error) or "").startswith(_KEPT_BACK):
                raise
            self.log(
                f"the database keeps back which cluster it is ({first_line(error)}): after it was restored to an "
                "earlier state, start over with --ignore-checkpoint"
            )
            return otherwise
        return first

    def _looked(self, look: Look, checkpoint: str | None, progress: Progress, *, sweeps: bool) -> JdbcBatch | None:
        control = read_control(look, self.settings, str(self._identity))
        self._watch(control)
        relation = self._described(look, control)
        at = _Sight(look=look, relation=relation, control=control, checkpoint=checkpoint, progress=progress)
        if not sweeps:
            return self._by_column(at)
        if detection.goes_on(progress, control, self._detection):
            return self._next_part(replace(at, progress=detection.of_further_part(look, relation, progress)))
        reason = self._suspicion or detection.why_all_rows(progress.mark, control, self._detection)
        if progress.whole:
            # Parts of it may have had other columns, whatever the mark before them says.
            reason = reason or "a look at all rows, in parts, can't go on"
        if reason is None:
            return self._by_sweep(at)
        self.log(f"{self.settings.name}: all rows are read: {reason}")
        target = detection.all_rows(look, relation, control, self._detection, progress.mark)
        return self._next_part(replace(at, progress=replace(progress, target=target, whole=True, after=None)))

    def _by_sweep(self, at: _Sight) -> JdbcBatch | None:
        progress = at.progress
        assert progress.mark is not None  # noqa: S101  (why_all_rows names a missing one)
        condition, seen, target = detection.changes(at.look, at.relation, at.control, progress.mark)
        if (seen.changed == 0 and seen.rows == progress.rows) or self._swept == (condition, seen):
            self._ahead = (at.checkpoint, replace(progress, mark=target))
            return None
        progress = replace(progress, target=target, whole=False, after=None)
        if seen.changed > self.settings.max_rows:
            return self._next_part(replace(at, progress=progress))
        return self._batch(at, condition, seen, self._completed(progress, seen.rows), complete=True)

    def _by_column(self, at: _Sight) -> JdbcBatch | None:
        """Find the rows that changed according to their column; the next sweep finds those that it misses."""
        mark, low = at.progress.mark, at.control.oldest_micros
        if self._column is None or mark is None or mark.low is None or low is None:
            return None
        if detection.why_all_rows(mark, at.control, self._detection):
            return None
        condition = stamped_since(self._column, mark.low - int(self.settings.margin_seconds * 1e6))
        seen = at.relation.seen(at.look, condition)
        following = replace(at.progress, mark=replace(mark, low=low))
        if not seen.changed or seen == self._stamped or seen.changed > self.settings.max_rows:
            self._ahead = (at.checkpoint, following)
            return None
        # Rows that this brings and the next sweep no longer sees must not be ignored.
        following = replace(following, read_ms=self._read_ms(at.progress), rows=None)
        return self._batch(at, condition, seen, following, complete=False)

    def _next_part(self, at: _Sight) -> JdbcBatch:
        look, relation, progress, most = at.look, at.relation, at.progress, self.settings.max_rows
        condition, after = detection.condition_of(progress, relation), self._reached(look, relation, progress)
        count, bounds = relation.parts(look, condition, after, most=most)
        if count < most:
            parts = relation.divided(after, *bounds, None)
            rows, keyed = relation.counted(look, relation.has_key)
            self._lake_rows = self._lake_rows if keyed == rows else None
            following = self._completed(progress, rows)
            self._cleared = following.to_text() if progress.whole else None
        else:
            parts, rows = relation.divided(after, *bounds), None
            self._last = (relation.digest(look, bounds[-1]), bounds[-1])
            following = replace(progress, after=self._last[0], read_ms=self._read_ms(progress))
            self.log(f"{self.settings.name}: {count} rows more are read, in the order of their keys")
        size = 0
        if count <= SMALL_EVENTS:
            parts = [relation.between(after, None if count < most else bounds[-1])]
            size = relation.seen(look, f"{condition} AND {parts[0]}").size
        return self._batch(at, condition, Seen(rows, count, size, ""), following, parts=parts, complete=count < most)

    def _reached(self, look: Look, relation: Relation, progress: Progress) -> Key | None:
        """Return the key up to which all has been read; None at the beginning, or where it is no longer known."""
        if progress.after is None or progress.after == self._last[0]:
            return self._last[1] if progress.after else None
        found = relation.key_of(look, progress.after)
        if found is None:
            self.log(f"{self.settings.name}: the row that was read last is gone, so its parts are read once more")
        return found

    def _batch(
        self,
        at: _Sight,
        condition: str,
        seen: Seen,
        following: Progress,
        *,
        complete: bool,
        parts: Sequence[str] | None = None,
    ) -> JdbcBatch:
        if parts is None:
            several = seen.changed > _FOR_ONE
            parts = at.relation.all_parts(at.look, condition, seen.changed) if several else [ALL]
        return JdbcBatch(
            spark=self.spark,
            database=self.database,
            look=at.look,
            relation=at.relation,
            condition=condition,
            parts=parts,
            count=seen.changed,
            size=seen.size,
            progress=following,
            complete=complete,
            rows=seen.rows,
            lake_rows=self._lake_rows,
            settled=partial(self._settled, (condition, seen), complete=complete, whole=condition == ALL),
        )

    def _settled(
        self, found: tuple[str, Seen], lake_rows: int | None, missing: int, *, complete: bool, whole: bool
    ) -> None:
        """Note a batch's outcome: how many rows the lake has, and how many of the source's it lacks."""
        self._lake_rows = lake_rows
        if not complete:
            self._stamped, self._swept = found[1], None
            return
        # A table that outgrew its count is checked again.
        self._swept = found if missing >= 0 else None
        if missing == self._missing:
            return
        self._missing, name = missing, self.settings.name
        if missing < 0:
            self.log(f"{name}: {-missing} rows came while others were read: a foreign table or a function is in it")
        # Right after all rows were read, missing rows can only be ones that don't fit.
        elif missing and whole:
            self.log(f"{name}: {missing} of its rows don't fit, or have no key, and aren't in the lake")
        elif missing:
            self._suspicion = f"{missing} of its rows aren't in the lake, though no transaction wrote them since"
            self._next_sweep = 0.0

    def _completed(self, progress: Progress, rows: int | None) -> Progress:
        return replace(
            progress,
            mark=progress.target,
            target=None,
            whole=False,
            after=None,
            read_ms=self._read_ms(progress),
            rows=rows,
        )

    def _described(self, look: Look, control: Control) -> Relation:
        known = (control.shape, control.kind, control.foreign, control.standby, control.members, control.indexes)
        # Nothing there tells that a query's columns have changed.
        if self._relation is not None and self._described_as == known and control.kind != "q":
            return self._relation
        settings, lines = self.settings, list[str]()
        relation = described(look, control, settings, self.key, lines.append)
        if self._described_as == known and relation == self._relation:
            return relation
        for line in lines:
            self.log(line)
        self._detection = detection.decided(settings, control)
        self._column = detection.usable_column(look, relation, control, self.log)
        self._relation, self._described_as = relation, known
        return relation

    def _watch(self, control: Control) -> None:
        self._watched = self.elapsed()
        if control.horizon >= control.next_transaction:
            self._horizon = (control.horizon, 0.0)
        elif not self._horizon[1] or control.horizon != self._horizon[0]:
            self._horizon = (control.horizon, self._watched)

    def _read_ms(self, progress: Progress) -> int:
        """Return the next commit's ordering value: the clock may stand still or go back, this doesn't."""
        return max(self._now_ms(), progress.read_ms + 1)

    def _now_ms(self) -> int:
        return int(self.clock() * 1000)
