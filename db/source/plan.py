"""The SQL that gives a database what a pipeline needs, and the rights that it takes.

The one place that writes these statements: `./lake source describe` and `./lake source prepare` show and run them for
a user's database, a deployment runs them on AWS. A plan is derived from the state (db/source/objects.py) and omits what
exists, so running it twice does nothing the second time.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import psycopg2
from psycopg2 import errors
from psycopg2.extensions import encrypt_password

from contract.table_names import clashes, table_option
from db.connecting import Cursor, LaterError, LoadError, explain
from db.source import objects as source_objects
from db.source.catalogue import Table
from db.source.objects import SourceObjects, SourceState, WantedTable
from db.source.publication import identity_statements, listed, own_schema_steps, publication_step, sends, sent_anyway
from db.source.rights import Step, lost_race, owners_agree, pairs, preparing, reading_steps, role_steps, secret_columns


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """The steps in their order, what prevents them (`problems`), and what to know (`remarks`)."""

    steps: tuple[Step, ...]
    problems: tuple[str, ...]
    remarks: tuple[str, ...] = ()

    @property
    def missing_rights(self) -> tuple[str, ...]:
        """The rights that the user lacks, each once."""
        return tuple(dict.fromkeys(step.missing for step in self.steps if step.missing))

    @property
    def makes_role(self) -> bool:
        """Whether the connector's role is created, which then needs a password."""
        return any(statement.startswith("CREATE ROLE") for step in self.steps for statement in step.statements)

    @property
    def script(self) -> str:
        """The whole plan as a script for psql, in one transaction."""
        lines = [
            line for step in self.steps for line in (f"-- {step.purpose}", *(f"{s};" for s in step.statements), "")
        ]
        return "\n".join(["BEGIN;", "", *lines, "COMMIT;", ""]) if lines else ""


def make_plan(wanted: SourceObjects, state: SourceState, *, verifier: str | None = None) -> Plan:
    """Return the necessary steps. `verifier`: the SCRAM verifier of the role's password; None keeps the password."""
    problems = tuple(_problems(wanted, state))
    steps: list[Step] = []
    if not problems:
        steps += role_steps(wanted, state, verifier)
        steps += own_schema_steps(wanted, state)
        steps += reading_steps(wanted, state)
        steps.append(_identities(wanted, state))
        steps.append(publication_step(wanted, state))
    remarks = tuple(_remarks(wanted, state))
    return Plan(steps=tuple(step for step in steps if step.statements), problems=problems, remarks=remarks)


def _problems(wanted: SourceObjects, state: SourceState) -> Iterator[str]:
    if state.standby:
        yield "this server is a standby, which nothing can be changed on: give the DSN of its primary"
    if state.wal_level != "logical":
        yield (
            f"wal_level is {state.wal_level}, change data capture needs logical: ALTER SYSTEM SET wal_level = logical"
            " (on Aurora and RDS: rds.logical_replication = 1 in the parameter group), then restart the server"
        )
    if state.slot_of is None and state.free_slots < 1:
        yield "no replication slot is free: raise max_replication_slots and restart, or drop one that nobody reads"
    if state.slot_of not in (None, state.database):
        yield (
            f"the replication slot {wanted.slot} is of the database {state.slot_of}, where it would stay and fill the"
            " disk: remove the pipeline there first, or drop the slot"
        )
    if state.role_is_administrator:
        yield f"the role {wanted.role} is there with an administrator's rights: rename or demote it first"
    if state.publication_for_all:
        yield f"the publication {wanted.publication} is FOR ALL TABLES: drop it, or name another one in the pipeline"
    for table in wanted.tables:
        found = state.tables.get((table.schema, table.name))
        yield from _table_problems(table, found)
        if found is not None and found.refuses_later and found.oid not in (state.published or {}):
            yield f"{table}: {found.refuses_later}; or take it out of the pipeline"


