"""Loads the source database in one transaction: tables, rows, outbox, triggers, publication, connector role."""

import hashlib
import io
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from psycopg2 import sql
from psycopg2.extensions import encrypt_password

from contract.source import CONNECTOR_ROLE, OUTBOX_TABLE, PUBLICATION, SCHEMA
from db import outbox
from db.connecting import Cursor, LoadError, transaction, value
from db.dump import read_dump, read_file
from db.migrating import migrate, wait_for_others
from db.outbox import run
from db.sample import NORTHWIND, ORDERS, TABLES, Chunk, copy_lines, repeated, row_counts
from db.source.rights import again, role_steps

DIGITS = 16


def data_set(*, scale: int = 1, dump: Path | None = None, empty: bool = False) -> str:
    """Return a short text that identifies the loaded rows. Raises LoadError for an unreadable dump."""
    if empty:
        return "no rows"
    if dump is None:
        return f"{ORDERS * scale:,} generated orders (--scale {scale})"
    return f"the dump {dump.name} (SHA-256 {hashlib.sha256(read_file(dump)).hexdigest()[:DIGITS]}…)"


def record_data_set(cursor: Cursor, words: str, *, schema: str = SCHEMA) -> None:
    """Record what was loaded into a schema."""
    cursor.execute(sql.SQL("COMMENT ON SCHEMA {} IS {}").format(sql.Identifier(schema), sql.Literal(words)))


def recorded_data_set(cursor: Cursor, *, schema: str = SCHEMA) -> str | None:
    """Return the record; None for a database that an older version has loaded."""
    words: str | None = value(cursor, "SELECT obj_description(%s::regnamespace, 'pg_namespace')", [schema])
    return words


COPY_ROWS = 20_000

# Called with the step's name, the rows done and the total (1 of 1 for a step without rows).
Progress = Callable[[str, int, int], None]


@dataclass(frozen=True, kw_only=True)
class LoadOptions:
    """What to load and how.

    `scale` multiplies the generated orders; `dump` is a plain-text dump to load instead of generated rows; with `empty`
    the tables get no rows; `replace` drops an earlier load. `connector_password` is for the connector's login role;
    only its SCRAM verifier is sent. All pipelines of a server share the role: without `change_password` an existing one
    keeps its own. Raises LoadError for options that contradict one another.
    """

    connector_password: str = field(repr=False)
    change_password: bool = True
    scale: int = 1
    dump: Path | None = None
    empty: bool = False
    replace: bool = False

    def __post_init__(self) -> None:
        if self.dump is not None and self.scale != 1:
            raise LoadError("--scale multiplies generated orders and doesn't go with --from")
        if self.empty and (self.dump is not None or self.scale != 1):
            raise LoadError("--empty loads no rows and doesn't go with --from or --scale")
        if not self.connector_password:
            raise LoadError(f"the password of {CONNECTOR_ROLE} is empty: set CDC_CONNECTOR_PASSWORD")


@dataclass(frozen=True)
class LoadReport:
    """A load's result: rows by table, rows in the outbox, seconds, and whether an existing role kept its password."""

    rows: Mapping[str, int]
    events: int
    seconds: float
    kept_password: bool = False


def _quiet(*_: object) -> None:
    pass


def load(connection_parameters: Mapping[str, Any], options: LoadOptions, progress: Progress = _quiet) -> LoadReport:
    """Load the database, all or nothing. Raises LoadError with one line; the database is then unchanged."""
    started = time.monotonic()
    chunks, totals = source(options, progress)
    with transaction(connection_parameters) as cursor:
        state = outbox.check_loadable(cursor, replace=options.replace)
        events = fill(cursor, chunks, totals, options, progress)
    kept = state.role_exists and not options.change_password
    return LoadReport(totals, events, time.monotonic() - started, kept_password=kept)


def source(options: LoadOptions, progress: Progress = _quiet) -> tuple[Iterable[Chunk], Mapping[str, int]]:
    """Return the rows to load and each table's row count; a dump is read completely first."""
    if options.empty:
        return (), dict.fromkeys(TABLES, 0)
    dump = options.dump or NORTHWIND
    step = f"read {dump.name}"
    progress(step, 0, 1)
    rows = read_dump(dump)
    progress(step, 1, 1)
    return repeated(rows, options.scale), row_counts(rows, options.scale)


def fill(
    cursor: Cursor, chunks: Iterable[Chunk], totals: Mapping[str, int], options: LoadOptions, progress: Progress
) -> int:
    """Create everything in a database that `check_loadable` accepts; return the outbox's row count."""
    _create_tables(cursor)
    record_data_set(cursor, data_set(scale=options.scale, dump=options.dump, empty=options.empty))
    _copy(cursor, chunks, totals, progress)
    _create_outbox(cursor, options, progress)
    return int(value(cursor, f"SELECT count(*) FROM {SCHEMA}.{OUTBOX_TABLE}"))


