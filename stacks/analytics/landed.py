"""The table of what has landed, and who may ask it: it shows what was deleted, too, so that is a right of its own."""

from aws_cdk import Stack
from aws_cdk import aws_iam as iam
from constructs import Construct

from analytics import landed_table
from settings.environment import Environment
from stacks.acceptances import acknowledge_wildcards
from stacks.analytics.glue_tables import declared_table


class Landed(Construct):
    """The table over the landing of an environment's pipelines, and the policy of whoever may read events."""

    def __init__(self, scope: Construct, id_: str, *, environment: Environment, topics: list[str]) -> None:
        super().__init__(scope, id_)
        self._environment = environment
        self._bucket = environment.bucket_name("landing")
        self._table(topics)
        self._policy()

    def _table(self, topics: list[str]) -> None:
        landing = f"s3://{self._bucket}"
        prefixes = [pipeline.landing_prefix for pipeline in self._environment.streamed]
        declared_table(
            self,
            "Events",
            environment=self._environment,
            name=landed_table.NAME,
            description="Events as they have landed, a line each, as long as the landing keeps them",
            location=f"{landing}/",
            columns=landed_table.COLUMNS,
            partitions=landed_table.PARTITIONS,
            files=landed_table,
            parameters=landed_table.parameters(landing, prefixes, topics),
        )

    def _policy(self) -> None:
        """What history takes besides an analyst's rights; nobody has it by this stack."""
        bucket = f"arn:{Stack.of(self).partition}:s3:::{self._bucket}"
        prefixes = [pipeline.landing_prefix for pipeline in self._environment.streamed]
        look = iam.PolicyStatement(actions=["s3:GetBucketLocation", "s3:ListBucket"], resources=[bucket])
        read = iam.PolicyStatement(actions=["s3:GetObject"], resources=[f"{bucket}/{prefix}/*" for prefix in prefixes])
        policy = iam.ManagedPolicy(
            self,
            "Reader",
            managed_policy_name=f"{self._environment.prefix}-history-reader",
            description=f"Reads what has landed in {self._environment.prefix}; for an analyst who may see deleted rows",
            statements=[look, read],
        )
        acknowledge_wildcards(
            policy, read, reason="The events' objects, whose names the sinks make; reading only, and nobody has it yet."
        )
