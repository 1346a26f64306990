"""The rights of EMR's service, and of the cluster's nodes and so of their jobs."""

from collections.abc import Sequence

from aws_cdk import Stack
from aws_cdk import aws_iam as iam
from aws_cdk import aws_kms as kms
from constructs import Construct

from stacks.base import Conditions, acknowledge, allow, arn, bucket_arn, of_service, serve_sessions, statement
from stacks.lake import grant_tables

_READ_CATALOGUE = of_service(
    "glue", ("GetDatabase", "GetDatabases", "GetTable", "GetTables", "GetPartition", "GetPartitions")
)
_WRITE_TABLES = of_service(
    "glue",
    (
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
    ),
)
# EMR management guide, "Encryption options": rights of nodes and service on the local disks' key.
_ENCRYPT = of_service(
    "kms",
    (
        "Decrypt",
        "DescribeKey",
        "Encrypt",
        "GenerateDataKey",
        "GenerateDataKeyWithoutPlaintext",
        "ReEncryptFrom",
        "ReEncryptTo",
    ),
)
_SERVICE_POLICY = "service-role/AmazonEMRServicePolicy_v2"


class EmrRoles(Construct):
    """`service` is EMR's role, `nodes` the instances' and `profile` its instance profile. Buckets are given by name."""

    def __init__(self, scope: Construct, id_: str, *, volume_key: kms.IKey) -> None:
        super().__init__(scope, id_)
        self.nodes = iam.Role(self, "Nodes", assumed_by=iam.ServicePrincipal("ec2.amazonaws.com"))
        self.profile = iam.InstanceProfile(self, "Profile", role=self.nodes)
        # The applications' own interfaces require no password (docs/decisions/0058).
        serve_sessions(self.nodes)
        self.service = self._service()
        for role in (self.nodes, self.service):
            reason = "The key of the cluster's own disks, which encrypts nothing else."
            allow(role, statement(*_ENCRYPT, on=volume_key.key_arn), reason=reason)
        for_aws = {"Bool": {"kms:GrantIsForAWSResource": "true"}}
        granting = statement("kms:CreateGrant", "kms:ListGrants", on=volume_key.key_arn, when=for_aws)
        allow(self.service, granting, reason="EC2 attaches the encrypted volumes by grants that EMR makes for it.")

    def may_read(self, bucket: str, prefix: str) -> None:
        self.allow_below(bucket, prefix, "s3:GetObject")
        self._may_list(bucket, prefix)

    def may_write(self, bucket: str) -> None:
        """Let the nodes list, read, write and delete the objects of a bucket, but none of their older versions."""
        uploads = ("s3:AbortMultipartUpload", "s3:ListMultipartUploadParts")
        self.allow_below(bucket, "", "s3:DeleteObject", "s3:GetObject", "s3:PutObject", *uploads)
        self._may_list(bucket, "")

    def allow_below(self, bucket: str, prefix: str, *actions: str) -> None:
        """Allow the nodes actions on objects below a prefix of a bucket, but not to list them."""
        reason = "Objects of one bucket below one prefix, whose names the data and Hudi make."
        allow(self.nodes, statement(*actions, on=f"{bucket_arn(self, bucket)}/{prefix}*"), reason=reason)

    def may_keep_tables(self, database: str, *, lake_formation: bool) -> None:
        """Let the nodes read and maintain the tables of a Glue database, and create `default` if it is missing.

        Sessions of Hive, Spark SQL and Hue read `default` first and create it if it is missing; without the right, each
        of them fails. It is account-wide, so no stack creates it: another environment may have done so. If Lake
        Formation controls access, IAM alone isn't enough: a table's creator has ALL on it, and so on existing tables.
        """
        catalogue = self._glue("catalog")
        own = [self._glue(f"database/{database}"), self._glue(f"table/{database}/*")]
        defaults = [self._glue(f"database/{name}") for name in ("default", "global_temp")]
        functions = [self._glue(f"userDefinedFunction/{name}/*") for name in ("default", database)]
        allow(
            self.nodes,
            statement(*_READ_CATALOGUE, *_WRITE_TABLES, on=[catalogue, *own]),
            statement(*_READ_CATALOGUE, on=[catalogue, *defaults, self._glue("table/default/*")]),
            statement("glue:CreateDatabase", on=[catalogue, defaults[0]]),
            statement("glue:GetUserDefinedFunctions", on=[catalogue, *defaults, own[0], *functions]),
            reason="Every table of one database: the jobs make them, and Hive and Spark look all of them up.",
        )
        if lake_formation:
            scope, on_database = Construct(self, "LakeFormation"), ("CREATE_TABLE", "DESCRIBE")
            grant_tables(scope, self.nodes.role_arn, database, on_database=on_database, on_tables=["ALL"])

    def may_read_secrets(self, arns: Sequence[str], *, reason: str) -> None:
        allow(self.nodes, statement("secretsmanager:GetSecretValue", on=arns), reason=reason)

    def may_publish_metrics(self, namespace: str) -> None:
        ours = {"StringEquals": {"cloudwatch:namespace": namespace}}
        reason = "PutMetricData knows no resources; the condition allows one namespace."
        allow(self.nodes, statement("cloudwatch:PutMetricData", on="*", when=ours), reason=reason)

    def _service(self) -> iam.Role:
        conditions = {
            "StringEquals": {"aws:SourceAccount": Stack.of(self).account},
            "ArnLike": {"aws:SourceArn": arn(self, "elasticmapreduce", "*")},
        }
        role = iam.Role(
            self,
            "Service",
            assumed_by=iam.ServicePrincipal("elasticmapreduce.amazonaws.com", conditions=conditions),
            managed_policies=[iam.ManagedPolicy.from_aws_managed_policy_name(_SERVICE_POLICY)],
        )
        to_ec2 = {"StringLike": {"iam:PassedToService": "ec2.amazonaws.com*"}}
        passing = statement("iam:PassRole", on=self.nodes.role_arn, when=to_ec2)
        allow(role, passing, reason="EMR starts the nodes with their role, and can hand no other to EC2.")
        acknowledge(
            role,
            f"AwsSolutions-IAM4[Policy::arn:<AWS::Partition>:iam::aws:policy/{_SERVICE_POLICY}]",
            reason="AWS's own policy for EMR, which AWS keeps in step with the service. It acts only on what is tagged "
            "for-use-with-amazon-emr-managed-policies: this cluster's subnet, groups and instances.",
        )
        return role

    def _may_list(self, bucket: str, prefix: str) -> None:
        below: Conditions | None = {"StringLike": {"s3:prefix": f"{prefix}*"}} if prefix else None
        name = bucket_arn(self, bucket)
        listing, place = statement("s3:ListBucket", on=name, when=below), statement("s3:GetBucketLocation", on=name)
        allow(self.nodes, listing, place, reason="Which objects there are, and where the bucket is.")

    def _glue(self, resource: str) -> str:
        return arn(self, "glue", resource)
