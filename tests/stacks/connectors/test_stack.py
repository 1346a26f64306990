"""The connectors' stack: the shared configurations, one narrow role each, and in what order they come and go."""

import hashlib
import json
import re
from pathlib import Path
from typing import Any

import botocore.session
import cfnlint
import pytest
from botocore.validate import validate_parameters

from contract.rds_ca import root
from plugins import utf8_only
from plugins.connector_names import GENERATION
from plugins.sink_connector import sink_connector
from plugins.source_connector import source_connector
from settings.connectors import sink_settings, source_settings
from settings.load import load
from stacks.connectors.worker_file import properties_file
from stacks.gate import plain_text, request_of
from stacks.gate.template import LATER, decoded
from stacks.handlers.connector_changes import CONFIGURATION, FIXED, WORKER_SETTINGS
from stacks.handlers.journal import REMEMBERED_SECONDS, VARIABLE
from stacks.provider import JOURNAL_KEYS, JOURNAL_VARIABLE
from tests.stacks.conftest import Synthesized

pytestmark = pytest.mark.synth

ENVIRONMENTS = pytest.mark.parametrize("name", ["dev", "prod"])


@pytest.fixture
def both(dev: Synthesized, prod: Synthesized) -> dict[str, Synthesized]:
    return {"dev": dev, "prod": prod}


def requests(environment: Synthesized, type_: str) -> dict[str, dict[str, Any]]:
    """The requests of the custom resources of a type, by logical id."""
    return {
        logical_id: request_of(resource) or {}
        for logical_id, resource in environment.resources("connectors", type_).items()
    }


def connector(environment: Synthesized, role: str) -> dict[str, Any]:
    (request,) = [
        request
        for request in requests(environment, "Custom::Connector").values()
        if request["connectorName"].endswith(role)
    ]
    return request


def rights(environment: Synthesized, role: str) -> dict[str, set[str]]:
    """What the connector's role may do: resource → actions."""
    found: dict[str, set[str]] = {}
    for logical_id, policy in environment.resources("connectors", "AWS::IAM::Policy").items():
        if logical_id.startswith(f"{role}Role"):
            for statement in policy["Properties"]["PolicyDocument"]["Statement"]:
                resources, actions = statement["Resource"], statement["Action"]
                for resource in resources if isinstance(resources, list) else [resources]:
                    found.setdefault(plain_text(resource), set()).update(
                        actions if isinstance(actions, list) else [actions]
                    )
    return found


@ENVIRONMENTS
def test_the_source_is_configured_as_on_one_machine(both: dict[str, Synthesized], name: str) -> None:
    configured = connector(both[name], "orders-source")["connectorConfiguration"]
    expected = utf8_only.checked(source_connector(source_settings(load(name), load(name).pipelines[0])))
    known_later = {"database.hostname", "database.password"}
    assert {key: value for key, value in configured.items() if key not in known_later} == {
        key: value for key, value in expected.items() if key not in known_later
    }


@ENVIRONMENTS
def test_the_sink_is_configured_as_on_one_machine(both: dict[str, Synthesized], name: str) -> None:
    configured = connector(both[name], "orders-sink")["connectorConfiguration"]
    assert configured == utf8_only.checked(sink_connector(sink_settings(load(name), load(name).pipelines[0])))
    assert "PROPERTIES('flush.interval'=60,'flush.count'=5000)" in configured["connect.s3.kcql"]


@ENVIRONMENTS
def test_the_password_is_a_reference_that_the_worker_resolves(both: dict[str, Synthesized], name: str) -> None:
    password = connector(both[name], "orders-source")["connectorConfiguration"]["database.password"]
    assert password.startswith("${secretsmanager:")
    assert password.endswith(":password}")
    lines = worker_file(both[name], "Source")
    assert "config.providers=secretsmanager" in lines
    assert f"offset.storage.topic=__cdc_lake_offsets_{name}-cdc-lake-orders-source-{LATER}" in lines


@ENVIRONMENTS
def test_a_changed_worker_configuration_is_another_one(both: dict[str, Synthesized], name: str) -> None:
    """CloudFormation makes the new one first, so the names must differ; the connector takes it in place."""
    workers = both[name].resources("connectors", "AWS::KafkaConnect::WorkerConfiguration")
    names = {logical_id: plain_text(worker["Properties"]["Name"]) for logical_id, worker in workers.items()}
    assert {re.sub("[0-9a-f]{16}", "", each) for each in names.values()} == {
        f"{name}-cdc-lake-orders-source--{LATER}",
        f"{name}-cdc-lake-orders-sink-",
    }
    for logical_id, worker in workers.items():
        content = (decoded(worker["Properties"]["PropertiesFileContent"]) or "").replace(LATER, GENERATION)
        stack = f"{name}-cdc-lake-connectors"
        digest = hashlib.sha256(f"{stack}/{logical_id}\0{content}".encode()).hexdigest()
        assert names[logical_id].removesuffix(f"-{LATER}").endswith(digest[:16])


