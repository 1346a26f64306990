"""What IAM statements mean in Kafka's own words: each `kafka-cluster` action as an ACL, as AWS documents it.

Source: Amazon MSK developer guide, "Semantics of IAM authorization policy actions and resources". Of each action it
says what it is "equivalent to", such as "Grants permission to join groups on a cluster, equivalent to Apache Kafka's
READ GROUP ACL", and: "When you include in your authorization policy an action from the Action column of the table, you
must also include the corresponding actions from the Required actions column." Of ARNs: "You can use the asterisk (*)
wildcard any number of times anywhere in the part of the ARN that comes after :cluster/, :topic/, :group/, and
:transactional-id/."
"""

import fnmatch
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, cast

from plugins.kafka_access import PREFIX, Kind

CLUSTER_NAME = "kafka-cluster"
KINDS = ("cluster", "topic", "group", "transactional-id")
_ARN = re.compile(r"arn:[^:]+:kafka:[^:]*:[^:]*:(?P<kind>[a-z-]+)/(?P<rest>.+)\Z")


class AclError(ValueError):
    """A statement has no equivalent among Kafka's ACLs; the message is one line."""


@dataclass(frozen=True)
class Action:
    """A row of the table: on what, which operation of Kafka's ACLs (None: none), and which actions it needs besides."""

    kind: Kind
    operation: str | None
    needs: tuple[str, ...] = ()


ACTIONS: Mapping[str, Action] = {
    # Logging in, which isn't a right of Kafka's.
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


# What a name of a kind stands for: none or more names.
Names = Callable[[Kind, str], Iterable[str]]


@dataclass(frozen=True, order=True)
class Right:
    """One action (without `kafka-cluster:`) on one name or pattern of a kind; the cluster's name is ""."""

    action: str
    kind: Kind
    name: str

    def __str__(self) -> str:
        return f"{PREFIX}{self.action} on {self.kind}{f' {self.name}' if self.name else ''}"


@dataclass(frozen=True, order=True, kw_only=True)
class Acl:
    """What Kafka lets a user do from any host; `prefixed`: on all names that begin like this. `*` is every name."""

    user: str
    kind: Kind
    name: str
    operation: str
    prefixed: bool = False


def rights(statements: Iterable[Mapping[str, Any]]) -> frozenset[Right]:
    """Return what a policy's statements allow in Kafka; those of other services are passed over.

    ARNs are text: functions of a template have to be resolved before. Raises AclError.
    """
    found = frozenset(right for statement in statements for right in _rights(statement))
    for right in sorted(found):
        for needed in ACTIONS[right.action].needs:
            if not _has(found, needed, right):
                where = right if ACTIONS[needed].kind == right.kind else f"{PREFIX}{right.action}"
                raise AclError(f"{where} needs {PREFIX}{needed}, too")
    return found


def acls(user: str, allowed: Iterable[Right], names: Names) -> frozenset[Acl]:
    """Return Kafka's ACLs for rights; `names` says what a name stands for on the broker that gets them.

    Raises AclError for a pattern that Kafka can't express, such as one with a `*` in its middle.
    """
    return frozenset(
        _acl(user, right.kind, name, operation)
        for right in allowed
        if (operation := ACTIONS[right.action].operation) is not None
        for name in ([CLUSTER_NAME] if right.kind == "cluster" else names(right.kind, right.name))
    )


def _rights(statement: Mapping[str, Any]) -> Iterator[Right]:
    actions = _kafka_actions(statement)
    if not actions:
        return
    unknown = sorted(statement.keys() - {"Sid", "Effect", "Action", "Resource"})
    if statement.get("Effect") != "Allow" or unknown:
        what = ", ".join(unknown) or f"Effect {statement.get('Effect')}"
        raise AclError(f"{', '.join(actions)}: {what}: only Allow with actions and resources has an equivalent")
    for written in actions:
        for action in _matching(written):
            for arn in _texts(statement["Resource"]):
                yield _right(action, arn)


def _kafka_actions(statement: Mapping[str, Any]) -> list[str]:
    """Return the statement's actions on Kafka; AclError for NotAction and `*`, which may mean Kafka, too."""
    if "NotAction" in statement:
        raise AclError("NotAction: name the actions")
    actions = _texts(statement["Action"])
    if "*" in actions:
        raise AclError("the action *: name the actions")
    return [action for action in actions if action.startswith(PREFIX)]


def _matching(written: str) -> list[str]:
    name = written.removeprefix(PREFIX)
    found = [action for action in ACTIONS if fnmatch.fnmatchcase(action, name)]
    if not found:
        raise AclError(f"{written}: there is no such action on a Kafka cluster")
    return found


def _right(action: str, arn: str) -> Right:
    kind = ACTIONS[action].kind
    if arn == "*":
        return Right(action, kind, "" if kind == "cluster" else "*")
    match = _ARN.match(arn)
    if match is None or match["kind"] not in KINDS:
        raise AclError(f"{PREFIX}{action} on {arn}: not the ARN of a cluster, topic, group or transactional id")
    if match["kind"] != kind:
        raise AclError(f"{PREFIX}{action} on {arn}: it is a right on a {kind}, so here it allows nothing")
    if kind == "cluster":
        return Right(action, kind, "")
    # cluster/uuid/name; one that ends earlier, with a wildcard, is all names.
    parts = match["rest"].split("/", 2)
    if len(parts) < 3 and not parts[-1].endswith("*"):
        raise AclError(f"{PREFIX}{action} on {arn}: it names no {kind}")
    return Right(action, kind, parts[2] if len(parts) == 3 else "*")


def _has(found: frozenset[Right], needed: str, right: Right) -> bool:
    """Tell whether an action is allowed, too: on the same name when it is one on the same kind, else on any."""
    same_kind = ACTIONS[needed].kind == right.kind
    return any(
        other.action == needed and (not same_kind or fnmatch.fnmatchcase(right.name, other.name)) for other in found
    )


def _acl(user: str, kind: Kind, name: str, operation: str) -> Acl:
    prefix = name.removesuffix("*")
    if "*" in prefix or "?" in name:
        raise AclError(f"{user}: {operation} on {kind} {name}: Kafka knows a * at a name's end alone")
    prefixed = bool(prefix) and prefix != name
    return Acl(user=user, kind=kind, name=prefix if prefixed else name, operation=operation, prefixed=prefixed)


def _texts(value: object) -> list[str]:
    values = value if isinstance(value, list) else [value]
    if not all(isinstance(one, str) for one in values):
        raise AclError(f"{value!r}: not text")
    return cast("list[str]", values)
