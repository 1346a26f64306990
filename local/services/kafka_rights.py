"""Which user of the local broker may do what, from the same grants as on AWS; and what the broker has denied.

plugins/kafka/topics.py defines the roles' grants. Each `kafka-cluster` action becomes the equivalent ACL that MSK's
developer guide names ("Semantics of IAM authorization policy actions and resources").

Names that exist on AWS alone, of MSK Connect's internal topics and groups, have a `*` in their middle, which no ACL can
have. Here they stand for our worker's topics and group. There, one worker runs one connector with the connector's role.
Here, one worker runs all connectors with its own user, which has the grants on those names, and each connector logs in
as itself for the rest.
"""

import re
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import cast

from confluent_kafka import KafkaException
from confluent_kafka.admin import AdminClient
from confluent_kafka.admin._acl import AclBinding, AclBindingFilter, AclOperation, AclPermissionType
from confluent_kafka.admin._resource import ResourcePatternType, ResourceType

from local.errors import PlatformError
from local.files import tail
from local.services.connect import CONFIG_TOPIC, GROUP, OFFSET_TOPIC, STATUS_TOPIC
from plugins.connector_names import GENERATION, offset_topic
from plugins.connector_settings import SinkSettings, SourceSettings
from plugins.kafka.topics import (
    INTERNAL_GROUPS,
    INTERNAL_TOPICS,
    Grant,
    Kind,
    PlannedTopic,
    reader_access,
    sink_access,
    source_access,
    topics_access,
    worker_access,
)

CLUSTER_NAME = "kafka-cluster"
SOURCE, SINK, WORKER = "source-connector", "sink-connector", "connect-worker"
# The creator of the topics, and a person who reads them.
TOPICS, READER = "topics", "reader"
ROLES = (SOURCE, SINK, WORKER, TOPICS, READER)
REQUEST_TIMEOUT_S = 10.0
POLL_S = 0.02
# Kafka's CLUSTER is librdkafka's BROKER.
_TYPES: dict[Kind, ResourceType] = {
    "cluster": ResourceType.BROKER,
    "topic": ResourceType.TOPIC,
    "group": ResourceType.GROUP,
    "transactional-id": ResourceType.TRANSACTIONAL_ID,
}
# None is any name; the package's types don't know it.
_ANY_NAME = cast(str, None)
_ALL = AclBindingFilter(
    ResourceType.ANY, _ANY_NAME, ResourcePatternType.ANY, _ANY_NAME, _ANY_NAME, AclOperation.ANY, AclPermissionType.ANY
)
TAIL_BYTES = 65_536
SHOWN_S = 60
# Kafka 3.9's StandardAuthorizer, after the local time in the layout of local/services/jvm.py.
_LINE = re.compile(
    r"(?P<at>\d{4}-\d\d-\d\d \d\d:\d\d:\d\d,\d{3}) .*Principal = User:(?P<role>\S+) is Denied"
    r" operation = (?P<operation>\w+) from host = \S+ on resource = (?P<kind>\w+):LITERAL:(?P<name>.*)"
    r" for request = (?P<request>\w+) "
)


# The operation of each granted action; logging in (`Connect`) isn't a right in Kafka.
OPERATIONS: Mapping[str, str] = {
    "DescribeCluster": "DESCRIBE",
    "WriteDataIdempotently": "IDEMPOTENT_WRITE",
    "CreateTopic": "CREATE",
    "DescribeTopic": "DESCRIBE",
    "AlterTopic": "ALTER",
    "DescribeTopicDynamicConfiguration": "DESCRIBE_CONFIGS",
    "AlterTopicDynamicConfiguration": "ALTER_CONFIGS",
    "ReadData": "READ",
    "WriteData": "WRITE",
    "DescribeGroup": "DESCRIBE",
    "AlterGroup": "READ",
}

# The broker's names for a name: none or more.
Names = Callable[[str], Iterable[str]]


@dataclass(frozen=True, order=True, kw_only=True)
class Acl:
    """A right of a user from any host; the name `*` is every name."""

    user: str
    kind: Kind
    name: str
    operation: str


def acls(user: str, grants: Iterable[Grant], names: Names = lambda name: (name,)) -> frozenset[Acl]:
    """Return Kafka's ACLs for a user's grants; `names` maps a name to the names on the receiving broker."""
    return frozenset(
        Acl(user=user, kind=grant.kind, name=called, operation=OPERATIONS[action])
        for grant in grants
        for action in grant.actions
        if action != "Connect"
        for name in grant.names or (CLUSTER_NAME,)
        for called in names(name)
    )


