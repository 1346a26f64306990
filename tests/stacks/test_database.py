"""The database's decisions: who reaches it, what is encrypted, kept and rotated, and how the source is prepared."""

import json
from typing import Any

import pytest

from contract import rds_ca
from plugins.connector_settings import SourceSettings
from settings.load import load
from stacks.gate import request_of
from stacks.handler_code import sql_hash
from tests.stacks.conftest import Synthesized
from tests.stacks.ports import open_ports, ways_out

pytestmark = pytest.mark.synth

ROLE = "database"


@pytest.fixture(params=["dev", "prod"])
def environment(request: pytest.FixtureRequest, dev: Synthesized, prod: Synthesized) -> tuple[str, Synthesized]:
    return request.param, {"dev": dev, "prod": prod}[request.param]


def cluster(stack: Synthesized) -> dict[str, Any]:
    (found,) = stack.resources(ROLE, "AWS::RDS::DBCluster").values()
    return dict(found)


def prepared(stack: Synthesized) -> dict[str, Any]:
    (found,) = stack.resources(ROLE, "Custom::PreparedSource").values()
    return dict(found)


def test_logical_replication_is_on_and_nobody_connects_without_tls(environment: tuple[str, Synthesized]) -> None:
    _, stack = environment
    stack[ROLE].has_resource_properties(
        "AWS::RDS::DBClusterParameterGroup",
        {"Family": "aurora-postgresql16", "Parameters": {"rds.logical_replication": "1", "rds.force_ssl": "1"}},
    )


def test_the_vpn_and_the_preparation_reach_it_and_nobody_else(environment: tuple[str, Synthesized]) -> None:
    name, stack = environment
    reached = open_ports(stack, ROLE, "DatabaseAccess")
    if load(name).database.secret_rotation_days:
        reached.remove("tcp Endpoint.Port from RotationSingleUser")
    assert reached == {"tcp 5432 from VpnAccess", "tcp 5432 from PreparationAccess"}
    instances = stack.resources(ROLE, "AWS::RDS::DBInstance").values()
    assert all(instance["Properties"]["PubliclyAccessible"] is False for instance in instances)
    assert {instance["Properties"]["CACertificateIdentifier"] for instance in instances} == {rds_ca.IDENTIFIER}


def test_the_connectors_open_their_own_way_in(environment: tuple[str, Synthesized]) -> None:
    _, stack = environment
    assert open_ports(stack, "connectors", "DatabaseAccess") == {"tcp 5432 from BrokerAccess"}


def test_it_is_encrypted_and_backed_up(environment: tuple[str, Synthesized]) -> None:
    name, stack = environment
    properties = cluster(stack)["Properties"]
    assert properties["StorageEncrypted"] is True
    assert properties["EnableIAMDatabaseAuthentication"] is True
    assert properties["BackupRetentionPeriod"] == load(name).database.backup_retention_days
    assert properties["EnableCloudwatchLogsExports"] == ["postgresql"]


def test_dev_is_one_instance_that_goes_with_its_stack(dev: Synthesized) -> None:
    dev[ROLE].resource_count_is("AWS::RDS::DBInstance", 1)
    assert cluster(dev)["DeletionPolicy"] == "Delete"
    assert cluster(dev)["Properties"]["DeletionProtection"] is False


def test_prod_is_two_instances_and_stays_with_all_that_it_needs(prod: Synthesized) -> None:
    prod[ROLE].resource_count_is("AWS::RDS::DBInstance", 2)
    # Switched on as the last step: see test_prods_database_is_protected_when_all_else_is_there.
    assert "DeletionProtection" not in cluster(prod)["Properties"]
    kept = {
        type_: {resource["DeletionPolicy"] for resource in prod.resources(ROLE, type_).values()}
        for type_ in ("AWS::RDS::DBCluster", "AWS::SecretsManager::Secret", "AWS::RDS::DBClusterParameterGroup")
    }
    assert list(kept.values()) == [{"RetainExceptOnCreate"}] * 3
    groups = prod.resources(ROLE, "AWS::EC2::SecurityGroup")
    assert [group["DeletionPolicy"] for name, group in groups.items() if "DatabaseAccess" in name] == [
        "RetainExceptOnCreate"
    ]


