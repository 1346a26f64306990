"""The steps of `./lake source describe` and `./lake source prepare`."""

import contextlib
import os
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

import psycopg2
import typer

from capture import odd_values, pipeline_file, report
from capture.entry import propose_all
from capture.objects import UNSEEN, add_query_columns, check, inspect_and_check, source_objects
from contract.errors import printable
from db import log_in
from db.connecting import Connection, LoadError, explain
from db.source import plan as source_preparing
from db.source.catalogue import Database
from db.source.inspection import inspect
from db.source.objects import SourceObjects
from db.source.plan import Plan
from settings.load import PIPELINES, load_pipeline
from settings.pipeline import Pipeline

NOTHING_CHANGED = "nothing was changed"
PASSWORD = "CDC_CONNECTOR_PASSWORD"  # noqa: S105  the variable's name


def make_pipeline(
    name: str, dsn_text: str, *, tables: str, schemas: Sequence[str], update: bool, how: str = "", look: bool = False
) -> None:
    """Write or compare a pipeline's files; print losses, and the database's missing setup. Raises LoadError &c."""
    pipeline_file.check_name(name)
    known = pipeline_file.read(name, PIPELINES)
    queried = _is_queried(how, known)
    with _connected(dsn_text, "nothing was written") as (connection, _), pipeline_file.staged(name, PIPELINES) as stage:
        database = inspect(connection, schemas)
        _check_schemas(database, schemas)
        _say(report.database_lines(database, queried=queried))
        if known is None:
            written = _write(name, database, tables, stage, queried=queried)
        else:
            database = add_query_columns(connection, database, known)
            written = _compare(known, database, tables, update=update, folder=stage)
        pipeline = load_pipeline(name, stage)
        looked = odd_values.look_into(connection, pipeline, database, all_of_them=look)
        needed = [*_needed(connection, pipeline, database)]
    _say([*looked, *written, *needed])


def _needed(connection: Connection, pipeline: Pipeline, database: Database) -> Iterator[str]:
    """Report what the database still needs."""
    if pipeline.is_queried:
        yield from _checked_lines(check(connection, pipeline, database))
    elif pipeline.outbox is not None:
        yield "It captures an outbox, whose database `./lake source load` and `./lake source migrate` prepare."
    else:
        with connection, connection.cursor() as cursor:
            # The DSN's user needs no right to carry it out: a DBA may.
            plan = source_preparing.plan(cursor, source_objects(pipeline))
        if not plan.steps and not plan.problems:
            yield "The database has all that the pipeline needs."
            return
        yield f"The database needs this, which `./lake source prepare {pipeline.name} --dsn …` does:"
        yield from report.plan_lines(plan)
        yield from f"\n{plan.script}".split("\n")[:-1]


def _is_queried(how: str, known: Pipeline | None) -> bool:
    """Tell whether tables are queried: by --how if the file is new, else by the file."""
    if known is None:
        return how == "query"
    if how and known.is_queried != (how == "query"):
        other = "queries its tables" if known.is_queried else "captures its tables by the log"
        raise LoadError(f"--how {how}: pipelines/{known.name}.toml {other}: choose another name, or leave --how out")
    return known.is_queried


def _checked_lines(checked: Plan) -> Iterator[str]:
    yield from report.plan_lines(checked)
    yield UNSEEN
    if checked.problems:
        yield "The job can't query it as the file says: see above."
    else:
        yield "The job needs no more there than SELECT on these tables: nothing is to be prepared."


def _check_schemas(database: Database, schemas: Sequence[str]) -> None:
    found = {table.name.schema for table in database.tables}
    for schema in schemas:
        if schema not in found:
            raise LoadError(f"--schema {schema}: {database.server.database} has no table in a schema of that name")


def _write(name: str, database: Database, patterns: str, folder: Path, *, queried: bool) -> list[str]:
    proposal = propose_all(database, patterns, None if queried else name)
    if not proposal.entries:
        _say(report.refused_lines(proposal.refused))
        raise LoadError(f"{database.server.database} has no table that can be captured: nothing was written")
    _say(report.proposal_lines(proposal, database))
    pipeline_file.write_new(name, database.server.database, proposal.entries, proposal.refused, folder)
    schemas = report.count(len(proposal.entries), "Avro schema")
    return [f"written: pipelines/{name}.toml and {schemas} in pipelines/{name}/"]


