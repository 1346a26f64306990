"""The connectors' stack: shared configurations, one narrow role each, the order of changes, and rights in Kafka."""

import fnmatch
import hashlib
import json
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import botocore.session
import cfnlint
import pytest
from botocore.validate import validate_parameters

from contract.rds_ca import root
from plugins.connector_names import FIXED, GENERATION, offset_topic
from plugins.kafka.topics import Grant, of_generation, own_worker_access, sink_access, source_access, topics_access
from plugins.workers.connect_workers import UTF8_ONLY, properties_file, resources
from settings.connectors import sink_settings, source_settings, topics
from settings.environment import Environment
from stacks.gate.template import LATER, App, as_list, decoded, documents, plain_text
from stacks.handlers.journal import REMEMBERED_SECONDS
from stacks.handlers.msk_connect.changes import CONFIGURATION, WORKER_SETTINGS
from stacks.provider import JOURNAL_KEYS, JOURNAL_VARIABLE
from tests.stacks.conftest import Synthesized

pytestmark = pytest.mark.synth


def connector(environment: Synthesized, role: str) -> dict[str, Any]:
    return environment.connectors()[f"{environment.settings.prefix}-{role}"]


def test_a_changed_worker_configuration_is_another_one(environment: Synthesized) -> None:
    """CloudFormation creates the new one first, so the names must differ; the connector takes it in place."""
    workers = environment.resources("connectors", "AWS::KafkaConnect::WorkerConfiguration")
    names = {logical_id: plain_text(worker["Properties"]["Name"]) for logical_id, worker in workers.items()}
    assert {re.sub("[0-9a-f]{16}", "", each) for each in names.values()} == {
        f"{environment.name}-cdc-lake-orders-source--{LATER}",
        f"{environment.name}-cdc-lake-orders-sink-",
    }
    for logical_id, worker in workers.items():
        content = (decoded(worker["Properties"]["PropertiesFileContent"]) or "").replace(LATER, GENERATION)
        stack = f"{environment.name}-cdc-lake-connectors"
        digest = hashlib.sha256(f"{stack}/{logical_id}\0{content}".encode()).hexdigest()
        assert names[logical_id].removesuffix(f"-{LATER}").endswith(digest[:16])


@pytest.mark.parametrize("value", ["a\nb", "a\\b"])
def test_a_value_that_a_properties_file_would_read_otherwise_is_refused(value: str) -> None:
    with pytest.raises(ValueError, match=r"^key must be one line of text without a backslash$"):
        properties_file({"key": value})


def test_handlers_write_down_what_they_do_where_only_they_look(environment: Synthesized) -> None:
    artefacts = environment.settings.bucket_name("artefacts")
    journals = [
        function["Environment"]["Variables"].get(JOURNAL_VARIABLE)
        for function in environment.everywhere("AWS::Lambda::Function")
        if re.search(r"handlers\.(connector(_plugin)?|emr_step|preparation|topics)\.", function.get("Handler", ""))
    ]
    assert journals == [f"{artefacts}/{JOURNAL_KEYS}"] * 10
    buckets = environment.properties("lake", "AWS::S3::Bucket")
    rules = [rule for bucket in buckets for rule in bucket.get("LifecycleConfiguration", {}).get("Rules", [])]
    (rule,) = (rule for rule in rules if rule.get("Prefix") == JOURNAL_KEYS)
    # Nothing in it counts after REMEMBERED_SECONDS.
    assert rule["ExpirationInDays"] * 24 * 3_600 > REMEMBERED_SECONDS


@pytest.mark.parametrize("role", ["orders-source", "orders-sink"])
def test_the_request_is_one_that_msk_connect_takes(environment: Synthesized, role: str) -> None:
    request = json.loads(json.dumps(connector(environment, role)).replace("\\u0000", "arn:aws:iam::1:role/x"))
    for part in (request["workerConfiguration"], request["plugins"][0]["customPlugin"]):
        part["revision"] = 1  # known only when deployed, or a string in CloudFormation's words
    model = botocore.session.get_session().get_service_model("kafkaconnect")
    shape = model.operation_model("CreateConnector").input_shape
    assert shape is not None
    validate_parameters(request, shape)


