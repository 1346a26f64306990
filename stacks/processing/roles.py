"""What EMR may do in the account, and what the cluster's nodes, and so the jobs on them, may do."""

from collections.abc import Mapping, Sequence
from typing import Any

from aws_cdk import Stack
from aws_cdk import aws_iam as iam
from aws_cdk import aws_kms as kms
from constructs import Construct

from stacks.acceptances import accept, acknowledge, acknowledge_wildcards
from stacks.lake_formation import TableGrants
from stacks.session_manager import serve_sessions

_READ_CATALOGUE = ("GetDatabase", "GetDatabases", "GetTable", "GetTables", "GetPartition", "GetPartitions")
_WRITE_TABLES = (
    "CreateTable",
    "UpdateTable",
    "DeleteTable",
    "GetPartitionIndexes",
    "CreatePartitionIndex",
    "BatchCreatePartition",
    "BatchGetPartition",
    "BatchUpdatePartition",
    "BatchDeletePartition",
    "CreatePartition",
    "UpdatePartition",
    "DeletePartition",
)
# EMR management guide, "Encryption options": what nodes and service need of the key of the local disks.
_ENCRYPT = [
    f"kms:{action}"
    for action in (
        "Decrypt",
        "DescribeKey",
        "Encrypt",
        "GenerateDataKey",
        "GenerateDataKeyWithoutPlaintext",
        "ReEncryptFrom",
        "ReEncryptTo",
    )
]


