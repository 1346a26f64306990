"""The Kafka rights in the templates equal those behind the local broker's ACLs: no more, no fewer."""

import fnmatch
import json
import re
from collections.abc import Iterable, Iterator
from typing import Any

import pytest

from plugins.kafka.topics import (
    PREFIX,
    Grant,
    Kind,
    Statement,
    of_generation,
    sink_access,
    source_access,
    statements,
    topics_access,
)
from settings.connectors import sink_settings, source_settings, topics
from settings.environment import Environment
from settings.load import load
from stacks.gate.template import plain_text
from tests.stacks.conftest import Synthesized

pytestmark = pytest.mark.synth

CLUSTER = "the cluster"
# AWS's own policies with rights on clusters, or on everything.
WITH_KAFKA = re.compile("Administrator|PowerUser|MSK|Kafka")


def expected(environment: Environment) -> dict[str, tuple[Grant, ...]]:
    """Each role's rights in Kafka, by the stack and the start of its logical id."""
    [orders] = environment.pipelines
    making_topics = topics_access(of_generation(topics(environment, orders), "*"), sink_settings(environment, orders))
    return {
        "connectors/SourceRole": source_access(source_settings(environment, orders)),
        "connectors/SinkRole": sink_access(sink_settings(environment, orders)),
        "connectors/TopicsProviderOnEventRole": making_topics,
        "connectors/TopicsProviderIsCompleteRole": making_topics,
    }


def documents(synthesized: Synthesized) -> Iterator[tuple[str, Any]]:
    """Every policy document of all stacks, with the logical ids of its roles."""
    for stack, template in synthesized.by_role.items():
        for logical_id, resource in template.to_json()["Resources"].items():
            owners = [role["Ref"] for role in resource.get("Properties", {}).get("Roles", [])] or [logical_id]
            for document in _documents(resource):
                yield from ((f"{stack}/{owner}", document) for owner in owners)


def _documents(value: Any) -> Iterator[Any]:
    if isinstance(value, dict):
        if "Statement" in value:
            yield value
        for part in value.values():
            yield from _documents(part)
    elif isinstance(value, list):
        for part in value:
            yield from _documents(part)


def on_kafka(synthesized: Synthesized) -> dict[str, list[dict[str, Any]]]:
    """The statements with a right on Kafka, by role, their ARNs as text."""
    found: dict[str, list[dict[str, Any]]] = {}
    for owner, document in documents(synthesized):
        for statement in document["Statement"]:
            if any(map(_means_kafka, _list(statement.get("Action", "*")))):
                resources = [_text(resource) for resource in _list(statement["Resource"])]
                found.setdefault(owner, []).append({**statement, "Resource": resources})
    return found


def _means_kafka(action: str) -> bool:
    return fnmatch.fnmatchcase(PREFIX.rstrip(":"), action.partition(":")[0])


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]


def _text(resource: Any) -> str:
    """Write an ARN; the cluster's own comes from its stack."""
    match resource:
        case {"Fn::ImportValue": str(name)} if "Cluster" in name:
            return CLUSTER
        case {"Fn::GetAtt": [str(name), "Arn"]} if name.startswith("Cluster"):
            return CLUSTER
        case _:
            return plain_text(resource)


def pairs(written: Iterable[dict[str, Any] | Statement]) -> set[tuple[str, str]]:
    """Actions and ARNs as pairs: CDK merges statements that share the one or the other."""
    return {(action, arn) for one in written for action in _list(one["Action"]) for arn in _list(one["Resource"])}


def arns(environment: Environment) -> Any:
    def arn(kind: Kind, name: str) -> str:
        base = f"arn:aws:kafka:{environment.region}:{environment.account}:{kind}/{environment.prefix}/*"
        return f"{base}/{name}" if name else CLUSTER

    return arn


def test_the_roles_have_the_rights_that_are_written_down_and_nobody_else_has_any(environment: Synthesized) -> None:
    settings, found = load(environment.name), on_kafka(environment)
    wanted = expected(settings)
    assert {owner.rstrip("0123456789ABCDEF") for owner in found} == set(wanted)
    for role, grants in wanted.items():
        [written] = [written for owner, written in found.items() if owner.startswith(role)]
        assert all(set(statement) == {"Action", "Effect", "Resource"} for statement in written)
        assert pairs(written) == pairs(statements(grants, arns(settings)))


def test_nothing_else_gives_rights_on_kafka(environment: Synthesized) -> None:
    resources = [one for template in environment.by_role.values() for one in template.to_json()["Resources"].values()]
    types = {resource["Type"] for resource in resources}
    assert "AWS::MSK::Cluster" in types
    assert "AWS::MSK::ClusterPolicy" not in types
    managed = {json.dumps(arn) for one in resources for arn in one.get("Properties", {}).get("ManagedPolicyArns", [])}
    assert any("AWSLambdaBasicExecutionRole" in arn for arn in managed)
    assert not [arn for arn in managed if WITH_KAFKA.search(arn)]
