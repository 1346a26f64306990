"""For analysts: Athena's workgroup with queries and rights, and QuickSight's dashboard for its principal.

A query's rights are the same for people and for QuickSight. Source: Athena user guide, "AWS managed policy:
AmazonAthenaFullAccess", "Configure access to databases and tables in the AWS Glue Data Catalog" (`default` is looked up
first) and "Manage Lake Formation and Athena user permissions".
"""

from collections.abc import Mapping

from aws_cdk import CfnOutput
from aws_cdk import aws_athena as athena
from aws_cdk import aws_iam as iam
from constructs import Construct

from analytics.queries import NamedQuery, Queried, named_queries
from analytics.tables import QUARANTINE
from settings.environment import Environment
from stacks.analytics.glue_tables import declare, landed, silver
from stacks.analytics.quicksight import QuickSight
from stacks.base import EnvironmentStack, accept, arn, bucket_arn, id_of, of_service, removal, statement
from stacks.lake import LakeStack, grant_tables

# Athena user guide, "Athena engine version reference": the only version still offered that reads Hudi tables.
ENGINE = "Athena engine version 3"
_RESULTS = "athena/"
_RUN = (
    "BatchGetNamedQuery",
    "BatchGetQueryExecution",
    "GetNamedQuery",
    "GetQueryExecution",
    "GetQueryResults",
    "GetQueryResultsStream",
    "GetQueryRuntimeStatistics",
    "GetWorkGroup",
    "ListNamedQueries",
    "ListQueryExecutions",
    "StartQueryExecution",
    "StopQueryExecution",
)
_LOOK_UP = ("GetDatabase", "GetDataCatalog", "GetTableMetadata", "ListDatabases", "ListTableMetadata")
# These actions support no resources.
_CHOOSE = ("ListDataCatalogs", "ListEngineVersions", "ListWorkGroups")
# Tables without partitions need the partition actions too: users report these missing more than any others.
_READ_TABLES = (
    "GetDatabase",
    "GetDatabases",
    "GetTable",
    "GetTables",
    "GetPartition",
    "GetPartitions",
    "BatchGetPartition",
)
_WRITE_RESULTS = ("s3:AbortMultipartUpload", "s3:GetObject", "s3:ListMultipartUploadParts", "s3:PutObject")


class AnalyticsStack(EnvironmentStack):
    """Athena's workgroup, named queries and analysts' policy; QuickSight if the environment names a principal."""

    def __init__(self, scope: Construct, environment: Environment, lake: LakeStack) -> None:
        super().__init__(scope, "analytics", environment)
        self._settings = environment.analytics
        self._database = environment.lake.database
        self._lake = bucket_arn(self, environment.bucket_name("lake"))
        self._results_bucket = bucket_arn(self, environment.bucket_name("results"))
        self._readers = Construct(self, "Readers")
        self.workgroup = self._workgroup()
        captured = _queried(environment)
        lake_tables = [each.table for each in captured]
        declare(self, "Quarantine", environment, QUARANTINE, environment.bucket_name("lake"), lake_tables)
        if topics := [table.topic for table in captured if table.topic]:
            landed(Construct(self, "Landed"), environment, topics)
        queries = named_queries(self._database, captured)
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
        given = "; ".join(f"? is {each.description}, such as {each.example}" for each in query.parameters)
        athena.CfnNamedQuery(
            scope,
            query.name,
            name=f"{self._environment.prefix}-{query.name}",
            description=" ".join(filter(None, [query.description, given])),
            database=self._environment.lake.database,
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
        )
        self._let_read(policy)
        self._grant_by_lake_formation({id_of("Reader", each): each for each in self._settings.lake_formation_readers})
        return policy

    def _quicksight(self, principal: str, items: NamedQuery) -> None:
        role = iam.Role(
            self,
            "QuickSightRole",
            assumed_by=iam.ServicePrincipal("quicksight.amazonaws.com"),
            description=f"QuickSight's queries of {self._environment.prefix}",
        )
        self._let_read(role)
        self._grant_by_lake_formation({"QuickSight": role.role_arn})
        QuickSight(
            self,
            "QuickSight",
            environment=self._environment,
            principal=principal,
            role=role,
            workgroup=self.workgroup.ref,
            sql=items.sql,
        )

    def _let_read(self, holder: iam.Role | iam.ManagedPolicy) -> None:
        """Add a query's rights: workgroup, catalogue, table files and result location."""
        add = holder.add_to_policy if isinstance(holder, iam.Role) else holder.add_statements
        for each in (
            statement(*of_service("athena", _RUN), on=arn(self, "athena", f"workgroup/{self._environment.prefix}")),
            statement(*of_service("athena", _LOOK_UP), on=arn(self, "athena", "datacatalog/AwsDataCatalog")),
            statement("glue:GetDatabase", on=[arn(self, "glue", name) for name in ("catalog", "database/default")]),
            statement("s3:GetBucketLocation", "s3:ListBucket", on=[self._lake, self._results_bucket]),
            statement("s3:ListBucketMultipartUploads", on=self._results_bucket),
        ):
            add(each)
        for each, reason in self._wide():
            add(each)
            accept(holder, each, reason=reason)

    def _grant_by_lake_formation(self, readers: Mapping[str, str]) -> None:
        """Let roles or users, ARNs by id, read the tables if Lake Formation controls them; otherwise do nothing."""
        if not self._settings.lake_formation:
            return
        for id_, reader in readers.items():
            scope, on_tables = Construct(self._readers, id_), ("DESCRIBE", "SELECT")
            grant_tables(scope, reader, self._database, on_database=["DESCRIBE"], on_tables=on_tables)

    def _wide(self) -> list[tuple[iam.PolicyStatement, str]]:
        """Return the statements that name no single resource, each with its reason."""
        names = ("catalog", f"database/{self._database}", f"table/{self._database}/*")
        tables = [arn(self, "glue", name) for name in names]
        found = [
            (
                statement(*of_service("glue", _READ_TABLES), on=tables),
                "Every table of one database: pipelines come and go, and none of them is a secret from analysts.",
            ),
            (
                statement("s3:GetObject", on=f"{self._lake}/*"),
                "The tables' files in the lake's bucket, whose names Hudi makes; reading only.",
            ),
            (
                statement(*_WRITE_RESULTS, on=f"{self._results_bucket}/{_RESULTS}*"),
                "The results of the workgroup's queries, which Athena writes with the rights of the one who asks.",
            ),
            (
                statement(*of_service("athena", _CHOOSE), on="*"),
                "These three know no resources: names of workgroups and catalogues to choose from.",
            ),
        ]
        if self._settings.lake_formation:
            reason = "GetDataAccess knows no resources: it hands out what Lake Formation has granted, and nothing more."
            found.append((statement("lakeformation:GetDataAccess", on="*"), reason))
        return found


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
