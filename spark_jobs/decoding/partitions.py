"""Which values can be a partition's folder, and what Glue is told about the folders.

Hudi makes a folder of each partition value. Encoded, as this job makes its tables, any text is one folder's name, by
Hive's own rules: characters that a path can't have as `%` and two hex digits. A value of null or without a character
goes to Hudi's default partition.
"""

import re
from collections.abc import Sequence
from functools import reduce

from pyspark.sql import Column as Expression
from pyspark.sql import functions as F
from pyspark.sql import types as T

from spark_jobs.decoding.schema import Column
from spark_jobs.options.table_settings import TableSettings

# Hive's, and so Hudi's, Spark's and Trino's, folder for null: read back, this text is null.
DEFAULT = "__HIVE_DEFAULT_PARTITION__"
# What org.apache.hudi.common.util.PartitionPathEncodeUtils encodes.
_ENCODED = r"""[\x01-\x1f\x7f"#%'*/:=?\\{\[\]^]"""
# Folders of such a name are taken for bookkeeping, or lead elsewhere; `field=` before the value prevents both.
_HIDDEN = r"^[._]"
# Of a name in most file systems.
_MOST_BYTES = 255


def unplaceable(table: TableSettings, columns: Sequence[Column], encoded: bool, deleted: Expression) -> Expression:
    """Return why an event's `row` can't be placed in a partition, as text; null when it can.

    `encoded` says whether the table's folders are. `deleted` tells deletes: under an index that isn't global those need
    the values of their partition.
    """
    kinds = {column.name: column.stored for column in columns}
    reasons = []
    for name in table.partition_fields:
        value = F.col(f"row.{name}")
        shown = F.substring(value, 1, 60)
        if not table.global_index:
            absent = F.coalesce(value.cast("string"), F.lit("")) == ""
            reasons.append(F.when(deleted & absent, F.lit(f"missing: {name}, by which a delete finds its row")))
        if isinstance(kinds.get(name), T.StringType):
            bad = reduce(lambda one, other: one | other, _bad(value, name, table, encoded=encoded))
            reasons.append(F.when(bad, F.concat(F.lit(f"partition: {name} can't be a folder's name: "), shown)))
    return F.coalesce(F.lit(None).cast("string"), *reasons)


def values_of(path: str) -> list[str]:
    """Return the partition values of a folder's path relative to the table, `field=value/…` or `value/…`, decoded."""
    segments = [re.sub(r"^[^=]*=", "", segment) for segment in path.split("/")]
    return [re.sub("%([0-9A-Fa-f]{2})", lambda found: chr(int(found[1], 16)), segment) for segment in segments]


def _bad(value: Expression, name: str, table: TableSettings, *, encoded: bool) -> list[Expression]:
    bad = [value == DEFAULT, value.contains("\0")]
    if not table.hive_style:
        bad.append(value.rlike(_HIDDEN))
    if not encoded:
        bad.append(value.rlike(_ENCODED))
    prefix = len(f"{name}=") if table.hive_style else 0
    bad.append(F.octet_length(F.regexp_replace(value, _ENCODED, "%00")) + prefix > _MOST_BYTES)
    return bad
