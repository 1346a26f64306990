"""A snapshot with a known place in the log: which changes the rows that are read in it already contain."""

# ruff: noqa: S608  # what is put into the query comes from the server, or is our own

import contextlib
import json
import time
from dataclasses import asdict, dataclass, replace
from typing import Any
from uuid import uuid4

from py4j.protocol import Py4JJavaError
from pyspark.sql import Column as Expression
from pyspark.sql import functions as F

from spark_jobs.sources.postgres.access import Database, Look, state_of

_CYCLE = 2**32
# The driver's own settings for a connection that takes replication commands.
_REPLICATION = {
    "replication": "database",
    "preferQueryMode": "simple",
    "assumeMinServerVersion": "10",
    "readOnly": "false",
}
_CREATE = "CREATE_REPLICATION_SLOT {slot} TEMPORARY LOGICAL pgoutput EXPORT_SNAPSHOT"
# No statement_timeout ends it, and it would wait on without its client. Then its transaction is idle.
_LIMITS = "SET lock_timeout = {milliseconds}; SET idle_in_transaction_session_timeout = 0"
_LOCK_TIMEOUT = "55P03"


@dataclass(frozen=True, kw_only=True)
class Snapshot:
    """What `pg_current_snapshot()` says, in full transaction numbers, and the log position that it belongs to.

    All transactions below `oldest` have ended before it, and none from `next` on; those `running` hadn't. Each change
    behind `position` belongs to a transaction that it doesn't contain, and none of these has written before `begin`.
    `taken_ms`: when it was taken, in milliseconds since 1970, 0 if unknown; by the job's clock: rows
    that the connector reads have its own time, not the database's.
    """

    begin: int
    position: int
    oldest: int
    next: int
    running: tuple[int, ...] = ()
    taken_ms: int = 0

    def contains(self, transaction: Expression, position: Expression) -> Expression:
        """Tell whether it contains the change at a log position; `transaction` is the lower half of its number.

        Before the snapshot's position no number is further than half a cycle from `next`. Not by position alone: a
        transaction that it doesn't contain may have written before it.
        """
        half = _CYCLE // 2
        number = (transaction - F.lit(self.next % _CYCLE) + F.lit(_CYCLE + half)) % F.lit(_CYCLE) - half + self.next
        ended = (number < self.next) & ~number.isin(*self.running) if self.running else number < self.next
        return F.coalesce((position < self.position) & ((number < self.oldest) | ended), F.lit(False))

    def to_text(self) -> str:
        return json.dumps(asdict(self), separators=(",", ":"))


def read_snapshot(text: str) -> Snapshot:
    found: dict[str, Any] = json.loads(text)
    return Snapshot(**{**found, "running": tuple(found["running"])})


def snapshot_look(database: Database) -> tuple[Look, Snapshot]:
    """Begin a look whose snapshot has a known place in the log, that of a temporary slot.

    Raises Py4JJavaError, and TimeoutError while another transaction stays open.

    A snapshot of its own wouldn't do: a transaction that waits for a standby is in the log, so that a slot leaves it
    out, and isn't visible yet. Creating the slot waits until all transactions that were running have ended. One table
    at a time: a server has few walsenders.
    """
    slot, found = f"first_load_{uuid4().hex}", dict[str, str]()
    with contextlib.ExitStack() as stack:

        def exported() -> str:
            stack.enter_context(database.replicating)
            connection = stack.enter_context(contextlib.closing(database.connected(**_REPLICATION)))
            row = _made(slot, connection.createStatement(), int(database.server.statement_seconds * 1000))
            row.next()
            found["place"] = str(row.getString("consistent_point"))
            return str(row.getString("snapshot_name"))

        look = database.look(snapshot=exported)
        try:
            snapshot = _described(look, slot, found["place"])
        except BaseException:
            look.close()
            raise
    # The slot has gone with its connection, and keeps no log back; the look keeps the snapshot.
    return look, snapshot


def _made(slot: str, statement: Any, milliseconds: int) -> Any:
    statement.execute(_LIMITS.format(milliseconds=milliseconds))
    try:
        return statement.executeQuery(_CREATE.format(slot=slot))
    except Py4JJavaError as error:
        if state_of(error) == _LOCK_TIMEOUT:
            raise TimeoutError("a transaction is still open that has to end before the snapshot") from error
        raise


def _described(look: Look, slot: str, place: str) -> Snapshot:
    taken_ms = time.time_ns() // 1_000_000
    text = look.text(
        "SELECT json_build_object('begin', (SELECT pg_wal_lsn_diff(restart_lsn, '0/0')::bigint FROM"
        f" pg_replication_slots WHERE slot_name = '{slot}'), 'position', pg_wal_lsn_diff('{place}', '0/0')::bigint,"
        " 'oldest', pg_snapshot_xmin(s)::text::bigint, 'next', pg_snapshot_xmax(s)::text::bigint, 'running',"
        " (SELECT coalesce(json_agg(x::text::bigint), '[]') FROM pg_snapshot_xip(s) AS x))::text"
        " FROM pg_current_snapshot() AS s"
    )
    return replace(read_snapshot(str(text)), taken_ms=taken_ms)
