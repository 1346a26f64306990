"""Databases that the stacks don't make: what is refused of where they are, whom they let in, and how they are known."""

from pathlib import Path

import pytest

from contract import rds_ca
from plugins.source.source_connector import source_connector
from settings import aws_offers
from settings.connectors import ROOT_CERTIFICATE, root_certificate, source_settings
from settings.environment import Environment
from settings.load import EnvironmentFileError, load
from tests.settings.pipelines import add_to, copied_pipelines, write_pipeline
from tests.stacks.many import CRM, ERP, SECRETS
from tests.stacks.settings import change, copied

OUTBOX_OUTSIDE = "captures the outbox, which is in the environment's own cluster: take it out"


@pytest.fixture
def environments(tmp_path: Path) -> Path:
    return copied(tmp_path)


@pytest.fixture
def pipelines(tmp_path: Path) -> Path:
    folder = copied_pipelines(tmp_path)
    for name in ("crm", "erp"):
        write_pipeline(folder, name, ["people"])
    return folder


def loaded(environments: Path, pipelines: Path, *lines: str, name: str = "crm") -> Environment:
    add_to(environments, name, *lines)
    return load("dev", environments, pipelines)


def refusal(environments: Path, pipelines: Path, *lines: str, name: str = "crm") -> str:
    with pytest.raises(EnvironmentFileError) as caught:
        loaded(environments, pipelines, *lines, name=name)
    return str(caught.value)


def without(key: str) -> list[str]:
    return [line for line in CRM if not line.startswith(f"{key} =")]


def changed(line: str) -> list[str]:
    return [*without(line.partition(" =")[0]), line]


def test_a_connector_is_told_of_another_server_and_its_authority(environments: Path, pipelines: Path) -> None:
    environment = loaded(environments, pipelines, *CRM)
    _, crm = environment.pipelines
    configuration = source_connector(source_settings(environment, crm))
    assert configuration["database.hostname"] == "crm.example.internal"
    assert configuration["database.port"] == "5433"
    assert configuration["database.sslmode"] == "verify-full"
    assert root_certificate(environment, crm) == {ROOT_CERTIFICATE: rds_ca.root("eu-central-1")}
    assert crm.database is not None
    assert crm.database.secret_name == "crm/connector"


def test_a_server_of_rds_is_known_by_its_own_regions_authority(environments: Path, pipelines: Path) -> None:
    environment = loaded(environments, pipelines, *ERP, name="erp")
    _, erp = environment.pipelines
    assert root_certificate(environment, erp) == {ROOT_CERTIFICATE: rds_ca.root("eu-west-1")}
    assert erp.as_deployed.source.database == "erp_live"
    assert source_settings(environment, erp).database_name == "erp_live"


def test_the_environments_own_cluster_stays_what_it_is(environments: Path, pipelines: Path) -> None:
    environment = loaded(environments, pipelines, *CRM)
    orders, _ = environment.pipelines
    assert root_certificate(environment, orders) == {ROOT_CERTIFICATE: rds_ca.root(environment.region)}
    assert source_settings(environment, orders).database_port == 5432


