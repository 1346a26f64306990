"""AWS's values for services that CloudFormation doesn't check before it deploys.

From the services' documentation, read in November 2026. To support a newer value, add it here.
"""

# Amazon MSK developer guide, "Supported Apache Kafka versions"; `.kraft` runs without ZooKeeper.
MSK_KAFKA_VERSIONS = ("3.7.x", "3.7.x.kraft", "3.8.x", "3.8.x.kraft", "3.9.x", "3.9.x.kraft")

# Amazon MSK developer guide, "Amazon MSK quota": it takes 4 new connections with IAM a second, and bursts, where
# the others take 100. settings/rules/services.py derives the consequences.
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
