"""The connector's requirements on the database: role, publication and replication slot; reports their problems."""

import contextlib
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import psycopg2
from psycopg2 import errors

from contract.source import CONNECTOR_ROLE, HEARTBEAT_TABLE, OUTBOX_TABLE, PUBLICATION, SCHEMA
from db.connecting import Cursor, LoadError, connect, explain, rows, value
from db.outbox import REPLICATION_FILE, text_of

TABLES = frozenset({f"{SCHEMA}.{OUTBOX_TABLE}", f"{SCHEMA}.{HEARTBEAT_TABLE}"})
# Creating a slot waits for all open transactions.
SLOT_TIMEOUT_S = 600
PEEK_TIMEOUT_S = 5
# A working reader has passed the log's end by then, or is busy with the log's content.
JUDGE_S = 30
JUDGE_EVERY_S = 0.1
COMMAND = "./lake resnapshot"
WAY_OUT = f"run `{COMMAND}`"
RUNBOOK = "docs/your-database/repair.md"


@dataclass(frozen=True, kw_only=True)
class Expected:
    """What a connector reads with: its publication with these tables, and its role. By default the outbox's.

    `pipeline` is that of ordinary tables, whose name the commands take; None is the outbox's.
    """

    publication: str = PUBLICATION
    tables: frozenset[str] = TABLES
    role: str = CONNECTOR_ROLE
    pipeline: str | None = None

    @property
    def way_out(self) -> str:
        """The command to run when changes are lost."""
        return WAY_OUT if self.pipeline is None else f"run `{COMMAND} -p {self.pipeline}`"

    @property
    def publishing(self) -> str:
        """The command to run when the publication lacks something: for ordinary tables, `prepare`."""
        if self.pipeline is None:
            return f"{self.way_out}, which does it"
        prepare = f"`./lake source prepare {self.pipeline} --dsn …` (the example's: `./lake up -p {self.pipeline}`)"
        return f"run {prepare}, and then `{COMMAND} -p {self.pipeline}`"


OUTBOX = Expected()

_STATE = """
SELECT
    current_database() AS database,
    (pg_current_wal_lsn() - '0/0'::pg_lsn)::bigint AS position,
    (SELECT rolcanlogin FROM pg_roles WHERE rolname = %(role)s) AS may_log_in,
    CASE WHEN p.oid IS NOT NULL THEN ARRAY(
        SELECT schemaname || '.' || tablename FROM pg_publication_tables WHERE pubname = %(publication)s
    ) END AS published,
    s.slot_name IS NOT NULL AS has_slot,
    coalesce(s.active, FALSE) AS active,
    s.wal_status,
    current_setting('max_slot_wal_keep_size') AS keeps,
    coalesce(s.restart_lsn - '0/0'::pg_lsn, 0)::bigint AS holds_from,
    coalesce(r.sent_lsn - '0/0'::pg_lsn, 0)::bigint AS read_to,
    coalesce(age(p.xmin) < age(s.catalog_xmin), FALSE) AS published_later
FROM (SELECT) AS one
LEFT JOIN pg_publication p ON p.pubname = %(publication)s
LEFT JOIN pg_replication_slots s ON s.slot_name = %(slot)s AND s.database = current_database()
LEFT JOIN pg_stat_replication r ON r.pid = s.active_pid
"""


# A change begins with its kind (I, U or D) and its table's oid (PostgreSQL, "Logical Replication Message Formats").
# A change that a reader fails at is among the first in the slot.
_TABLE_AT = """
SELECT n.nspname || '.' || c.relname
FROM pg_logical_slot_peek_binary_changes(
    %(slot)s, NULL, 10000, 'proto_version', '1', 'publication_names', %(publication)s
) AS m
JOIN pg_class c ON c.oid = ('x' || encode(substr(m.data, 2, 4), 'hex'))::bit(32)::bigint::oid
JOIN pg_namespace n ON n.oid = c.relnamespace
WHERE m.lsn = %(position)s AND get_byte(m.data, 0) IN (ascii('I'), ascii('U'), ascii('D'))
"""


