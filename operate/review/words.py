"""Actions, conditions and findings in words."""

import json
import re
from collections.abc import Iterable, Iterator

from operate.review.rows import grouped
from stacks.gate.template import as_list, written

# Services' common names, by action prefix.
_SERVICES = """
athena=Athena; autoscaling=Auto Scaling; cloudwatch=CloudWatch; ec2=EC2; eks=EKS; elasticmapreduce=EMR; glue=Glue;
iam=IAM; kafka=MSK; kafka-cluster=Kafka; kafkaconnect=MSK Connect; kms=KMS; lakeformation=Lake Formation; lambda=Lambda;
logs=CloudWatch Logs; quicksight=QuickSight; rds=RDS; s3=S3; secretsmanager=Secrets Manager; sns=SNS;
ssm=Systems Manager; ssmmessages=Session Manager; states=Step Functions; sts=STS
"""
SERVICES = dict(each.strip().split("=") for each in _SERVICES.split(";"))
# Acknowledged findings of cdk-nag and CDK, in a sentence from their documentation.
RULES = {
    "AwsSolutions-EC23": "a security group lets everyone in",
    "AwsSolutions-EC28": "an instance without detailed monitoring",
    "AwsSolutions-EC29": "an instance without termination protection",
    "AwsSolutions-EKS1": "a Kubernetes API that is reached from outside the VPC",
    "AwsSolutions-EMR4": "EMR without encryption of local disks",
    "AwsSolutions-EMR5": "EMR without encryption between its nodes",
    "AwsSolutions-IAM4": "a policy that AWS keeps, not us",
    "AwsSolutions-IAM5": "a wildcard in a policy",
    "AwsSolutions-L1": "a Lambda runtime that isn't the newest",
    "AwsSolutions-RDS10": "a database without deletion protection",
    "AwsSolutions-SF1": "a state machine that doesn't log everything",
    "AwsSolutions-SF2": "a state machine without X-Ray",
    "AwsSolutions-SMG4": "a secret without rotation",
    "F3002": "a property that CloudFormation's schema doesn't know",
    "F3003": "a property that CloudFormation's schema requires",
    "W3010": "availability zones by name",
}
_READS = re.compile(r"(BatchGet|Get|List|Describe|Head|Read)")
_CHANGES = re.compile(r"(BatchCreate|BatchUpdate|Create|Put|Write|Update|Modify|Alter|Add|Remove|Tag|Untag|Abort)")
_DELETES = re.compile(r"(BatchDelete|Delete)")
# Actions listed by name: reading a secret's value, opening something to others, passing on a right.
_SPELLED = re.compile(
    r"GetSecretValue|(?!Get|List|Describe).*(Policy|Role|Permission|Acl|SecretValue|SecurityGroup|Password|AccessKey|Grant)"
)
_OPERATORS = {
    "ArnEquals": "is",
    "ArnLike": "is like",
    "Bool": "is",
    "StringEquals": "is",
    "StringEqualsIfExists": "is missing or",
    "StringLike": "is like",
    "StringNotEquals": "isn't",
}


def in_words(actions: Iterable[str]) -> tuple[str, ...]:
    """Describe the actions for each service: reads, changes, deletes, and by name those that are neither."""
    by_service = grouped((service, name) for service, _, name in (action.partition(":") for action in actions))
    return tuple(
        f"{SERVICES.get(service, service)}: {', '.join(dict.fromkeys(_kinds(names)))}"
        for service, names in sorted(by_service.items())
    )


def _kinds(names: list[str]) -> Iterator[str]:
    kinds = {"reads": _READS, "changes": _CHANGES, "deletes": _DELETES}
    plain = [name for name in names if not _SPELLED.match(name)]
    for word, pattern in kinds.items():
        if any(pattern.match(name) for name in plain):
            yield word
    for name in names:
        if name not in plain or not any(pattern.match(name) for pattern in kinds.values()):
            yield spelled(name)


def spelled(name: str) -> str:
    """Split a name into its words: `InvokeFunction` is "invoke function", and `CREATE_TABLE` "create table"."""
    return re.sub(r"(?<=[a-z])(?=[A-Z])|_", " ", name).lower()


def condition_in_words(condition: str) -> str:
    """Describe a statement's condition, which stacks/gate gives as JSON; empty if there is none."""
    if not condition:
        return ""
    found: dict[str, dict[str, object]] = json.loads(condition)
    return " and ".join(
        _clause(operator, key, value) for operator, keys in found.items() for key, value in keys.items()
    )


def _clause(operator: str, key: str, value: object) -> str:
    quantity, _, name = operator.rpartition(":")
    if name == "Null":
        return f"{key} is {'missing' if str(value).lower() == 'true' else 'given'}"
    each = {"ForAllValues": "each of ", "ForAnyValue": "one of "}.get(quantity, "")
    texts = [written(text) for text in as_list(value)]
    return f"{each}{key} {_OPERATORS.get(name, spelled(name))} {' or '.join(texts)}"


def rule_in_words(rule: str) -> str:
    """Name a finding's rule without its resource, with an explanation where known."""
    name = rule.partition("[")[0]
    return f"{name}: {RULES[name]}" if name in RULES else name
