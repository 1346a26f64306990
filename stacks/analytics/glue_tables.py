"""Glue tables over files that no crawler or job registers, and the policies that some of them need."""

from collections.abc import Mapping, Sequence
from typing import Protocol

from aws_cdk import Stack
from aws_cdk import aws_glue as glue
from aws_cdk import aws_iam as iam
from constructs import Construct

from analytics import landed_table, quarantine_table, silver_table
from analytics.silver_table import SilverTable
from settings.environment import Environment
from stacks.base import accept, bucket_arn, statement

Columns = Sequence[tuple[str, str]]


class Format(Protocol):
    """How the files are read: an analytics/ module that describes a table."""

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


def quarantine(scope: Construct, environment: Environment, tables: Sequence[str]) -> None:
    """Declare the table of the events that the jobs of `tables` have quarantined."""
    bucket = f"s3://{environment.bucket_name('lake')}"
    declared_table(
        scope,
        "Quarantine",
        environment=environment,
        name=quarantine_table.NAME,
        description="Events that didn't fit their table, each with its reason",
        location=quarantine_table.location(bucket),
        columns=quarantine_table.COLUMNS,
        partitions=[quarantine_table.PARTITION],
        files=quarantine_table,
        parameters=quarantine_table.parameters(bucket, [*tables]),
    )


def landed(scope: Construct, environment: Environment, topics: Sequence[str]) -> None:
    """Declare the table of the landing objects; it shows deleted rows too, so reading it needs its own policy."""
    bucket = environment.bucket_name("landing")
    prefixes = [pipeline.landing_prefix for pipeline in environment.streamed]
    declared_table(
        scope,
        "Events",
        environment=environment,
        name=landed_table.NAME,
        description="Events as they have landed, a line each, as long as the landing keeps them",
        location=f"s3://{bucket}/",
        columns=landed_table.COLUMNS,
        partitions=landed_table.PARTITIONS,
        files=landed_table,
        parameters=landed_table.parameters(f"s3://{bucket}", prefixes, [*topics]),
    )
    objects = [f"{bucket_arn(scope, bucket)}/{prefix}/*" for prefix in prefixes]
    policy_for_analysts(
        scope,
        "Reader",
        name=f"{environment.prefix}-history-reader",
        description=f"Reads what has landed in {environment.prefix}; for an analyst who may see deleted rows",
        statements=[
            statement("s3:GetBucketLocation", "s3:ListBucket", on=bucket_arn(scope, bucket)),
            statement("s3:GetObject", on=objects),
        ],
        reason="The events' objects, whose names the sinks make; reading only, and nobody has it yet.",
    )


def silver(scope: Construct, environment: Environment, tables: Sequence[SilverTable]) -> None:
    """Declare tables that named statements insert into, and the policy that allows the inserts."""
    bucket = environment.bucket_name("lake")
    for table in tables:
        declared_table(
            scope,
            table.name,
            environment=environment,
            name=table.name,
            description=table.description,
            location=table.location(f"s3://{bucket}"),
            columns=table.columns,
            files=silver_table,
            parameters=silver_table.PARAMETERS,
        )
    files = [f"{table.location(bucket_arn(scope, bucket))}/*" for table in tables]
    writing = statement("s3:AbortMultipartUpload", "s3:ListMultipartUploadParts", "s3:PutObject", on=files)
    policy_for_analysts(
        scope,
        "Writer",
        name=f"{environment.prefix}-snapshot-writer",
        description=f"Adds rows to {environment.prefix}'s declared tables; for an analyst who may",
        statements=[writing],
        reason="Files of the declared tables alone, whose names Athena makes; adding, not deleting.",
    )


def policy_for_analysts(
    scope: Construct, id_: str, *, name: str, description: str, statements: list[iam.PolicyStatement], reason: str
) -> None:
    """Create a policy for a table that needs more than an analyst's rights; this stack attaches it to no one."""
    policy = iam.ManagedPolicy(scope, id_, managed_policy_name=name, description=description, statements=statements)
    accept(policy, *statements, reason=reason)
