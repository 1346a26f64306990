"""Source changes that no event carries."""

from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor

import pyarrow.compute as pc

from capture.objects import query_problems, source_objects
from contract import added_columns
from contract.added_columns import AddedColumn
from contract.table_names import table_option
from local.look.lake import Lake, LakeError
from local.platform.services import LocalTable, Services
from local.problem import Problem
from spark_jobs.options.keys import ADDED_COLUMNS

WRITTEN_AT = "_hoodie_commit_time"
# Tables checked in parallel.
_LOOKERS = 8


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


def source_changes(services: Services, tables: Sequence[LocalTable]) -> list[Problem]:
    """Describe the changes; none for the outbox, whose columns procedures change.

    For queried tables: what keeps the job from querying them. Raises psycopg2.Error, LoadError and boto3's.
    """
    pipeline = services.pipeline
    if pipeline.outbox is not None:
        return []
    if pipeline.is_queried:
        lines = query_problems(services.database.parameters(), pipeline)
    else:
        lines = services.database.source_problems(source_objects(pipeline), pipeline.name)
    found = [Problem(part="the source", what=f"has changed: {line}") for line in lines]
    if not pipeline.is_queried:
        with ThreadPoolExecutor(_LOOKERS) as pool:
            for unfetched in pool.map(lambda table: _unfetched(services, table), tables):
                found += unfetched
    return found


def _unfetched(services: Services, table: LocalTable) -> list[Problem]:
    """Name the columns whose DEFAULT older rows lack; none of a table that isn't there or can't be read."""
    try:
        columns = added(table.lake)
        counts = older_rows(table.lake, columns)
    except LakeError:
        return []
    if not counts:
        return []
    fields = {columns[name].field: name for name in counts}
    entry = table.entry
    defaulted = services.database.with_default(entry.schema_name, entry.table_name, list(fields))
    return [
        Problem(
            part=f"table {table.name}",
            what=f"has rows from before column {name}",
            reason=f"{counts[name]:,} have null there, and at the source perhaps its DEFAULT",
            remedy=f"`./lake resnapshot -p {services.pipeline.name} {table_option(table.name)}` brings it",
        )
        for field, name in fields.items()
        if field in defaulted
    ]
