"""The outbox's SQL: its files, their version in a database, and how they are applied.

Numbered steps (sql/migrations) run once each: tables. The other files define views, functions and triggers; they run
again whenever one of them has changed.
"""

import hashlib
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from contract.source import CONNECTOR_ROLE, HEARTBEAT_TABLE, OUTBOX_TABLE, PUBLICATION, SCHEMA
from db.connecting import Cursor, LoadError, value
from db.source import objects as source_objects
from db.source.objects import SourceObjects, SourceState

OUTBOX = SourceObjects(publication=PUBLICATION, schema=SCHEMA)


def check_loadable(cursor: Cursor, *, replace: bool) -> SourceState:
    """Return the database's state. Raises LoadError unless it can be loaded."""
    state = read_state(cursor)
    if state.wal_level != "logical":
        raise LoadError(
            f"wal_level is {state.wal_level}, change data capture needs logical:"
            " set it in postgresql.conf (on Aurora and RDS: rds.logical_replication=1) and restart the server"
        )
    if replace:
        active = "SELECT slot_name FROM pg_replication_slots WHERE database = current_database() AND active LIMIT 1"
        # Its tables would vanish.
        if slot := value(cursor, active):
            raise LoadError(f"the replication slot {slot} is in use: stop the connector, then load with --replace")
    elif state.own_schema:
        raise LoadError(f"the schema {SCHEMA} is already there: add --replace to drop it and load it again")
    elif state.published is not None:
        raise LoadError(f"the publication {PUBLICATION} is already there: add --replace to take it over")
    check_role(state)
    return state


def read_state(cursor: Cursor) -> SourceState:
    """Read the state of an outbox's schema, publication and role in the database."""
    return source_objects.read(cursor, OUTBOX)


def has_slot(cursor: Cursor) -> bool:
    """Tell whether a replication slot, active or not, is waiting for this database's changes."""
    return value(cursor, "SELECT 1 FROM pg_replication_slots WHERE database = current_database()") is not None


def check_role(state: SourceState) -> None:
    """Raise LoadError if a role of the connector's name is an administrator: it would get a known password."""
    if state.role_is_administrator:
        raise LoadError(f"the role {CONNECTOR_ROLE} is there with an administrator's rights: rename or demote it first")


SQL_FOLDER = Path(__file__).resolve().parent / "sql"
LOCK_FILE = "03_outbox_lock.sql"
VIEWS_FILE = "03_outbox.sql"
FUNCTION_FILES = (
    LOCK_FILE,
    "04_outbox_functions.sql",
    "04_outbox_queue.sql",
    "04_outbox_refresh.sql",
    "06_outbox_guards.sql",
    "05_outbox_changed.sql",
)
REPLICATION_FILE = "07_replication.sql"
TRIGGERS_FILE = "06_outbox_triggers.sql"
RIGHTS_FILE = "08_connector_rights.sql"
RELATIONS = (OUTBOX_TABLE, HEARTBEAT_TABLE, "outbox_pending", "outbox_versions")

# Our functions' names begin with outbox_. Trigger functions are replaced, because triggers depend on them; for the
# others a changed signature would leave the old one behind.
_DROP_FUNCTIONS = f"""
DO $$
DECLARE
    ours REGPROCEDURE;
BEGIN
    FOR ours IN
        SELECT oid FROM pg_proc
        WHERE pronamespace = '{SCHEMA}'::REGNAMESPACE AND proname LIKE 'outbox\\_%' AND prorettype <> 'trigger'::REGTYPE
    LOOP
        EXECUTE format('DROP ROUTINE %s', ours);
    END LOOP;
END
$$
"""
# Triggers that this transaction didn't create or replace are an earlier version's, as are functions without a trigger.
_DROP_LEFTOVERS = f"""
DO $$
DECLARE
    leftover RECORD;
BEGIN
    FOR leftover IN
        SELECT tgname AS name, tgrelid::REGCLASS AS source FROM pg_trigger
        WHERE tgname LIKE 'outbox\\_%' AND NOT tgisinternal AND tgconstraint = 0
          AND xmin <> pg_current_xact_id()::XID
          AND (SELECT relnamespace FROM pg_class WHERE oid = tgrelid) = '{SCHEMA}'::REGNAMESPACE
    LOOP
        EXECUTE format('DROP TRIGGER %I ON %s', leftover.name, leftover.source);
    END LOOP;
    FOR leftover IN
        SELECT oid::REGPROCEDURE AS name FROM pg_proc
        WHERE pronamespace = '{SCHEMA}'::REGNAMESPACE AND proname LIKE 'outbox\\_%'
          AND prorettype = 'trigger'::REGTYPE AND NOT EXISTS (SELECT FROM pg_trigger WHERE tgfoid = pg_proc.oid)
    LOOP
        EXECUTE format('DROP ROUTINE %s', leftover.name);
    END LOOP;
END
$$
"""


@dataclass(frozen=True, kw_only=True)
class Version:
    """An outbox's version: the hash of all files, the numbered steps, and the views' text."""

    sql_hash: str
    steps: tuple[str, ...]
    views: str


