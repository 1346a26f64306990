"""AWS's values for services that CloudFormation doesn't check before it deploys.

From the services' documentation, read in November 2026. To support a newer value, add it here; versions that end are
in facts.toml, with the day.
"""

import datetime
import tomllib
from pathlib import Path
from typing import Literal

from settings.section import Section

UNKNOWN: Literal["unknown"] = "unknown"


class Facts(Section):
    """A group's values with the day on which each ends, where and when that was read, and what to do before."""

    source: str
    read: datetime.date
    then: str
    ends: dict[str, datetime.date | Literal["unknown"]]


_TEXT = Path(__file__).with_name("facts.toml").read_text(encoding="utf-8")
FACTS = {group: Facts.model_validate(facts) for group, facts in tomllib.loads(_TEXT).items()}
_OFFERED = {group: tuple(facts.ends) for group, facts in FACTS.items()}

# `.kraft` runs without ZooKeeper.
MSK_KAFKA_VERSIONS = tuple(f"{version}{mode}" for version in _OFFERED["kafka"] for mode in ("", ".kraft"))

# Amazon MSK developer guide, "Amazon MSK quota": it takes 4 new connections with IAM a second, and bursts, where
# the others take 100. settings/rules/network.py derives the consequences.
MSK_SMALL_BROKER = "kafka.t3.small"
# Amazon MSK developer guide, "Broker types" and "Best practices for Standard brokers": the maximum number of
# partitions, replicas included, with which a broker of a type can still be updated.
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

MSK_CONNECT_VERSIONS = _OFFERED["kafka-connect"]
# Versions that MSK Connect has and we refuse, with the reason.
MSK_CONNECT_REFUSED = {"2.7.1": "runs Java 11 on MSK Connect, and Debezium 3 needs Java 17"}

# On standard support: afterwards a cluster costs six times as much. The manifests are tested against each.
EKS_VERSIONS = _OFFERED["eks"]

# PostgreSQL 16 versions available to new clusters: the outbox's SQL is tested on 16.
AURORA_POSTGRESQL_VERSIONS = _OFFERED["aurora"]

# Aurora user guide, "DB instance classes", those suitable for a change-data-capture source.
AURORA_INSTANCE_CLASSES = (
    "t4g.medium",
    "t4g.large",
    *(f"{family}.{size}" for family in ("r6g", "r7g") for size in ("large", "xlarge", "2xlarge", "4xlarge")),
)

# The regions that are supported, each synthesized in a test, and their zones' letters (EC2 user guide, "Regions and
# zones"). Which building a letter means differs by account in us-east-1 and other older regions, and a new account may
# lack one: `./lake aws deploy` asks EC2 (operate/account.py).
ZONES = {
    "ap-southeast-1": "abc",
    "ap-southeast-2": "abc",
    "eu-central-1": "abc",
    "eu-west-1": "abc",
    "us-east-1": "abcdef",
    "us-west-2": "abcd",
}

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


# EMR's releases with the job's Python, and its instance types. cfn-lint knows neither, and a wrong one fails only after
# minutes of deploying.
#
# EMR release guide, "Application versions in Amazon EMR 7.x releases" and "Hudi release history": Spark 3.5.4
# (emr-7.8.0) or 3.5.5, and Hudi 0.15.0. Only releases whose tables Athena reads: Hudi up to 0.15. Those with 1.0 (from
# emr-7.11.0 on) must be tried on a cluster first.
RELEASES = {"emr-7.8.0": "3.11", "emr-7.9.0": "3.11", "emr-7.10.0": "3.11"}

APPLICATIONS = frozenset({"Hadoop", "Hive", "Hue", "Livy", "Presto", "Spark", "Trino"})

# Instance types (EMR management guide, "Supported instance types") with their default MB for YARN's containers (EMR
# release guide, "Task configuration", yarn.nodemanager.resource.memory-mb). In these families EMR starts at xlarge:
# there is no m5.large. EC2 offers all of them in every region of ZONES (moto's copy of EC2's offerings), but not in
# each zone of us-east-1: EMR and EC2 are asked at `./lake aws deploy`.
_GENERAL, _MEMORY = (12_288, 24_576, 57_344), (24_576, 57_344, 122_880)
YARN_MEMORY_MB = {
    f"{family}.{size}": megabytes
    for family, sizes in {"m5": _GENERAL, "m6g": _GENERAL, "r5": _MEMORY}.items()
    for size, megabytes in zip(("xlarge", "2xlarge", "4xlarge"), sizes, strict=True)
}