@pytest.mark.parametrize("value", ["a\nb", "a\\b"])
def test_a_value_that_a_properties_file_would_read_otherwise_is_refused(value: str) -> None:
    with pytest.raises(ValueError, match=r"^key must be one line of text without a backslash$"):
        properties_file({"key": value})


@ENVIRONMENTS
def test_the_apps_tags_reach_what_cloudformation_does_not_tag(both: dict[str, Synthesized], name: str) -> None:
    tags = {"environment": name, "system": "cdc-lake"}
    for type_ in ("Custom::Connector", "Custom::Plugin"):
        found = requests(both[name], type_)
        assert len(found) == 2
        assert all(request["tags"] == tags for request in found.values())
    for worker in both[name].resources("connectors", "AWS::KafkaConnect::WorkerConfiguration").values():
        assert {tag["Key"]: tag["Value"] for tag in worker["Properties"]["Tags"]} == tags


@ENVIRONMENTS
def test_handlers_write_down_what_they_do_where_only_they_look(both: dict[str, Synthesized], name: str) -> None:
    artefacts = load(name).bucket_name("artefacts")
    functions = both[name].resources("connectors", "AWS::Lambda::Function").values()
    journals = [
        function["Properties"]["Environment"]["Variables"].get(VARIABLE)
        for function in functions
        if re.search(r"handlers\.connector(_plugin)?\.", function["Properties"].get("Handler", ""))
    ]
    assert journals == [f"{artefacts}/{JOURNAL_KEYS}"] * 4
    (rule,) = [
        rule
        for bucket in both[name].resources("lake", "AWS::S3::Bucket").values()
        for rule in bucket["Properties"].get("LifecycleConfiguration", {}).get("Rules", [])
        if rule.get("Prefix") == JOURNAL_KEYS
    ]
    # Nothing in it counts after REMEMBERED_SECONDS.
    assert rule["ExpirationInDays"] * 24 * 3_600 > REMEMBERED_SECONDS
    assert JOURNAL_VARIABLE == VARIABLE


def worker_file(environment: Synthesized, role: str) -> list[str]:
    """The lines of a worker's properties file."""
    (worker,) = [
        resource["Properties"]
        for logical_id, resource in environment.resources(
            "connectors", "AWS::KafkaConnect::WorkerConfiguration"
        ).items()
        if logical_id.startswith(role)
    ]
    return (decoded(worker["PropertiesFileContent"]) or "").splitlines()


@ENVIRONMENTS
@pytest.mark.parametrize("role", ["orders-source", "orders-sink"])
def test_the_request_is_one_that_msk_connect_takes(both: dict[str, Synthesized], name: str, role: str) -> None:
    request = json.loads(json.dumps(connector(both[name], role)).replace("\\u0000", "arn:aws:iam::1:role/x"))
    for part in (request["workerConfiguration"], request["plugins"][0]["customPlugin"]):
        part["revision"] = 1  # known only when deployed, or a string in CloudFormation's words
    model = botocore.session.get_session().get_service_model("kafkaconnect")
    shape = model.operation_model("CreateConnector").input_shape
    assert shape is not None
    validate_parameters(request, shape)


@ENVIRONMENTS
def test_the_database_must_be_the_one_that_its_regions_authority_signed(
    both: dict[str, Synthesized], name: str
) -> None:
    configuration = connector(both[name], "orders-source")["connectorConfiguration"]
    assert configuration["database.sslmode"] == "verify-full"
    resource = configuration["driver.sslfactoryarg"].removeprefix("classpath:")
    plugins = {key: value["resources"] for key, value in requests(both[name], "Custom::Plugin").items()}
    (source,) = (files for key, files in plugins.items() if key.startswith("Source"))
    assert source == {resource: root(load(name).region), **utf8_only.resources()}
    (sink,) = (files for key, files in plugins.items() if key.startswith("Sink"))
    assert sink == utf8_only.resources()


