"""The guard: what a plain `cdk deploy` must not do either is refused in the first stack, and can be rolled back."""

import json
from collections.abc import Iterator
from typing import Any

import pytest
from botocore.stub import Stubber

from stacks.handlers import guard
from tests.stacks.handlers.clients import client
from tests.stacks.handlers.cloudformation import Stack, World, failing

FIRST = {"DBClusterIdentifier": "prod-cdc-lake"}
RESTORED = {"DBClusterIdentifier": "prod-cdc-lake-r1", "SnapshotIdentifier": "one"}
AGAIN = {"DBClusterIdentifier": "prod-cdc-lake-r2", "SourceDBClusterIdentifier": "prod-cdc-lake-r1"}
WANTED: dict[str, Any] = {
    "name": "prod",
    "refused": [],
    "paused": False,
    "resumes": False,
    "databaseStack": "prod-cdc-lake-database",
    "origin": FIRST,
}
UNPINNED = {"refused": ["no SHA-256 for debezium"]}
EXAMPLES = {"refused": [*UNPINNED["refused"], "account: 000000000000 is an example", "alarm_email: a@b.invalid is one"]}
PAUSED, RESUMES = {"paused": True}, {"resumes": True}


@pytest.fixture
def cloudformation() -> Iterator[Stubber]:
    with Stubber(client("cloudformation")) as stubber:
        yield stubber
        stubber.assert_no_pending_responses()


@pytest.fixture
def guarded(world: World) -> Stack:
    return Stack(world, guard, wanted=WANTED)


def answers(cloudformation: Stubber, cluster: dict[str, Any] | None, *, times: int = 1) -> None:
    """The next answers about the database's stack: its template, none yet, or that there is no stack."""
    asked = {"StackName": "prod-cdc-lake-database", "TemplateStage": "Original"}
    for _ in range(times):
        if cluster is None:
            said = "Stack with id prod-cdc-lake-database does not exist"
            cloudformation.add_client_error("get_template", "ValidationError", said, expected_params=asked)
        else:
            template = {"Resources": {"Database": {"Type": "AWS::RDS::DBCluster", "Properties": cluster}}}
            body = {"TemplateBody": json.dumps(template)} if cluster else {}
            cloudformation.add_response("get_template", body, asked)


@pytest.mark.parametrize(
    ("before", "change", "reason"),
    [
        ({}, {}, None),
        ({}, UNPINNED, "no SHA-256 for debezium"),
        (UNPINNED, UNPINNED, "no SHA-256 for debezium"),
        ({}, EXAMPLES, "no SHA-256 for debezium; account: 000000000000 is an example; alarm_email: a@b.invalid is one"),
        ({}, PAUSED, None),
        ({}, PAUSED | UNPINNED, "no SHA-256 for debezium"),
        (PAUSED, PAUSED, None),
        (PAUSED, {}, "prod is paused: `./lake aws resume -e prod` ends that"),
        (PAUSED, RESUMES, None),
        (RESUMES, {}, None),
        ({}, {"origin": RESTORED}, None),
        ({"origin": RESTORED}, {"origin": AGAIN}, None),
        ({"origin": RESTORED}, {}, "the cluster prod-cdc-lake-r1, with its data, would be replaced by an empty one"),
        (PAUSED | {"origin": RESTORED}, UNPINNED, "no SHA-256 for debezium; prod is paused"),
    ],
)
def test_a_change_is_refused_with_each_reason_and_rolled_back(
    cloudformation: Stubber, guarded: Stack, before: dict[str, Any], change: dict[str, Any], reason: str | None
) -> None:
    answers(cloudformation, None)
    guarded.create(WANTED | before | {"refused": []})
    answers(cloudformation, before.get("origin", FIRST), times=1 if reason is None else 2)
    # The rollback asks again.
    if reason is None:
        guarded.update(WANTED | change)
    else:
        assert reason in failing(guarded.update, WANTED | change)
    is_paused = "paused" in (change if reason is None else before)
    assert guarded.physical_id == f"prod/{'paused' if is_paused else 'guard'}"


def test_a_pause_that_fails_for_another_reason_is_rolled_back(cloudformation: Stubber, guarded: Stack) -> None:
    answers(cloudformation, None)
    guarded.create()
    cloudformation.add_client_error("get_template", "AccessDenied", "not authorized", 403)
    answers(cloudformation, FIRST)
    assert "GetTemplate: AccessDenied" in failing(guarded.update, WANTED | PAUSED)


@pytest.mark.parametrize("cluster", [None, {}, FIRST])
def test_a_first_deployment_is_refused_only_for_what_it_is_itself(
    cloudformation: Stubber, guarded: Stack, cluster: dict[str, Any] | None
) -> None:
    answers(cloudformation, cluster, times=2)
    assert "no SHA-256" in failing(guarded.create, WANTED | UNPINNED)
    guarded.create()
