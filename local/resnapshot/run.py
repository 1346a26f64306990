"""Makes the lake equal to the source again, while changes continue (docs/decisions/0034).

Repairs what keeps changes from leaving the database, rewrites the outbox's rows, so that each becomes an event newer
than everything in the lake, and emits deletes for rows that the source no longer has. Shared by the local platform and
AWS: they differ in how the connector is controlled.
"""

import contextlib
import json
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow
import pyarrow.compute
from psycopg2.extensions import cursor as Cursor  # noqa: N812 - a class with a lower-case name

from contract.events import LSN
from contract.sizes import LARGEST_EVENT_BYTES
from contract.source import OUTBOX_TABLE, SCHEMA
from db import rewriting
from db.rewriting import KEY
from db.source import replication
from db.source.replication import OUTBOX, Expected
from local.comparison.compare import TableComparison
from local.comparison.run import Sides, compare_tables
from local.errors import PlatformError
from local.look.lake import Lake, LakeError
from local.resnapshot.log_tables import Connector, Say, committing
from plugins.source.failures import LOST_SLOT

LOOK_S = 0.5
# A restarted connector may still report its earlier failure.
ASK_S = 10
# A connector that can't be asked may hold the slot this long.
RELEASE_S = 60
GIB = 1024**3
LARGEST_ADVANCE_BYTES = 64 * GIB
# A restored server's log must also pass what its predecessor may have written after its last event.
MARGIN_BYTES = 16 * 1024**2
SHOWN_KEYS = 5
Losing = Callable[[], None]
_UNKNOWN = (
    f"see its log; if that says `no longer available on the server`, run this again with --skip ({replication.RUNBOOK})"
)


@dataclass(frozen=True, kw_only=True)
class Wanted:
    """The request: `where` limits it to rows that match an SQL condition; `skip` passes over unread changes in the log.

    `timeout_s`: how long nothing may arrive before it is given up; `start_s`: how long the connector may take to start.
    """

    where: str | None = None
    skip: bool = False
    timeout_s: float = 600
    start_s: float = 180
    largest_event_bytes: int = LARGEST_EVENT_BYTES


def resnapshot(
    sides: Sides, connector: Connector, wanted: Wanted, say: Say, *, losing: Losing = lambda: None
) -> TableComparison:
    """Re-snapshot the outbox, then compare it: it may differ while writers are faster than the lake.

    `losing`: as for `flowing`. Raises UserError with one line. An interrupted run does no harm: run it again.
    """
    [outbox] = sides.tables
    with committing(sides.parameters) as cursor:
        _check_sizes(cursor, wanted)
        with flowing(cursor, [outbox.lake], connector, wanted, say, losing=losing):
            _rewrite(cursor, outbox.lake, connector, wanted, say)
            _bury_extra(cursor, outbox.lake, wanted, say)
    [found] = compare_tables(sides, timeout_s=wanted.timeout_s)
    if found.problem:
        raise PlatformError(found.problem)
    return found


def _check_sizes(cursor: Cursor, wanted: Wanted) -> None:
    keys = rewriting.select_keys(cursor, wanted.where)
    large = rewriting.too_large(cursor, keys, wanted.largest_event_bytes)
    if large:
        shown = ", ".join(f"{key} ({size / 1e6:.1f} MB)" for key, size in list(large.items())[:SHOWN_KEYS])
        raise PlatformError(
            f"the events of {len(large)} rows would be larger than largest_event_bytes"
            f" ({wanted.largest_event_bytes:,}) and stop the connector: {KEY} {shown}: make them smaller or raise the"
            " limit, then run this again"
        )


