"""The buckets of landing objects, Hudi tables, artefacts, query results and logs, and the Glue database."""

from collections.abc import Sequence
from typing import Any

from aws_cdk import CfnOutput, CfnResource, Duration, RemovalPolicy, Stack
from aws_cdk import aws_glue as glue
from aws_cdk import aws_iam as iam
from aws_cdk import aws_lakeformation as lakeformation
from aws_cdk import aws_s3 as s3
from constructs import Construct

from settings.connectors import sink_settings
from settings.environment import Environment
from stacks.base import EnvironmentStack, accept, removal
from stacks.provider import JOURNAL_KEYS

# Longer than any upload takes: landing objects and the lake's files are a few hundred MB at most.
ABORT_UPLOADS = Duration.days(2)
_Permissions = lakeformation.CfnPrincipalPermissions


class LakeStack(EnvironmentStack):
    """Five buckets and the Glue database.

    `landing` holds the S3 sinks' objects, each sink's below its own prefix, `lake` the Hudi tables, `artefacts` the
    connectors' plugins and the job's stop files, `results` Athena's results, `logs` the other buckets' access logs and
    EMR's.
    """

    def __init__(self, scope: Construct, environment: Environment) -> None:
        super().__init__(scope, "lake", environment)
        self._settings = environment.lake
        self.logs = self._bucket("logs")
        self.logs.add_lifecycle_rule(id="logs", expiration=Duration.days(self._settings.log_expiry_days))
        self.landing = self._logged_bucket("landing")
        for pipeline in environment.streamed:
            prefix = f"{sink_settings(environment, pipeline).prefix}/"
            self.landing.add_metric(id=pipeline.landed_filter, prefix=prefix)
            # Long after the job has read them, and nothing else: the sink's bookkeeping next to them makes it
            # exactly-once, even after a long idle time. It resumes where `.indexes/` says, and may still need an upload
            # (`.temp-upload/`) that it hasn't moved yet.
            expiry = Duration.days(self._settings.landing_expiry_days)
            self.landing.add_lifecycle_rule(id=pipeline.landed_filter, prefix=prefix, expiration=expiry)
        self.lake = self._logged_bucket("lake")
        self.artefacts = self._logged_bucket("artefacts")
        # No custom resource's request lives longer than an hour.
        self.artefacts.add_lifecycle_rule(id="requests", prefix=JOURNAL_KEYS, expiration=Duration.days(1))
        # Query results are copies of the tables' rows, so none is kept longer than people need it.
        self._logged_bucket("results").add_lifecycle_rule(
            id="results",
            expiration=Duration.days(environment.analytics.result_expiry_days),
            noncurrent_version_expiration=Duration.days(1),
        )
        self._database()
        CfnOutput(self, "LandingBucket", value=self.landing.bucket_name)
        CfnOutput(self, "LakeBucket", value=self.lake.bucket_name)
        CfnOutput(self, "GlueDatabase", value=self._settings.database)

    def _bucket(self, role: str, **options: Any) -> s3.Bucket:
        policy = removal(self._environment)
        bucket = s3.Bucket(
            self,
            role.capitalize(),
            bucket_name=self._environment.bucket_name(role),
            block_public_access=s3.BlockPublicAccess.BLOCK_ALL,
            object_ownership=s3.ObjectOwnership.BUCKET_OWNER_ENFORCED,
            encryption=s3.BucketEncryption.S3_MANAGED,
            enforce_ssl=True,
            minimum_tls_version=1.2,
            versioned=True,
            removal_policy=policy,
            auto_delete_objects=policy is RemovalPolicy.DESTROY,
            **options,
        )
        if policy is RemovalPolicy.DESTROY:
            self._accept_emptying(bucket)
        bucket.add_lifecycle_rule(
            id="leftovers",
            abort_incomplete_multipart_upload_after=ABORT_UPLOADS,
            noncurrent_version_expiration=Duration.days(self._settings.noncurrent_version_expiry_days),
            expired_object_delete_marker=True,
        )
        return bucket

    def _accept_emptying(self, bucket: s3.Bucket) -> None:
        emptying = self.node.find_child("Custom::S3AutoDeleteObjectsCustomResourceProvider").node.find_child("Role")
        assert isinstance(emptying, CfnResource)  # noqa: S101  CDK's own type is looser
        statement = iam.PolicyStatement(
            actions=["s3:DeleteObject*", "s3:GetBucket*", "s3:List*", "s3:PutBucketPolicy"],
            resources=[bucket.bucket_arn, bucket.arn_for_objects("*")],
            principals=[iam.ArnPrincipal(emptying.get_att("Arn").to_string())],
        )
        assert bucket.policy is not None  # noqa: S101  enforce_ssl makes one
        accept(bucket.policy, statement, reason="`cdk destroy` is to leave nothing: CDK's function empties the bucket.")

    def _logged_bucket(self, role: str) -> s3.Bucket:
        return self._bucket(role, server_access_logs_bucket=self.logs, server_access_logs_prefix=f"access/{role}/")

    def _database(self) -> None:
        database = glue.CfnDatabase(
            self,
            "Database",
            catalog_id=self.account,
            database_input=glue.CfnDatabase.DatabaseInputProperty(
                name=self._settings.database, description=f"Hudi tables of {self._environment.prefix}"
            ),
        )
        database.apply_removal_policy(removal(self._environment))


def grant_tables(
    scope: Construct, principal: str, database: str, *, on_database: Sequence[str], on_tables: Sequence[str]
) -> None:
    """Grant a role or user, by ARN, rights on a database and each of its tables, which it can't grant to others."""
    catalogue = Stack.of(scope).account
    itself = _Permissions.DatabaseResourceProperty(catalog_id=catalogue, name=database)
    tables = _Permissions.TableResourceProperty(catalog_id=catalogue, database_name=database, table_wildcard={})
    for id_, resource, permissions in (
        ("Database", _Permissions.ResourceProperty(database=itself), on_database),
        ("Tables", _Permissions.ResourceProperty(table=tables), on_tables),
    ):
        _Permissions(
            scope,
            id_,
            principal=_Permissions.DataLakePrincipalProperty(data_lake_principal_identifier=principal),
            resource=resource,
            permissions=list(permissions),
            permissions_with_grant_option=[],
        )
