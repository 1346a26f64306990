"""Tables that named statements add rows to, and who may: declared here, since nothing crawls."""

from aws_cdk import Stack
from aws_cdk import aws_iam as iam
from constructs import Construct

from analytics import silver_table
from analytics.silver_table import SilverTable
from settings.environment import Environment
from stacks.acceptances import acknowledge_wildcards
from stacks.analytics.glue_tables import declared_table


class Silver(Construct):
    """Declared tables in an environment's database, and the policy of whoever may add rows to them."""

    def __init__(
        self, scope: Construct, id_: str, *, environment: Environment, tables: tuple[SilverTable, ...]
    ) -> None:
        super().__init__(scope, id_)
        self._environment = environment
        self._bucket = environment.bucket_name("lake")
        for table in tables:
            self._table(table)
        self._policy(tables)

    def _table(self, declared: SilverTable) -> None:
        declared_table(
            self,
            declared.name,
            environment=self._environment,
            name=declared.name,
            description=declared.description,
            location=declared.location(f"s3://{self._bucket}"),
            columns=declared.columns,
            files=silver_table,
            parameters=silver_table.PARAMETERS,
        )

    def _policy(self, tables: tuple[SilverTable, ...]) -> None:
        """What adding rows takes besides an analyst's rights; nobody has it by this stack."""
        bucket = f"arn:{Stack.of(self).partition}:s3:::{self._bucket}"
        write = iam.PolicyStatement(
            actions=["s3:AbortMultipartUpload", "s3:ListMultipartUploadParts", "s3:PutObject"],
            resources=[f"{table.location(bucket)}/*" for table in tables],
        )
        policy = iam.ManagedPolicy(
            self,
            "Writer",
            managed_policy_name=f"{self._environment.prefix}-snapshot-writer",
            description=f"Adds rows to {self._environment.prefix}'s declared tables; for an analyst who may",
            statements=[write],
        )
        acknowledge_wildcards(
            policy, write, reason="Files of the declared tables alone, whose names Athena makes; adding, not deleting."
        )
