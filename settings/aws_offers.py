"""AWS's values for services that CloudFormation doesn't check before it deploys.

From the services' documentation, read in November 2026. To support a newer value, add it here.
"""

from dataclasses import dataclass

# Amazon MSK developer guide, "Supported Apache Kafka versions"; `.kraft` runs without ZooKeeper.
MSK_KAFKA_VERSIONS = ("3.7.x", "3.7.x.kraft", "3.8.x", "3.8.x.kraft", "3.9.x", "3.9.x.kraft")

# Amazon MSK developer guide, "Amazon MSK quota": it takes 4 new connections with IAM a second, and bursts, where
# the others take 100. settings/rules/network.py derives the consequences.
MSK_SMALL_BROKER = "kafka.t3.small"
# Amazon MSK developer guide, "Broker types".
MSK_BROKER_TYPES = (
    MSK_SMALL_BROKER,
    *(f"kafka.{family}.{size}" for family in ("m5", "m7g") for size in ("large", "xlarge", "2xlarge", "4xlarge")),
)

# Amazon MSK developer guide, "Best practices for Standard brokers": the maximum number of partitions, replicas
# included, with which a broker can still be updated.
MSK_PARTITIONS_PER_BROKER = {MSK_SMALL_BROKER: 300} | {
    f"kafka.{family}.{size}": most
    for family in ("m5", "m7g")
    for size, most in (("large", 1_500), ("xlarge", 1_500), ("2xlarge", 3_000), ("4xlarge", 6_000))
}

# Amazon MSK developer guide, "MSK Connect quota" (Amazon MSK quota): workers of an account in a region, and custom
# plugins; as many worker configurations.
MSK_CONNECT_WORKERS = 60
MSK_CONNECT_PLUGINS = 100

# max_replication_slots of Aurora PostgreSQL 16's parameter groups, which ours doesn't change (Aurora user guide,
# "Aurora PostgreSQL cluster-level parameters"). Some are reserved for others: a DMS task, or a blue/green deployment,
# which takes a slot per database while it lasts ("Overview of Amazon Aurora Blue/Green Deployments").
AURORA_REPLICATION_SLOTS = 20
RESERVED_SLOTS = 2

# Amazon MSK developer guide, "MSK Connect". It also has 2.7.1, on Java 11: too old for Debezium 3.
MSK_CONNECT_VERSIONS = ("3.7.x",)

# EKS user guide, "Kubernetes versions on standard support", those that the manifests are tested against.
EKS_VERSIONS = ("1.33", "1.34")

# PostgreSQL 16 versions available to new clusters (cfn-lint 1.58: 16.6 and older aren't): the outbox's SQL is tested
# on 16.
AURORA_POSTGRESQL_VERSIONS = ("16.8", "16.9", "16.10", "16.11", "16.13")

# Aurora user guide, "DB instance classes", those suitable for a change-data-capture source.
AURORA_INSTANCE_CLASSES = (
    "t4g.medium",
    "t4g.large",
    *(f"{family}.{size}" for family in ("r6g", "r7g") for size in ("large", "xlarge", "2xlarge", "4xlarge")),
)

# EC2 user guide, "Regions and zones": a region's letters. Which building each means differs by account.
ZONES = {"ap-southeast-2": ("a", "b", "c")}

_SIZES = ("nano", "micro", "small", "medium", "large")
# Burstable: neither does much; CDK chooses the image by the family's architecture.
NAT_INSTANCE_TYPES = tuple(f"{family}.{size}" for family in ("t3", "t4g") for size in _SIZES)
# plugins/releases/versions.toml has SoftEther for x86-64: no t4g.
VPN_INSTANCE_TYPES = tuple(f"t3.{size}" for size in _SIZES)

# AWS PrivateLink guide, "AWS services that integrate", those called from the VPC: by the connectors
# (logs, secretsmanager, sts), the source preparation (rds, secretsmanager), the topics' handler (kafka), EMR and its
# jobs (elasticmapreduce, glue, kms, logs, monitoring, sts), Session Manager's agents (ec2messages, ssm, ssmmessages).
ENDPOINTS = (
    "ec2messages",
    "elasticmapreduce",
    "glue",
    "kafka",
    "kms",
    "logs",
    "monitoring",
    "rds",
    "secretsmanager",
    "ssm",
    "ssmmessages",
    "sts",
)


# EMR's releases with their versions, and its instance types per region, as plain data.
#
# cfn-lint knows neither, and a wrong one fails only after minutes of deploying. To support another release or type,
# look it up (`aws emr list-supported-instance-types --release-label emr-7.10.0 --region ap-southeast-2`) and add it
# here.


@dataclass(frozen=True)
class Release:
    """The versions in a release that the job depends on."""

    spark: str
    hudi: str
    python: str


# EMR release guide, "Application versions in Amazon EMR 7.x releases" and "Hudi release history". Only releases
# whose tables Athena reads: Hudi up to 0.15. Those with 1.0 (from emr-7.11.0 on) must be tried on a cluster first.
RELEASES = {
    "emr-7.8.0": Release(spark="3.5.4", hudi="0.15.0", python="3.11"),
    "emr-7.9.0": Release(spark="3.5.5", hudi="0.15.0", python="3.11"),
    "emr-7.10.0": Release(spark="3.5.5", hudi="0.15.0", python="3.11"),
}

APPLICATIONS = frozenset({"Hadoop", "Hive", "Hue", "Livy", "Presto", "Spark", "Trino"})

# Default MB for YARN's containers (EMR release guide, "Task configuration", yarn.nodemanager.resource.memory-mb).
YARN_MEMORY_MB = {
    "m5.xlarge": 12_288,
    "m5.2xlarge": 24_576,
    "m5.4xlarge": 57_344,
    "m6g.xlarge": 12_288,
    "m6g.2xlarge": 24_576,
    "m6g.4xlarge": 57_344,
    "r5.xlarge": 24_576,
    "r5.2xlarge": 57_344,
    "r5.4xlarge": 122_880,
}

# EMR management guide, "Supported instance types", those that EC2 offers in the region. In these families EMR
# starts at xlarge: there is no m5.large.
INSTANCE_TYPES = {
    "ap-southeast-2": frozenset(
        f"{family}.{size}" for family in ("m5", "m6g", "r5") for size in ("xlarge", "2xlarge", "4xlarge")
    ),
}
