"""Databases outside the stacks: refusals of their location, of admitted clients, and of their identification."""

import pytest

from contract import rds_ca
from plugins.source.source_connector import source_connector
from settings import aws_offers
from settings.connectors import ROOT_CERTIFICATE, root_certificate, source_settings
from tests.settings.pipelines import Project
from tests.stacks.environments import CRM, ERP

OUTBOX_OUTSIDE = "captures the outbox, which is in the environment's own cluster: take it out"


@pytest.fixture
def project(project: Project) -> Project:
    for name in ("crm", "erp"):
        project.write(name, ["people"])
    return project


def test_a_connector_is_told_of_another_server_and_its_authority(project: Project) -> None:
    environment = project.add("crm", *CRM, 'name = "My-Shop"').add("erp", *ERP).load()
    orders, crm, erp = environment.pipelines
    configuration = source_connector(source_settings(environment, crm))
    server = {"hostname": "crm.example.internal", "port": "5433", "sslmode": "verify-full", "dbname": "My-Shop"}
    assert {name: configuration[f"database.{name}"] for name in server} == server
    assert configuration["driver.sslfactoryarg"] == f"classpath:{ROOT_CERTIFICATE}"
    # A server of RDS is known by its own region's authority; the environment's own cluster stays what it is.
    regions = {"crm": "eu-central-1", "erp": "eu-west-1", "orders": environment.region}
    for pipeline in environment.pipelines:
        expected = {ROOT_CERTIFICATE: rds_ca.root(regions[pipeline.name])}
        assert root_certificate(environment, pipeline) == expected
    assert source_settings(environment, erp).database_name == erp.as_deployed.source.database == "erp_live"
    assert source_settings(environment, orders).database_port == 5432


def test_a_region_whose_authority_is_unknown_is_refused(project: Project) -> None:
    lines = [line.replace("eu-west-1", "mars-1") for line in ERP]
    told = project.add("erp", *lines).refusal()
    assert "pipelines[1].database.host: rds-ca.pem has no root certificate" in told


def test_production_asks_who_answers(project: Project) -> None:
    project.add("crm", *(line for line in CRM if not line.startswith("certificate")), 'sslmode = "require"')
    environment = project.load()
    assert source_settings(environment, environment.pipelines[1]).database_root_certificate is None
    project.change("", "production = true")
    assert "database.sslmode: encrypts, but doesn't ask who answers: set \"ver" in project.refusal()


def test_an_outbox_is_in_the_environments_own_cluster(project: Project) -> None:
    path = project.environments / "dev.toml"
    section = "\n".join(["", *CRM, ""])
    path.write_text(path.read_text().replace("[pipelines.source]", f"{section}\n[pipelines.source]", 1))
    assert f"pipelines[0].database: pipeline orders {OUTBOX_OUTSIDE}" in project.refusal()


def test_slots_and_names_are_a_servers_own(project: Project) -> None:
    """The cluster's slots are counted without them, and two servers may have a slot of the same name."""
    project.write("second", ["events"], source='slot = "cdc_orders"')
    project.add("second", *CRM)
    for number in range(aws_offers.AURORA_REPLICATION_SLOTS - aws_offers.RESERVED_SLOTS - 1):
        project.write(f"p{number}", ["a"])
        project.add(f"p{number}")
    orders, second, *others = project.load().pipelines
    assert orders.connector_role == second.connector_role == "cdc_connector"
    assert len(others) == aws_offers.AURORA_REPLICATION_SLOTS - aws_offers.RESERVED_SLOTS - 1


def test_two_pipelines_of_one_outside_server_share_no_slot(project: Project) -> None:
    project.write("second", ["events"], source='slot = "cdc_crm"')
    project.add("crm", *CRM)
    told = project.add("second", *CRM).refusal()
    assert "the replication slot cdc_crm at crm.example.internal:5433 is that of pipeline crm, too" in told
