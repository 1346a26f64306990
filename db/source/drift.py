"""Changes of a prepared source that would silently corrupt the lake.

db/source/replication.py reports a table missing from the publication; the changes here show up in no event.
"""

from collections.abc import Iterator

from contract.table_names import table_option
from db.source.catalogue import Table
from db.source.identity import identity_statements
from db.source.objects import SourceObjects, SourceState, WantedTable
from db.source.plan import table_problems
from db.source.publication import listed, sends


def source_problems(wanted: SourceObjects, state: SourceState, pipeline: str) -> list[str]:
    """Report tables that the source lacks or that are captured wrongly.

    They are missing, lack a column, don't identify the key in updates and deletes, or don't publish the file's columns.
    Debezium 3.7 fills key columns missing from a delete with 0 or an empty text: it would delete another row.
    """
    lines: list[str] = []
    for table in wanted.tables:
        found = state.tables.get((table.schema, table.name))
        problems = list(table_problems(table, found))
        if found is not None and not problems:
            problems = [*_identity(table, found, pipeline), *_columns(table, found, state, pipeline)]
        lines += problems
    return lines


def _identity(table: WantedTable, found: Table, pipeline: str) -> Iterator[str]:
    if not identity_statements(table.key, found.leaves):
        return
    name, prepare = f"{table.schema}.{table.name}", f"run `./lake source prepare {pipeline} --dsn …`"
    if table.key:
        yield (
            f"{name}: updates and deletes don't say {', '.join(table.key)} since its primary key or REPLICA"
            f" IDENTITY was changed, so deletes miss their rows: {prepare}, then"
            f" `./lake reconcile -p {pipeline} {table_option(name)} --repair`"
        )
    else:
        yield f"{name}: without a replica identity PostgreSQL refuses its updates and deletes: {prepare}"


def _columns(table: WantedTable, found: Table, state: SourceState, pipeline: str) -> Iterator[str]:
    """Compare a table's published columns; db/source/replication.py reports a table that isn't published at all."""
    wanted = listed(table, found, state.version)
    if found.oid not in (state.published or {}) or sends(state, found.oid, wanted):
        return
    name, prepare = f"{table.schema}.{table.name}", f"run `./lake source prepare {pipeline} --dsn …`"
    again = f"{prepare}, then `./lake resnapshot -p {pipeline} {table_option(name)}`"
    everything = frozenset(found.quoted) - found.generated
    sent = state.published_in_part.get(found.oid, everything)
    if sent is None:
        yield f"{name}: the publication filters its rows, so changes are missing: {again}"
        return
    if any(not _is_sent(leaf.identity_columns, sent) for leaf in found.leaves):
        yield f"{name}: PostgreSQL refuses updates and deletes, whose identity isn't published whole: {prepare}"
    if lacking := sorted(everything - table.leave_out - sent):
        yield f"{name}: the publication lacks {', '.join(lacking)}, so changes are missing: {again}"
    if wanted is not None and (extra := sorted(table.leave_out & sent)):
        yield f"{name}: the publication has {', '.join(extra)}, though leave_out names it: {prepare}"


def _is_sent(identity: tuple[str, ...] | None, sent: frozenset[str]) -> bool:
    return identity is not None and sent.issuperset(identity)
