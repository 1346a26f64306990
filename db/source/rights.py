"""The connector's role and its read rights: the least that capturing needs."""

import random
import re
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

import psycopg2
from psycopg2 import errors

from contract.source import quoted
from contract.table_names import listed
from db.connecting import Cursor, LaterError, explain, transaction
from db.source.catalogue import HAS_ROWS, SYSTEM_COLUMNS, Table
from db.source.objects import SourceObjects, SourceState, WantedTable


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """Statements that belong together, and their purpose; without any it isn't of a plan.

    `missing`: the right for it that the user lacks.
    """

    purpose: str
    statements: tuple[str, ...]
    missing: str | None = None

    @property
    def shown(self) -> tuple[str, ...]:
        """The statements for printing: without a password's verifier."""
        return tuple(re.sub(r" PASSWORD '[^']*'", " PASSWORD '…'", statement) for statement in self.statements)


def lines(names: Iterable[str]) -> str:
    """Write names one below the other, as a list in SQL."""
    return ",\n    ".join(names)


def pairs(wanted: SourceObjects, state: SourceState) -> list[tuple[WantedTable, Table]]:
    """Return each wanted table with what the database has. Raises KeyError for a missing one."""
    return [(table, state.tables[table.schema, table.name]) for table in wanted.tables]


def role_steps(wanted: SourceObjects, state: SourceState, verifier: str | None) -> Iterator[Step]:
    """Create the connector's login role, or give the existing one what it lacks."""
    role = state.names[wanted.role]
    replication = "" if state.hosted else " REPLICATION"
    password = f" PASSWORD '{verifier}'" if verifier else ""
    if not state.role_exists:
        then = "" if verifier else f"; then give it a password: \\password {role}"
        yield Step(
            # A DBA approves it: the role's SELECT rights cover less than that.
            purpose=f"The role that the connector logs in as; it can read every table's changes{then}",
            statements=(f"CREATE ROLE {role} LOGIN{replication}{password}",),
            missing=_may_make_role(state),
        )
    else:
        changes = ("" if state.role_logs_in else " LOGIN") + ("" if state.role_replicates else replication)
        yield Step(
            purpose="What the connector's role must be able to" if changes else "A password of its own",
            statements=(f"ALTER ROLE {role}{changes}{password}",) if changes or password else (),
            missing=_may_make_role(state),
        )
    if state.hosted and not state.role_replicates:
        missing = None if state.grants_rds_replication else "grant rds_replication (be the RDS master user)"
        yield Step(purpose="It reads the log", statements=(f"GRANT rds_replication TO {role}",), missing=missing)
    if not state.role_connects:
        database = state.names[state.database]
        missing = None if state.owns_database or state.superuser else f"grant CONNECT on {database} (be its owner)"
        yield Step(
            purpose="It enters this database",
            statements=(f"GRANT CONNECT ON DATABASE {database} TO {role}",),
            missing=missing,
        )


def _may_make_role(state: SourceState) -> str | None:
    """Return the missing right: only a superuser can grant REPLICATION; since PostgreSQL 16 also a user who has it."""
    if state.superuser or (state.createrole and (state.hosted or (state.replication and state.version >= 160000))):
        return None
    if state.hosted:
        return "make roles (CREATEROLE)"
    return "make a role with REPLICATION (a superuser" + (
        ", or CREATEROLE and REPLICATION)" if state.version >= 160000 else ")"
    )


def reading_steps(wanted: SourceObjects, state: SourceState) -> Iterator[Step]:
    """Let the role read the tables, without columns left out, and all rows where row security is on."""
    role = state.names[wanted.role]
    found = pairs(wanted, state)
    schemas = {table.schema_sql: table for _, table in found if not table.schema_usable}
    if schemas:
        foreign = [
            f"{sql}, which belongs to {table.schema_owner}"
            for sql, table in schemas.items()
            if not (table.schema_grantable or state.superuser)
        ]
        yield Step(
            purpose="It finds the tables",
            statements=(f"GRANT USAGE ON SCHEMA {', '.join(schemas)} TO {role}",),
            missing=f"grant USAGE on the schema {'; '.join(foreign)}" if foreign else None,
        )
    parted = {there.sql: grants for table, there in found if (grants := _grants(table, there, role))}
    whole = [there.sql for table, there in found if not secret_columns(table, there) and not there.whole]
    statements = [f"GRANT SELECT ON\n    {lines(whole)}\nTO {role}"] if whole else []
    statements += [statement for grants in parted.values() for statement in grants]
    granted = [there for _, there in found if there.sql in {*whole, *parted}]
    yield Step(
        purpose="It may SELECT from these tables alone",
        statements=tuple(statements),
        missing=owners_agree(granted, state, "grant SELECT on"),
    )
    secured = [there for _, there in found if there.row_security and not there.has_policy]
    policy = quoted(f"{wanted.publication}_reads")
    yield Step(
        purpose="Row security hides no row from its snapshots",
        statements=tuple(
            f"CREATE POLICY {policy} ON {there.sql} FOR SELECT TO {role} USING (TRUE)" for there in secured
        ),
        missing=owners_agree(secured, state, "make policies on"),
    )


