"""Applies a SQL query to a batch's rows before they are written: HoodieStreamer's SqlQueryBasedTransformer."""

import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from pyspark.errors import AnalysisException, ParseException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from spark_jobs.decoding import schema
from spark_jobs.decoding.schema import IS_DELETED, Column, table_schema
from spark_jobs.errors import SettingsError, first_line
from spark_jobs.options import keys
from spark_jobs.options.settings import Settings
from spark_jobs.runtime.hadoop import read_text

_SOURCE = "<SRC>"


def of_settings(spark: SparkSession, settings: Settings, columns: Sequence[Column]) -> "SqlTransformer | None":
    """Return the settings' transformer of events with these declared columns; None without one."""
    if settings.transformer is None:
        return None
    table, path = settings.table, settings.target_schema_file
    target = columns if path == settings.schema_file else schema.parse(read_text(path, spark), path)
    return SqlTransformer(
        spark,
        settings.transformer.query,
        settings.transformer.times,
        schema.with_decimal_ordering(target, table.ordering_field),
        tuple(dict.fromkeys((*table.key_fields, table.ordering_field, *table.partition_fields))),
    )


@dataclass(frozen=True)
class SqlTransformer:
    """A query over the rows, `<SRC>`, applied `times` over; `target` is the table's schema file, parsed.

    `<SRC>` has the newest row of each key, deleted ones with nulls and `_hoodie_is_deleted`. The query decides which of
    their values are written; it must pass on the fields `required` (key, ordering, partition) and `_hoodie_is_deleted`
    unchanged, since they match deletes, late events and TOAST placeholders with the table.
    """

    spark: SparkSession
    query: str
    times: int
    target: Sequence[Column]
    required: Sequence[str]

    def __call__(self, rows: DataFrame) -> DataFrame:
        """Return the rows to write; raises SettingsError for a query whose result can't be written."""
        result = self._applied(rows)
        _refuse_doubles(result)
        declared = table_schema(self.target).names
        added = [name for name in result.columns if name not in declared]
        return result.select(*(F.col(f"`{name}`") for name in (*declared, *added)))

    def passed_on(self, columns: Sequence[Column]) -> frozenset[str]:
        """Return the names of the `columns` that the query passes on unchanged.

        The table's value of another column says nothing about the source's. Raises SettingsError for a query that
        changes a required column, or whose result differs from the table's schema.
        """
        rows = self.spark.createDataFrame([], table_schema(columns))
        result = self._applied(rows)
        passed = _passed_on(rows, result)
        changed = [name for name in (*self.required, IS_DELETED) if name not in passed]
        if changed:
            raise SettingsError(f"{keys.TRANSFORMER_SQL}: the query must pass on {', '.join(changed)} as it is")
        _refuse_doubles(result)
        self._check_types(rows, result)
        return passed

    def made(self, columns: Sequence[Column]) -> frozenset[str]:
        """Return the names of the target's columns that events, with these `columns`, don't have."""
        return frozenset(column.name for column in self.target) - {column.name for column in columns}

    def _applied(self, rows: DataFrame) -> DataFrame:
        for _ in range(self.times):
            # Many tables' threads share sessions.
            name = f"hoodie_src_tmp_table_{uuid.uuid4().hex}"
            rows.createOrReplaceTempView(name)
            try:
                rows = self.spark.sql(self.query.replace(_SOURCE, name))
            except (AnalysisException, ParseException) as error:
                raise SettingsError(f"{keys.TRANSFORMER_SQL}: {first_line(error)}".replace(name, _SOURCE)) from error
            finally:
                self.spark.catalog.dropTempView(name)
        return rows

    def _check_types(self, rows: DataFrame, result: DataFrame) -> None:
        found = {field.name: field.dataType for field in result.schema.fields}
        wanted = {field.name: field.dataType for field in table_schema(self.target).fields}
        file = f"the table's schema ({keys.TARGET_SCHEMA_FILE}, or the events')"
        if lacking := [name for name in wanted if name not in found]:
            raise SettingsError(f"{keys.TRANSFORMER_SQL}: the query lacks {', '.join(lacking)} of {file}")
        if added := [name for name in found if name not in wanted and name not in rows.columns]:
            raise SettingsError(f"{keys.TRANSFORMER_SQL}: the query adds {', '.join(added)}, not in {file}")
        for name, kind in wanted.items():
            if found[name] != kind:
                has, says = found[name].simpleString(), kind.simpleString()
                raise SettingsError(f"{keys.TRANSFORMER_SQL}: the query makes {name} {has}, {file} says {says}")


def _refuse_doubles(result: DataFrame) -> None:
    twice = sorted({name for name in result.columns if result.columns.count(name) > 1})
    if twice:
        raise SettingsError(f"{keys.TRANSFORMER_SQL}: the query gives {', '.join(twice)} twice")


def _passed_on(rows: DataFrame, result: DataFrame) -> frozenset[str]:
    """Return the result's columns that equal the rows' column of the same name: Spark gives each value an id."""
    analyzed = _plan(result)
    if _has_union(analyzed):  # its ids are its first part's, regardless of the others
        return frozenset()
    return frozenset(name for name, _ in _ids(_plan(rows)) & _ids(analyzed))


def _has_union(plan: Any) -> bool:
    children = plan.children()
    below = (children.apply(index) for index in range(children.size()))
    return plan.nodeName() == "Union" or any(map(_has_union, below))


def _plan(frame: DataFrame) -> Any:
    return frame._jdf.queryExecution().analyzed()


def _ids(plan: Any) -> set[tuple[str, int]]:
    output = plan.output()
    return {(str(output.apply(index).name()), int(output.apply(index).exprId().id())) for index in range(output.size())}
