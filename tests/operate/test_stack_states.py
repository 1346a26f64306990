"""How `./lake aws deploy` and `./lake aws destroy` react to stacks' states in CloudFormation.

botocore's stubber checks requests and answers against the service's model; moto lacks stack protection.
"""

import datetime
from typing import Any

import pytest

from operate.errors import OperateError
from operate.outputs import check_unprotected, clear_failed_creations

NAME = "prod-cdc-lake-database"


def stack(answers: Any, status: str, *, protected: bool = True) -> None:
    described = {
        "StackName": NAME,
        "StackStatus": status,
        "CreationTime": datetime.datetime(2026, 11, 1, tzinfo=datetime.UTC),
        "EnableTerminationProtection": protected,
    }
    answers.add_response("describe_stacks", {"Stacks": [described]}, {"StackName": NAME})


def unprotected(answers: Any) -> None:
    wanted = {"StackName": NAME, "EnableTerminationProtection": False}
    answers.add_response("update_termination_protection", {"StackId": NAME}, wanted)


def resource(logical_id: str, status: str) -> dict[str, Any]:
    return {
        "LogicalResourceId": logical_id,
        "PhysicalResourceId": f"{logical_id}-1",
        "ResourceType": "AWS::RDS::DBCluster",
        "ResourceStatus": status,
        "Timestamp": datetime.datetime(2026, 11, 1, tzinfo=datetime.UTC),
    }


def test_a_stack_whose_creation_failed_loses_its_protection_so_that_cdk_can_delete_it(
    service: Any, answers: Any
) -> None:
    stack(answers, "ROLLBACK_COMPLETE")
    unprotected(answers)
    assert clear_failed_creations(service, [NAME]) == [NAME]


@pytest.mark.parametrize("status", ["CREATE_COMPLETE", "UPDATE_ROLLBACK_COMPLETE", "UPDATE_ROLLBACK_FAILED"])
def test_a_stack_that_was_once_there_keeps_its_protection(service: Any, answers: Any, status: str) -> None:
    stack(answers, status)
    assert clear_failed_creations(service, [NAME]) == []


def test_what_a_rollback_could_not_remove_is_named(service: Any, answers: Any) -> None:
    stack(answers, "ROLLBACK_FAILED", protected=False)
    found = [resource("Database", "DELETE_FAILED"), resource("Access", "DELETE_COMPLETE")]
    answers.add_response("describe_stack_resources", {"StackResources": found}, {"StackName": NAME})
    with pytest.raises(OperateError, match=r"couldn't remove Database \(Database-1\): delete that by hand") as error:
        clear_failed_creations(service, [NAME])
    assert "Access" not in str(error.value)
    assert f"aws cloudformation delete-stack --stack-name {NAME}" in str(error.value)


def test_a_stack_that_is_not_there_is_no_failure(service: Any, answers: Any) -> None:
    for _ in range(2):
        answers.add_client_error("describe_stacks", "ValidationError", f"Stack with id {NAME} does not exist")
    assert clear_failed_creations(service, [NAME]) == []
    check_unprotected(service, [NAME])


def test_protected_stacks_are_not_deleted_and_the_line_says_how(service: Any, answers: Any) -> None:
    stack(answers, "CREATE_COMPLETE")
    with pytest.raises(OperateError, match="1 stacks are protected from deletion") as error:
        check_unprotected(service, [NAME])
    assert "--no-enable-termination-protection --stack-name $stack" in str(error.value)
    assert NAME in str(error.value)
    assert "\n" not in str(error.value)


def test_unprotected_stacks_may_go(service: Any, answers: Any) -> None:
    stack(answers, "CREATE_COMPLETE", protected=False)
    check_unprotected(service, [NAME])
