"""A pipeline's requirements on its database, as db/source/objects.py describes them."""

from contract.source import own_schema
from db.connecting import LoadError
from db.source.objects import SourceObjects, WantedTable
from settings.pipeline import CapturedTableSettings, Pipeline


def source_objects(pipeline: Pipeline) -> SourceObjects:
    """Return the requirements. Raises LoadError for the outbox's pipeline, whose database the loader prepares."""
    if pipeline.outbox is not None:
        raise LoadError(
            f"pipelines/{pipeline.name}.toml captures an outbox: `./lake source load` and `./lake source migrate`"
            " prepare"
            " its database"
        )
    return SourceObjects(
        publication=pipeline.source.publication,
        slot=pipeline.source.slot,
        schema=own_schema(pipeline.name),
        role=pipeline.source.role,
        tables=tuple(map(wanted_table, pipeline.tables)),
    )


def wanted_table(table: CapturedTableSettings) -> WantedTable:
    """Return the requirements of one table of the file."""
    return WantedTable(
        schema=table.schema_name,
        name=table.table_name,
        key=table.key,
        leave_out=frozenset(table.leave_out),
        hashed=frozenset(table.hash),
        by_xmin=table.is_queried and table.detect != "hash",
    )
