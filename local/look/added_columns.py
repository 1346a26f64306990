"""Lake rows older than a column: the source gave them a DEFAULT that no event carried."""

from collections.abc import Mapping

import pyarrow.compute as pc

from contract import added_columns
from contract.added_columns import AddedColumn
from local.look.lake import Lake
from spark_jobs.options.keys import ADDED_COLUMNS

WRITTEN_AT = "_hoodie_commit_time"


def added(lake: Lake) -> dict[str, AddedColumn]:
    """Return the columns that a table got after its first commit, from the job's newest commit. Raises LakeError."""
    instant, metadata = lake.newest_of_job()
    return added_columns.since(added_columns.decode(metadata.get(ADDED_COLUMNS)), instant)


def older_rows(lake: Lake, columns: Mapping[str, AddedColumn]) -> dict[str, int]:
    """Count, by column, the rows written before it came, or with it, that have null there."""
    if not columns:
        return {}
    rows = lake.rows([WRITTEN_AT, *columns])
    counts = {
        name: pc.sum(pc.and_(pc.less_equal(rows[WRITTEN_AT], column.since or ""), pc.is_null(rows[name]))).as_py()
        for name, column in columns.items()
    }
    return {name: count for name, count in counts.items() if count}