@ENVIRONMENTS
def test_log_delivery_is_let_in_by_the_stack_and_no_handler_may_let_anyone_in(
    both: dict[str, Synthesized], name: str
) -> None:
    (policy,) = both[name].resources("connectors", "AWS::Logs::ResourcePolicy").values()
    (statement,) = json.loads(plain_text(policy["Properties"]["PolicyDocument"]), strict=False)["Statement"]
    assert statement["Principal"] == {"Service": "delivery.logs.amazonaws.com"}
    assert statement["Action"] == ["logs:CreateLogStream", "logs:PutLogEvents"]
    assert statement["Condition"]["StringEquals"] == {"aws:SourceAccount": load(name).account}
    assert "PutResourcePolicy" not in json.dumps(both[name].synthesis.templates)
    (policy_id,) = both[name].resources("connectors", "AWS::Logs::ResourcePolicy")
    for made in both[name].resources("connectors", "Custom::Connector").values():
        assert policy_id in made["DependsOn"]


@ENVIRONMENTS
def test_brokers_are_reached_with_iam_over_tls_alone(both: dict[str, Synthesized], name: str) -> None:
    for role in ("orders-source", "orders-sink"):
        request = connector(both[name], role)
        assert request["kafkaClusterClientAuthentication"] == {"authenticationType": "IAM"}
        assert request["kafkaClusterEncryptionInTransit"] == {"encryptionType": "TLS"}


@ENVIRONMENTS
def test_the_source_may_write_its_topics_and_nothing_of_the_landing(both: dict[str, Synthesized], name: str) -> None:
    cluster = f"{name}-cdc-lake/*"
    allowed = rights(both[name], "Source")
    written = {
        arn.partition(f"{cluster}/")[2] for arn, actions in allowed.items() if "kafka-cluster:WriteData" in actions
    }
    assert written == {
        "msk.datalake.cdc_events",
        "__debezium-heartbeat.msk",
        f"__cdc_lake_offsets_{name}-cdc-lake-orders-source-*",
        f"__amazon_msk_connect_*_{name}-cdc-lake-orders-source_*",
    }
    assert "kafka-cluster:ReadData" not in allowed[next(arn for arn in allowed if arn.endswith("cdc_events"))]
    assert not any(action.startswith("s3:") for actions in allowed.values() for action in actions)
    secrets = [arn for arn, actions in allowed.items() if "secretsmanager:GetSecretValue" in actions]
    assert len(secrets) == 1


@ENVIRONMENTS
def test_the_sink_may_read_one_topic_and_write_below_three_prefixes(both: dict[str, Synthesized], name: str) -> None:
    allowed = rights(both[name], "Sink")
    topic = next(arn for arn in allowed if arn.endswith("/msk.datalake.cdc_events"))
    assert "kafka-cluster:WriteData" not in allowed[topic]
    bucket = f"arn:aws:s3:::{load(name).bucket_name('landing')}"
    writable = {arn for arn, actions in allowed.items() if "s3:PutObject" in actions}
    assert writable == {f"{bucket}/cdc-events/*", f"{bucket}/.indexes/*", f"{bucket}/.temp-upload/*"}
    groups = {arn.rpartition("/")[2] for arn in allowed if ":group/" in arn}
    assert groups == {f"connect-{name}-cdc-lake-orders-sink", "__amazon_msk_connect_*"}
    assert not any(action.startswith("secretsmanager:") for actions in allowed.values() for action in actions)


@ENVIRONMENTS
def test_each_role_is_its_connectors_alone(both: dict[str, Synthesized], name: str) -> None:
    for role in ("Source", "Sink"):
        (document,) = [
            resource["Properties"]["AssumeRolePolicyDocument"]
            for logical_id, resource in both[name].resources("connectors", "AWS::IAM::Role").items()
            if logical_id.startswith(f"{role}Role")
        ]
        (statement,) = document["Statement"]
        assert statement["Principal"] == {"Service": "kafkaconnect.amazonaws.com"}
        source = plain_text(statement["Condition"]["ArnLike"]["aws:SourceArn"])
        assert source.endswith(f":connector/{name}-cdc-lake-orders-{role.lower()}/*")


@ENVIRONMENTS
def test_a_connector_comes_after_all_it_needs(both: dict[str, Synthesized], name: str) -> None:
    """So that a failed creation leaves nothing behind, and a deletion goes the other way round."""
    resources = both[name].resources("connectors", "Custom::Connector")
    sink = next(value for key, value in resources.items() if key.startswith("Sink"))
    source = next(value for key, value in resources.items() if key.startswith("Source"))
    assert any(dependency.startswith("SourceConnector") for dependency in sink["DependsOn"])
    for connector_resource in (source, sink):
        assert any(dependency.startswith("Topics") for dependency in connector_resource["DependsOn"])
    assert any(dependency.startswith("SourceRole") and "Policy" in dependency for dependency in source["DependsOn"])
    assert any(dependency.startswith("SinkRole") and "Policy" in dependency for dependency in sink["DependsOn"])