def text_of(name: str) -> str:
    """Return a file of the SQL folder."""
    return (SQL_FOLDER / name).read_text(encoding="utf-8")


def run(cursor: Cursor, name: str) -> None:
    """Run a file of the SQL folder."""
    cursor.execute(text_of(name))


def wanted() -> Version:
    """Return the version that this code creates."""
    return Version(sql_hash=_sql_hash(), steps=_steps(), views=text_of(VIEWS_FILE))


def check_whole(cursor: Cursor) -> None:
    """Raise LoadError unless the schema is an outbox that some version of this code has created."""
    tables = [f"{SCHEMA}.{name}" for name in RELATIONS]
    missing = [f"the table {name}" for name in tables if value(cursor, "SELECT to_regclass(%s)", [name]) is None]
    if read_state(cursor).published is None:
        missing.append(f"the publication {PUBLICATION}")
    if missing:
        raise LoadError(
            f"the schema {SCHEMA} is there, but not {', not '.join(missing)}: drop the schema if you don't need it,"
            " or load it again with `./lake source load --replace`"
        )


def present(cursor: Cursor) -> Version:
    """Return the database's version. Raises LoadError for an incomplete outbox."""
    check_whole(cursor)
    cursor.execute(f"SELECT sql_hash, steps, views FROM {SCHEMA}.outbox_versions ORDER BY id DESC LIMIT 1")
    sql_hash, steps, views = cursor.fetchone() or ("", (), "")
    return Version(sql_hash=sql_hash, steps=tuple(steps), views=views)


def is_newer(cursor: Cursor, found: Version) -> bool:
    """Tell whether the database is ahead of this code: it has an unknown step, or had our hash before."""
    if set(found.steps) - set(_steps()):
        return True
    if found.sql_hash == _sql_hash():
        return False
    return value(cursor, f"SELECT 1 FROM {SCHEMA}.outbox_versions WHERE sql_hash = %s", [_sql_hash()]) is not None


def create(cursor: Cursor) -> None:
    """Create the outbox, empty and without triggers, in a database that has the source's tables."""
    _run_steps(cursor, ())
    run(cursor, VIEWS_FILE)
    _run_functions(cursor)


def add_triggers(cursor: Cursor) -> None:
    """Add the triggers and record the version."""
    run(cursor, TRIGGERS_FILE)
    _note(cursor, wanted())


def lock(cursor: Cursor, max_wait_s: float) -> None:
    """Block writers of the source's tables until the transaction ends, after waiting for active ones.

    Raises psycopg2.errors.LockNotAvailable.
    """
    run(cursor, LOCK_FILE)
    cursor.execute(f"SELECT {SCHEMA}.outbox_lock(make_interval(secs => %s))", (max_wait_s,))


def upgrade(cursor: Cursor, found: Version) -> None:
    """Bring an outbox up to this code's version, under `lock`; rows, slot and publication stay.

    Afterwards its rows must be checked, which is recorded: db/migrating.py does it.
    """
    target = wanted()
    new_views = found.views != target.views or found.steps != target.steps
    if new_views:
        cursor.execute(f"SELECT {SCHEMA}.outbox_drop_views()")
    _run_steps(cursor, found.steps)
    if new_views:
        run(cursor, VIEWS_FILE)
    cursor.execute(_DROP_FUNCTIONS)
    _run_functions(cursor)
    run(cursor, TRIGGERS_FILE)
    cursor.execute(_DROP_LEFTOVERS)
    # A dropped function has lost its grants.
    if value(cursor, "SELECT 1 FROM pg_roles WHERE rolname = %s", [CONNECTOR_ROLE]):
        run(cursor, RIGHTS_FILE)
    cursor.execute(f"SELECT {SCHEMA}.outbox_refresh_all()")
    _note(cursor, target)


def _run_functions(cursor: Cursor) -> None:
    for name in (*FUNCTION_FILES, REPLICATION_FILE):
        run(cursor, name)


def _run_steps(cursor: Cursor, done: tuple[str, ...]) -> None:
    for step in _steps():
        if step not in done:
            run(cursor, f"migrations/{step}.sql")


def _note(cursor: Cursor, version: Version) -> None:
    cursor.execute(
        f"INSERT INTO {SCHEMA}.outbox_versions (sql_hash, steps, views) VALUES (%s, %s, %s)",
        (version.sql_hash, list(version.steps), version.views),
    )


@cache
def _steps() -> tuple[str, ...]:
    return tuple(sorted(path.stem for path in (SQL_FOLDER / "migrations").glob("*.sql")))


@cache
def _sql_hash() -> str:
    names = [VIEWS_FILE, *FUNCTION_FILES, TRIGGERS_FILE, REPLICATION_FILE, RIGHTS_FILE]
    names += [f"migrations/{step}.sql" for step in _steps()]
    digest = hashlib.sha256()
    for name in names:
        digest.update(f"{name}\0{text_of(name)}\0".encode())
    return digest.hexdigest()