@dataclass(frozen=True, kw_only=True)
class Replication:
    """The connector's side of the database.

    `position`: the WAL's end as a number; `published`: the publication's tables, None without a publication;
    `may_log_in`: None without a role; `wal_status`: the slot's, `keeps` the server's limit of WAL for a slot;
    `holds_from`: where the slot's retained log begins, as a number, 0 without one;
    `read_to`: how far the slot's session has read, as a number, 0 without one;
    `published_later`: the slot is unreadable, because the publication was created after its position; None: unknown
    while a session has it, which may be about to fail for this reason.
    """

    slot: str
    database: str
    position: int
    may_log_in: bool | None
    published: frozenset[str] | None
    has_slot: bool
    active: bool
    wal_status: str | None
    keeps: str
    holds_from: int
    read_to: int
    published_later: bool | None
    wanted: Expected = OUTBOX

    @property
    def publication_is_whole(self) -> bool:
        """Whether all wanted tables are published."""
        return self.published is not None and self.published >= self.wanted.tables

    @property
    def slot_is_lost(self) -> bool:
        """Whether no reader can continue with the slot: changes are irrecoverably missed."""
        return not self.has_slot or self.wal_status == "lost" or self.published_later is True

    @property
    def problems(self) -> list[str]:
        """What keeps changes from leaving the database: a line each, causes before consequences."""
        return [*self.problems_beside_slot, *self._slot_problems()]

    @property
    def problems_beside_slot(self) -> list[str]:
        """Problems of role and publication; before the first start there is no slot, and none is missing."""
        lines, role = [], self.wanted.role
        if self.may_log_in is None:
            lines.append(f"the connector's role {role} is gone: prepare the database again ({RUNBOOK})")
        elif not self.may_log_in:
            lines.append(f"the connector's role {role} may not log in: ALTER ROLE {role} LOGIN; then `./lake up`")
        where, way_out = f"the publication {self.wanted.publication} of {self.database}", self.wanted.publishing
        if self.published is None:
            lines.append(f"{where} is gone: {way_out}")
        elif missing := sorted(self.wanted.tables - self.published):
            lines.append(f"{where} lacks {' and '.join(missing)}: {way_out}")
        return lines

    def _slot_problems(self) -> Iterator[str]:
        where, way_out = f"the replication slot {self.slot} of {self.database}", self.wanted.way_out
        if not self.has_slot:
            yield f"{where} is gone, and with it the changes that it held: {way_out}"
        elif self.wal_status == "lost":
            yield (
                f"{where} is lost: it was further behind than max_slot_wal_keep_size ({self.keeps}) allows, and the"
                f" server has removed the changes: {way_out}"
            )
        elif self.published_later and self.published is not None:
            name = self.wanted.publication
            yield f"{where} can't be read: the publication {name} was made again after its position: {way_out}"


def read_state(cursor: Cursor, slot: str, wanted: Expected = OUTBOX) -> Replication:
    """Read the state of role, publication and slot. Raises psycopg2.Error."""
    cursor.execute(_STATE, {"role": wanted.role, "publication": wanted.publication, "slot": slot})
    (values,) = rows(cursor)
    published = values["published"]
    later: bool | None = values["published_later"]
    if later:
        later = None if values["active"] else _is_unreadable(cursor, slot, wanted.publication)
    values |= {"published": None if published is None else frozenset(published), "published_later": later}
    return Replication(slot=slot, wanted=wanted, **values)


def judge(cursor: Cursor, slot: str, wanted: Expected = OUTBOX) -> Replication:
    """Poll until it is known whether the slot can be read. Raises psycopg2.Error.

    A connector that can't read it keeps retrying, and holds the slot in between.
    """
    state = read_state(cursor, slot, wanted)
    end, deadline = state.position, time.monotonic() + JUDGE_S
    while state.published_later is None and state.read_to < end and time.monotonic() < deadline:
        time.sleep(JUDGE_EVERY_S)
        state = read_state(cursor, slot, wanted)
    return state


