"""Decides which values can be a partition's folder, and what Glue stores for the folders.

Hudi creates a folder per partition value. With encoding, as this job creates its tables, any text is one folder's name,
by Hive's rules: characters that a path can't have become `%` and two hex digits. Null and the empty text go to Hudi's
default partition.
"""

import re
from collections.abc import Sequence
from functools import reduce

from pyspark.sql import Column as Expression
from pyspark.sql import functions as F
from pyspark.sql import types as T

from spark_jobs.decoding.schema import Column
from spark_jobs.options.table_settings import TableSettings

# Folder for null in Hive, and so in Hudi, Spark and Trino: read back, this text is null.
DEFAULT = "__HIVE_DEFAULT_PARTITION__"
# Characters that org.apache.hudi.common.util.PartitionPathEncodeUtils encodes.
_ENCODED = r"""[\x01-\x1f\x7f"#%'*/:=?\\{\[\]^]"""
# Folders with such a name count as bookkeeping, or lead elsewhere; `field=` before the value prevents both.
_HIDDEN = r"^[._]"
# Limit for a name in most file systems.
_MOST_BYTES = 255


def unplaceable(table: TableSettings, columns: Sequence[Column], encoded: bool, deleted: Expression) -> Expression:
    """Return why an event's `row` can't be placed in a partition, as text; null when it can.

    `encoded`: whether the table's folders are. `deleted` marks deletes: without a global index those need the values of
    their partition.
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
    """Return the decoded partition values of a folder's path relative to the table, `field=value/…` or `value/…`."""
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
