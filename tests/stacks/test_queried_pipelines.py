"""Query-based pipelines: their resources in an environment, what they lack, and that the gate passes."""

from pathlib import Path
from typing import Any

import pytest

from contract import rds_ca
from settings.environment import Environment
from settings.load import load, load_pipeline
from stacks.gate.template import LATER
from stacks.lambda_assets import sql_hash
from tests.cases import long
from tests.stacks.conftest import Synthesized, synthesized
from tests.stacks.environments import QUERIED, SECRETS, only_queried
from tests.stacks.monitoring.found import alarms, dashboard
from tests.stacks.settings import change, copied
from tests.synthesis import found_in, shared_synthesis

pytestmark = pytest.mark.synth


OF_QUERIED = tuple(name.capitalize() for name in QUERIED)


@pytest.fixture(scope="module")
def alone_settings(tmp_path_factory: pytest.TempPathFactory) -> Environment:
    environments = copied(tmp_path_factory.mktemp("alone"))
    only_queried(environments)
    change(environments, "dev", "processing", "core_instances = 0")
    change(environments, "dev", "processing", 'primary_instance_type = "m5.2xlarge"')
    return load("dev", environments)


@pytest.fixture(scope="module")
def alone(alone_settings: Environment, tmp_path_factory: pytest.TempPathFactory) -> Synthesized:
    """dev with only a query-based pipeline."""
    return synthesized(alone_settings, tmp_path_factory.mktemp("alone"), nag=False)


@pytest.mark.parametrize("whole", [False, long(True)])
def test_the_gate_passes_without_any_connector(alone_settings: Environment, tmp_path: Path, *, whole: bool) -> None:
    found = found_in(alone_settings, shared_synthesis(alone_settings, tmp_path, nag=whole), lint=whole)
    assert [each for each in found if each.startswith("error")] == []


def test_nothing_is_made_for_connectors_of_what_is_queried(many: Synthesized, alone: Synthesized) -> None:
    for type_ in ("Custom::Connector", "Custom::Plugin", "Custom::Topics", "AWS::KafkaConnect::WorkerConfiguration"):
        assert not [name for name in many.resources("connectors", type_) if name.startswith(OF_QUERIED)]
        assert alone.resources("connectors", type_) == {}
    for type_ in ("Custom::PreparedSource", "Custom::PreparedPipeline", "Custom::OutsideSource"):
        assert not [name for name in many.resources("database", type_) if name.startswith(OF_QUERIED)]
        assert alone.resources("database", type_) == {}
    assert alone.resources("connectors", "AWS::EC2::SecurityGroupIngress") == {}


def test_the_role_of_our_own_cluster_is_made_and_that_of_others_looked_for(many: Synthesized) -> None:
    asked = {request["pipeline"]: request for request in many.requests("database", "Custom::QueriedSource").values()}
    assert asked.keys() == {"pagilaquery", "replica"}
    own, replica = asked["pagilaquery"], asked["replica"]
    assert (own["role"], own["database"], own["sslmode"]) == ("cdc_pagilaquery", "pagila", "verify-full")
    assert own["ownerSecretArn"] == LATER
    assert own["certificate"] == rds_ca.root("ap-southeast-2")
    assert (replica["host"], replica["port"]) == ("replica.abcdefghij.eu-west-1.rds.amazonaws.com", 5433)
    assert (replica["role"], replica["ownerSecretArn"]) == ("reader", "")
    assert replica["certificate"] == rds_ca.root("eu-west-1")
    for request in asked.values():
        assert [table["name"] for table in request["tables"]] == ["address", "city", "country"]
        assert list(request["queries"]) == ["query.address_place"]
        assert request["sqlHash"] == sql_hash("preparation")
    read = many.resources_of("database", "ReplicaReadingPreparationIsCompleteRole", "secretsmanager:GetSecretValue")
    assert read == [{f"{SECRETS}replica/reader-AbCdEf"}]


