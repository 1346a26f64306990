"""Glue tables over files that no crawler or job registers, and the policies that some of them need."""

from collections.abc import Iterable, Sequence

from aws_cdk import Stack
from aws_cdk import aws_glue as glue
from aws_cdk import aws_iam as iam
from constructs import Construct

from analytics.tables import LANDED, Columns, DeclaredTable
from settings.environment import Environment
from stacks.base import accept, bucket_arn, statement


def declare(
    scope: Construct, id_: str, environment: Environment, table: DeclaredTable, bucket: str, *values: Iterable[str]
) -> None:
    """Declare a table in a bucket, with the values of its partitions."""
    kinds, address = glue.CfnTable, f"s3://{bucket}"

    def listed(of: Columns) -> list[glue.CfnTable.ColumnProperty] | None:
        return [kinds.ColumnProperty(name=column, type=type_) for column, type_ in of] or None

    glue.CfnTable(
        scope,
        id_,
        catalog_id=Stack.of(scope).account,
        database_name=environment.lake.database,
        table_input=kinds.TableInputProperty(
            name=table.name,
            description=table.description,
            table_type="EXTERNAL_TABLE",
            parameters=table.parameters(address, *values),
            partition_keys=listed(table.partitions),
            storage_descriptor=kinds.StorageDescriptorProperty(
                columns=listed(table.columns),
                location=table.location(address),
                input_format=table.input_format,
                output_format=table.output_format,
                serde_info=kinds.SerdeInfoProperty(serialization_library=table.serde),
            ),
        ),
    )


def landed(scope: Construct, environment: Environment, topics: Sequence[str]) -> None:
    """Declare the table of the landing objects; it shows deleted rows too, so reading it needs its own policy."""
    bucket = environment.bucket_name("landing")
    prefixes = [pipeline.landing_prefix for pipeline in environment.streamed]
    declare(scope, "Events", environment, LANDED, bucket, prefixes, topics)
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


def silver(scope: Construct, environment: Environment, tables: Sequence[DeclaredTable]) -> None:
    """Declare tables that named statements insert into, and the policy that allows the inserts."""
    bucket = environment.bucket_name("lake")
    for table in tables:
        declare(scope, table.name, environment, table, bucket)
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
