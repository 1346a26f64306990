"""Translates grants to Kafka's terms: each `kafka-cluster` action as an ACL, as AWS documents it.

Source: Amazon MSK developer guide, "Semantics of IAM authorization policy actions and resources". For each action it
names the equivalent, such as "Grants permission to join groups on a cluster, equivalent to Apache Kafka's READ GROUP
ACL", and states: "When you include in your authorization policy an action from the Action column of the table, you must
also include the corresponding actions from the Required actions column."
"""

import fnmatch
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from plugins.kafka.topics import Grant, Kind

CLUSTER_NAME = "kafka-cluster"


class AclError(ValueError):
    """A grant has no equivalent among Kafka's ACLs; the message is one line."""


@dataclass(frozen=True)
class Action:
    """A row of the table: the resource kind, the operation in Kafka's ACLs (None: none), the actions it requires."""

    kind: Kind
    operation: str | None
    needs: tuple[str, ...] = ()


ACTIONS: Mapping[str, Action] = {
    # Logging in, which isn't a right in Kafka.
    "Connect": Action("cluster", None),
    "DescribeCluster": Action("cluster", "DESCRIBE", ("Connect",)),
    "AlterCluster": Action("cluster", "ALTER", ("Connect", "DescribeCluster")),
    "DescribeClusterDynamicConfiguration": Action("cluster", "DESCRIBE_CONFIGS", ("Connect",)),
    "AlterClusterDynamicConfiguration": Action(
        "cluster", "ALTER_CONFIGS", ("Connect", "DescribeClusterDynamicConfiguration")
    ),
    "WriteDataIdempotently": Action("cluster", "IDEMPOTENT_WRITE", ("Connect", "WriteData")),
    "CreateTopic": Action("topic", "CREATE", ("Connect",)),
    "DescribeTopic": Action("topic", "DESCRIBE", ("Connect",)),
    "AlterTopic": Action("topic", "ALTER", ("Connect", "DescribeTopic")),
    "DeleteTopic": Action("topic", "DELETE", ("Connect", "DescribeTopic")),
    "DescribeTopicDynamicConfiguration": Action("topic", "DESCRIBE_CONFIGS", ("Connect",)),
    "AlterTopicDynamicConfiguration": Action(
        "topic", "ALTER_CONFIGS", ("Connect", "DescribeTopicDynamicConfiguration")
    ),
    "ReadData": Action("topic", "READ", ("Connect", "DescribeTopic", "AlterGroup")),
    "WriteData": Action("topic", "WRITE", ("Connect", "DescribeTopic")),
    "DescribeGroup": Action("group", "DESCRIBE", ("Connect",)),
    "AlterGroup": Action("group", "READ", ("Connect", "DescribeGroup")),
    "DeleteGroup": Action("group", "DELETE", ("Connect", "DescribeGroup")),
    "DescribeTransactionalId": Action("transactional-id", "DESCRIBE", ("Connect",)),
    "AlterTransactionalId": Action("transactional-id", "WRITE", ("Connect", "DescribeTransactionalId", "WriteData")),
}

# The broker's names for a name: none or more.
Names = Callable[[str], Iterable[str]]


@dataclass(frozen=True, order=True, kw_only=True)
class Acl:
    """A right of a user from any host; `prefixed`: on all names with this prefix. `*` is every name."""

    user: str
    kind: Kind
    name: str
    operation: str
    prefixed: bool = False


def acls(user: str, grants: Iterable[Grant], names: Names = lambda name: (name,)) -> frozenset[Acl]:
    """Return Kafka's ACLs for a user's grants; `names` maps a name to the names on the receiving broker.

    Raises AclError for an action without one that it requires, and for a pattern that Kafka can't express, such as one
    with a `*` in its middle.
    """
    allowed = [
        (action, grant.kind, name) for grant in grants for action in grant.actions for name in grant.names or ("",)
    ]
    for action, kind, name in allowed:
        _check(user, action, kind, name, allowed)
    return frozenset(
        _acl(user, kind, called, operation)
        for action, kind, name in allowed
        if (operation := ACTIONS[action].operation) is not None
        for called in ([CLUSTER_NAME] if kind == "cluster" else names(name))
    )


def _check(user: str, action: str, kind: Kind, name: str, allowed: Iterable[tuple[str, Kind, str]]) -> None:
    """Raise AclError for a right that allows nothing on AWS, alone or at all."""
    if action not in ACTIONS or ACTIONS[action].kind != kind:
        raise AclError(f"{user}: {action} on {kind} {name}: there is no such action on a {kind}")
    for needed in ACTIONS[action].needs:
        # On the same name when the required action's kind is the same, else on any.
        same_kind = ACTIONS[needed].kind == kind
        if not any(other == needed and (not same_kind or fnmatch.fnmatchcase(name, on)) for other, _, on in allowed):
            raise AclError(f"{user}: {action} on {kind} {name} needs {needed}, too")


def _acl(user: str, kind: Kind, name: str, operation: str) -> Acl:
    prefix = name.removesuffix("*")
    if "*" in prefix or "?" in name:
        raise AclError(f"{user}: {operation} on {kind} {name}: Kafka knows a * at a name's end alone")
    prefixed = bool(prefix) and prefix != name
    return Acl(user=user, kind=kind, name=prefix if prefixed else name, operation=operation, prefixed=prefixed)