class EmrRoles(Construct):
    """`service` is EMR's role, `nodes` the instances' role and `profile` what carries it. Buckets go by their names."""

    def __init__(self, scope: Construct, id_: str, *, volume_key: kms.IKey) -> None:
        super().__init__(scope, id_)
        self.nodes = iam.Role(self, "Nodes", assumed_by=iam.ServicePrincipal("ec2.amazonaws.com"))
        self.profile = iam.InstanceProfile(self, "Profile", role=self.nodes)
        # The applications' own interfaces ask nobody for a password (docs/decisions/0058).
        serve_sessions(self.nodes)
        self.service = self._service()
        for role in (self.nodes, self.service):
            encrypting = iam.PolicyStatement(actions=_ENCRYPT, resources=[volume_key.key_arn])
            role.add_to_policy(encrypting)
            accept(role, encrypting, reason="The key of the cluster's own disks, which encrypts nothing else.")
        granting = iam.PolicyStatement(
            actions=["kms:CreateGrant", "kms:ListGrants"],
            resources=[volume_key.key_arn],
            conditions={"Bool": {"kms:GrantIsForAWSResource": "true"}},
        )
        self.service.add_to_policy(granting)
        accept(self.service, granting, reason="EC2 attaches the encrypted volumes by grants that EMR makes for it.")

    def may_read(self, bucket: str, prefix: str) -> None:
        """Let the nodes list and read the objects below a prefix of a bucket."""
        self._allow_below(bucket, prefix, "s3:GetObject")
        self._may_list(bucket, prefix)

    def may_write(self, bucket: str) -> None:
        """Let the nodes list, read, write and delete the objects of a bucket, though none of their older versions."""
        uploads = ("s3:AbortMultipartUpload", "s3:ListMultipartUploadParts")
        self._allow_below(bucket, "", "s3:DeleteObject", "s3:GetObject", "s3:PutObject", *uploads)
        self._may_list(bucket, "")

    def may_add(self, bucket: str, prefix: str) -> None:
        """Let the nodes write objects below a prefix of a bucket, neither read nor list what is there."""
        self._allow_below(bucket, prefix, "s3:PutObject")

    def may_keep_tables(self, database: str) -> None:
        """Let the nodes read and keep the tables of a Glue database, and make `default` where there is none.

        Sessions of Hive, Spark SQL and Hue look at `default` first and make it when it isn't there; without the right
        each of them fails. It is the account's, so no stack makes it: another environment may have it already.
        """
        catalogue = self._glue("catalog")
        own = [self._glue(f"database/{database}"), self._glue(f"table/{database}/*")]
        defaults = [self._glue(f"database/{name}") for name in ("default", "global_temp")]
        functions = [self._glue(f"userDefinedFunction/{name}/*") for name in ("default", database)]
        reason = "Every table of one database: the jobs make them, and Hive and Spark look all of them up."
        self._allow([catalogue, *own], *_glue_actions(*_READ_CATALOGUE, *_WRITE_TABLES), reason=reason)
        tables = [catalogue, *defaults, self._glue("table/default/*")]
        self._allow(tables, *_glue_actions(*_READ_CATALOGUE), reason=reason)
        self._allow([catalogue, defaults[0]], "glue:CreateDatabase")
        databases = [catalogue, *defaults, own[0]]
        self._allow([*databases, *functions], "glue:GetUserDefinedFunctions", reason=reason)

    def may_keep_tables_by_lake_formation(self, database: str) -> None:
        """Let the nodes make and keep the tables where Lake Formation decides, too: IAM alone isn't enough there.

        ALL is what whoever makes a table has of it anyway; these are for those that are there already.
        """
        TableGrants(
            self,
            "LakeFormation",
            principal=self.nodes.role_arn,
            database=database,
            on_database=["CREATE_TABLE", "DESCRIBE"],
            on_tables=["ALL"],
        )

    def may_read_secrets(self, arns: Sequence[str]) -> None:
        """Let the nodes read these secrets, and no other."""
        reading = iam.PolicyStatement(actions=["secretsmanager:GetSecretValue"], resources=list(arns))
        self.nodes.add_to_policy(reading)
        accept(self.nodes, reading, reason="What the jobs log in with where they query, to read and nothing else.")

    def may_publish_metrics(self, namespace: str) -> None:
        """Let the nodes publish metrics to one namespace."""
        self._allow(
            ["*"],
            "cloudwatch:PutMetricData",
            conditions={"StringEquals": {"cloudwatch:namespace": namespace}},
            reason="PutMetricData knows no resources; the condition allows one namespace.",
        )

    def _service(self) -> iam.Role:
        stack = Stack.of(self)
        principal = iam.ServicePrincipal(
            "elasticmapreduce.amazonaws.com",
            conditions={
                "StringEquals": {"aws:SourceAccount": stack.account},
                "ArnLike": {
                    "aws:SourceArn": f"arn:{stack.partition}:elasticmapreduce:{stack.region}:{stack.account}:*"
                },
            },
        )
        policy = "service-role/AmazonEMRServicePolicy_v2"
        role = iam.Role(
            self,
            "Service",
            assumed_by=principal,
            managed_policies=[iam.ManagedPolicy.from_aws_managed_policy_name(policy)],
        )
        passing = iam.PolicyStatement(
            actions=["iam:PassRole"],
            resources=[self.nodes.role_arn],
            conditions={"StringLike": {"iam:PassedToService": "ec2.amazonaws.com*"}},
        )
        role.add_to_policy(passing)
        accept(role, passing, reason="EMR starts the nodes with their role, and can hand no other to EC2.")
        acknowledge(
            role,
            f"AwsSolutions-IAM4[Policy::arn:<AWS::Partition>:iam::aws:policy/{policy}]",
            reason="AWS's own policy for EMR, which AWS keeps in step with the service. It acts only on what is tagged "
            "for-use-with-amazon-emr-managed-policies: this cluster's subnet, groups and instances.",
        )
        return role

    def _may_list(self, bucket: str, prefix: str) -> None:
        conditions = {"StringLike": {"s3:prefix": f"{prefix}*"}} if prefix else {}
        self._allow([self._bucket(bucket)], "s3:ListBucket", conditions=conditions)
        self._allow([self._bucket(bucket)], "s3:GetBucketLocation")

    def _allow_below(self, bucket: str, prefix: str, *actions: str) -> None:
        reason = "Objects of one bucket below one prefix, whose names the data and Hudi make."
        self._allow([f"{self._bucket(bucket)}/{prefix}*"], *actions, reason=reason)

    def _allow(
        self,
        resources: Sequence[str],
        *actions: str,
        conditions: Mapping[str, Any] | None = None,
        reason: str | None = None,
    ) -> None:
        statement = iam.PolicyStatement(actions=list(actions), resources=list(resources), conditions=conditions)
        self.nodes.add_to_policy(statement)
        if reason:
            acknowledge_wildcards(self.nodes, statement, reason=reason)

    def _bucket(self, name: str) -> str:
        return f"arn:{Stack.of(self).partition}:s3:::{name}"

    def _glue(self, resource: str) -> str:
        stack = Stack.of(self)
        return f"arn:{stack.partition}:glue:{stack.region}:{stack.account}:{resource}"


def _glue_actions(*names: str) -> list[str]:
    return [f"glue:{name}" for name in names]