def _create_tables(cursor: Cursor) -> None:
    """Replace the schema. Keep the publication: an existing slot needs it to decode this."""
    state = outbox.read_state(cursor)
    if state.own_schema:
        if OUTBOX_TABLE in state.own_tables and outbox.has_slot(cursor):
            # So that the lake gets these orders' deletes.
            cursor.execute(f"DELETE FROM {SCHEMA}.{OUTBOX_TABLE}")
        cursor.execute(f"DROP SCHEMA {SCHEMA} CASCADE")
    if state.published is None:
        cursor.execute(f"CREATE PUBLICATION {PUBLICATION}")
    run(cursor, "01_tables.sql")


def _copy(cursor: Cursor, chunks: Iterable[Chunk], totals: Mapping[str, int], progress: Progress) -> None:
    done = dict.fromkeys(TABLES, 0)
    for table, rows in chunks:
        statement = f"COPY {SCHEMA}.{table} ({', '.join(TABLES[table])}) FROM STDIN"
        for start in range(0, len(rows), COPY_ROWS):
            batch = rows[start : start + COPY_ROWS]
            cursor.copy_expert(statement, io.StringIO("".join(copy_lines(batch))))
            done[table] += len(batch)
            progress(f"load {table}", done[table], totals[table])


def _create_outbox(cursor: Cursor, options: LoadOptions, progress: Progress) -> None:
    """Add keys, outbox, role and publication; fill the outbox; only then enable the triggers."""
    steps: list[tuple[str, Callable[[], None]]] = [
        ("add keys and indexes", lambda: run(cursor, "02_keys.sql")),
        ("gather statistics", lambda: cursor.execute(f"ANALYZE {', '.join(f'{SCHEMA}.{table}' for table in TABLES)}")),
        ("create outbox", lambda: outbox.create(cursor)),
        ("create connector role", lambda: grant_role(cursor, options)),
        ("fill outbox", lambda: cursor.execute(f"CALL {SCHEMA}.usp_init_order_events()")),
        ("add triggers", lambda: outbox.add_triggers(cursor)),
        ("set search path", lambda: _set_search_path(cursor)),
    ]
    for name, step in steps:
        progress(name, 0, 1)
        step()
        progress(name, 1, 1)


def grant_role(cursor: Cursor, options: LoadOptions) -> None:
    """Create the connector's role, or set an existing one's password; grant its rights here."""
    # A plain-text password would end up in the server's log; its verifier is useless to the log's readers.
    verifier = encrypt_password(options.connector_password, CONNECTOR_ROLE, cursor, "scram-sha-256")

    def make() -> None:
        state = outbox.read_state(cursor)
        sets_password = options.change_password or not state.role_exists
        for step in role_steps(outbox.OUTBOX, state, verifier if sets_password else None):
            for statement in step.statements:
                cursor.execute(statement)

    again(cursor, make)
    run(cursor, outbox.RIGHTS_FILE)


def _set_search_path(cursor: Cursor) -> None:
    names = map(sql.Identifier, (value(cursor, "SELECT current_database()"), SCHEMA))
    cursor.execute(sql.SQL("ALTER DATABASE {} SET search_path = {}, public").format(*names))


def prepare(
    connection_parameters: Mapping[str, Any], options: LoadOptions, *, refresh_s: float | None = None
) -> LoadReport | None:
    """Load the database, or return None if that is done already.

    Then migrate its outbox to this code's version, and set the password and rights of the connector's role. By then the
    tables belong to their users: sample data and scale no longer count. Raises LoadError for an incomplete schema of
    that name or if the connector's role is an administrator, both without changes; and what `db.migrating.migrate`
    raises, which gets `refresh_s`.
    """
    started = time.monotonic()
    with transaction(connection_parameters) as cursor:
        wait_for_others(cursor)
        state = outbox.read_state(cursor)
        if state.own_schema:
            outbox.check_whole(cursor)
            outbox.check_role(state)
        else:
            outbox.check_loadable(cursor, replace=False)
            chunks, totals = source(options)
            events = fill(cursor, chunks, totals, options, _quiet)
            return LoadReport(totals, events, time.monotonic() - started)
    try:
        migrate(connection_parameters, refresh_s=refresh_s)
    finally:
        # Even if the migration failed: the connector may need its new password.
        with transaction(connection_parameters) as cursor:
            grant_role(cursor, options)
    return None
