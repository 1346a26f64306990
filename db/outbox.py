"""The outbox's SQL: which files it is made of, which of them a database has, and how they are applied.

Numbered steps (sql/migrations) run once each: tables. The other files say how views, functions and triggers are to be;
they run again whenever one of them has changed.
"""

import hashlib
from dataclasses import dataclass
from functools import cache
from typing import Literal

from psycopg2.extensions import cursor as Cursor  # noqa: N812 - a class with a lower-case name

from contract.capture_objects import CONNECTOR_ROLE
from contract.source import SCHEMA
from db import sql_text
from db.sql_text import text_of

Mode = Literal["transaction", "statement"]

LOCK_FILE = "03_outbox_lock.sql"
VIEWS_FILE = "03_outbox.sql"
FUNCTION_FILES = (
    LOCK_FILE,
    "04_outbox_functions.sql",
    "04_outbox_queue.sql",
    "04_outbox_refresh.sql",
    "06_outbox_guards.sql",
    "05_outbox_{mode}.sql",
)
REPLICATION_FILE = "07_replication.sql"
TRIGGERS_FILE = "06_outbox_triggers.sql"
RIGHTS_FILE = "08_connector_rights.sql"
MODES: tuple[Mode, ...] = ("transaction", "statement")
# A database from before there were versions has these steps.
FIRST_STEPS = ("0001_outbox",)

# Ours are those whose names begin with outbox_. Trigger functions are replaced, because triggers depend on them; of the
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
# What this transaction hasn't made or replaced is an earlier version's.
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
          AND xmin <> pg_current_xact_id()::XID
    LOOP
        EXECUTE format('DROP ROUTINE %s', leftover.name);
    END LOOP;
END
$$
"""


@dataclass(frozen=True, kw_only=True)
class Version:
    """What an outbox is made of: hash of all files, numbered steps, the views' text, and the mode (None: unknown)."""

    sql_hash: str
    steps: tuple[str, ...]
    views: str
    mode: Mode | None


def run(cursor: Cursor, name: str) -> None:
    """Run a file of the SQL folder."""
    cursor.execute(text_of(name))


def wanted(mode: Mode) -> Version:
    """Return the version that this code makes."""
    return Version(sql_hash=_sql_hash(), steps=_steps(), views=text_of(VIEWS_FILE), mode=mode)


def present(cursor: Cursor) -> Version:
    """Return the version that the database has; one from before versions were kept has no hash and no views' text."""
    cursor.execute(f"SELECT to_regclass('{SCHEMA}.outbox_versions') IS NOT NULL")
    if cursor.fetchone() != (True,):
        return Version(sql_hash="", steps=FIRST_STEPS, views="", mode=_mode_of_unversioned(cursor))
    cursor.execute(f"SELECT sql_hash, steps, views, mode FROM {SCHEMA}.outbox_versions ORDER BY id DESC LIMIT 1")
    sql_hash, steps, views, mode = cursor.fetchone() or ("", FIRST_STEPS, "", None)
    return Version(sql_hash=sql_hash, steps=tuple(steps), views=views, mode=mode)


def is_newer(cursor: Cursor, found: Version) -> bool:
    """Tell whether the database has moved on from what this code makes: an unknown step, or it had our hash before."""
    if set(found.steps) - set(_steps()):
        return True
    if not found.sql_hash or found.sql_hash == _sql_hash():
        return False
    cursor.execute(f"SELECT EXISTS (SELECT FROM {SCHEMA}.outbox_versions WHERE sql_hash = %s)", (_sql_hash(),))
    return cursor.fetchone() == (True,)


def create(cursor: Cursor, mode: Mode) -> None:
    """Make the outbox, empty and not yet watched by triggers, in a database that has the source's tables."""
    _run_steps(cursor, ())
    run(cursor, VIEWS_FILE)
    _run_functions(cursor, mode)


