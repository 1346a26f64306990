"""What one pipeline captures of a database: `pipelines/<name>.toml`, as types.

settings/load.py reads the file, settings/pipeline_rules.py refuses errors that no single value shows.
"""

from collections.abc import Sequence
from typing import Annotated, Any, Literal, Self

from pydantic import Field, model_validator

from analytics.derived import DerivedQuery, derived_query
from contract.errors import UserError
from contract.events import ORDERING, READ_MS
from contract.history import SUFFIX
from contract.source import CONNECTOR_ROLE
from contract.table_names import lake_name, nearest
from plugins.source.captured import CapturedTable
from settings.section import EACH_ONCE, NOT_EMPTY, Identifier, Names, RetentionHours, Section, TopicPrefix

How = Literal["outbox", "log", "query"]
FirstLoad = Literal["connector", "direct"]
PipelineName = Annotated[str, Field(pattern=r"^[a-z][a-z0-9]{0,19}$")]
LakeName = Annotated[str, Field(pattern=r"^[a-z_][a-z0-9_]{0,127}$")]
# Aurora's and PostgreSQL's: without characters that would split a connection string.
DatabaseName = Annotated[str, Field(pattern=r"^[A-Za-z_][A-Za-z0-9_$-]{0,62}$")]
SlotName = Annotated[str, Field(pattern=r"^[a-z0-9_]{1,63}$")]
EachOnce = Annotated[Names, EACH_ONCE]
Text = Annotated[str, Field(min_length=1)]
# Replaces the schema if the rows are a query's.
QUERY_SCHEMA = "query"
# Fields of queried tables only.
QUERY_FIELDS = ("detect", "column", "query", "deletes_max_percent", "sweep_seconds")


class SourceDatabase(Section):
    """The database: its name, and the connector's objects there."""

    database: DatabaseName
    example: Literal["northwind", "pagila"] | None = None
    topic_prefix: TopicPrefix
    publication: Identifier
    slot: SlotName
    role: Identifier = CONNECTOR_ROLE
    lake_prefix: Annotated[str, Field(pattern=r"^([a-z_][a-z0-9_]*)?$")]


class CapturedTableSettings(Section):
    """One table, from the source to the lake; docs/reference/pipeline-file.md explains its keys.

    `ordering`: the event's field that decides which of two events is newer.
    """

    schema_name: Annotated[str, Field(alias="schema")]
    table_name: Annotated[str, Field(alias="table")]
    how: How
    key: EachOnce = ()
    append_only: bool = False
    ordering: str = ORDERING
    lake_table: LakeName
    table_type: Literal["COPY_ON_WRITE", "MERGE_ON_READ"] = "COPY_ON_WRITE"
    partition_by: EachOnce = ()
    buckets: Annotated[int, Field(ge=1, le=10_000)] = 2
    leave_out: EachOnce = ()
    hash: EachOnce = ()
    retention_hours: RetentionHours | None = None
    history: bool = False
    evolution: Literal["add", "guess", "fixed"] = "add"
    truncate: Literal["apply", "ignore", "stop"]
    first_load: FirstLoad = "connector"
    detect: Literal["auto", "xmin", "column", "hash"] = "auto"
    column: Text | None = None
    query: Text | None = None
    deletes_max_percent: Annotated[float, Field(ge=0, le=100)] = 10
    sweep_seconds: Annotated[float, Field(ge=0, le=24 * 3600)] = 5

    @model_validator(mode="before")
    @classmethod
    def _with_names(cls, values: Any) -> Any:
        if not isinstance(values, dict):
            return values
        values = dict(values)
        _place_query(values)
        if isinstance(source := values.pop("source", None), str):
            schema, dot, table = source.partition(".")
            if {"schema", "table"} & set(values):
                raise ValueError("source, or schema and table: not both")
            if not (schema and dot and table) or "." in table:
                raise ValueError(f"source: {source!r} isn't schema.table; a name with a dot: give schema and table")
            values |= {"schema": schema, "table": table}
        elif source is not None:
            raise ValueError("source: Input should be a valid string")
        if isinstance(table := values.get("table"), str):
            values.setdefault("lake_table", lake_name(table))
        return values

    @model_validator(mode="after")
    def _can_be_captured(self) -> Self:
        # Raises ValueError for names that no table or column has.
        _ = self.captured
        return self

    @property
    def name(self) -> str:
        return f"{self.schema_name}.{self.table_name}"

    @property
    def is_queried(self) -> bool:
        return self.how == "query"

    @property
    def handles_truncate(self) -> bool:
        """Whether the job applies a TRUNCATE, or ignores and reports it; rows of an ignored one outlive that choice."""
        return self.how == "log" and self.truncate != "stop" and not self.append_only

    @property
    def captured(self) -> CapturedTable:
        return CapturedTable(
            schema=self.schema_name,
            table=self.table_name,
            # The outbox's is its primary key; its connector's configuration must not change.
            key=() if self.how == "outbox" else self.key,
            leave_out=self.leave_out,
            hashed=self.hash,
            # The outbox itself refuses a TRUNCATE, and where every event is a row, a TRUNCATE is one, too.
            stops_at_truncate=self.how == "log" and self.truncate == "stop" and not self.append_only,
            tells_of_truncate=self.handles_truncate or (self.how == "log" and self.append_only),
            append_only=self.append_only,
            loaded_directly=self.first_load == "direct",
        )