def _compare(known: Pipeline, database: Database, patterns: str, *, update: bool, folder: Path) -> list[str]:
    if database.server.database != known.source.database:
        raise LoadError(
            f"pipelines/{known.name}.toml is of the database {known.source.database}, DSN of"
            f" {database.server.database}: choose another name, or change database in the file"
        )
    lake_tables = {name: table.lake_table for name, table in pipeline_file.tables_of(known).items()}
    topic_prefix = None if known.is_queried else known.source.topic_prefix
    proposal = propose_all(database, patterns, topic_prefix, known=lake_tables)
    changes = pipeline_file.compare(known, database, proposal.entries, folder)
    if update:
        pipeline_file.add(known.name, changes, folder)
    return [
        f"pipelines/{known.name}.toml is there, with {report.count(len(known.tables), 'table')}:",
        *report.changes_lines(known.name, changes, update=update),
        *(
            report.proposal_lines(proposal, database)
            if update and proposal.entries
            else report.refused_lines(proposal.refused)
        ),
    ]


def prepare(name: str, dsn_text: str, *, dry: bool, change_password: bool) -> None:
    """Set up the database as the pipeline's file requires, or print the SQL. Raises LoadError, SettingsFileError.

    Pipelines share the role, so an existing one keeps its password unless `change_password`.
    """
    pipeline = load_pipeline(pipeline_file.check_name(name), PIPELINES)
    if pipeline.is_queried:
        _check_only(pipeline, dsn_text)
        return
    wanted = source_objects(pipeline)
    with _connected(dsn_text, NOTHING_CHANGED) as (connection, parameters), connection, connection.cursor() as cursor:
        _check_database(cursor.connection.info.dbname, pipeline)
        plan = source_preparing.plan(cursor, wanted)
    if dry:
        _print_only(plan)
        return
    password = None if plan.problems or plan.missing_rights else _password(plan, wanted, change=change_password)
    done, left = source_preparing.prepare(parameters, wanted, password=password)
    _say(_done_lines(done))
    _say(report.plan_lines(left))


def _check_only(pipeline: Pipeline, dsn_text: str) -> None:
    """Check whether the job can query the database. Raises LoadError if it can't."""
    with _connected(dsn_text, NOTHING_CHANGED) as (connection, _):
        _check_database(connection.info.dbname, pipeline)
        checked = inspect_and_check(connection, pipeline)
    _say(_checked_lines(checked))
    if checked.problems:
        raise LoadError("the database doesn't meet the pipeline's requirements: see above")


def _check_database(found: str, pipeline: Pipeline) -> None:
    if found != pipeline.source.database:
        raise LoadError(
            f"pipelines/{pipeline.name}.toml is of the database {pipeline.source.database}, DSN of {found}: nothing was"
            " changed"
        )


def _print_only(plan: Plan) -> None:
    """Print the script alone on standard output, so that it can go to a file, and the rest on standard error."""
    for line in report.plan_lines(plan):
        typer.echo(printable(line.strip()), err=True)
    if plan.problems:
        raise LoadError("the database doesn't meet the pipeline's requirements: see above")
    typer.echo(plan.script if plan.steps else "-- Nothing is to be done.\n", nl=False)


def _password(plan: Plan, wanted: SourceObjects, *, change: bool) -> str | None:
    """Return the connector's password, from the environment or asked for; None leaves it as it is."""
    if not plan.makes_role and not change:
        if os.environ.get(PASSWORD):
            typer.echo(f"The role {wanted.role} exists and keeps its password, not the one in {PASSWORD}.")
        return None
    return log_in.ask_password(PASSWORD, f"Password for the role {wanted.role}", confirm=True)


def _done_lines(plan: Plan) -> Iterator[str]:
    if not plan.steps:
        yield "The database has all that the pipeline needs: nothing was changed."
    for step in plan.steps:
        yield f"{step.purpose}:"
        yield from (f"  {line}" for statement in step.shown for line in statement.splitlines())


@contextlib.contextmanager
def _connected(dsn_text: str, failing: str) -> Iterator[tuple[Connection, dict[str, str]]]:
    """Connect; also return the parameters that worked. A connection that breaks is a LoadError that says `failing`."""
    connection, parameters = log_in.connected(log_in.of_dsn(dsn_text))
    with contextlib.closing(connection):
        try:
            yield connection, parameters
        except psycopg2.Error as error:
            raise LoadError(f"{explain(error)} ({failing})") from error


def _say(lines: Iterable[str]) -> None:
    for line in lines:
        typer.echo(printable(line))
