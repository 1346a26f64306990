"""Importing what deleted stacks kept; botocore's stubber checks requests and answers against its model."""

import datetime
import json
from pathlib import Path
from typing import Any

import pytest

from operate.deploy import write_mappings
from operate.errors import OperateError

STACK = "prod-cdc-lake-lake"
TEMPLATES = {
    STACK: {
        "Resources": {
            "Lake": {"Type": "AWS::S3::Bucket"},
            "Key": {"Type": "AWS::KMS::Key"},
            "Cluster": {"Type": "AWS::MSK::Cluster"},
            "Policy": {"Type": "AWS::S3::BucketPolicy"},
        }
    }
}
ARN = "arn:aws:kafka:ap-southeast-2:222222222222:cluster/prod-cdc-lake/1-2"


def day(number: int) -> datetime.datetime:
    return datetime.datetime(2026, 11, number, tzinfo=datetime.UTC)


def gone(answers: Any) -> None:
    answers.add_client_error("describe_stacks", "ValidationError", f"Stack with id {STACK} does not exist")


def deleted(answers: Any, *ids: str) -> None:
    summaries = [
        {
            "StackId": f"arn:{id_}",
            "StackName": name,
            "CreationTime": day(1),
            "DeletionTime": day(number),
            "StackStatus": "DELETE_COMPLETE",
        }
        for number, (id_, name) in enumerate([*((id_, STACK) for id_ in ids), ("other", "dev-cdc-lake-lake")], start=2)
    ]
    answers.add_response("list_stacks", {"StackSummaries": summaries}, {"StackStatusFilter": ["DELETE_COMPLETE"]})


def resources(answers: Any, id_: str, *found: tuple[str, str, str, str]) -> None:
    summaries = [
        {
            "LogicalResourceId": logical_id,
            "ResourceType": type_,
            "PhysicalResourceId": physical_id,
            "ResourceStatus": status,
            "LastUpdatedTimestamp": day(1),
        }
        for logical_id, type_, physical_id, status in found
    ]
    answers.add_response("list_stack_resources", {"StackResourceSummaries": summaries}, {"StackName": f"arn:{id_}"})


def test_what_was_kept_is_named_by_what_identifies_its_type(service: Any, answers: Any, tmp_path: Path) -> None:
    gone(answers)
    deleted(answers, "a")
    resources(
        answers,
        "a",
        ("Lake", "AWS::S3::Bucket", "prod-lake", "DELETE_SKIPPED"),
        ("Cluster", "AWS::MSK::Cluster", ARN, "DELETE_SKIPPED"),
        ("Policy", "AWS::S3::BucketPolicy", "p", "DELETE_COMPLETE"),
    )
    written = write_mappings(service, TEMPLATES, tmp_path)
    assert json.loads(written[STACK].read_text()) == {"Lake": {"BucketName": "prod-lake"}, "Cluster": {"Arn": ARN}}


def test_an_attempt_that_kept_nothing_does_not_hide_the_stack_before_it(
    service: Any, answers: Any, tmp_path: Path
) -> None:
    gone(answers)
    deleted(answers, "kept", "failed")
    resources(answers, "failed", ("Key", "AWS::KMS::Key", "k-2", "DELETE_COMPLETE"))
    resources(answers, "kept", ("Key", "AWS::KMS::Key", "k-1", "DELETE_SKIPPED"))
    written = write_mappings(service, TEMPLATES, tmp_path)
    assert json.loads(written[STACK].read_text()) == {"Key": {"KeyId": "k-1"}}


def test_a_stack_that_is_there_needs_nothing(service: Any, answers: Any, tmp_path: Path) -> None:
    described = {"StackName": STACK, "StackStatus": "CREATE_COMPLETE", "CreationTime": day(1)}
    answers.add_response("describe_stacks", {"Stacks": [described]}, {"StackName": STACK})
    assert write_mappings(service, TEMPLATES, tmp_path) == {}


def test_a_stack_that_never_was_has_kept_nothing(service: Any, answers: Any, tmp_path: Path) -> None:
    gone(answers)
    deleted(answers)
    assert write_mappings(service, TEMPLATES, tmp_path) == {}
    assert list(tmp_path.iterdir()) == []


def test_what_has_no_place_in_the_template_is_not_forgotten(service: Any, answers: Any, tmp_path: Path) -> None:
    gone(answers)
    deleted(answers, "a")
    resources(answers, "a", ("Old", "AWS::S3::Bucket", "prod-old", "DELETE_SKIPPED"))
    with pytest.raises(
        OperateError, match=r"has kept Old \(AWS::S3::Bucket, prod-old\), which its template doesn't have"
    ):
        write_mappings(service, TEMPLATES, tmp_path)
