"""Prepares a pipeline's source database for `up`, before anything reads it."""

import contextlib
from collections.abc import Mapping
from typing import Any

import psycopg2

from capture.objects import query_problems, read_objects, source_objects
from db import loading, pagila
from db.connecting import LoadError, connect, transaction
from db.loading import LoadOptions, load
from db.migrating import migrate
from db.source.plan import UnpreparableError, plan, prepare
from db.source.reading import grant_reader
from local.errors import PlatformError
from local.platform.services import Services
from local.services.source_database import OutsideDatabase
from settings.pipeline import Pipeline


def make_ready(services: Services) -> str:
    """Provide everything in the database that the pipeline needs; return a note. Raises PlatformError, LoadError.

    The embedded one is created, loaded with the pipeline's example and prepared, once. An outside one is only checked,
    never changed.
    """
    pipeline, parameters = services.pipeline, services.database.parameters()
    if services.options.outside is not None:
        return check_outside(pipeline, services.options.outside, parameters)
    services.database.create_if_missing()
    if pipeline.source.example != "pagila":
        note = _load_northwind(services)
    elif services.options.scale is not None:
        raise PlatformError("the example pagila takes no --scale: leave it out")
    else:
        note = pagila.load(parameters, services.options.dump)
    password = services.passwords.connector
    try:
        if pipeline.outbox is not None:
            # The last password may have been lost or changed.
            with transaction(parameters) as cursor:
                loading.grant_role(cursor, LoadOptions(connector_password=password))
        elif pipeline.is_queried:
            grant_reader(parameters, read_objects(pipeline), password=password)
        else:
            prepare(parameters, source_objects(pipeline), password=password)
    except UnpreparableError as error:
        raise PlatformError(f"pipeline {pipeline.name}: {error}") from error
    return note


def _load_northwind(services: Services) -> str:
    """Load the shop with its outbox, or migrate the outbox of an earlier start to this version.

    Raises PlatformError when the user asks for other rows than were loaded: they are loaded only once.
    """
    database, options = services.database, services.options
    parameters = database.parameters()
    if database.is_loaded():
        if options.scale is not None or options.dump is not None:
            asked = loading.data_set(scale=options.scale or 1, dump=options.dump)
            with transaction(parameters) as cursor:
                loaded = loading.recorded_data_set(cursor)
            if asked != loaded:
                raise PlatformError(
                    f"the source database has {loaded or 'unknown rows'}, so it can't be started with {asked}: start it"
                    f" without --scale and --from, or `./lake down` and remove {services.folder} to load again"
                )
        migrated = ", outbox migrated" if migrate(parameters).changed else ""
        return f"{database.outbox_rows():,} orders kept{migrated}"
    wanted = LoadOptions(connector_password=services.passwords.connector, scale=options.scale or 1, dump=options.dump)
    return f"{load(parameters, wanted).events:,} orders loaded"


def check_outside(pipeline: Pipeline, where: OutsideDatabase, parameters: Mapping[str, Any]) -> str:
    """Check that a pipeline's database has what it needs; return a note. Raises PlatformError, LoadError."""
    if pipeline.is_queried:
        try:
            problems = query_problems(parameters, pipeline)
        except LoadError as error:
            raise PlatformError(f"{where}: {error}") from error
        if problems:
            raise PlatformError(f"{where} can't be queried: {'; '.join(problems)}")
        return f"{where}, read as {parameters['user']}"
    if pipeline.outbox is not None:
        raise PlatformError(
            f"pipeline {pipeline.name} captures the outbox, which the embedded database alone has here: leave DSN out,"
            " or describe your own database by `./lake source describe`"
        )
    try:
        with contextlib.closing(connect(parameters)) as connection, connection, connection.cursor() as cursor:
            missing = plan(cursor, source_objects(pipeline))
    except psycopg2.Error as error:
        raise PlatformError(f"{where}: {' '.join(str(error).split())}") from error
    lines = [*missing.problems, *(f"not done: {step.purpose}" for step in missing.steps)]
    if lines:
        raise PlatformError(
            f"{where} isn't prepared for pipeline {pipeline.name}: {'; '.join(lines)}: run `./lake source prepare"
            f" {pipeline.name} --dsn …`"
        )
    return f"{where}, prepared"