@ENVIRONMENTS
def test_the_connectors_reach_postgresql_and_nobody_else_does_from_here(
    both: dict[str, Synthesized], name: str
) -> None:
    ways = []
    for type_ in ("AWS::EC2::SecurityGroupIngress", "AWS::EC2::SecurityGroupEgress"):
        rules = both[name].resources("connectors", type_).values()
        # The other one is the brokers': tests/stacks/connectors/test_topics.py.
        (rule,) = [rule for rule in rules if rule["Properties"]["FromPort"] != 9098]
        assert (rule["Properties"]["FromPort"], rule["Properties"]["ToPort"]) == (5432, 5432)
        assert "CidrIp" not in rule["Properties"]
        ways.append(rule["Properties"])
    into, out = ways
    assert into["SourceSecurityGroupId"] == out["GroupId"]
    assert into["GroupId"] == out["DestinationSecurityGroupId"]


@ENVIRONMENTS
def test_handlers_pass_only_the_connectors_roles(both: dict[str, Synthesized], name: str) -> None:
    for policy in both[name].resources("connectors", "AWS::IAM::Policy").values():
        for statement in policy["Properties"]["PolicyDocument"]["Statement"]:
            if "iam:PassRole" in statement["Action"]:
                assert statement["Condition"] == {"StringEquals": {"iam:PassedToService": "kafkaconnect.amazonaws.com"}}
                assert "*" not in json.dumps(statement["Resource"])


@ENVIRONMENTS
def test_failed_tasks_of_both_connectors_are_looked_after_every_five_minutes(
    both: dict[str, Synthesized], name: str
) -> None:
    (rule,) = both[name].resources("connectors", "AWS::Events::Rule").values()
    assert rule["Properties"]["ScheduleExpression"] == "rate(5 minutes)"
    target = rule["Properties"]["Targets"][0]["Arn"]["Fn::GetAtt"][0]
    function = both[name].resources("connectors", "AWS::Lambda::Function")[target]["Properties"]
    assert function["Handler"] == "stacks.handlers.connector_restarts.handler"
    connectors = [f"{name}-cdc-lake-orders-source", f"{name}-cdc-lake-orders-sink"]
    assert function["Environment"]["Variables"]["CONNECTORS"].split(",") == connectors
    restartable = {
        plain_text(arn).rpartition(":connector/")[2]
        for policy in both[name].resources("connectors", "AWS::IAM::Policy").values()
        for statement in policy["Properties"]["PolicyDocument"]["Statement"]
        if "kafkaconnect:RestartConnector" in statement["Action"]
        for arn in statement["Resource"]
    }
    assert restartable == {f"{connector}/*" for connector in connectors}


def native(type_: str) -> dict[str, Any]:
    """CloudFormation's schema of a type, as cfn-lint carries it."""
    schemas = Path(cfnlint.__file__).parent / "data" / "schemas"
    by_type = json.loads((schemas / "providers" / "ap-southeast-2.json").read_text())
    schema: dict[str, Any] = json.loads((schemas / "resources" / f"{by_type[type_]}.json").read_text())
    return schema


def in_place(schema: dict[str, Any]) -> set[str]:
    """What a type changes without making it anew."""
    fixed = {path.removeprefix("/properties/") for path in schema["createOnlyProperties"]}
    shown = {path.removeprefix("/properties/") for path in schema["readOnlyProperties"]}
    return set(schema["properties"]) - fixed - shown


def test_what_the_native_types_change_in_place_is_what_the_decision_says() -> None:
    """docs/decisions/0050: when these differ, so does what the handlers are there for."""
    connector_schema = native("AWS::KafkaConnect::Connector")
    assert in_place(connector_schema) == {"Capacity", "ConnectorConfiguration", "Tags"}
    assert connector_schema["replacementStrategy"] == "delete_then_create"
    assert in_place(native("AWS::KafkaConnect::CustomPlugin")) == {"Tags"}
    assert in_place(native("AWS::KafkaConnect::WorkerConfiguration")) == {"Tags"}
    properties = {name[0].lower() + name[1:] for name in connector_schema["properties"]}
    ours = {*FIXED, *WORKER_SETTINGS, CONFIGURATION, "connectorName", "connectorDescription", "tags", "connectorArn"}
    assert properties == ours
