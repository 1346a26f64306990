"""Synchronizes a broker's ACLs: creates missing ones and deletes others, so that withdrawn rights end."""

import time
from collections.abc import Iterable
from typing import cast

from confluent_kafka import KafkaException
from confluent_kafka.admin import AdminClient
from confluent_kafka.admin._acl import AclBinding, AclBindingFilter, AclOperation, AclPermissionType
from confluent_kafka.admin._resource import ResourcePatternType, ResourceType

from local.errors import PlatformError
from local.services.kafka.acls import Acl
from plugins.kafka.topics import Kind

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
        _wait_for(admin, bindings)
    except KafkaException as error:
        raise PlatformError(f"Kafka's ACLs can't be set: {error.args[0].str()}") from error
    return len(missing), len(surplus)


def _wait_for(admin: AdminClient, wanted: set[AclBinding]) -> None:
    """Wait until the broker has them: the controller answers earlier."""
    deadline = time.monotonic() + REQUEST_TIMEOUT_S
    while _described(admin) != wanted:
        if time.monotonic() > deadline:
            raise PlatformError(f"Kafka's ACLs aren't what they were set to after {REQUEST_TIMEOUT_S:.0f} s")
        time.sleep(POLL_S)


def _described(admin: AdminClient) -> set[AclBinding]:
    return set(admin.describe_acls(_ALL, request_timeout=REQUEST_TIMEOUT_S).result())


def _binding(acl: Acl) -> AclBinding:
    pattern = ResourcePatternType.PREFIXED if acl.prefixed else ResourcePatternType.LITERAL
    operation = AclOperation[acl.operation]
    return AclBinding(_TYPES[acl.kind], acl.name, pattern, f"User:{acl.user}", "*", operation, AclPermissionType.ALLOW)


def _exactly(one: AclBinding) -> AclBindingFilter:
    return AclBindingFilter(
        one.restype,
        one.name,
        one.resource_pattern_type,
        one.principal,
        one.host,
        one.operation,
        one.permission_type,
    )
