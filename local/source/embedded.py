"""The source database of a platform's pipeline: the embedded one, loaded and prepared, or an outside one, looked at."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Protocol

import psycopg2

from capture.objects import source_objects
from db import data_set, pagila
from db.connecting import connect
from db.errors import LoadError
from db.loading import LoadOptions, load, transaction
from db.migrating import migrate
from db.source.preparing import UnpreparableError, plan, prepare
from local.errors import PlatformError
from local.platform.services import PlatformOptions
from local.services.source_database import SourceDatabase
from local.source.outside import OutsideDatabase
from settings.pipeline import Pipeline


class Source(Protocol):
    """What `up` does about the source before a connector reads it; returns a note. Raises PlatformError, LoadError."""

    def make_ready(self) -> str:
        """Have all that the connector needs."""


class EmbeddedSource:
    """Our own server's database: created, loaded with the pipeline's example and prepared, once."""

    def __init__(
        self,
        pipeline: Pipeline,
        database: SourceDatabase,
        options: PlatformOptions,
        *,
        connector_password: str,
        folder: Path,
    ) -> None:
        self._pipeline = pipeline
        self._database = database
        self._options = options
        self._connector_password = connector_password
        self._folder = folder

    def make_ready(self) -> str:
        """Create and load the database; where an earlier start has, bring its outbox up to this version."""
        note = self.load()
        if self._pipeline.outbox is None:
            self._prepare(self.parameters)
        return note

    @property
    def parameters(self) -> dict[str, Any]:
        """How to connect to it."""
        return self._database.parameters()

    def load(self) -> str:
        """Create and load the database."""
        self._database.create_if_missing()
        return LOADERS[self._pipeline.source.example or "northwind"](self, self.parameters)

    def northwind(self, parameters: Mapping[str, Any]) -> str:
        """Load the shop, whose outbox comes with it."""
        database, options = self._database, self._options
        if database.is_loaded():
            self._refuse_other_data(parameters)
            done = migrate(parameters)
            migrated = ", outbox migrated" if done.changed else ""
            return f"{database.outbox_rows():,} orders kept{migrated}"
        wanted = LoadOptions(
            connector_password=self._connector_password,
            scale=options.scale or 1,
            dump=options.dump,
        )
        report = load(parameters, wanted, lambda *_step: None)
        return f"{report.events:,} orders loaded"

    def pagila(self, parameters: Mapping[str, Any]) -> str:
        """Load the rental shop: generated, or of a dump."""
        if self._options.scale is not None:
            raise PlatformError("the example pagila takes no --scale: leave it out")
        done = pagila.load(parameters, self._options.dump)
        return f"{done.rows:,} rows {'loaded' if done.new else 'kept'}"

    def _prepare(self, parameters: Mapping[str, Any]) -> None:
        try:
            prepare(parameters, source_objects(self._pipeline), password=self._connector_password)
        except UnpreparableError as error:
            raise PlatformError(f"pipeline {self._pipeline.name}: {error}") from error

    def _refuse_other_data(self, parameters: Mapping[str, Any]) -> None:
        """Raise PlatformError when the user asks for other rows than were loaded: nothing would come of it."""
        options = self._options
        if options.scale is None and options.dump is None:
            return
        wanted = data_set.describe(scale=options.scale or 1, dump=options.dump)
        with transaction(parameters) as cursor:
            loaded = data_set.noted(cursor)
        if wanted != loaded:
            raise PlatformError(
                f"the source database has {loaded or 'rows that nobody has described'}, so it can't be started with"
                f" {wanted}: start it without --scale and --from, or `./lake down` and remove {self._folder} to load"
                " anew"
            )


LOADERS: Mapping[str, Callable[[EmbeddedSource, Mapping[str, Any]], str]] = {
    "northwind": EmbeddedSource.northwind,
    "pagila": EmbeddedSource.pagila,
}


class OutsideSource:
    """A database of the user's: looked at, and never changed."""

    def __init__(self, pipeline: Pipeline, where: OutsideDatabase, parameters: Mapping[str, Any]) -> None:
        self._pipeline = pipeline
        self._where = where
        self._parameters = parameters

    def make_ready(self) -> str:
        """See that it is prepared. Raises PlatformError that says in one line what is missing and what to do."""
        name = self._pipeline.name
        if self._pipeline.outbox is not None:
            return self._with_outbox()
        try:
            connection = connect(self._parameters)
            with connection, connection.cursor() as cursor:
                missing = plan(cursor, source_objects(self._pipeline))
            connection.close()
        except psycopg2.Error as error:
            raise PlatformError(f"{self._where}: {' '.join(str(error).split())}") from error
        except LoadError as error:
            raise PlatformError(str(error)) from error
        lines = [*missing.problems, *(f"not done: {step.purpose}" for step in missing.steps)]
        if lines:
            raise PlatformError(
                f"{self._where} isn't prepared for pipeline {name}: {'; '.join(lines)}: run `./lake source prepare"
                f" {name} --dsn …`"
            )
        return f"{self._where}, prepared"

    def _with_outbox(self) -> str:
        raise PlatformError(
            f"pipeline {self._pipeline.name} captures the outbox, which the embedded database alone has here: leave"
            " DSN out, or describe your own database by `./lake source describe`"
        )