def secret_columns(table: WantedTable, there: Table) -> frozenset[str]:
    """The columns that mustn't be read: none if all are generated from others that may be."""
    return table.leave_out if table.leave_out - there.generated else frozenset()


def system_columns(table: WantedTable, there: Table) -> tuple[str, ...]:
    """The system columns that the role reads; a view has none."""
    return SYSTEM_COLUMNS if table.by_xmin and there.kind in HAS_ROWS else ()


def _grants(table: WantedTable, there: Table, role: str) -> list[str]:
    """The grants for a table with columns left out: each other column by name, and no right on the whole."""
    secret = secret_columns(table, there)
    if not secret:
        return []
    taken = f"REVOKE SELECT ON {there.sql} FROM {role}"  # noqa: S608 - quoted by the server
    statements = [taken] if there.granted & secret else []
    wanted = {column: sql for column, sql in there.quoted.items() if column not in secret}
    wanted |= {column: column for column in system_columns(table, there)}
    if statements or not there.granted.issuperset(wanted):
        columns = ", ".join(wanted.values())
        statements.append(f"GRANT SELECT ({columns}) ON {there.sql} TO {role}")
    return statements


def owners_agree(tables: list[Table], state: SourceState, action: str) -> str | None:
    """Name the owners whose member the user isn't, with as many of their tables as fit in one line."""
    foreign: dict[str, list[str]] = {}
    for table in tables:
        if not (table.owned or state.superuser):
            foreign.setdefault(table.owner, []).append(table.sql)
    if not foreign:
        return None
    texts = []
    for owner, names in foreign.items():
        belong = "belongs" if len(names) == 1 else "belong"
        texts.append(f"{listed(names, 3)}, which {belong} to {owner} (GRANT {owner} TO {state.user})")
    return f"{action} {'; '.join(texts)}"


# Retries work that lost a race for a role, which all databases of a server share.
#
# No lock that every user may take covers a whole server: advisory locks are per database. If two sessions change a role
# at once, PostgreSQL refuses the second as soon as the first has committed.

# Another preparation of the same database waits. Arbitrary key.
PREPARE_LOCK = 7_315_402
PATIENCE_S = 60.0
PAUSE_S = 0.05
_OF_ROLES = re.compile(rb"(CREATE|ALTER) ROLE ")
Result = TypeVar("Result")


def preparing(
    parameters: Mapping[str, Any], work: Callable[[Cursor], Result], check: Callable[[], None] = lambda: None
) -> Result:
    """Run `work` in a transaction, with no other preparation of this database, and `again`. Raises LoadError.

    `check` raises if a later preparation may have been made before this one's turn.
    """
    with transaction(parameters, failing="nothing was changed") as cursor:
        try:
            cursor.execute("SELECT pg_advisory_xact_lock(%s)", (PREPARE_LOCK,))
        except errors.LockNotAvailable as error:
            raise LaterError("another preparation of this database is under way: run this again") from error
        check()
        return again(cursor, lambda: work(cursor))


def again(cursor: Cursor, work: Callable[[], Result]) -> Result:
    """Run `work`, which begins by reading the current state; roll it back and repeat it while it loses races.

    Raises LaterError if it still does after PATIENCE_S, and what `work` raises.
    """
    deadline = time.monotonic() + PATIENCE_S
    cursor.execute("SAVEPOINT race")
    while True:
        try:
            return work()
        except psycopg2.Error as error:
            if not lost_race(error):
                raise
            if time.monotonic() > deadline:
                raise LaterError(
                    f"others keep changing the same role ({explain(error)}): nothing was changed, run this again"
                ) from error
        cursor.execute("ROLLBACK TO SAVEPOINT race")
        # Sessions that lost together shouldn't collide again.
        time.sleep(random.uniform(0, PAUSE_S))  # noqa: S311 - no secret


def lost_race(error: psycopg2.Error) -> bool:
    """Tell whether another session changed the same shared row, so that the work succeeds when repeated."""
    if isinstance(error, errors.InternalError_):
        # "tuple concurrently updated", or "deleted": PostgreSQL doesn't translate it.
        return "concurrently" in str(error)
    if isinstance(error, errors.UniqueViolation):
        return error.diag.schema_name == "pg_catalog"
    of_role = error.cursor is not None and _OF_ROLES.match(error.cursor.query or b"") is not None
    return of_role and isinstance(error, (errors.DuplicateObject, errors.UndefinedObject, errors.LockNotAvailable))
