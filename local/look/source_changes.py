"""Source changes that no event carries: lines for `./lake status`."""

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

from capture.objects import query_problems, source_objects
from contract.table_names import table_option
from local.look.added_columns import added, older_rows
from local.platform.services import Services
from local.platform.tables import LocalTable

# Tables checked in parallel.
_LOOKERS = 8


def source_changes(services: Services, tables: Sequence[LocalTable]) -> list[str]:
    """Describe each table's problems, a line each; none for the outbox, whose columns procedures change.

    For queried tables: what keeps the job from querying them. Raises psycopg2.Error, LoadError, LakeError and boto3's.
    """
    pipeline = services.pipeline
    if pipeline.outbox is not None:
        return []
    if pipeline.is_queried:
        return query_problems(services.database.parameters(), pipeline)
    lines = services.database.source_problems(source_objects(pipeline), pipeline.name)
    with ThreadPoolExecutor(_LOOKERS) as pool:
        for found in pool.map(lambda table: _unfetched(services, table), tables):
            lines += found
    return lines


def _unfetched(services: Services, table: LocalTable) -> list[str]:
    """Name the columns whose DEFAULT older rows lack."""
    columns = added(table.lake) if table.lake.exists() else {}
    if not (counts := older_rows(table.lake, columns)):
        return []
    fields = {columns[name].field: name for name in counts}
    entry = table.entry
    defaulted = services.database.with_default(entry.schema_name, entry.table_name, list(fields))
    return [
        f"{table.name}: {counts[name]:,} rows are from before column {name}, have null there, and at the source perhaps"
        f" its DEFAULT: `./lake resnapshot -p {services.pipeline.name} {table_option(table.name)}` brings it"
        for field, name in fields.items()
        if field in defaulted
    ]
