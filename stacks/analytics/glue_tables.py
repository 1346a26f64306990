"""Tables of Glue over files that nothing crawls and no job registers."""

from collections.abc import Mapping, Sequence
from typing import Protocol

from aws_cdk import Stack
from aws_cdk import aws_glue as glue
from constructs import Construct

from settings.environment import Environment

Columns = Sequence[tuple[str, str]]


class Format(Protocol):
    """How the files are read: a module of analytics/ that describes a table."""

    INPUT_FORMAT: str
    OUTPUT_FORMAT: str
    SERDE: str


def declared_table(
    scope: Construct,
    id_: str,
    *,
    environment: Environment,
    name: str,
    description: str,
    location: str,
    columns: Columns,
    files: Format,
    parameters: Mapping[str, str],
    partitions: Columns = (),
) -> None:
    """Declare a table in the environment's database."""
    table = glue.CfnTable

    def listed(of: Columns) -> list[glue.CfnTable.ColumnProperty] | None:
        return [table.ColumnProperty(name=column, type=type_) for column, type_ in of] or None

    glue.CfnTable(
        scope,
        id_,
        catalog_id=Stack.of(scope).account,
        database_name=environment.lake.database,
        table_input=table.TableInputProperty(
            name=name,
            description=description,
            table_type="EXTERNAL_TABLE",
            parameters=dict(parameters),
            partition_keys=listed(partitions),
            storage_descriptor=table.StorageDescriptorProperty(
                columns=listed(columns),
                location=location,
                input_format=files.INPUT_FORMAT,
                output_format=files.OUTPUT_FORMAT,
                serde_info=table.SerdeInfoProperty(serialization_library=files.SERDE),
            ),
        ),
    )
