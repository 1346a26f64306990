"""Grants as Kafka's ACLs: each action as AWS documents it, each name as Kafka allows it."""

import pytest

from local.services.kafka_rights import ACTIONS, Acl, AclError, acls
from plugins.kafka.topics import Grant, Kind

CONNECT = Grant(kind="cluster", actions=("Connect",))


def allow(kind: Kind, name: str, *actions: str) -> Grant:
    return Grant(kind=kind, names=(name,) if name else (), actions=actions)


def kafka(*grants: Grant) -> set[tuple[str, str, str, bool]]:
    found = acls("me", [CONNECT, *grants])
    assert {acl.user for acl in found} <= {"me"}
    return {(acl.operation, acl.kind, acl.name, acl.prefixed) for acl in found}


@pytest.mark.parametrize(
    ("grant", "expected"),
    [
        (allow("topic", "orders", "DescribeTopic"), {("DESCRIBE", "topic", "orders", False)}),
        (allow("topic", "orders*", "CreateTopic"), {("CREATE", "topic", "orders", True)}),
        (allow("topic", "*", "DescribeTopicDynamicConfiguration"), {("DESCRIBE_CONFIGS", "topic", "*", False)}),
        (
            allow("group", "connect-a", "AlterGroup", "DescribeGroup"),
            {("READ", "group", "connect-a", False), ("DESCRIBE", "group", "connect-a", False)},
        ),
        (allow("cluster", "", "DescribeCluster"), {("DESCRIBE", "cluster", "kafka-cluster", False)}),
        (CONNECT, set()),
    ],
)
def test_an_action_is_the_operation_that_aws_documents(grant: Grant, expected: set[tuple[str, str, str, bool]]) -> None:
    assert kafka(grant) == expected


def test_reading_and_writing_are_their_operations_with_what_they_need() -> None:
    found = kafka(
        allow("topic", "orders", "DescribeTopic", "ReadData", "WriteData"),
        allow("group", "readers", "AlterGroup", "DescribeGroup"),
        allow("cluster", "", "WriteDataIdempotently"),
    )
    assert {("READ", "topic", "orders", False), ("WRITE", "topic", "orders", False)} <= found
    assert ("IDEMPOTENT_WRITE", "cluster", "kafka-cluster", False) in found
    assert len(found) == 6


DESCRIBE = allow("topic", "a", "DescribeTopic")


@pytest.mark.parametrize(
    ("grants", "line"),
    [
        ([CONNECT, allow("topic", "a", "ReadDate")], "ReadDate on topic a: there is no such action on a topic"),
        ([CONNECT, allow("topic", "a", "Connect")], "Connect on topic a: there is no such action on a topic"),
        ([CONNECT, allow("topic", "a", "WriteData")], "WriteData on topic a needs DescribeTopic, too"),
        ([CONNECT, DESCRIBE, allow("topic", "b", "WriteData")], "WriteData on topic b needs DescribeTopic, too"),
        ([CONNECT, DESCRIBE, allow("topic", "a", "ReadData")], "ReadData on topic a needs AlterGroup, too"),
        ([CONNECT, allow("cluster", "", "WriteDataIdempotently")], "WriteDataIdempotently .* needs WriteData, too"),
        ([DESCRIBE], "DescribeTopic on topic a needs Connect, too"),
    ],
)
def test_a_right_that_allows_nothing_on_aws_is_one_line(grants: list[Grant], line: str) -> None:
    with pytest.raises(AclError, match=f"^me: {line}$"):
        acls("me", grants)


def test_a_right_on_a_pattern_covers_what_another_needs_on_a_name() -> None:
    found = kafka(allow("topic", "a", "WriteData"), allow("topic", "*", "DescribeTopic"))
    assert ("WRITE", "topic", "a", False) in found


@pytest.mark.parametrize("name", ["__amazon_msk_connect_*_orders_*", "*_test", "orders?"])
def test_a_pattern_that_kafka_cannot_have_is_one_line_unless_it_stands_for_names(name: str) -> None:
    grants = [CONNECT, allow("topic", name, "DescribeTopic")]
    with pytest.raises(AclError, match=r"^me: DESCRIBE on topic .*: Kafka knows a \* at a name's end alone$"):
        acls("me", grants)
    assert acls("me", grants, lambda _written: ["a", "b"]) == {
        Acl(user="me", kind="topic", name=one, operation="DESCRIBE") for one in ("a", "b")
    }
    assert acls("me", grants, lambda _written: []) == frozenset()


def test_every_action_that_another_needs_is_one_itself() -> None:
    assert {needed for action in ACTIONS.values() for needed in action.needs} <= set(ACTIONS)
