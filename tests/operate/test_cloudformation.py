"""Stacks' states in CloudFormation, and importing what deleted ones kept; moto lacks stack protection."""

import datetime
import json
from pathlib import Path
from typing import Any

import pytest

from operate.deploy import write_mappings
from operate.errors import OperateError
from operate.outputs import check_unprotected, clear_failed_creations

NAME = "prod-cdc-lake-database"


def day(number: int) -> datetime.datetime:
    return datetime.datetime(2026, 11, number, tzinfo=datetime.UTC)


def stack(answers: Any, status: str, *, protected: bool = True) -> None:
    described: dict[str, Any] = {"StackName": NAME, "StackStatus": status, "CreationTime": day(1)}
    described["EnableTerminationProtection"] = protected
    answers.add_response("describe_stacks", {"Stacks": [described]}, {"StackName": NAME})


def resource(logical_id: str, status: str) -> dict[str, Any]:
    return {
        "LogicalResourceId": logical_id,
        "PhysicalResourceId": f"{logical_id}-1",
        "ResourceType": "AWS::RDS::DBCluster",
        "ResourceStatus": status,
        "Timestamp": day(1),
    }


@pytest.mark.parametrize(
    ("status", "failed"),
    [
        ("ROLLBACK_COMPLETE", True),
        ("CREATE_COMPLETE", False),
        ("UPDATE_ROLLBACK_COMPLETE", False),
        ("UPDATE_ROLLBACK_FAILED", False),
    ],
)
def test_a_stack_whose_creation_failed_loses_its_protection_and_no_other(
    answers: Any, status: str, *, failed: bool
) -> None:
    stack(answers, status)
    if failed:
        wanted = {"StackName": NAME, "EnableTerminationProtection": False}
        answers.add_response("update_termination_protection", {"StackId": NAME}, wanted)
    assert clear_failed_creations(answers.client, [NAME]) == ([NAME] if failed else [])


def test_what_a_rollback_could_not_remove_is_named(answers: Any) -> None:
    stack(answers, "ROLLBACK_FAILED", protected=False)
    found = [resource("Database", "DELETE_FAILED"), resource("Access", "DELETE_COMPLETE")]
    answers.add_response("describe_stack_resources", {"StackResources": found}, {"StackName": NAME})
    with pytest.raises(OperateError, match=r"couldn't remove Database \(Database-1\): delete that by hand") as error:
        clear_failed_creations(answers.client, [NAME])
    assert "Access" not in str(error.value)
    assert f"aws cloudformation delete-stack --stack-name {NAME}" in str(error.value)


def test_a_stack_that_is_not_there_or_not_protected_is_no_failure(answers: Any) -> None:
    for _ in range(2):
        answers.add_client_error("describe_stacks", "ValidationError", f"Stack with id {NAME} does not exist")
    assert clear_failed_creations(answers.client, [NAME]) == []
    check_unprotected(answers.client, [NAME])
    stack(answers, "CREATE_COMPLETE", protected=False)
    check_unprotected(answers.client, [NAME])


def test_protected_stacks_are_not_deleted_and_the_line_says_how(answers: Any) -> None:
    stack(answers, "CREATE_COMPLETE")
    with pytest.raises(OperateError, match="1 stacks are protected from deletion") as error:
        check_unprotected(answers.client, [NAME])
    assert "--no-enable-termination-protection --stack-name $stack" in str(error.value)
    assert NAME in str(error.value)
    assert "\n" not in str(error.value)


LAKE = "prod-cdc-lake-lake"
TEMPLATES = {
    LAKE: {
        "Resources": {
            "Lake": {"Type": "AWS::S3::Bucket"},
            "Key": {"Type": "AWS::KMS::Key"},
            "Cluster": {"Type": "AWS::MSK::Cluster"},
            "Policy": {"Type": "AWS::S3::BucketPolicy"},
        }
    }
}
ARN = "arn:aws:kafka:ap-southeast-2:222222222222:cluster/prod-cdc-lake/1-2"


