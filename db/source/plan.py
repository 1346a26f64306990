"""The SQL that gives a database what a pipeline needs, and the rights that it takes.

The one place that writes these statements: `./lake source describe` and `./lake source prepare` show and run them for
a user's database, a deployment runs them on AWS. A plan is derived from the state (db/source/objects.py) and omits what
exists, so running it twice does nothing the second time.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from contract.table_names import clashes
from db.source.catalogue import Table
from db.source.identity import identity_statements, unidentified
from db.source.objects import SourceObjects, SourceState, WantedTable
from db.source.publication import listed, own_schema_steps, publication_steps, sent_anyway
from db.source.rights import owners_agree, reading_steps, role_steps, secret_columns
from db.source.steps import Step


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


def plan(wanted: SourceObjects, state: SourceState, *, verifier: str | None = None) -> Plan:
    """Return the necessary steps. `verifier`: the SCRAM verifier of the role's password; None keeps the password."""
    problems = tuple(_problems(wanted, state))
    steps: list[Step] = []
    if not problems:
        steps += role_steps(wanted, state, verifier)
        steps += own_schema_steps(wanted, state)
        steps += reading_steps(wanted, state)
        steps += _identities(wanted, state)
        steps += publication_steps(wanted, state)
    return Plan(steps=tuple(steps), problems=problems, remarks=tuple(_remarks(wanted, state)))


def _problems(wanted: SourceObjects, state: SourceState) -> Iterator[str]:
    if state.standby:
        yield "this server is a standby, which nothing can be changed on: give the DSN of its primary"
    if state.wal_level != "logical":
        yield (
            f"wal_level is {state.wal_level}, change data capture needs logical: ALTER SYSTEM SET wal_level = logical"
            " (on Aurora and RDS: rds.logical_replication = 1 in the parameter group), then restart the server"
        )
    if not state.slot_exists and state.free_slots < 1:
        yield "no replication slot is free: raise max_replication_slots and restart, or drop one that nobody reads"
    if state.role_is_administrator:
        yield f"the role {wanted.role} is there with an administrator's rights: rename or demote it first"
    if state.publication_for_all:
        yield f"the publication {wanted.publication} is FOR ALL TABLES: drop it, or name another one in the pipeline"
    for table in wanted.tables:
        yield from table_problems(table, state.tables.get((table.schema, table.name)))


def table_problems(table: WantedTable, found: Table | None) -> Iterator[str]:
    """Return why a table can't be captured in its current state, or that it doesn't exist."""
    name = f"{table.schema}.{table.name}"
    if found is None:
        yield f"{name}: no such table: take it out of the pipeline, or check the database"
    elif found.unpublished:
        yield f"{name}: {found.unpublished}; or take it out of the pipeline"
    else:
        yield from _column_problems(table, name, found)


def _column_problems(table: WantedTable, name: str, found: Table) -> Iterator[str]:
    # Debezium 3.7 ignores case in column names, also of those left out: its connector would fail.
    for alike in clashes(found.quoted, str.lower).values():
        yield (
            f"{name}: columns differ only by case ({', '.join(alike)}), which Debezium can't take: rename one, or take"
            " the table out of the pipeline"
        )
    yield from columns_missing(table, name, found)
    for column in sorted(table.hashed & found.quoted.keys()):
        if not found.column(column).hashable:
            yield f"{name}: {column} isn't text, and Debezium would send it in clear: leave_out in place of hash"


def columns_missing(table: WantedTable, name: str, found: Table) -> Iterator[str]:
    """Report the pipeline's columns that the table lacks."""
    for column in dict.fromkeys((*table.key, *sorted(table.leave_out), *sorted(table.hashed))):
        if column not in found.quoted:
            yield f"{name} has no column {column}, which the pipeline names"


def _identities(wanted: SourceObjects, state: SourceState) -> Iterator[Step]:
    """Make updates and deletes identify their rows: once published, PostgreSQL rejects them without an identity."""
    statements: list[str] = []
    touched: list[Table] = []
    for table in wanted.tables:
        there = state.tables[table.schema, table.name]
        if changes := identity_statements(table.key, there.leaves):
            statements += changes
            touched.append(there)
    if statements:
        yield Step(
            purpose="Updates and deletes say which row they mean",
            statements=tuple(statements),
            missing=owners_agree(touched, state, "alter"),
        )


def _remarks(wanted: SourceObjects, state: SourceState) -> Iterator[str]:
    in_part = []
    for table in wanted.tables:
        name, there = f"{table.schema}.{table.name}", state.tables.get((table.schema, table.name))
        if there is None:
            continue
        if there.kind == "partitioned table" and unidentified(table.key, there.leaves):
            yield (
                f"{name}: a partition that is added later has no replica identity of its own, and"
                " PostgreSQL refuses updates and deletes in it: run this again after each, or add a primary key"
            )
        if reason := sent_anyway(table, there, state.version):
            columns = ", ".join(sorted(secret_columns(table, there)))
            yield f"{name}: PostgreSQL sends {columns}, and only the connector leaves it out: {reason}"
        elif listed(table, there, state.version) is not None:
            in_part.append(name)
    if in_part:
        yield (
            f"published by their columns: {', '.join(in_part)}: run this again after a column is added, or it isn't"
            " captured; PostgreSQL refuses to drop or retype a listed one (docs/reference/source-changes.md)"
        )