def _is_unreadable(cursor: Cursor, slot: str, publication: str) -> bool | None:
    """Try to read the unread changes without consuming them; None if a session has taken the slot meanwhile.

    Decoding uses the catalogue as of the change, perhaps without a publication.
    A publication's row newer than the slot's position proves nothing: an ALTER rewrites it as well.
    """
    before = value(cursor, "SHOW statement_timeout")
    try:
        cursor.execute("SET statement_timeout = %s", (f"{PEEK_TIMEOUT_S}s",))
        cursor.execute(
            "SELECT count(*) FROM pg_logical_slot_peek_binary_changes("
            "%s, NULL, NULL, 'proto_version', '1', 'publication_names', %s)",
            (slot, publication),
        )
    except errors.UndefinedObject:
        return True
    except errors.ObjectInUse:
        return None
    except (errors.QueryCanceled, errors.InsufficientPrivilege):
        return False
    finally:
        if cursor.connection.closed == 0:
            cursor.execute("SET statement_timeout = %s", (before,))
    return False


def table_at(cursor: Cursor, slot: str, publication: str, position: int) -> str | None:
    """Return the table, as schema.table, of the unread change at a position of the log; None if unknown."""
    where = {"slot": slot, "publication": publication, "position": f"{position >> 32:X}/{position & 0xFFFFFFFF:X}"}
    with contextlib.suppress(psycopg2.Error):
        cursor.execute("SET statement_timeout = %s", (f"{PEEK_TIMEOUT_S}s",))
        cursor.execute(_TABLE_AT, where)
        return next((str(table) for (table,) in cursor.fetchall()), None)
    return None


def restore_publication(cursor: Cursor) -> None:
    """Create the publication as the loader does, unless it is complete. Raises LoadError."""
    try:
        if value(cursor, "SELECT 1 FROM pg_publication WHERE pubname = %s", [PUBLICATION]) is None:
            cursor.execute(f"CREATE PUBLICATION {PUBLICATION}")
        cursor.execute(text_of(REPLICATION_FILE))
    except psycopg2.Error as error:
        raise LoadError(f"cannot make the publication {PUBLICATION}: {explain(error)}") from error


def renew_slot(cursor: Cursor, slot: str) -> bool:
    """Replace any slot with a new one at the WAL's end; False while a session still has the old one.

    It waits for open transactions. One statement drops and creates it: a retrying connector would create its own in
    between. Raises LoadError; another database's slot of that name isn't touched.
    """
    try:
        cursor.execute("SET statement_timeout = %s", (f"{SLOT_TIMEOUT_S}s",))
        cursor.execute(
            "SELECT pg_terminate_backend(active_pid, 5000) FROM pg_replication_slots"
            " WHERE slot_name = %s AND database = current_database() AND active",
            (slot,),
        )
        cursor.execute(
            "SELECT count(pg_drop_replication_slot(slot_name)) FROM pg_replication_slots"
            " WHERE slot_name = %(slot)s AND database = current_database();"
            "SELECT pg_create_logical_replication_slot(%(slot)s, 'pgoutput')",
            {"slot": slot},
        )
    except errors.ObjectInUse:
        return False
    except errors.QueryCanceled as error:
        raise LoadError(
            f"the replication slot {slot} can't be made within {SLOT_TIMEOUT_S} s: a transaction is open for that long"
            " (docs/aws/alarms.md#replication-slot-lag); end it and run this again"
        ) from error
    except psycopg2.Error as error:
        raise LoadError(f"cannot make the replication slot {slot} again: {explain(error)}") from error
    finally:
        if cursor.connection.closed == 0:
            cursor.execute("RESET statement_timeout")
    return True


def drop_slot(connection_parameters: Mapping[str, Any], name: str) -> bool:
    """End the session that reads this database's slot `name`, and drop it; False while a session still has it.

    Another database's slot of that name stays. Call again after False: an ended session needs a moment to release it.
    Raises LoadError with one line.
    """
    with contextlib.closing(connect(connection_parameters)) as connection:
        connection.autocommit = True
        try:
            with connection.cursor() as cursor:
                cursor.execute(
                    "SELECT pg_terminate_backend(active_pid) FROM pg_replication_slots"
                    " WHERE slot_name = %s AND database = current_database()",
                    (name,),
                )
                if cursor.fetchone() is None:
                    return True
                cursor.execute("SELECT pg_drop_replication_slot(%s)", (name,))
        except errors.ObjectInUse:
            return False
        except errors.UndefinedObject:
            # Another session dropped it first.
            return True
        except psycopg2.Error as error:
            raise LoadError(f"cannot drop the replication slot {name}: {explain(error)}") from error
    return True
