"""IAM statements as Kafka's ACLs: each action as AWS documents it, each name as Kafka can have it."""

import pytest

from local.services.kafka.acls import ACTIONS, Acl, AclError, Right, acls, rights

BASE = "arn:aws:kafka:eu-west-1:111122223333"
CONNECT = {"Effect": "Allow", "Action": "kafka-cluster:Connect", "Resource": f"{BASE}:cluster/lake/abc-1"}


def allow(resource: str, *actions: str) -> dict[str, object]:
    written = [f"kafka-cluster:{action}" for action in actions]
    return {"Effect": "Allow", "Action": written, "Resource": f"{BASE}:{resource}"}


def kafka(*statements: dict[str, object]) -> set[tuple[str, str, str, bool]]:
    found = acls("me", rights([CONNECT, *statements]), lambda _kind, name: [name])
    assert {acl.user for acl in found} <= {"me"}
    return {(acl.operation, acl.kind, acl.name, acl.prefixed) for acl in found}


@pytest.mark.parametrize(
    ("resource", "actions", "expected"),
    [
        ("topic/lake/*/orders", ["DescribeTopic"], {("DESCRIBE", "topic", "orders", False)}),
        ("topic/lake/abc/orders*", ["CreateTopic"], {("CREATE", "topic", "orders", True)}),
        ("topic/lake/*/*", ["DescribeTopicDynamicConfiguration"], {("DESCRIBE_CONFIGS", "topic", "*", False)}),
        ("topic/lake/*", ["DescribeTopic"], {("DESCRIBE", "topic", "*", False)}),
        (
            "group/lake/*/connect-a",
            ["AlterGroup", "DescribeGroup"],
            {("READ", "group", "connect-a", False), ("DESCRIBE", "group", "connect-a", False)},
        ),
        ("cluster/lake/abc-1", ["DescribeCluster"], {("DESCRIBE", "cluster", "kafka-cluster", False)}),
        ("cluster/*/*", ["Connect"], set()),
        (
            "topic/lake/*/orders",
            ["*Topic"],
            {(operation, "topic", "orders", False) for operation in ("CREATE", "DESCRIBE", "ALTER", "DELETE")},
        ),
    ],
)
def test_an_action_is_the_operation_that_aws_documents(
    resource: str, actions: list[str], expected: set[tuple[str, str, str, bool]]
) -> None:
    assert kafka(allow(resource, *actions)) == expected


def test_reading_and_writing_are_their_operations_beside_what_they_need() -> None:
    statements = [
        allow("topic/lake/*/orders", "DescribeTopic", "ReadData", "WriteData"),
        allow("group/lake/*/readers", "AlterGroup", "DescribeGroup"),
        allow("cluster/lake/abc-1", "WriteDataIdempotently"),
    ]
    found = kafka(*statements)
    assert {("READ", "topic", "orders", False), ("WRITE", "topic", "orders", False)} <= found
    assert ("IDEMPOTENT_WRITE", "cluster", "kafka-cluster", False) in found
    assert len(found) == 6


@pytest.mark.parametrize(
    ("statement", "line"),
    [
        (allow("topic/lake/*/a", "ReadDate"), "^kafka-cluster:ReadDate: there is no such action on a Kafka cluster$"),
        (allow("topic/lake/*/a", "Connect"), "it is a right on a cluster, so here it allows nothing$"),
        (allow("connector/lake/*/a", "ReadData"), "not the ARN of a cluster, topic, group or transactional id$"),
        (allow("topic/lake", "DescribeTopic"), "it names no topic$"),
        ({**allow("topic/lake/*/a", "ReadData"), "Effect": "Deny"}, "^kafka-cluster:ReadData: Effect Deny: only Allow"),
        ({**allow("topic/lake/*/a", "ReadData"), "Condition": {}}, "^kafka-cluster:ReadData: Condition: only Allow"),
        ({"Effect": "Allow", "NotAction": "s3:*", "Resource": "*"}, "^NotAction: name the actions$"),
        ({"Effect": "Allow", "Action": "*", "Resource": "*"}, r"^the action \*: name the actions$"),
    ],
)
def test_what_has_no_equivalent_is_one_line(statement: dict[str, object], line: str) -> None:
    with pytest.raises(AclError, match=line):
        rights([CONNECT, statement])


@pytest.mark.parametrize(
    ("statements", "line"),
    [
        (
            [allow("topic/lake/*/a", "WriteData")],
            "^kafka-cluster:WriteData on topic a needs kafka-cluster:DescribeTopic",
        ),
        (
            [allow("topic/lake/*/a", "ReadData", "DescribeTopic")],
            "^kafka-cluster:ReadData needs kafka-cluster:AlterGroup, too$",
        ),
        (
            [allow("topic/lake/*/a", "WriteData"), allow("topic/lake/*/b", "DescribeTopic")],
            "^kafka-cluster:WriteData on topic a needs kafka-cluster:DescribeTopic, too$",
        ),
        (
            [allow("cluster/lake/a", "WriteDataIdempotently")],
            "^kafka-cluster:WriteDataIdempotently needs .*:WriteData,",
        ),
    ],
)
def test_an_action_without_those_that_aws_asks_for_besides_is_one_line(
    statements: list[dict[str, object]], line: str
) -> None:
    with pytest.raises(AclError, match=line):
        rights([CONNECT, *statements])


def test_a_right_on_a_pattern_covers_what_it_needs_on_a_name() -> None:
    found = rights([CONNECT, allow("topic/lake/*/a", "WriteData"), allow("topic/lake/*/*", "DescribeTopic")])
    assert Right("WriteData", "topic", "a") in found


def test_nothing_is_allowed_to_a_role_that_may_not_connect() -> None:
    with pytest.raises(AclError, match=r"^kafka-cluster:DescribeTopic needs kafka-cluster:Connect, too$"):
        rights([allow("topic/lake/*/a", "DescribeTopic")])


@pytest.mark.parametrize("name", ["__amazon_msk_connect_*_orders_*", "*_test", "orders?"])
def test_a_pattern_that_kafka_cannot_have_is_one_line_unless_it_stands_for_names(name: str) -> None:
    allowed = rights([CONNECT, allow(f"topic/lake/*/{name}", "DescribeTopic")])
    with pytest.raises(AclError, match=r"^me: DESCRIBE on topic .*: Kafka knows a \* at a name's end alone$"):
        acls("me", allowed, lambda _kind, written: [written])
    assert acls("me", allowed, lambda _kind, _written: ["a", "b"]) == {
        Acl(user="me", kind="topic", name=one, operation="DESCRIBE") for one in ("a", "b")
    }
    assert acls("me", allowed, lambda _kind, _written: []) == frozenset()


def test_rights_of_other_services_are_passed_over() -> None:
    assert rights([{"Effect": "Allow", "Action": ["s3:GetObject"], "Resource": "*", "Condition": {}}]) == frozenset()


def test_every_action_that_another_needs_is_one_itself() -> None:
    assert {needed for action in ACTIONS.values() for needed in action.needs} <= set(ACTIONS)
