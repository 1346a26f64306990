"""The rights that a query needs, the same for people and for QuickSight.

Source: Athena user guide, "AWS managed policy: AmazonAthenaFullAccess", "Configure access to databases and tables in
the AWS Glue Data Catalog" (`default` is looked up first) and "Manage Lake Formation and Athena user permissions".
"""

from collections.abc import Sequence

from aws_cdk import aws_iam as iam
from constructs import Construct, IConstruct

from settings.environment import Environment
from stacks.acceptances import accept
from stacks.base import arn, bucket_arn, of_service, statement
from stacks.lake_formation import TableGrants

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


class LakeReaders(Construct):
    """Read access to one environment's tables through one workgroup. Buckets are given by name."""

    def __init__(
        self, scope: Construct, id_: str, *, environment: Environment, workgroup: str, results_prefix: str
    ) -> None:
        super().__init__(scope, id_)
        self._database = environment.lake.database
        self._lake_formation = environment.analytics.lake_formation
        self._workgroup = workgroup
        self._lake = bucket_arn(self, environment.bucket_name("lake"))
        self._results_bucket = bucket_arn(self, environment.bucket_name("results"))
        self._results_prefix = results_prefix

    def statements(self) -> list[iam.PolicyStatement]:
        """Return a query's rights: workgroup, catalogue, table files and result location."""
        return [
            statement(*of_service("athena", _RUN), on=arn(self, "athena", f"workgroup/{self._workgroup}")),
            statement(*of_service("athena", _LOOK_UP), on=arn(self, "athena", "datacatalog/AwsDataCatalog")),
            statement("glue:GetDatabase", on=[arn(self, "glue", name) for name in ("catalog", "database/default")]),
            statement("s3:GetBucketLocation", "s3:ListBucket", on=[self._lake, self._results_bucket]),
            statement("s3:ListBucketMultipartUploads", on=self._results_bucket),
            *(each for each, _ in self._wide()),
        ]

    def accept_on(self, holder: IConstruct) -> None:
        """Accept, with reasons, the statements that name no single resource."""
        for each, reason in self._wide():
            accept(holder, each, reason=reason)

    def grant_by_lake_formation(self, readers: Sequence[str]) -> None:
        """Let roles or users, by ARN, read the tables if Lake Formation controls them; otherwise do nothing."""
        if not self._lake_formation:
            return
        first = len(self.node.children)
        for number, reader in enumerate(readers, first):
            TableGrants(
                self,
                f"Reader{number}",
                principal=reader,
                database=self._database,
                on_database=["DESCRIBE"],
                on_tables=["DESCRIBE", "SELECT"],
            )

    def _wide(self) -> list[tuple[iam.PolicyStatement, str]]:
        """Statements that name no single resource, each with its reason."""
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
                statement(*_WRITE_RESULTS, on=f"{self._results_bucket}/{self._results_prefix}*"),
                "The results of the workgroup's queries, which Athena writes with the rights of whoever asks.",
            ),
            (
                statement(*of_service("athena", _CHOOSE), on="*"),
                "These three know no resources: names of workgroups and catalogues to choose from.",
            ),
        ]
        if self._lake_formation:
            reason = "GetDataAccess knows no resources: it hands out what Lake Formation has granted, and nothing more."
            found.append((statement("lakeformation:GetDataAccess", on="*"), reason))
        return found
