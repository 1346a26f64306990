"""The Lenses S3 sink with Parquet files, optionally in folders by a field that the files don't contain.

Glue refuses a column that is both in the folders' names and in the files ("duplicate columns"). So the field is moved
to a header of its record, which names the folders.
"""

from collections.abc import Sequence
from dataclasses import replace

from plugins.connector_settings import SinkSettings
from plugins.sink.kcql import Kcql, build
from plugins.sink.sink_connector import sink_connector
from plugins.sink.sink_properties import KCQL
from plugins.smt import Transform, properties, to_header

CODEC = "GZIP"


def parquet_statement(settings: SinkSettings, folder: str | None = None) -> Kcql:
    """Return the KCQL of one topic's Parquet files; its `warnings` describe what folders by `folder` have lost.

    Raises ValueError for several topics, and for fields of the value as folders.
    """
    [statement, *more] = settings.statements
    if more or statement.partition_by:
        raise ValueError("a Parquet sink takes one topic, and folders by a header: leave partition_by empty")
    return replace(statement, stored_as="PARQUET", partition_headers=(folder,) if folder else ())


def parquet_sink(
    settings: SinkSettings, *, steps: Sequence[Transform] = (), folder: str | None = None
) -> dict[str, str]:
    """Configure the sink for records with types (`JdbcSourceSettings.with_schemas`) as Parquet.

    `steps` change each record, then `folder`, under its name after them, leaves the value and names the folders.
    Raises ValueError as `parquet_statement` does.
    """
    statement = parquet_statement(settings, folder)
    return {
        **sink_connector(settings),
        KCQL: build(statement),
        "connect.s3.compression.codec": CODEC,
        "key.converter.schemas.enable": "true",
        "value.converter.schemas.enable": "true",
        **properties([*steps, *((to_header(folder),) if folder else ())]),
    }
