"""Stacks' outputs and states, what deleted ones kept, and a person's VPN settings.

Moto answers for AWS; errors that it can't cause are raised instead, and the stubber knows stack protection, as moto
doesn't.
"""

import datetime
import json
from pathlib import Path
from typing import Any

import pytest
from botocore.client import BaseClient
from botocore.exceptions import ClientError, EndpointConnectionError, UnauthorizedSSOTokenError

from operate.deploy import write_mappings
from operate.errors import OperateError
from operate.outputs import check_account, check_unprotected, delete_failed_creations, output
from operate.vpn import connection
from settings.environment import Environment
from tests.operate.conftest import MOTOS_ACCOUNT, deploy, without_credentials
from tests.stacks.handlers.clients import client


@pytest.mark.usefixtures("aws")
@pytest.mark.parametrize(
    ("stack", "line"),
    [
        ("prod-cdc-lake-streaming", r"^there is no stack dev-cdc-lake-streaming .*./lake aws deploy -e dev"),
        ("dev-cdc-lake-streaming", r"no output BootstrapBrokers \(it is CREATE_COMPLETE\)"),
    ],
)
def test_what_isnt_deployed_yet_is_one_line(environment: Environment, stack: str, line: str) -> None:
    deploy(stack, ClusterArn="arn")
    with pytest.raises(OperateError, match=line):
        output(environment, "streaming", "BootstrapBrokers")


@pytest.mark.parametrize(
    ("profile", "line"),
    [(None, f"no AWS credentials for account {MOTOS_ACCOUNT}: log in"), ("nobodys", "could not be found: log in")],
)
def test_missing_credentials_are_one_line(
    environment: Environment, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, profile: str | None, line: str
) -> None:
    without_credentials(monkeypatch, tmp_path)
    if profile:
        monkeypatch.setenv("AWS_PROFILE", profile)
    with pytest.raises(OperateError, match=line):
        check_account(environment)


def refusal(code: str, message: str = "as AWS\nputs it") -> ClientError:
    return ClientError({"Error": {"Code": code, "Message": message}}, "GetCallerIdentity")


@pytest.mark.usefixtures("aws")
@pytest.mark.parametrize(
    ("error", "line"),
    [
        (refusal("ExpiredToken"), "your AWS credentials have expired: log in"),
        (UnauthorizedSSOTokenError(), "SSO session .* expired or is otherwise invalid.*: log in"),
        (refusal("InvalidClientTokenId"), r"AWS doesn't accept your credentials \(InvalidClientTokenId\)"),
        (refusal("AccessDenied"), "AWS refuses GetCallerIdentity: AccessDenied: as AWS puts it$"),
        (EndpointConnectionError(endpoint_url="https://sts"), "AWS in ap-southeast-2 can't be reached"),
    ],
)
def test_what_aws_refuses_is_one_line(
    environment: Environment, monkeypatch: pytest.MonkeyPatch, error: Exception, line: str
) -> None:
    def refuse(*_arguments: object) -> None:
        raise error

    monkeypatch.setattr(BaseClient, "_make_api_call", refuse)
    with pytest.raises(OperateError, match=line) as caught:
        check_account(environment)
    assert "\n" not in str(caught.value)


@pytest.fixture
def with_people(environment: Environment) -> Environment:
    return environment.model_copy(update={"vpn": environment.vpn.model_copy(update={"users": ("alice", "bob")})})


@pytest.mark.usefixtures("aws")
def test_she_gets_the_server_the_key_and_her_own_password_of_now(with_people: Environment) -> None:
    deploy("dev-cdc-lake-vpn", ServerAddress="203.0.113.9")
    secrets = client("secretsmanager")
    secrets.create_secret(Name="dev-cdc-lake/vpn/.pre-shared-key", SecretString="Key")
    secrets.create_secret(Name="dev-cdc-lake/vpn/alice", SecretString="Former")
    secrets.create_secret(Name="dev-cdc-lake/vpn/bob", SecretString="Bobs")
    secrets.put_secret_value(SecretId="dev-cdc-lake/vpn/alice", SecretString="Rotated")
    assert connection(with_people, "alice") == [
        ("server", "203.0.113.9"),
        ("pre-shared key", "Key"),
        ("user name", "alice"),
        ("password", "Rotated"),
    ]


@pytest.mark.parametrize("name", ["carol", ""])
def test_somebody_else_is_one_line_with_who_may(with_people: Environment, name: str) -> None:
    with pytest.raises(OperateError, match=r"names alice, bob; name one of these, or add it there and deploy$"):
        connection(with_people, name)


@pytest.mark.usefixtures("aws")
def test_a_secret_that_isnt_there_is_one_line(with_people: Environment) -> None:
    deploy("dev-cdc-lake-vpn", ServerAddress="203.0.113.9")
    with pytest.raises(OperateError, match=r"^AWS refuses GetSecretValue: ResourceNotFoundException"):
        connection(with_people, "alice")


NAME = "prod-cdc-lake-database"


def day(number: int) -> datetime.datetime:
    return datetime.datetime(2026, 11, number, tzinfo=datetime.UTC)


def stack(answers: Any, status: str, *, name: str = NAME, protected: bool = True) -> None:
    described: dict[str, Any] = {"StackName": name, "StackStatus": status, "CreationTime": day(1)}
    described["EnableTerminationProtection"] = protected
    answers.add_response("describe_stacks", {"Stacks": [described]}, {"StackName": name})


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
def test_a_protected_stack_whose_creation_failed_is_deleted_and_no_other(
    answers: Any, status: str, *, failed: bool
) -> None:
    stack(answers, status)
    if failed:
        wanted = {"StackName": NAME, "EnableTerminationProtection": False}
        answers.add_response("update_termination_protection", {"StackId": NAME}, wanted)
        answers.add_response("delete_stack", {}, {"StackName": NAME})
        gone(answers, NAME)
    assert delete_failed_creations(answers.client, [NAME]) == ([NAME] if failed else [])


def test_what_a_rollback_could_not_remove_is_named(answers: Any) -> None:
    stack(answers, "ROLLBACK_FAILED", protected=False)
    found = [resource("Database", "DELETE_FAILED"), resource("Access", "DELETE_COMPLETE")]
    answers.add_response("describe_stack_resources", {"StackResources": found}, {"StackName": NAME})
    with pytest.raises(OperateError, match=r"couldn't remove Database \(Database-1\): delete that by hand") as error:
        delete_failed_creations(answers.client, [NAME])
    assert "Access" not in str(error.value)
    assert f"aws cloudformation delete-stack --stack-name {NAME}" in str(error.value)


def test_a_stack_that_is_not_there_or_not_protected_is_no_failure(answers: Any) -> None:
    for _ in range(2):
        gone(answers, NAME)
    assert delete_failed_creations(answers.client, [NAME]) == []
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


def gone(answers: Any, name: str = LAKE) -> None:
    answers.add_client_error("describe_stacks", "ValidationError", f"Stack with id {name} does not exist")


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
    stack(answers, "CREATE_COMPLETE", name=LAKE)
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
    stack(answers, "REVIEW_IN_PROGRESS", name=LAKE)
    deleted(answers, "a")
    kept_resources(answers, "a", *OF_ALL_KINDS)
    assert list(write_mappings(answers.client, TEMPLATES, tmp_path)) == [LAKE]
