"""For analysts: Athena's workgroup with queries and rights, and QuickSight's dashboard for its principal."""

from typing import Any

from aws_cdk import CfnOutput, Stack
from aws_cdk import aws_athena as athena
from aws_cdk import aws_iam as iam
from constructs import Construct

from analytics.queries import NamedQuery, Queried, named_queries
from settings.environment import Environment
from stacks.analytics.glue_tables import landed, quarantine, silver
from stacks.analytics.lake_readers import LakeReaders
from stacks.analytics.quicksight import QuickSight
from stacks.base import removal
from stacks.lake import LakeStack

# Athena user guide, "Athena engine version reference": the only version still offered that reads Hudi tables.
ENGINE = "Athena engine version 3"
_RESULTS = "athena/"


class AnalyticsStack(Stack):
    """Athena's workgroup, named queries and analysts' policy; QuickSight if the environment names a principal."""

    def __init__(self, scope: Construct, id_: str, *, environment: Environment, lake: LakeStack, **kwargs: Any) -> None:
        super().__init__(scope, id_, **kwargs)
        self._environment = environment
        self._settings = environment.analytics
        self._readers = LakeReaders(
            self,
            "Readers",
            environment=environment,
            workgroup=environment.prefix,
            results_prefix=_RESULTS,
        )
        self.workgroup = self._workgroup()
        captured = _queried(environment)
        quarantine(self, environment, [each.table for each in captured])
        if topics := [table.topic for table in captured if table.topic]:
            landed(Construct(self, "Landed"), environment, topics)
        queries = named_queries(environment.lake.database, captured)
        saved = Construct(self, "Queries")
        for query in queries:
            self._named_query(saved, query)
        if declared := [query.writes for query in queries if query.writes is not None]:
            silver(Construct(self, "Silver"), environment, declared)
        policy = self._policy()
        if principal := self._settings.quicksight_principal:
            # The settings' rules refuse a principal if no pipeline has orders.
            self._quicksight(principal, next(query for query in queries if query.name.startswith("order_items")))
        self.add_stack_dependency(lake)
        CfnOutput(self, "Workgroup", value=self.workgroup.name)
        CfnOutput(self, "AnalystPolicyArn", value=policy.managed_policy_arn)

    def _workgroup(self) -> athena.CfnWorkGroup:
        """What clients can't change: result location, encryption, and the limit on data read per query."""
        group = athena.CfnWorkGroup
        workgroup = athena.CfnWorkGroup(
            self,
            "Athena",
            name=self._environment.prefix,
            description=f"Queries of {self._environment.prefix}",
            # Query history and people's saved queries are deleted with it only if data is; a retained workgroup stays
            # whole.
            recursive_delete_option=True,
            work_group_configuration=group.WorkGroupConfigurationProperty(
                enforce_work_group_configuration=True,
                bytes_scanned_cutoff_per_query=self._settings.scan_limit_mb * 1024 * 1024,
                publish_cloud_watch_metrics_enabled=True,
                requester_pays_enabled=False,
                engine_version=group.EngineVersionProperty(selected_engine_version=ENGINE),
                result_configuration=group.ResultConfigurationProperty(
                    output_location=f"s3://{self._environment.bucket_name('results')}/{_RESULTS}",
                    expected_bucket_owner=self.account,
                    encryption_configuration=group.EncryptionConfigurationProperty(encryption_option="SSE_S3"),
                ),
            ),
        )
        workgroup.apply_removal_policy(removal(self._environment))
        return workgroup

    def _named_query(self, scope: Construct, query: NamedQuery) -> None:
        """A saved query in the console. Its `?` parameters are given at run time."""
        given = "; ".join(f"? is {each.description}, such as {each.example}" for each in query.parameters)
        athena.CfnNamedQuery(
            scope,
            query.name,
            name=f"{self._environment.prefix}-{query.name}",
            description=" ".join(filter(None, [query.description, given])),
            database=query.database,
            query_string=query.sql,
            work_group=self.workgroup.ref,
        )

    def _policy(self) -> iam.ManagedPolicy:
        """The rights that a query needs, for an administrator to attach: this stack attaches them to no one."""
        policy = iam.ManagedPolicy(
            self,
            "Analyst",
            managed_policy_name=f"{self._environment.prefix}-analyst",
            description=f"Queries of {self._environment.prefix} in Athena",
            statements=self._readers.statements(),
        )
        self._readers.accept_on(policy)
        self._readers.grant_by_lake_formation(self._settings.lake_formation_readers)
        return policy

    def _quicksight(self, principal: str, items: NamedQuery) -> None:
        role = iam.Role(
            self,
            "QuickSightRole",
            assumed_by=iam.ServicePrincipal("quicksight.amazonaws.com"),
            description=f"QuickSight's queries of {self._environment.prefix}",
        )
        for statement in self._readers.statements():
            role.add_to_policy(statement)
        self._readers.accept_on(role)
        self._readers.grant_by_lake_formation([role.role_arn])
        QuickSight(
            self,
            "QuickSight",
            environment=self._environment,
            principal=principal,
            role=role,
            workgroup=self.workgroup.ref,
            sql=items.sql,
        )


def _queried(environment: Environment) -> list[Queried]:
    return [
        Queried(
            table=pipeline.captured.lake_table(table),
            outbox=table.how == "outbox",
            source=table.name,
            pipeline=pipeline.name,
            example=pipeline.captured.source.example,
            # Tables that travel by Kafka have a topic.
            topic=table.captured.topic(pipeline.prefix) if not table.is_queried else "",
            key=table.key,
            history=pipeline.captured.history_table(table) if table.history else "",
        )
        for pipeline in environment.pipelines
        for table in pipeline.captured.tables
    ]