def test_prods_database_is_protected_when_all_else_is_there(dev: Synthesized, prod: Synthesized) -> None:
    """Before, a first deployment that fails couldn't be rolled back: the name of what stays would block the next."""
    assert dev.resources(ROLE, "Custom::ProtectedDatabase") == {}
    ((logical_id, protected),) = prod.resources(ROLE, "Custom::ProtectedDatabase").items()
    request = request_of(protected)
    assert request is not None
    assert set(request) == {"clusterIdentifier"}
    assert prod.resources(ROLE, "Custom::PreparedSource").keys() < set(protected["DependsOn"])
    assert prod.resources(ROLE, "AWS::RDS::DBInstance").keys() < set(protected["DependsOn"])
    waiting = [
        name
        for name, resource in prod[ROLE].to_json()["Resources"].items()
        if logical_id in json.dumps(resource.get("DependsOn", []))
    ]
    assert waiting == []


def test_the_masters_secret_is_rotated_in_prod_and_not_in_dev(dev: Synthesized, prod: Synthesized) -> None:
    dev[ROLE].resource_count_is("AWS::SecretsManager::RotationSchedule", 0)
    prod[ROLE].has_resource_properties(
        "AWS::SecretsManager::RotationSchedule",
        {"RotationRules": {"ScheduleExpression": f"rate({load('prod').database.secret_rotation_days} days)"}},
    )


def test_passwords_are_generated(environment: tuple[str, Synthesized]) -> None:
    _, stack = environment
    secrets = [secret["Properties"] for secret in stack.resources(ROLE, "AWS::SecretsManager::Secret").values()]
    users = [json.loads(s["GenerateSecretString"]["SecretStringTemplate"])["username"] for s in secrets]
    assert sorted(users) == ["cdc_connector", "postgres"]
    assert not any("SecretString" in secret for secret in secrets)


def test_the_source_is_prepared_as_the_environment_says(environment: tuple[str, Synthesized]) -> None:
    name, stack = environment
    settings = load(name).database
    request = request_of(prepared(stack))
    assert request is not None
    assert request["slot"] == SourceSettings.slot_name
    assert {key: request[key] for key in ("database", "sampleData", "sampleScale")} == {
        "database": settings.name,
        "sampleData": settings.sample_data,
        "sampleScale": settings.sample_scale,
    }


def test_another_outbox_calls_the_preparation_again(environment: tuple[str, Synthesized]) -> None:
    request = request_of(prepared(environment[1]))
    assert request is not None
    assert request["sqlHash"] == sql_hash("source_preparation")


def test_the_preparation_waits_for_the_instances_and_the_way_to_them(environment: tuple[str, Synthesized]) -> None:
    """And so, backwards: the slot is dropped while the database can still be reached."""
    _, stack = environment
    wanted = set(stack.resources(ROLE, "AWS::RDS::DBInstance"))
    wanted |= {
        logical_id
        for logical_id, rule in stack.resources(ROLE, "AWS::EC2::SecurityGroupIngress").items()
        if "PreparationAccess" in json.dumps(rule["Properties"]["SourceSecurityGroupId"])
    }
    assert len(wanted) > 1
    assert wanted <= set(prepared(stack)["DependsOn"])


def test_the_preparation_runs_inside_the_vpc_and_may_read_two_secrets(environment: tuple[str, Synthesized]) -> None:
    _, stack = environment
    assert ways_out(stack, ROLE, "PreparationAccess") == {"tcp 5432 to DatabaseAccess", "tcp 443 to 0.0.0.0/0"}
    functions = [
        function["Properties"]
        for function in stack.resources(ROLE, "AWS::Lambda::Function").values()
        if "source_preparation" in function["Properties"]["Handler"]
    ]
    assert {function["Handler"].rpartition(".")[2] for function in functions} == {"on_event", "is_complete"}
    for function in functions:
        assert "VpcConfig" in function
        assert len(function["Layers"]) == 1
    rights = [
        statement
        for policy in stack.resources(ROLE, "AWS::IAM::Policy").values()
        for statement in policy["Properties"]["PolicyDocument"]["Statement"]
        if "secretsmanager:GetSecretValue" in statement["Action"]
    ]
    assert rights
    assert all(len(statement["Resource"]) == 2 for statement in rights)


def test_the_servers_log_is_kept_for_as_long_as_the_environment_says(environment: tuple[str, Synthesized]) -> None:
    name, stack = environment
    settings = load(name)
    stack[ROLE].has_resource_properties(
        "AWS::Logs::LogGroup",
        {
            "LogGroupName": f"/aws/rds/cluster/{settings.prefix}/postgresql",
            "RetentionInDays": settings.database.log_retention_days,
        },
    )
    assert cluster(stack)["Properties"]["DBClusterIdentifier"] == settings.prefix