@contextlib.contextmanager
def flowing(
    cursor: Cursor,
    lakes: Iterable[Lake],
    connector: Connector,
    wanted: Wanted,
    say: Say,
    *,
    published: Expected = OUTBOX,
    named: bool = False,
    losing: Losing = lambda: None,
) -> Iterator[None]:
    """Ensure that changes leave the database; a recreated slot is followed until the block ends.

    `lakes`: the lake's tables of the whole pipeline. `named`: only some of them are read again. `losing` is called
    before what tells of lost changes is repaired.
    """
    if wanted.skip:
        say("passing over what the connector has not read")
    offsets = connector.offsets()
    newest = max([connector.newest_position(), _highest(offsets, "lsn"), *map(newest_position, lakes)])
    gap = newest - rewriting.wal_position(cursor)
    state = replication.judge(cursor, connector.slot, published)
    outbox = published is OUTBOX
    if state.may_log_in is not True or not (outbox or state.publication_is_whole):
        raise PlatformError(state.problems[0])
    for problem in state.problems:
        say(f"found: {problem.partition(': run `')[0]}")
    renew = wanted.skip or gap > 0 or state.slot_is_lost or state.published is None
    renew = renew or _was_replaced(state, connector, 0 if outbox else _highest(offsets, "lsn_proc"))
    # Changes made while the outbox wasn't published are lost, too.
    unpublished = outbox and state.published is not None and f"{SCHEMA}.{OUTBOX_TABLE}" not in state.published
    if renew or unpublished:
        check_whole(wanted.where, named=named)
        losing()
    if gap > 0:
        _pass_former_log(cursor, newest, gap, say)
    if outbox and not state.publication_is_whole:
        replication.restore_publication(cursor)
        say("publication made again")
    end = connector.settle if renew else connector.end_following
    try:
        if renew:
            _renew_slot(cursor, connector)
            say("new replication slot")
            connector.follow_slot()
        elif not state.active:
            connector.restart()
        _await_reader(cursor, connector, wanted, published)
        yield
    finally:
        end()


def _was_replaced(state: replication.Replication, connector: Connector, resumes_at: int) -> bool:
    """Tell whether a starting connector has replaced a lost slot with its own, and then failed.

    It can't resume from a position before the slot's. MSK Connect doesn't report why it has failed.
    """
    if state.active:
        return False
    return 0 < resumes_at < state.holds_from or (connector.failure() or "").startswith(LOST_SLOT)


def _highest(offsets: Sequence[Mapping[str, Any]], name: str) -> int:
    return max((int(offset.get(name) or 0) for offset in offsets), default=0)


def check_whole(where: str | None, *, named: bool) -> None:
    """Raise PlatformError where only some rows or tables are wanted: the missed changes may concern any other."""
    if named or where is not None:
        raise PlatformError("changes were missed, and it is unknown of which rows: leave --table and --where out")


def check_unnamed(names: Sequence[str]) -> None:
    """Raise PlatformError where some tables of an outbox's pipeline are wanted."""
    if names:
        raise PlatformError("--table is for pipelines of ordinary tables: the outbox is one table, and rewritten whole")


def _pass_former_log(cursor: Cursor, newest: int, gap: int, say: Say) -> None:
    """Advance a restored server's log beyond its predecessor's: new events would count as older than the lake's."""
    if gap > LARGEST_ADVANCE_BYTES:
        raise PlatformError(
            f"the lake has events from {gap / GIB:,.1f} GiB beyond the database's log: this is another server, and to"
            f" write that much (the limit is {LARGEST_ADVANCE_BYTES / GIB:,.0f} GiB) takes too long:"
            f" start with a new topic and table ({replication.RUNBOOK})"
        )
    say(f"the database's log is {gap / 1e6:,.1f} MB behind the lake's events: a restored server; advancing it")
    rewriting.advance_wal(cursor, newest + MARGIN_BYTES)


def newest_position(lake: Lake) -> int:
    """Return the highest log position of the lake's rows, 0 without any."""
    try:
        return int(pyarrow.compute.max(lake.rows([LSN])[LSN]).as_py() or 0)
    except LakeError:
        return 0