def add_triggers(cursor: Cursor, mode: Mode) -> None:
    """Let the triggers watch, and note the version."""
    run(cursor, TRIGGERS_FILE)
    _note(cursor, wanted(mode))


def lock(cursor: Cursor, max_wait_s: float) -> None:
    """Keep writers of the source's tables out until the transaction ends; those that have begun are waited for.

    Raises psycopg2.errors.LockNotAvailable.
    """
    run(cursor, LOCK_FILE)
    cursor.execute(f"SELECT {SCHEMA}.outbox_lock(make_interval(secs => %s))", (max_wait_s,))


def upgrade(cursor: Cursor, found: Version, mode: Mode) -> None:
    """Bring an outbox up to this code's version, under `lock`; rows, slot and publication stay.

    Afterwards its rows have to be looked at, which is noted: `refresh_step` does it.
    """
    target = wanted(mode)
    new_views = found.views != target.views or found.steps != target.steps
    if new_views:
        cursor.execute(f"SELECT {SCHEMA}.outbox_drop_views()")
    _run_steps(cursor, found.steps)
    if new_views:
        run(cursor, VIEWS_FILE)
    cursor.execute(_DROP_FUNCTIONS)
    _run_functions(cursor, mode)
    run(cursor, TRIGGERS_FILE)
    cursor.execute(_DROP_LEFTOVERS)
    # A function that was dropped has lost its grants.
    cursor.execute("SELECT 1 FROM pg_roles WHERE rolname = %s", (CONNECTOR_ROLE,))
    if cursor.fetchone():
        run(cursor, RIGHTS_FILE)
    cursor.execute(f"SELECT {SCHEMA}.outbox_refresh_all()")
    _note(cursor, target)


def refresh_step(cursor: Cursor, size: int) -> int:
    """Bring the next `size` orders' rows up to date; return how many were looked at, 0 when none is left."""
    cursor.execute(f"SELECT {SCHEMA}.outbox_refresh_step(%s)", (size,))
    (looked_at,) = cursor.fetchone() or (0,)
    return int(looked_at)


def _run_functions(cursor: Cursor, mode: Mode) -> None:
    for name in FUNCTION_FILES:
        run(cursor, name.format(mode=mode))
    run(cursor, REPLICATION_FILE)


def _run_steps(cursor: Cursor, done: tuple[str, ...]) -> None:
    for step in _steps():
        if step not in done:
            run(cursor, f"migrations/{step}.sql")


def _note(cursor: Cursor, version: Version) -> None:
    cursor.execute(
        f"INSERT INTO {SCHEMA}.outbox_versions (sql_hash, mode, steps, views) VALUES (%s, %s, %s, %s)",
        (version.sql_hash, version.mode, list(version.steps), version.views),
    )


@cache
def _steps() -> tuple[str, ...]:
    return tuple(sorted(path.stem for path in (sql_text.SQL_FOLDER / "migrations").glob("*.sql")))


@cache
def _sql_hash() -> str:
    names = [VIEWS_FILE, *FUNCTION_FILES[:-1], *(FUNCTION_FILES[-1].format(mode=mode) for mode in MODES)]
    names += [TRIGGERS_FILE, REPLICATION_FILE, RIGHTS_FILE, *(f"migrations/{step}.sql" for step in _steps())]
    digest = hashlib.sha256()
    for name in names:
        digest.update(f"{name}\0{text_of(name)}\0".encode())
    return digest.hexdigest()


def _mode_of_unversioned(cursor: Cursor) -> Mode | None:
    """Tell the mode of an outbox without versions by the one function that differs."""
    cursor.execute(
        "SELECT prosrc FROM pg_proc WHERE proname = 'outbox_changed' AND pronamespace = %s::regnamespace", (SCHEMA,)
    )
    (body,) = cursor.fetchone() or ("",)
    if "outbox_pending" not in body:
        return None
    return "statement" if "edits_seen" in body else "transaction"