def _place_query(values: dict[str, Any]) -> None:
    """Give a queried table its ordering field, and a query a name in place of a table's."""
    if values.get("how") == "query":
        values.setdefault("ordering", READ_MS)
    if values.get("query") is None:
        return
    if values.get("schema") != QUERY_SCHEMA:
        if {"source", "schema", "table"} & set(values) or not isinstance(values.get("name"), str):
            raise ValueError("query: it stands in a table's place, so name is what it is called, and no source")
        values |= {"schema": QUERY_SCHEMA, "table": values.pop("name")}
    if isinstance(query := values["query"], str):
        values["query"] = query.strip().rstrip(";").rstrip()


class DerivedTableSettings(Section):
    """A table of the lake that the job derives with a query over the pipeline's other tables (docs/decisions/0093)."""

    name: LakeName
    key: Annotated[Names, NOT_EMPTY]
    sql: str
    every_seconds: Annotated[int, Field(ge=0, le=24 * 3600)] = 30
    buckets: Annotated[int, Field(ge=1, le=10_000)] = 2
    retention_hours: RetentionHours | None = None

    @property
    def lake_table(self) -> str:
        """Its name in the lake, without the pipeline's prefix."""
        return self.name

    @property
    def query(self) -> DerivedQuery:
        """The query in Spark's SQL. Raises TranslationError."""
        return derived_query(self.sql)


class Pipeline(Section):
    """One pipeline, as in its file; `name` is the file's."""

    name: PipelineName
    source: SourceDatabase
    tables: Annotated[tuple[CapturedTableSettings, ...], Field(strict=False), NOT_EMPTY]
    derived: Annotated[tuple[DerivedTableSettings, ...], Field(strict=False)] = ()

    @model_validator(mode="before")
    @classmethod
    def _names_of_its_own(cls, values: Any) -> Any:
        """Prefix names that must be unique with the pipeline's name, and apply the source's defaults to its tables.

        A table's own `truncate` and `first_load` override the source's.
        """
        if not isinstance(values, dict) or not isinstance(source := values.get("source"), dict):
            return values
        name = values.get("name")
        defaults = {
            "topic_prefix": name,
            "publication": f"cdc_{name}",
            "slot": f"cdc_{name}",
            "lake_prefix": f"{name}_",
        }
        source = dict(source)
        own = {"truncate": source.pop("truncate", "stop"), "first_load": source.pop("first_load", "connector")}
        tables = values.get("tables")
        if isinstance(tables, list):
            tables = [own | table if isinstance(table, dict) else table for table in tables]
        return values | {"source": defaults | source, "tables": tables}

    @property
    def is_queried(self) -> bool:
        return all(table.is_queried for table in self.tables)

    @property
    def outbox(self) -> CapturedTableSettings | None:
        return next((table for table in self.tables if table.how == "outbox"), None)

    def table(self, name: str) -> CapturedTableSettings:
        """Return the table of that name, `schema.table` or the lake's. Raises UserError if there is none."""
        for table in self.tables:
            if name in (table.name, table.lake_table, self.lake_table(table)):
                return table
        known = nearest(name, (table.name for table in self.tables))
        raise UserError(f"{name!r} isn't a table of pipeline {self.name}; most like it: {known}")

    def named(self, names: Sequence[str]) -> list[CapturedTableSettings]:
        """Return the tables of these names, all for none. Raises UserError."""
        return [self.table(name) for name in names] or list(self.tables)

    def lake_table(self, table: CapturedTableSettings | DerivedTableSettings) -> str:
        """Return a table's name in the lake: Glue's, and its folder."""
        return f"{self.source.lake_prefix}{table.lake_table}"

    @property
    def lake_tables(self) -> list[str]:
        """The names of all tables that its job keeps in the lake, derived ones last."""
        histories = [self.history_table(table) for table in self.with_history]
        return [*map(self.lake_table, self.tables), *map(self.lake_table, self.derived), *histories]

    @property
    def with_history(self) -> tuple[CapturedTableSettings, ...]:
        return tuple(table for table in self.tables if table.history)

    def history_table(self, table: CapturedTableSettings) -> str:
        return f"{self.lake_table(table)}{SUFFIX}"

    def schema_file(self, table: CapturedTableSettings) -> str:
        """Return the file of the Avro schema of a table's events, below the folder of pipelines."""
        return f"{self.name}/{table.lake_table}.avsc"