def test_the_database_must_be_the_one_that_its_regions_authority_signed(environment: Synthesized) -> None:
    configuration = connector(environment, "orders-source")["connectorConfiguration"]
    assert configuration["database.sslmode"] == "verify-full"
    resource = configuration["driver.sslfactoryarg"].removeprefix("classpath:")
    plugins = {key: value["resources"] for key, value in environment.requests("connectors", "Custom::Plugin").items()}
    (source,) = (files for key, files in plugins.items() if key.startswith("Source"))
    assert source == {resource: root(environment.settings.region), **resources(UTF8_ONLY)}
    (sink,) = (files for key, files in plugins.items() if key.startswith("Sink"))
    assert sink == resources(UTF8_ONLY)


def test_a_connector_comes_after_all_it_needs(environment: Synthesized) -> None:
    """So that a failed creation leaves nothing behind, and a deletion runs in reverse order."""
    found = environment.resources("connectors", "Custom::Connector")
    needed = {"Source": ("Topics", "SourceRole.*Policy"), "Sink": ("Topics", "SinkRole.*Policy", "SourceConnector")}
    for role, others in needed.items():
        (connector,) = (resource for name, resource in found.items() if name.startswith(role))
        for other in others:
            assert any(re.match(other, dependency) for dependency in connector["DependsOn"]), (role, other)


def native(type_: str) -> dict[str, Any]:
    """CloudFormation's schema of a type, from cfn-lint."""
    schemas = Path(cfnlint.__file__).parent / "data" / "schemas"
    by_type = json.loads((schemas / "providers" / "ap-southeast-2.json").read_text())
    schema: dict[str, Any] = json.loads((schemas / "resources" / f"{by_type[type_]}.json").read_text())
    return schema


def in_place(schema: dict[str, Any]) -> set[str]:
    """The properties that a type updates without replacement."""
    fixed = {path.removeprefix("/properties/") for path in schema["createOnlyProperties"]}
    shown = {path.removeprefix("/properties/") for path in schema["readOnlyProperties"]}
    return set(schema["properties"]) - fixed - shown


def test_what_the_native_types_change_in_place_is_what_the_decision_says() -> None:
    """docs/decisions/0050: if these differ, so does the reason for the handlers."""
    connector_schema = native("AWS::KafkaConnect::Connector")
    assert in_place(connector_schema) == {"Capacity", "ConnectorConfiguration", "Tags"}
    assert connector_schema["replacementStrategy"] == "delete_then_create"
    assert in_place(native("AWS::KafkaConnect::CustomPlugin")) == {"Tags"}
    assert in_place(native("AWS::KafkaConnect::WorkerConfiguration")) == {"Tags"}
    properties = {name[0].lower() + name[1:] for name in connector_schema["properties"]}
    ours = {*FIXED, *WORKER_SETTINGS, CONFIGURATION, "connectorName", "connectorDescription", "tags", "connectorArn"}
    assert properties == ours


CLUSTER, KAFKA = "the cluster", "kafka-cluster"
# AWS's own policies with rights on clusters, or on everything.
WITH_KAFKA = re.compile("Administrator|PowerUser|MSK|Kafka")


