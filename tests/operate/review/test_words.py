"""Actions, conditions and rules in words."""

import json

import pytest

from operate.review.material import siblings
from operate.review.words import condition_in_words, in_words, rule_in_words

# It comes with CDK.
pytestmark = pytest.mark.synth


def test_actions_are_said_by_service_as_what_they_do() -> None:
    assert in_words(["s3:GetObject", "s3:ListBucket", "s3:PutObject", "kafka-cluster:ReadData"]) == (
        "Kafka: reads",
        "S3: reads, changes",
    )
    assert in_words(["glue:BatchDeletePartition", "rds:AddTagsToResource"]) == ("Glue: deletes", "RDS: changes")


@pytest.mark.parametrize(
    ("action", "words"),
    [
        ("iam:PassRole", "IAM: pass role"),
        ("s3:PutBucketPolicy", "S3: put bucket policy"),
        ("secretsmanager:GetSecretValue", "Secrets Manager: get secret value"),
        ("kms:Decrypt", "KMS: decrypt"),
        ("ec2:AuthorizeSecurityGroupIngress", "EC2: authorize security group ingress"),
        ("iam:*", "IAM: *"),
        ("nobody:Knows", "nobody: knows"),
    ],
)
def test_what_hands_on_rights_opens_or_is_unknown_is_said_by_name(action: str, words: str) -> None:
    assert in_words([action]) == (words,)


@pytest.mark.parametrize(
    ("condition", "words"),
    [
        ({"Null": {"aws:RequestTag/owner": "false"}}, "aws:RequestTag/owner is given"),
        ({"StringEquals": {"cloudwatch:namespace": "x"}}, "cloudwatch:namespace is x"),
        ({"ForAllValues:StringLike": {"aws:TagKeys": ["a-*", "b"]}}, "each of aws:TagKeys is like a-* or b"),
        ({"Bool": {"aws:SecureTransport": True}}, "aws:SecureTransport is true"),
        ({"ArnLike": {"aws:SourceArn": {"Fn::GetAtt": ["Lake", "Arn"]}}}, "aws:SourceArn is like <Lake.Arn>"),
        ({"NumericLessThan": {"aws:x": "1"}}, "aws:x numeric less than 1"),
    ],
)
def test_a_condition_is_a_clause(condition: dict[str, object], words: str) -> None:
    assert condition_in_words(json.dumps(condition)) == words
    assert condition_in_words("") == ""


def test_a_rule_says_what_it_found_without_the_resource() -> None:
    assert rule_in_words("AwsSolutions-IAM5[Resource::<A.Arn>:*]") == "AwsSolutions-IAM5: a wildcard in a policy"
    assert rule_in_words("AwsSolutions-XYZ9") == "AwsSolutions-XYZ9"


def test_names_of_one_place_are_said_together() -> None:
    assert siblings(["a/H/OnEvent", "b/R", "a/H/IsComplete", "a/H/OnEvent", "alone"]) == (
        "a/H/IsComplete and OnEvent",
        "alone",
        "b/R",
    )