REFUSED = [
    (
        without("cidrs"),
        "cidrs: name the database's addresses, such as 10.1.2.3/32 or its subnets, or its security_group",
    ),
    ([*CRM, 'security_group = "sg-01234567"'], "cidrs: name the database's addresses"),
    (changed('cidrs = ["0.0.0.0/0"]'), "cidrs: 0.0.0.0/0 are 4,294,967,296 addresses, and the connectors would reach"),
    (changed('cidrs = ["10.1.0.0/16"]'), "port 5433 of each: name the database's own, 256 at the most"),
    (changed('cidrs = ["10.100.7.0/28"]'), "cidrs: 10.100.7.0/28 is in the environment's own VPC (10.100.0.0/16)"),
    (changed(f'secret = "{SECRETS.replace("1111", "2222")}crm-AbCdEf"'), "secret: is of account 222222222222 in ap-"),
    (changed(f'secret = "{SECRETS.replace("southeast", "south")}crm-AbCdEf"'), "secret: is of account 111111111111 in"),
    (changed(f'secret = "{SECRETS}crm"'), "secret: "),
    ([*CRM, f'owner_secret = "{SECRETS}crm/connector-AbCdEf"'], "owner_secret: is the connector's secret"),
    (without("certificate"), "certificate: crm.example.internal isn't a host of RDS, whose authority we know"),
    (changed('certificate = "hunter2"'), "certificate: must be one certificate as PEM"),
    (changed(f'certificate = """{rds_ca.root("eu-west-1") * 2}"""'), "certificate: must be one certificate as PEM"),
    ([*CRM, 'sslmode = "require"'], 'certificate: isn\'t looked at with sslmode = "require"'),
]


@pytest.mark.parametrize(("lines", "said"), REFUSED, ids=[said[:40] for _, said in REFUSED])
def test_what_opens_too_much_or_says_too_little_is_one_line(
    environments: Path, pipelines: Path, lines: list[str], said: str
) -> None:
    told = refusal(environments, pipelines, *lines)
    assert told.startswith("environments/dev.toml: pipelines[1].database.")
    assert said in told
    assert "\n" not in told


def test_a_region_whose_authority_is_unknown_is_refused(environments: Path, pipelines: Path) -> None:
    lines = [line.replace("eu-west-1", "mars-1") for line in ERP]
    told = refusal(environments, pipelines, *lines, name="erp")
    assert "pipelines[1].database.host: rds-ca.pem has no root certificate" in told


def test_production_asks_who_answers(environments: Path, pipelines: Path) -> None:
    add_to(environments, "crm", *without("certificate"), 'sslmode = "require"')
    assert load("dev", environments, pipelines).pipelines[1].database is not None
    change(environments, "dev", "", "production = true")
    with pytest.raises(
        EnvironmentFileError, match=r'database\.sslmode: encrypts, but doesn.t ask who answers: set "ver'
    ):
        load("dev", environments, pipelines)


def test_an_outbox_is_in_the_environments_own_cluster(environments: Path, pipelines: Path) -> None:
    path = environments / "dev.toml"
    section = "\n".join(["", *CRM, ""])
    path.write_text(path.read_text().replace("[pipelines.source]", f"{section}\n[pipelines.source]", 1))
    with pytest.raises(EnvironmentFileError) as caught:
        load("dev", environments, pipelines)
    assert f"pipelines[0].database: pipeline orders {OUTBOX_OUTSIDE}" in str(caught.value)


def test_slots_and_names_are_a_servers_own(environments: Path, pipelines: Path) -> None:
    """The cluster's slots are counted without them, and two servers may have a slot of the same name."""
    write_pipeline(pipelines, "second", ["events"], source='slot = "cdc_orders"')
    add_to(environments, "second", *CRM)
    for number in range(aws_offers.AURORA_REPLICATION_SLOTS - aws_offers.RESERVED_SLOTS - 1):
        write_pipeline(pipelines, f"p{number}", ["a"])
        add_to(environments, f"p{number}")
    orders, second, *others = load("dev", environments, pipelines).pipelines
    assert orders.connector_role == second.connector_role == "cdc_connector"
    assert len(others) == aws_offers.AURORA_REPLICATION_SLOTS - aws_offers.RESERVED_SLOTS - 1


def test_two_pipelines_of_one_outside_server_share_no_slot(environments: Path, pipelines: Path) -> None:
    write_pipeline(pipelines, "second", ["events"], source='slot = "cdc_crm"')
    add_to(environments, "crm", *CRM)
    told = refusal(environments, pipelines, *CRM, name="second")
    assert "the replication slot cdc_crm at crm.example.internal:5433 is that of pipeline crm, too" in told
