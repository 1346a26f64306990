"""Pipelines on servers outside the stacks: the access that templates open to them, and the secrets that they read."""

import pytest

from contract import rds_ca
from stacks.gate.template import LATER
from stacks.lambda_assets import sql_hash
from tests.stacks.conftest import Synthesized
from tests.stacks.environments import SECRETS

pytestmark = pytest.mark.synth


CRM_ADDRESSES, ERP_GROUP = {"10.1.2.3/32", "10.1.3.0/28"}, "sg-0123456789abcdef0"
# Other groups of the stack, over HTTPS.
AWS_ALONE = {"0.0.0.0/0": {443}}
READS = "secretsmanager:GetSecretValue"


def ways_out(many: Synthesized, stack: str) -> dict[str, set[int]]:
    """The open ports, by destination, of a stack's groups, and what it opens in other stacks' groups."""
    added = many.properties(stack, "AWS::EC2::SecurityGroupEgress")
    groups = many.properties(stack, "AWS::EC2::SecurityGroup")
    ways: dict[str, set[int]] = {}
    for rule in [*added, *(rule for group in groups for rule in group.get("SecurityGroupEgress", []))]:
        place = rule.get("CidrIp") or rule.get("DestinationSecurityGroupId")
        # CDK's rule for a group without egress has no real address.
        if isinstance(place, str) and place != "255.255.255.255/32":
            ways.setdefault(place, set()).update({rule["FromPort"], rule["ToPort"]})
    return ways


@pytest.mark.parametrize("stack", ["connectors", "database"])
def test_the_way_out_is_to_exactly_the_databases_port(many: Synthesized, stack: str) -> None:
    ways = ways_out(many, stack)
    assert {place: ways[place] for place in CRM_ADDRESSES} == {place: {5433} for place in CRM_ADDRESSES}
    assert ways[ERP_GROUP] == {5432}
    assert {place: ports for place, ports in ways.items() if place not in (*CRM_ADDRESSES, ERP_GROUP)} == AWS_ALONE


@pytest.mark.parametrize(("name", "secret"), [("Crm", "crm/connector-AbCdEf"), ("Erp", "erp/connector-GhIjKl")])
def test_a_connector_reads_exactly_its_secret(many: Synthesized, name: str, secret: str) -> None:
    read = set().union(*many.resources_of("connectors", f"{name}SourceRole", READS))
    # Also the salt, if columns are hashed: another stack's, whose ARN is known later.
    assert read - {LATER} == {f"{SECRETS}{secret}"}
    assert (LATER in read) == (name == "Erp")


@pytest.mark.parametrize(
    ("name", "secrets"),
    [("Crm", {"crm/connector-AbCdEf"}), ("Erp", {"erp/connector-GhIjKl", "erp/owner-MnOpQr"})],
)
def test_a_preparation_reads_its_secrets_and_writes_down_what_it_did(
    many: Synthesized, name: str, secrets: set[str]
) -> None:
    role = f"{name}OutsidePreparationIsCompleteRole"
    assert many.resources_of("database", role, READS) == [{f"{SECRETS}{secret}" for secret in secrets}]
    [[entries]] = many.resources_of("database", role, "ssm:PutParameter")
    assert entries.endswith(f":parameter/dev-cdc-lake/source/{name.lower()}/prepared-by/*")


def test_a_database_is_looked_at_or_prepared_as_its_file_says(many: Synthesized) -> None:
    asked = {request["pipeline"]: request for request in many.requests("database", "Custom::OutsideSource").values()}
    assert asked.keys() == {"crm", "erp"}
    crm, erp = asked["crm"], asked["erp"]
    assert (crm["host"], crm["port"], crm["sslmode"]) == ("crm.example.internal", 5433, "verify-full")
    assert crm["certificate"] == rds_ca.root("eu-central-1")
    assert crm["ownerSecretArn"] == ""
    assert erp["ownerSecretArn"] == f"{SECRETS}erp/owner-MnOpQr"
    assert erp["certificate"] == rds_ca.root("eu-west-1")
    assert (crm["database"], erp["database"]) == ("crmdb", "erp_live")
    for name, request in asked.items():
        assert request["slot"] == request["publication"] == f"cdc_{name}"
        assert request["role"] == "cdc_connector"
        assert request["sqlHash"] == sql_hash("preparation")
        assert [table["name"] for table in request["tables"]] == ["people"]


def test_a_connector_is_told_host_and_secret_by_name(many: Synthesized) -> None:
    configuration = many.connectors()["dev-cdc-lake-crm-source"]["connectorConfiguration"]
    assert configuration["database.hostname"] == "crm.example.internal"
    assert configuration["database.port"] == "5433"
    assert configuration["database.password"] == "${secretsmanager:crm/connector:password}"


def test_a_plugin_carries_its_own_servers_authority(many: Synthesized) -> None:
    plugins = many.requests("connectors", "Custom::Plugin")
    certificates = {
        name.partition("SourcePlugin")[0]: request["resources"]["rds-ca.pem"]
        for name, request in plugins.items()
        if "SourcePlugin" in name
    }
    assert certificates["Crm"] == rds_ca.root("eu-central-1")
    assert certificates["Erp"] == rds_ca.root("eu-west-1")
    assert certificates[""] == certificates["Shop"] == rds_ca.root("ap-southeast-2")
