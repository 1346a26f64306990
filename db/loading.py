"""Loads the source database in one transaction: tables, rows, outbox, triggers, publication, connector role."""

import contextlib
import io
import itertools
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import psycopg2
from psycopg2 import sql
from psycopg2.extensions import cursor as Cursor  # noqa: N812 - a class with a lower-case name
from psycopg2.extensions import encrypt_password

from contract.source import CONNECTOR_ROLE, OUTBOX_TABLE, PUBLICATION, SCHEMA
from db import data_set, outbox, preflight
from db.connecting import connect
from db.dump import read_dump
from db.errors import LoadError, explain
from db.outbox import run
from db.sample import NORTHWIND, repeated, row_counts
from db.source.rights import role_steps
from db.source.shared_roles import again
from db.tables import TABLES, Chunk, copy_lines

COPY_ROWS = 20_000

# Called with the step's name, the rows done and the total (1 of 1 for a step without rows).
Progress = Callable[[str, int, int], None]


@dataclass(frozen=True, kw_only=True)
class LoadOptions:
    """What to load and how.

    `scale` multiplies the generated orders; `dump` is a plain-text dump to load instead of generated rows; with `empty`
    the tables get no rows; `replace` drops an earlier load. `connector_password` is for the connector's login role;
    only its SCRAM verifier is sent. Raises LoadError for options that contradict one another.
    """

    connector_password: str = field(repr=False)
    scale: int = 1
    dump: Path | None = None
    empty: bool = False
    replace: bool = False

    def __post_init__(self) -> None:
        if self.scale < 1:
            raise LoadError(f"--scale {self.scale}: must be 1 or more")
        if self.dump is not None and self.scale != 1:
            raise LoadError("--scale multiplies generated orders and doesn't go with --from")
        if self.empty and (self.dump is not None or self.scale != 1):
            raise LoadError("--empty loads no rows and doesn't go with --from or --scale")
        if not self.connector_password:
            raise LoadError(f"the password of {CONNECTOR_ROLE} is empty: set CDC_CONNECTOR_PASSWORD")


@dataclass(frozen=True)
class LoadReport:
    """A load's result: rows by table, rows in the outbox, and its duration in seconds."""

    rows: Mapping[str, int]
    events: int
    seconds: float


def load(connection_parameters: Mapping[str, Any], options: LoadOptions, progress: Progress) -> LoadReport:
    """Load the database, all or nothing. Raises LoadError with one line; the database is then unchanged."""
    started = time.monotonic()
    chunks, totals = source(options, progress)
    with transaction(connection_parameters) as cursor:
        preflight.check(cursor, replace=options.replace)
        events = fill(cursor, chunks, totals, options, progress)
    return LoadReport(totals, events, time.monotonic() - started)


@contextlib.contextmanager
def transaction(connection_parameters: Mapping[str, Any], *, failing: str = "nothing was loaded") -> Iterator[Cursor]:
    """Connect, and commit when the block ends; an exception rolls back, and PostgreSQL's become LoadError.

    `failing` tells the user what that means.
    """
    with contextlib.closing(connect(connection_parameters)) as connection:
        try:
            with connection, connection.cursor() as cursor:
                yield cursor
        except psycopg2.Error as error:
            raise LoadError(f"{explain(error)} ({failing})") from error


def source(options: LoadOptions, progress: Progress) -> tuple[Iterable[Chunk], Mapping[str, int]]:
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
    """Create everything in a database that preflight has checked; return the outbox's row count."""
    _create_tables(cursor)
    data_set.note(cursor, data_set.describe(scale=options.scale, dump=options.dump, empty=options.empty))
    _copy(cursor, chunks, totals, progress)
    _create_outbox(cursor, options, progress)
    cursor.execute(f"SELECT count(*) FROM {SCHEMA}.{OUTBOX_TABLE}")
    (events,) = cursor.fetchone() or (0,)
    return int(events)


def _create_tables(cursor: Cursor) -> None:
    """Replace the schema. Keep the publication: an existing slot needs it to decode this."""
    state = preflight.read(cursor)
    if state.own_schema:
        if OUTBOX_TABLE in state.own_tables and preflight.has_slot(cursor):
            # So that the lake gets these orders' deletes.
            cursor.execute(f"DELETE FROM {SCHEMA}.{OUTBOX_TABLE}")
        cursor.execute(sql.SQL("DROP SCHEMA {} CASCADE").format(sql.Identifier(SCHEMA)))
    if state.published is None:
        cursor.execute(sql.SQL("CREATE PUBLICATION {}").format(sql.Identifier(PUBLICATION)))
    run(cursor, "01_tables.sql")


def _copy(cursor: Cursor, chunks: Iterable[Chunk], totals: Mapping[str, int], progress: Progress) -> None:
    done = dict.fromkeys(TABLES, 0)
    for table, rows in chunks:
        target = sql.Identifier(SCHEMA, table)
        columns = sql.SQL(", ").join(map(sql.Identifier, TABLES[table]))
        statement = sql.SQL("COPY {} ({}) FROM STDIN").format(target, columns)
        for batch in _batches(rows):
            cursor.copy_expert(statement, io.StringIO("".join(copy_lines(batch))))
            done[table] += len(batch)
            progress(f"load {table}", done[table], totals[table])


def _batches(rows: Sequence[Any]) -> Iterator[Sequence[Any]]:
    iterator = iter(rows)
    while batch := list(itertools.islice(iterator, COPY_ROWS)):
        yield batch


def _create_outbox(cursor: Cursor, options: LoadOptions, progress: Progress) -> None:
    """Add keys, outbox, role and publication; fill the outbox; only then enable the triggers."""
    steps: list[tuple[str, Callable[[], None]]] = [
        ("add keys and indexes", lambda: run(cursor, "02_keys.sql")),
        ("gather statistics", lambda: _analyze(cursor)),
        ("create outbox", lambda: outbox.create(cursor)),
        ("create connector role", lambda: grant_role(cursor, options.connector_password)),
        ("fill outbox", lambda: cursor.execute(f"CALL {SCHEMA}.usp_init_order_events()")),
        ("add triggers", lambda: outbox.add_triggers(cursor)),
        ("set search path", lambda: _set_search_path(cursor)),
    ]
    for name, step in steps:
        progress(name, 0, 1)
        step()
        progress(name, 1, 1)


def _analyze(cursor: Cursor) -> None:
    for table in TABLES:
        cursor.execute(sql.SQL("ANALYZE {}").format(sql.Identifier(SCHEMA, table)))


def grant_role(cursor: Cursor, password: str) -> None:
    """Create the connector's role, or set an existing one's password; grant its rights here."""
    # A plain-text password would end up in the server's log; its verifier is useless to the log's readers.
    verifier = encrypt_password(password, CONNECTOR_ROLE, cursor, "scram-sha-256")
    again(cursor, lambda: _make_role(cursor, verifier))
    run(cursor, "08_connector_rights.sql")


def _make_role(cursor: Cursor, verifier: str) -> None:
    for step in role_steps(preflight.OUTBOX, preflight.read(cursor), verifier):
        for statement in step.statements:
            cursor.execute(statement)


def _set_search_path(cursor: Cursor) -> None:
    cursor.execute("SELECT current_database()")
    (name,) = cursor.fetchone() or ("",)
    cursor.execute(
        sql.SQL("ALTER DATABASE {} SET search_path = {}, public").format(sql.Identifier(name), sql.Identifier(SCHEMA))
    )