def _table_problems(table: WantedTable, found: Table | None) -> Iterator[str]:
    if found is None:
        yield no_such_table(table)
    elif found.unpublished:
        yield f"{table}: {found.unpublished}; or take it out of the pipeline"
    else:
        if found.restricted:
            yield (
                f"{table}: a restrictive row policy hides rows from the connector's role: have it bind other roles"
                " (ALTER POLICY … TO …), or take the table out of the pipeline"
            )
        yield from _column_problems(table, found)


def no_such_table(table: WantedTable) -> str:
    return f"{table}: no such table: take it out of the pipeline, or check the database"


def _column_problems(table: WantedTable, found: Table) -> Iterator[str]:
    # Debezium 3.7 ignores case in column names, also of those left out: its connector would fail.
    for alike in clashes(found.quoted, str.lower).values():
        yield (
            f"{table}: columns differ only by case ({', '.join(alike)}), which Debezium can't take: rename one, or take"
            " the table out of the pipeline"
        )
    yield from columns_missing(table, found)
    for column in sorted(table.hashed & found.quoted.keys()):
        if not found.column(column).hashable:
            yield f"{table}: {column} isn't text, and only texts are hashed: leave_out in place of hash"


def columns_missing(table: WantedTable, found: Table) -> Iterator[str]:
    """Report the pipeline's columns that the table lacks."""
    for column in dict.fromkeys((*table.key, *sorted(table.leave_out), *sorted(table.hashed))):
        if column not in found.quoted:
            yield f"{table} has no column {column}, which the pipeline names"


def _identities(wanted: SourceObjects, state: SourceState) -> Step:
    """Make updates and deletes identify their rows: once published, PostgreSQL rejects them without an identity."""
    changes = [(there, identity_statements(table.key, there.leaves)) for table, there in pairs(wanted, state)]
    return Step(
        purpose="Updates and deletes say which row they mean",
        statements=tuple(statement for _, statements in changes for statement in statements),
        missing=owners_agree([there for there, statements in changes if statements], state, "alter"),
    )


def _remarks(wanted: SourceObjects, state: SourceState) -> Iterator[str]:
    in_part = []
    for table in wanted.tables:
        there = state.tables.get((table.schema, table.name))
        if there is None:
            continue
        if there.refuses_later:
            yield f"{table}: {there.refuses_later}, or run this again after each"
        if reason := sent_anyway(table, there, state.version):
            columns = ", ".join(sorted(secret_columns(table, there)))
            yield f"{table}: PostgreSQL sends {columns}, and only the connector leaves it out: {reason}"
        elif listed(table, there, state.version) is not None:
            in_part.append(str(table))
    if in_part:
        yield (
            f"published by their columns: {', '.join(in_part)}: run this again after a column is added, or it isn't"
            " captured; PostgreSQL refuses to drop or retype a listed one (docs/reference/source-changes.md)"
        )


# Changing a table's identity waits for all users of the table, and everyone else queues behind it.
LOCK_TIMEOUT_S = 3


class UnpreparableError(LoadError):
    """The database or the user's rights don't suffice: `lines` has each reason. Nothing was changed."""

    def __init__(self, lines: tuple[str, ...]) -> None:
        super().__init__("; ".join(lines))
        self.lines = lines


def plan(cursor: Cursor, wanted: SourceObjects, *, password: str | None = None) -> Plan:
    """Return what `prepare` would do, without changing anything; `password` is the connector's, None keeps it.

    Raises LoadError.
    """
    try:
        verifier = None if password is None else encrypt_password(password, wanted.role, cursor, "scram-sha-256")
        return make_plan(wanted, source_objects.read(cursor, wanted), verifier=verifier)
    except psycopg2.Error as error:
        raise LoadError(f"cannot read what the database has: {explain(error)}") from error


def prepare(
    connection_parameters: Mapping[str, Any],
    wanted: SourceObjects,
    *,
    password: str | None = None,
    check: Callable[[], None] = lambda: None,
) -> tuple[Plan, Plan]:
    """Run the missing steps in one transaction; return what was done, and what remains, a plan without steps.

    `check` as for `preparing`.

    Raises UnpreparableError if the database doesn't meet the requirements or the user lacks rights, LaterError if a
    table or the role is in use, LoadError otherwise; the database is then unchanged.
    """
    return preparing(connection_parameters, lambda cursor: _prepare(cursor, wanted, password), check)