def gone(answers: Any) -> None:
    answers.add_client_error("describe_stacks", "ValidationError", f"Stack with id {LAKE} does not exist")


def deleted(answers: Any, *ids: str) -> None:
    summaries = [
        {
            "StackId": f"arn:{id_}",
            "StackName": name,
            "CreationTime": day(1),
            "DeletionTime": day(number),
            "StackStatus": "DELETE_COMPLETE",
        }
        for number, (id_, name) in enumerate([*((id_, LAKE) for id_ in ids), ("other", "dev-cdc-lake-lake")], start=2)
    ]
    answers.add_response("list_stacks", {"StackSummaries": summaries}, {"StackStatusFilter": ["DELETE_COMPLETE"]})


def kept_resources(answers: Any, id_: str, *found: tuple[str, str, str, str]) -> None:
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


OF_ALL_KINDS = [
    ("Lake", "AWS::S3::Bucket", "prod-lake", "DELETE_SKIPPED"),
    ("Cluster", "AWS::MSK::Cluster", ARN, "DELETE_SKIPPED"),
    ("Policy", "AWS::S3::BucketPolicy", "p", "DELETE_COMPLETE"),
]
OF_AN_ATTEMPT = ("Key", "AWS::KMS::Key", "k-2", "DELETE_COMPLETE")


@pytest.mark.parametrize(
    ("stacks", "kept"),
    [
        ({"a": OF_ALL_KINDS}, {"Lake": {"BucketName": "prod-lake"}, "Cluster": {"Arn": ARN}}),
        (
            {"kept": [("Key", "AWS::KMS::Key", "k-1", "DELETE_SKIPPED")], "failed": [OF_AN_ATTEMPT]},
            {"Key": {"KeyId": "k-1"}},
        ),
    ],
    ids=["by what identifies its type", "before an attempt that kept nothing"],
)
def test_what_was_kept_is_named(answers: Any, tmp_path: Path, stacks: Any, kept: Any) -> None:
    gone(answers)
    deleted(answers, *stacks)
    for id_ in reversed(stacks):
        kept_resources(answers, id_, *stacks[id_])
    written = write_mappings(answers.client, TEMPLATES, tmp_path)
    assert json.loads(written[LAKE].read_text()) == kept


def test_a_stack_that_is_there_or_never_was_has_kept_nothing(answers: Any, tmp_path: Path) -> None:
    described = {"StackName": LAKE, "StackStatus": "CREATE_COMPLETE", "CreationTime": day(1)}
    answers.add_response("describe_stacks", {"Stacks": [described]}, {"StackName": LAKE})
    assert write_mappings(answers.client, TEMPLATES, tmp_path) == {}
    gone(answers)
    deleted(answers)
    assert write_mappings(answers.client, TEMPLATES, tmp_path) == {}
    assert list(tmp_path.iterdir()) == []


def test_what_has_no_place_in_the_template_is_not_forgotten(answers: Any, tmp_path: Path) -> None:
    gone(answers)
    deleted(answers, "a")
    kept_resources(answers, "a", ("Old", "AWS::S3::Bucket", "prod-old", "DELETE_SKIPPED"))
    line = r"has kept Old \(AWS::S3::Bucket, prod-old\), which its template doesn't have"
    with pytest.raises(OperateError, match=line):
        write_mappings(answers.client, TEMPLATES, tmp_path)


def test_a_stack_that_waits_for_its_change_set_is_adopted(answers: Any, tmp_path: Path) -> None:
    described = {"StackName": LAKE, "StackStatus": "REVIEW_IN_PROGRESS", "CreationTime": day(1)}
    answers.add_response("describe_stacks", {"Stacks": [described]}, {"StackName": LAKE})
    deleted(answers, "a")
    kept_resources(answers, "a", *OF_ALL_KINDS)
    assert list(write_mappings(answers.client, TEMPLATES, tmp_path)) == [LAKE]
