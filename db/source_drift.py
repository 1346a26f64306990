"""What was changed at the source since it was prepared, by which the lake would go wrong without a word.

A publication that lacks a table is db/replication.py's; what is said here no event tells.
"""

from db.source_identity import identity_statements
from db.source_objects import SourceObjects, SourceState
from db.source_plan import table_problems


def drift(wanted: SourceObjects, state: SourceState, pipeline: str) -> list[str]:
    """Say of each table that is gone or lacks a column, and of each whose updates and deletes don't say the key.

    Debezium 3.7 fills the key's columns that a delete lacks with 0 or an empty text: it would delete another row.
    """
    lines: list[str] = []
    for table in wanted.tables:
        found = state.tables.get((table.schema, table.name))
        problems = list(table_problems(table, found))
        lines += problems
        if found is None or problems or not identity_statements(table.key, found.leaves):
            continue
        name, prepare = f"{table.schema}.{table.name}", f"run `make prepare NAME={pipeline} DSN=…`"
        if table.key:
            lines.append(
                f"{name}: updates and deletes don't say {', '.join(table.key)} since its primary key or REPLICA"
                f" IDENTITY was changed, so deletes miss their rows: {prepare}, then"
                f" `make reconcile PIPELINE={pipeline} TABLE={name} REPAIR=1`"
            )
        else:
            lines.append(f"{name}: without a replica identity PostgreSQL refuses its updates and deletes: {prepare}")
    return lines