def _prepare(cursor: Cursor, wanted: SourceObjects, password: str | None) -> tuple[Plan, Plan]:
    doing = plan(cursor, wanted, password=password)
    if lines := (*doing.problems, *(f"you may not {right}" for right in doing.missing_rights)):
        raise UnpreparableError(lines)
    cursor.execute(f"SET LOCAL lock_timeout = '{LOCK_TIMEOUT_S}s'")
    for step in doing.steps:
        for statement in step.statements:
            _run(cursor, statement)
    return doing, plan(cursor, wanted)


def _run(cursor: Cursor, statement: str) -> None:
    try:
        cursor.execute(statement)
    except errors.LockNotAvailable as error:
        if lost_race(error):
            raise
        what = " ".join(statement.split())
        raise LaterError(
            f"a table is in use, and waiting longer than {LOCK_TIMEOUT_S} s would hold up everybody else: {what};"
            " nothing was changed, run this again"
        ) from error


# Changes of a prepared source that would silently corrupt the lake.
#
# db/source/replication.py reports a table missing from the publication; the changes here show up in no event.


def source_problems(cursor: Cursor, wanted: SourceObjects, pipeline: str) -> list[str]:
    """Report tables that the source lacks or that are captured wrongly.

    They are missing, lack a column, don't identify the key in updates and deletes, or don't publish the file's columns.
    Debezium 3.7 fills key columns missing from a delete with 0 or an empty text: it would delete another row.
    """
    state = source_objects.read(cursor, wanted)
    lines: list[str] = []
    for table in wanted.tables:
        found = state.tables.get((table.schema, table.name))
        problems = list(_table_problems(table, found))
        if found is not None and not problems:
            problems = [*_identity(table, found, pipeline), *_columns(table, found, state, pipeline)]
        lines += problems
    return lines


def _identity(table: WantedTable, found: Table, pipeline: str) -> Iterator[str]:
    if not identity_statements(table.key, found.leaves):
        return
    prepare = f"run `./lake source prepare {pipeline} --dsn …`"
    if table.key:
        yield (
            f"{table}: updates and deletes don't say {', '.join(table.key)} since its primary key or REPLICA"
            f" IDENTITY was changed, so deletes miss their rows: {prepare}, then"
            f" `./lake reconcile -p {pipeline} {table_option(str(table))} --repair`"
        )
    else:
        yield f"{table}: without a replica identity PostgreSQL refuses its updates and deletes: {prepare}"


def _columns(table: WantedTable, found: Table, state: SourceState, pipeline: str) -> Iterator[str]:
    """Compare a table's published columns; db/source/replication.py reports a table that isn't published at all."""
    wanted = listed(table, found, state.version)
    if found.oid not in (state.published or {}) or sends(state, found.oid, wanted):
        return
    prepare = f"run `./lake source prepare {pipeline} --dsn …`"
    again = f"{prepare}, then `./lake resnapshot -p {pipeline} {table_option(str(table))}`"
    everything = frozenset(found.quoted) - found.generated
    sent = state.published_in_part.get(found.oid, everything)
    if sent is None:
        yield f"{table}: the publication filters its rows, so changes are missing: {again}"
        return
    identities = [leaf.identity_columns for leaf in found.leaves]
    if any(identity is None or not sent.issuperset(identity) for identity in identities):
        yield f"{table}: PostgreSQL refuses updates and deletes, whose identity isn't published whole: {prepare}"
    if lacking := sorted(everything - table.leave_out - sent):
        yield f"{table}: the publication lacks {', '.join(lacking)}, so changes are missing: {again}"
    if wanted is not None and (extra := sorted(table.leave_out & sent)):
        yield f"{table}: the publication has {', '.join(extra)}, though leave_out names it: {prepare}"
