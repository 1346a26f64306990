"""The types of columns that come with events, as the source's catalogue has them now (docs/decisions/0070)."""

from collections.abc import Collection, Mapping, Sequence

from pyspark.sql import SparkSession

from contract.column_types.catalogue import Carried
from spark_jobs.errors import Log, UndescribedError
from spark_jobs.options import keys
from spark_jobs.options.settings import Settings
from spark_jobs.sources.batches import Batch
from spark_jobs.sources.postgres.access import Databases
from spark_jobs.sources.postgres.batch import JdbcBatch
from spark_jobs.sources.postgres.event_sql import SourceColumn, catalogue_sql, read_columns


class SourceTypes:
    """Knows the lake's types of a source's columns: from a queried batch, or by querying the catalog."""

    def __init__(self, spark: SparkSession, settings: Settings, databases: Databases | None, *, log: Log) -> None:
        """`databases` are the application's; without any this table has its own."""
        self._settings = settings
        self._databases = databases or Databases(spark, log=log)
        self._log = log

    def of(self, batch: Batch, fields: Collection[str]) -> Mapping[str, Carried]:
        """Return the lake's types for a batch's new `fields`, without those whose types have to be guessed.

        Raises UndescribedError where neither is allowed: the schema file has to describe them first.
        """
        if isinstance(batch, JdbcBatch):
            columns: Sequence[SourceColumn] = batch.relation.columns
        elif self._settings.catalogue is None:
            return {}
        else:
            columns = self._asked(fields)
        kinds = {column.name: column.carried for column in columns if column.name in fields}
        for name in sorted(fields):
            kind = kinds.get(name)
            if not isinstance(kind, Carried):
                why = "the source has no such column any more" if kind is None else kind.reason
                self._log(f"the type of the new column {name} is guessed by its values: {why}")
        return {name: kind for name, kind in kinds.items() if isinstance(kind, Carried)}

    def _asked(self, fields: Collection[str]) -> tuple[SourceColumn, ...]:
        where = self._settings.catalogue
        if where is None or where.server is None:
            raise UndescribedError(
                f"{self._settings.schema_file} lacks {', '.join(sorted(fields))}, which events have: the table waits"
                " until it says their types (`./lake source describe … --update`, then `./lake up` or `./lake aws"
                " deploy`), or has"
                f" {keys.NEW_COLUMN_TYPES}={keys.TYPES_GUESSED} (docs/reference/source-changes.md); nothing is lost"
            )
        look = self._databases.of(where.server).look()
        try:
            return read_columns(str(look.text(catalogue_sql(where.schema, where.table))))
        finally:
            look.close()
