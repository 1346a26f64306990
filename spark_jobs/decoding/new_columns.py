"""Decides which new fields become columns, and of which type (docs/decisions/0070)."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql import types as T

from contract.column_types.catalogue import Carried
from contract.column_types.types import avro_field, specials_field
from contract.events import SPECIALS_COLUMN
from contract.table_names import lake_name
from spark_jobs.decoding.schema import inferred_type
from spark_jobs.decoding.wire import CORRUPT, quoted
from spark_jobs.errors import Log, UndescribedError
from spark_jobs.options import keys
from spark_jobs.options.settings import Settings
from spark_jobs.sources.batches import Batch
from spark_jobs.sources.postgres.access import Database
from spark_jobs.sources.postgres.batch import RelationBatch
from spark_jobs.sources.postgres.control import table_columns
from spark_jobs.sources.postgres.event_sql import SourceColumn

# Hudi's own columns.
_RESERVED = "_hoodie_"


def new_columns(
    known: Collection[str], sets: Collection[tuple[str, ...]], *, room: int
) -> tuple[dict[str, str], set[str]]:
    """Decide on each event's unknown fields, in `sets`: all of an event's become columns, or none.

    Returns the new columns' names by field, and the fields that can't be columns next to the table's present ones.
    A column has the lake's name for the field (contract/table_names.py). Of two fields with the same lake name one
    becomes a column; the choice doesn't depend on the order of events: lower case before upper. `room`: how many
    columns may be added.
    """
    added: dict[str, str] = {}
    taken = {name.lower() for name in known}
    unusable: set[str] = set()
    in_order = [sorted(fields, key=str.swapcase) for fields in sets]
    for found in sorted(in_order, key=lambda fields: [*map(str.swapcase, fields)]):
        fields = [name for name in found if name not in added]
        wrong = _unusable(fields, taken)
        if not wrong and len(added) + len(fields) <= room:
            added |= {name: lake_name(name) for name in fields}
            taken |= {lake_name(name) for name in fields}
        unusable |= wrong
    return added, unusable


def _unusable(fields: Iterable[str], taken: Collection[str]) -> set[str]:
    alike: dict[str, set[str]] = {}
    for name in fields:
        alike.setdefault(lake_name(name), set()).add(name)
    wrong = (
        names for column, names in alike.items() if len(names) > 1 or column in taken or column.startswith(_RESERVED)
    )
    return set().union(*wrong)


def described_columns(kinds: Mapping[str, Carried], names: Mapping[str, str], *, specials: bool) -> dict[str, Any]:
    """Return the Avro fields of new columns by their names; `kinds` and `names` are by field.

    They include the column for values that a lake's type can't hold, unless `specials` says that the table has it.
    """
    found = {names[field]: avro_field(names[field], field, kinds[field]) for field in sorted(kinds)}
    if not specials and any(kind.special for kind in kinds.values()):
        found[SPECIALS_COLUMN] = specials_field()
    return found


def infer_columns(spark: SparkSession, events: DataFrame, names: Mapping[str, str]) -> T.StructType:
    """Return the new columns for fields, `names` by field, as the decoded events carry them.

    Numbers become double, since a fraction may follow a whole number; long where a double isn't exact. Objects and
    arrays become JSON text. Days and timestamps look like numbers and text here.
    """
    only_these = F.size(F.array_except("unknown", F.array(*map(F.lit, names)))) == 0
    concerned = events.filter((F.size("unknown") > 0) & only_these).select("line")
    jvm: Any = spark._jvm
    # Through Java: pyspark itself would pass each line through a Python process.
    texts = getattr(concerned._jdf, "as")(jvm.org.apache.spark.sql.Encoders.STRING())
    reader = spark._jsparkSession.read().option("columnNameOfCorruptRecord", CORRUPT)
    found = DataFrame(reader.json(texts), spark)
    kinds = {field.name: field.dataType for field in found.schema.fields if field.name in names}
    large = _beyond_double(found, [name for name, kind in kinds.items() if isinstance(kind, T.LongType)])
    types = {name: inferred_type(kind, fits_double=name not in large) for name, kind in kinds.items()}
    # Spark leaves empty objects out, which are still values.
    return T.StructType([T.StructField(names[name], types.get(name, T.StringType())) for name in sorted(names)])


def _beyond_double(values: DataFrame, names: Collection[str]) -> set[str]:
    if not names:
        return set()
    limit = 2**53  # beyond it, doubles aren't exact
    columns = [values[quoted(name)] for name in names]
    [row] = values.agg(*(F.max((column > limit) | (column < -limit)) for column in columns)).collect()
    return {name for name, beyond in zip(names, row, strict=True) if beyond}


def source_types(
    spark: SparkSession, batch: Batch, fields: Collection[str], settings: Settings, *, log: Log
) -> Mapping[str, Carried]:
    """Return the lake's types for a batch's new `fields`, without those whose types have to be guessed.

    A queried batch knows its columns' types; for others the source's catalog is queried. Raises UndescribedError where
    neither is allowed: the schema file has to describe them first.
    """
    if isinstance(batch, RelationBatch):
        columns: Sequence[SourceColumn] = batch.relation.columns
    elif settings.catalogue is None:
        return {}
    else:
        columns = _asked(spark, fields, settings, log)
    kinds = {column.name: column.carried for column in columns if column.name in fields}
    for name in sorted(fields):
        kind = kinds.get(name)
        if not isinstance(kind, Carried):
            why = "the source has no such column any more" if kind is None else kind.reason
            log(f"the type of the new column {name} is guessed by its values: {why}")
    return {name: kind for name, kind in kinds.items() if isinstance(kind, Carried)}


def _asked(spark: SparkSession, fields: Collection[str], settings: Settings, log: Log) -> tuple[SourceColumn, ...]:
    where = settings.catalogue
    if where is None or where.server is None:
        raise UndescribedError(
            f"{settings.schema_file} lacks {', '.join(sorted(fields))}, which events have: the table waits until it"
            " says their types (`./lake source describe … --update`, then `./lake up` or `./lake aws deploy`), or has"
            f" {keys.NEW_COLUMN_TYPES}={keys.TYPES_GUESSED} (docs/reference/source-changes.md); nothing is lost"
        )
    # Not a shared connection: others may hold all of them until they get the turn that this batch has.
    look = Database(spark, where.server, log=log).look()
    try:
        return table_columns(look, where.schema, where.table)
    finally:
        look.close(broken=True)