def platform_acls(source: SourceSettings, sink: SinkSettings, planned: Sequence[PlannedTopic]) -> frozenset[Acl]:
    """Return the ACLs of all users of a pipeline with the topics `planned`."""
    internal = {
        **{INTERNAL_TOPICS.format(connector=name): (CONFIG_TOPIC, STATUS_TOPIC) for name in (source.name, sink.name)},
        INTERNAL_GROUPS: (GROUP,),
        **{offset_topic(source.name, generation): (OFFSET_TOPIC,) for generation in (None, "*", GENERATION)},
    }

    def here(name: str) -> Iterable[str]:
        return internal.get(name, (name,))

    def without_internal(name: str) -> Iterable[str]:
        return () if name in internal else (name,)

    worker = (*worker_access(source.name, offset_topic(source.name, "*")), *worker_access(sink.name))
    return frozenset(
        acls(WORKER, worker, here)
        | acls(SOURCE, source_access(source), without_internal)
        | acls(SINK, sink_access(sink), without_internal)
        | acls(TOPICS, topics_access(planned, sink), here)
        | acls(READER, reader_access())
    )


def sync_acls(admin: AdminClient, wanted: Iterable[Acl]) -> tuple[int, int]:
    """Create missing ACLs and delete all others; return how many of each, once the broker applies them.

    Raises PlatformError.
    """
    bindings = {_binding(acl) for acl in wanted}
    try:
        there = _described(admin)
        missing, surplus = sorted(bindings - there), sorted(there - bindings)
        if missing:
            for made in admin.create_acls(missing, request_timeout=REQUEST_TIMEOUT_S).values():
                made.result()
        if surplus:
            exactly = [_exactly(one) for one in surplus]
            for gone in admin.delete_acls(exactly, request_timeout=REQUEST_TIMEOUT_S).values():
                gone.result()
        # The controller answers before the broker applies them.
        deadline = time.monotonic() + REQUEST_TIMEOUT_S
        while _described(admin) != bindings:
            if time.monotonic() > deadline:
                raise PlatformError(f"Kafka's ACLs aren't what they were set to after {REQUEST_TIMEOUT_S:.0f} s")
            time.sleep(POLL_S)
    except KafkaException as error:
        raise PlatformError(f"Kafka's ACLs can't be set: {error.args[0].str()}") from error
    return len(missing), len(surplus)


def _described(admin: AdminClient) -> set[AclBinding]:
    return set(admin.describe_acls(_ALL, request_timeout=REQUEST_TIMEOUT_S).result())


def _binding(acl: Acl) -> AclBinding:
    kind, operation = _TYPES[acl.kind], AclOperation[acl.operation]
    literal, allow = ResourcePatternType.LITERAL, AclPermissionType.ALLOW
    return AclBinding(kind, acl.name, literal, f"User:{acl.user}", "*", operation, allow)


def _exactly(one: AclBinding) -> AclBindingFilter:
    return AclBindingFilter(
        one.restype, one.name, one.resource_pattern_type, one.principal, one.host, one.operation, one.permission_type
    )


@dataclass(frozen=True, kw_only=True, order=True)
class Denial:
    """A right that a role lacks: Kafka's names of operation, resource and request."""

    role: str
    operation: str
    kind: str
    name: str
    request: str

    @property
    def what(self) -> str:
        where = "the cluster" if self.kind == "Cluster" else f"{self.kind.lower()} {self.name}"
        return (
            f"denies {self.role} {self.operation} on {where} ({self.request}): plugins/kafka/topics.py says what"
            " each role may do"
        )

    def __str__(self) -> str:
        return f"Kafka {self.what}"


def denials(log: Path, *, since: datetime) -> list[Denial]:
    """Return the denials since a time, to the millisecond, each once; nothing without a log."""
    start = since.replace(microsecond=since.microsecond // 1000 * 1000)
    return sorted(
        {
            Denial(**{name: value for name, value in match.groupdict().items() if name != "at"})
            for match in filter(None, map(_LINE.match, tail(log, TAIL_BYTES).splitlines()))
            if datetime.fromisoformat(match["at"]).replace(tzinfo=UTC) >= start
        }
    )


def recently(rights: Path, since: datetime | None = None) -> datetime:
    """Return since when denials are current: `since`, or the last update of the rights if that is later.

    `rights`: the file that is as old as they are (Kafka.rights_mark); it may be missing. `since` defaults to a minute
    ago.
    """
    since = since or datetime.now(UTC) - timedelta(seconds=SHOWN_S)
    try:
        return max(since, datetime.fromtimestamp(rights.stat().st_mtime, UTC))
    except FileNotFoundError:
        return since