def expected(environment: Environment) -> dict[str, set[tuple[str, str]]]:
    """Each role's rights in Kafka, by the stack and the start of its logical id."""
    found: dict[str, tuple[Grant, ...]] = {}
    making_topics: list[Grant] = []
    for each in environment.streamed:
        source, sink = source_settings(environment, each), sink_settings(environment, each)
        workers: tuple[tuple[Grant, ...] | None, ...] = (None, None)
        if environment.eks:
            offsets = (offset_topic(source.name, "*"), offset_topic(sink.name))
            workers = own_worker_access(source.name, offsets[0]), own_worker_access(sink.name, offsets[1])
        found[each.construct_id("SourceRole")] = source_access(source, worker=workers[0])
        found[each.construct_id("SinkRole")] = sink_access(sink, worker=workers[1])
        making_topics += topics_access(of_generation(topics(environment, each), "*"), sink)
    found |= {f"TopicsProvider{name}Role": tuple(making_topics) for name in ("OnEvent", "IsComplete")}
    return {f"connectors/{role}": granted(environment, grants) for role, grants in found.items()}


def granted(environment: Environment, grants: Iterable[Grant]) -> set[tuple[str, str]]:
    """Actions and ARNs as pairs."""
    arn = f"arn:aws:kafka:{environment.region}:{environment.account}:{{}}/{environment.prefix}/*/{{}}"
    return {
        (f"{KAFKA}:{action}", arn.format(grant.kind, name) if name else CLUSTER)
        for grant in grants
        for action in grant.actions
        for name in grant.names or ("",)
    }


def on_kafka(synthesized: Synthesized) -> dict[str, list[dict[str, Any]]]:
    """The statements with a right on Kafka, by role, their ARNs as text."""
    found: dict[str, list[dict[str, Any]]] = {}
    for subject in App(templates=synthesized.synthesis.templates).subjects:
        role = subject.stack.removeprefix(f"{synthesized.settings.prefix}-")
        owners = [owner["Ref"] for owner in subject.properties.get("Roles", [])] or [subject.id]
        for statement in (one for each in documents(subject.properties) for one in as_list(each["Statement"])):
            services = [action.partition(":")[0] for action in as_list(statement.get("Action", "*"))]
            if any(fnmatch.fnmatchcase(KAFKA, service) for service in services):
                resources = [_text(resource) for resource in as_list(statement["Resource"])]
                for owner in owners:
                    found.setdefault(f"{role}/{owner}", []).append({**statement, "Resource": resources})
    return found


def _text(resource: Any) -> str:
    """Write an ARN; the cluster's own comes from its stack."""
    match resource:
        case {"Fn::ImportValue": str(name)} if "Cluster" in name:
            return CLUSTER
        case {"Fn::GetAtt": [str(name), "Arn"]} if name.startswith("Cluster"):
            return CLUSTER
        case _:
            return plain_text(resource)


def pairs(written: Iterable[dict[str, Any]]) -> set[tuple[str, str]]:
    """Actions and ARNs as pairs: CDK merges statements that share the one or the other."""
    return {(action, arn) for one in written for action in as_list(one["Action"]) for arn in as_list(one["Resource"])}


@pytest.mark.parametrize("name", ["dev", "prod", "many", "dev_on_eks", "prod_on_eks"])
def test_the_roles_have_the_rights_that_are_written_down_and_nobody_else_has_any(
    name: str, request: pytest.FixtureRequest
) -> None:
    environment: Synthesized = request.getfixturevalue(name)
    found = on_kafka(environment)
    assert all(set(each) == {"Action", "Effect", "Resource"} for written in found.values() for each in written)
    by_role = {owner.rstrip("0123456789ABCDEF"): pairs(written) for owner, written in found.items()}
    assert by_role == expected(environment.settings)


def test_nothing_else_gives_rights_on_kafka(environment: Synthesized) -> None:
    resources = [one for template in environment.by_role.values() for one in template["Resources"].values()]
    types = {resource["Type"] for resource in resources}
    assert "AWS::MSK::Cluster" in types
    assert "AWS::MSK::ClusterPolicy" not in types
    managed = {json.dumps(arn) for one in resources for arn in one.get("Properties", {}).get("ManagedPolicyArns", [])}
    assert any("AWSLambdaBasicExecutionRole" in arn for arn in managed)
    assert not [arn for arn in managed if WITH_KAFKA.search(arn)]