def _renew_slot(cursor: Cursor, connector: Connector) -> None:
    connector.release()
    deadline = time.monotonic() + RELEASE_S
    while not replication.renew_slot(cursor, connector.slot):
        if time.monotonic() > deadline:
            raise PlatformError(
                f"a session keeps the replication slot {connector.slot}: stop the connector, run this again"
            )
        time.sleep(LOOK_S)


def _await_reader(cursor: Cursor, connector: Connector, wanted: Wanted, published: Expected) -> None:
    deadline = time.monotonic() + wanted.start_s
    while not (state := replication.read_state(cursor, connector.slot, published)).active:
        if time.monotonic() > deadline:
            reason = connector.failure() or "; ".join(state.problems) or _UNKNOWN
            raise PlatformError(f"no connector reads the slot after {wanted.start_s:.0f} s: {reason}")
        time.sleep(LOOK_S)


def _rewrite(cursor: Cursor, lake: Lake, connector: Connector, wanted: Wanted, say: Say) -> None:
    """Write the rows again, and wait until each one that the source still has is in the lake as of then or later."""
    # Also those that came before the slot was recreated: they are in no log.
    keys = rewriting.select_keys(cursor, wanted.where)
    position = rewriting.wal_position(cursor)
    rewriting.rewrite_rows(cursor, keys)
    say(f"{len(keys):,} rows written again")
    missing = set(keys)
    asked = time.monotonic()
    deadline = asked + wanted.timeout_s
    while missing:
        before = len(missing)
        arrived = _positions(lake)
        missing = {key for key in missing if arrived.get(key, -1) < position}
        missing &= set(rewriting.present(cursor, missing))
        if len(missing) < before:
            deadline = time.monotonic() + wanted.timeout_s
        elif time.monotonic() > deadline:
            shown = ", ".join(map(str, sorted(missing)[:SHOWN_KEYS]))
            raise PlatformError(
                f"{len(missing):,} of {len(keys):,} rows didn't come to the lake, and nothing moved for"
                f" {wanted.timeout_s:.0f} s ({KEY} {shown}): see what sink and job say, then run this again"
            )
        elif time.monotonic() - asked > ASK_S:
            asked = time.monotonic()
            if reason := connector.failure():
                raise PlatformError(f"the connector has failed: {reason}")
        else:
            time.sleep(LOOK_S)
    say("all of them are in the lake")


def _positions(lake: Lake) -> dict[int, int]:
    if not lake.exists():
        return {}
    rows = lake.rows([KEY, LSN])
    positions = (-1 if position is None else int(position) for position in rows[LSN].to_pylist())
    return dict(zip(map(int, rows[KEY].to_pylist()), positions, strict=True))


def _bury_extra(cursor: Cursor, lake: Lake, wanted: Wanted, say: Say) -> None:
    """Delete what only the lake has; what was on its way before the rows were rewritten has reached it by now."""
    if not lake.exists():
        return
    found = [int(key) for key in lake.rows([KEY])[KEY].to_pylist()]
    extra = sorted(set(found) - set(rewriting.present(cursor, found)))
    if extra and wanted.where is not None:
        extra = rewriting.select_matching(cursor, _as_json(cursor, lake, set(extra)), wanted.where)
    if extra:
        rewriting.emit_deletes(cursor, extra)
        say(f"{len(extra):,} rows deleted that only the lake had")


def _as_json(cursor: Cursor, lake: Lake, keys: set[int]) -> str:
    """Return the lake's rows of these keys as the outbox has them, for PostgreSQL to evaluate a condition on."""
    cursor.execute(
        "SELECT column_name, data_type FROM information_schema.columns WHERE table_schema = %s AND table_name = %s",
        (SCHEMA, OUTBOX_TABLE),
    )
    types = dict(cursor.fetchall())
    table = lake.rows()
    rows = table.select([name for name in types if name in table.column_names]).to_pylist()
    chosen = [
        {name: json.loads(value) if value and types[name] == "jsonb" else value for name, value in row.items()}
        for row in rows
        if int(row[KEY]) in keys
    ]
    return json.dumps(chosen, default=str)
