"""Captured pipelines whose first rows the job reads: its way to their databases, and that connectors come first."""

import json
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from contract import rds_ca
from operate.review.material import Material
from operate.review.network import network
from operate.review.roles import rights_by_holder
from operate.review.rows import Table
from operate.review.secrets import section
from settings.load import load
from stacks.gate.template import LATER
from tests.settings.pipelines import add_to, copied_pipelines, write_pipeline
from tests.stacks.conftest import Synthesized, synthesized
from tests.stacks.environments import DIRECT, SECRETS, on_eks
from tests.stacks.test_queried_pipelines import doors
from tests.synthesis import found_in

pytestmark = pytest.mark.synth
CLIENTS = {"EMR primary node", "EMR core nodes"}


@pytest.fixture(scope="module")
def on_its_own(tmp_path_factory: pytest.TempPathFactory) -> Synthesized:
    """dev on EKS with `shop`, in dev's own cluster, with a hashed column, and nothing that is queried."""
    folder = tmp_path_factory.mktemp("direct")
    environments, pipelines = on_eks(folder, "dev"), copied_pipelines(folder)
    write_pipeline(pipelines, "shop", ["orders"], table=f'{DIRECT}\nhash = ["name"]')
    job = ("[pipelines.job]", 'read_again = "2026-11-27"')
    add_to(environments, "shop", "[pipelines.source]", "workers = 2", "[pipelines.sink]", "workers = 2", *job)
    return synthesized(load("dev", environments, pipelines), folder / "cdk.out", nag=False, pipelines=pipelines)


def properties(arguments: list[str]) -> dict[str, str]:
    return dict(value.split("=", 1) for option, value in pairwise(arguments) if option == "--hoodie-conf")


@pytest.mark.parametrize("name", ["many", "on_its_own"])
def test_only_the_applications_that_read_first_rows_know_their_database(
    name: str, request: pytest.FixtureRequest
) -> None:
    found = request.getfixturevalue(name).steps()
    connect = {step for step, arguments in found.items() if "hoodie.streamer.jdbc.url" in properties(arguments)}
    loading = {"shop_orders", "shop_items", "crm-tables"} if name == "many" else {"shop-tables"}
    assert {step for step in connect if not step.startswith(("pagilaquery", "replica"))} == loading
    for step in loading:
        given = properties(found[step])
        crm = step == "crm-tables"
        place = "crm.example.internal:5433/crmdb" if crm else f"{LATER}:5432/shopdb"
        assert given["hoodie.streamer.jdbc.url"] == f"jdbc:postgresql://{place}"
        assert given["hoodie.streamer.jdbc.password.secret"] == (f"{SECRETS}crm/connector-AbCdEf" if crm else LATER)
        assert "hoodie.streamer.jdbc.ca.file" in given
        salt = None if name == "many" else LATER
        assert given.get("hoodie.streamer.first.load.salt.secret") == salt
        assert ("--source-class", "org.apache.hudi.utilities.sources.JsonDFSSource") in pairwise(found[step])


def test_a_setting_has_the_job_read_these_tables_again_and_no_landed_event(on_its_own: Synthesized) -> None:
    assert "--ignore-checkpoint" not in on_its_own.steps()["shop-tables"]
    texts = [path.read_text() for path in Path(on_its_own.synthesis.folder).glob("asset.*.properties")]
    assert sum("hoodie.streamer.read.again=2026-11-27" in text for text in texts) == 1


def test_the_server_is_verified_by_its_own_authority(many: Synthesized) -> None:
    file = properties(many.steps()["crm-tables"])["hoodie.streamer.jdbc.ca.file"]
    assert many.asset(file).read_text() == rds_ca.root("eu-central-1")


def test_the_nodes_reach_the_database_and_the_gate_accepts_that(on_its_own: Synthesized) -> None:
    assert doors(on_its_own).keys() == {"DatabaseFromPrimary", "DatabaseFromCore"}
    assert "JobSecurityGroups" not in on_its_own["processing"]["Outputs"]
    found = found_in(on_its_own.settings, on_its_own.synthesis, lint=False)
    assert [each for each in found if each.startswith("error")] == []


def test_the_review_shows_who_reaches_the_database_and_reads_the_secret(on_its_own: Synthesized) -> None:
    shown = Material(on_its_own.settings, on_its_own.synthesis)
    ways_in = network(shown).ways_in
    [database] = {way.target for way in ways_in if way.source in CLIENTS and way.ports == ("TCP 5432",)}
    assert database == "The source database"
    ways = {way.source: way.why for way in ways_in if way.target == database}
    assert ways.keys() >= CLIENTS
    assert ways["EMR core nodes"] == ("PostgreSQL from the streaming job",)
    [table] = section(shown, rights_by_holder(shown)).shown
    assert isinstance(table, Table)
    secrets = {row[0]: row[-1] for row in table.rows}
    for name in ("ShopConnectorSecret", "ShopHashSalt"):
        assert "processing/Roles/Nodes" in secrets[f"database/{name}"]


def dependencies(found: Synthesized, stack: str) -> Any:
    manifest = json.loads(Path(found.synthesis.folder, "manifest.json").read_text())
    return manifest["artifacts"][f"{found.settings.prefix}-{stack}"]["dependencies"]


def test_the_connectors_send_a_table_before_its_rows_are_read(on_its_own: Synthesized, dev: Synthesized) -> None:
    """A change that neither sees would be lost: the slot streams for its other tables already."""
    connectors = f"{dev.settings.prefix}-connectors"
    assert connectors in dependencies(on_its_own, "processing")
    assert connectors not in dependencies(dev, "processing")


def test_connectors_on_eks_leave_the_first_rows_to_the_job(on_its_own: Synthesized) -> None:
    asked = on_its_own.requests("connectors", "Custom::KubernetesConnector").values()
    modes = {each["connectorName"]: each["connectorConfiguration"].get("snapshot.mode") for each in asked}
    assert (modes["dev-cdc-lake-shop-source"], modes["dev-cdc-lake-orders-source"]) == ("no_data", "initial")