def test_the_jobs_read_exactly_their_secrets(many: Synthesized, dev: Synthesized) -> None:
    nodes = ("processing", "RolesNodes", "secretsmanager:GetSecretValue")
    # crm is captured: the job reads its first rows.
    outside = {f"{SECRETS}replica/reader-AbCdEf", f"{SECRETS}crm/connector-AbCdEf"}
    assert many.resources_of(*nodes) == [{LATER, *outside}]
    assert dev.resources_of(*nodes) == []


def doors(found: Synthesized) -> dict[str, dict[str, Any]]:
    """The processing stack's openings in the database's group."""
    rules = found.resources("processing", "AWS::EC2::SecurityGroupIngress")
    opened = {name: rule["Properties"] for name, rule in rules.items()}
    return {name: rule for name, rule in opened.items() if "DatabaseAccess" in str(rule["GroupId"])}


def test_the_clusters_nodes_reach_postgresql_of_our_own_database_and_nothing_wider(
    many: Synthesized, alone: Synthesized, dev: Synthesized
) -> None:
    assert doors(many).keys() == {"DatabaseFromPrimary", "DatabaseFromCore"}
    # A cluster of its primary node alone.
    assert doors(alone).keys() == {"DatabaseFromPrimary"}
    assert doors(dev) == {}
    for rule in (*doors(many).values(), *doors(alone).values()):
        assert (rule["IpProtocol"], rule["FromPort"], rule["ToPort"]) == ("tcp", 5432, 5432)
        assert set(rule) & {"CidrIp", "CidrIpv6", "SourcePrefixListId"} == set()
        assert "SourceSecurityGroupId" in rule
    assert "JobSecurityGroups" in many["processing"]["Outputs"]
    assert "JobSecurityGroups" not in alone["processing"]["Outputs"]


def test_a_step_knows_host_and_secret_only_when_deployed(many: Synthesized) -> None:
    steps = many.steps()
    own, replica = steps["pagilaquery-tables"], [step for name, step in steps.items() if name.startswith("replica")]
    assert f"hoodie.streamer.jdbc.url=jdbc:postgresql://{LATER}:5432/pagila" in own
    assert f"hoodie.streamer.jdbc.password.secret={LATER}" in own
    assert len(replica) == 4
    for step in replica:
        url = "jdbc:postgresql://replica.abcdefghij.eu-west-1.rds.amazonaws.com:5433/pagila"
        assert f"hoodie.streamer.jdbc.url={url}" in step
        assert f"hoodie.streamer.jdbc.password.secret={SECRETS}replica/reader-AbCdEf" in step
    certificate = next(argument for argument in replica[0] if "jdbc.ca.file=" in argument)
    assert many.asset(certificate).read_text() == rds_ca.root("eu-west-1")
    assert many.asset(own[own.index("--jars") + 1]).stat().st_size > 1_000_000


def test_what_is_queried_has_the_alarms_that_make_sense_for_it(many: Synthesized, alone: Synthesized) -> None:
    watched = {name for name in alarms(many) if name.endswith(QUERIED)}
    assert watched == {"horizon-age-pagilaquery", "horizon-age-replica"}
    tables = load_pipeline("pagilaquery").lake_tables
    assert alarms(alone).keys() == {
        "broker-disk",
        "horizon-age-pagilaquery",
        *(f"{what}-{table}" for what in ("commit-age", "quarantined-events", "table-failing") for table in tables),
    }
    horizon = alarms(many)["horizon-age-replica"]
    assert (horizon["MetricName"], horizon["Threshold"]) == ("HorizonAgeSeconds", 3600)
    assert horizon["Dimensions"] == [{"Name": "table", "Value": "dev_datalake.replica_address"}]
    assert horizon["AlarmDescription"].startswith("late: ")


def test_the_dashboard_shows_the_oldest_transaction_and_no_connector(alone: Synthesized) -> None:
    body = dashboard(alone["monitoring"]["Resources"])
    assert "source of pagilaquery: oldest open transaction (s)" in body
    assert "AWS/KafkaConnect" not in body
    assert [part for part in ("slot", "landing of", "topic of") if f'"title":"{part}' in body] == []
