"""Deploying: nothing unverified is deployed, and the deployed folder is the reviewed one.

A script replaces CDK's command line and records its arguments: nothing can be deployed from a test.
"""

import dataclasses
import json
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest.mock import Mock

import pytest

from contract.errors import CANNOT, NO
from operate import account, deploy, outputs, source_cluster
from operate.account import Found
from operate.diff import snapshots
from operate.errors import OperateError
from plugins.releases.download import Digest
from plugins.releases.lock import pin
from plugins.releases.versions import VERSIONS_TOML, load_versions
from settings.environment import Environment
from settings.load import load
from settings.rules import placeholders
from stacks import vpn, vpn_script
from stacks.connectors import specs
from stacks.gate import facts
from stacks.gate.template import Finding
from tests.operate.conftest import MOTOS_ACCOUNT
from tests.operate.conftest import deploy as deploy_stack
from tests.synthesis import shared_synthesis

pytestmark = [pytest.mark.synth, pytest.mark.usefixtures("aws")]

RECORDER = """
const fs = require("fs");
fs.writeFileSync(process.env.RECORD, JSON.stringify(process.argv.slice(2)));
process.exit(Number(process.env.STATUS || 0));
"""


@pytest.fixture
def called(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Replace CDK with the recorder, all other paths with a test folder; return the record's path."""
    cdk = tmp_path / "cdk"
    cdk.write_text(RECORDER)
    monkeypatch.setattr(deploy, "CDK", cdk)
    monkeypatch.setattr(deploy, "CDK_OUT", tmp_path / "cdk.out")
    # moto has no quotas.
    monkeypatch.setattr(account, "look", lambda *_arguments: [])
    monkeypatch.setenv("RECORD", str(tmp_path / "record.json"))
    return tmp_path / "record.json"


@pytest.fixture
def pin_all_but(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Writes versions.toml as `./lake dev lock plugins` does, with all releases pinned but those of these names."""
    path = tmp_path / "versions.toml"

    def write(*unpinned: str) -> None:
        text = VERSIONS_TOML.read_text()
        for name in load_versions().releases:
            text = pin(text, name, Digest(size=0, sha256="") if name in unpinned else Digest(size=1, sha256="0" * 64))
        path.write_text(text)
        for module in (facts, placeholders, specs, vpn, vpn_script):
            monkeypatch.setattr(module, "load_versions", lambda: load_versions(path))

    write()
    return write


@pytest.fixture
def synthesized(monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory) -> None:
    """dev's templates, without another synthesis."""
    from operate.synth import Synthesis

    dev = shared_synthesis(load("dev"), tmp_path_factory.mktemp("dev"))

    def synthesize(_environment: Environment, folder: Path, **_: object) -> Synthesis:
        return dataclasses.replace(dev, folder=folder)

    monkeypatch.setattr(deploy, "synthesize", synthesize)


@pytest.fixture
def reviewed(monkeypatch: pytest.MonkeyPatch) -> None:
    """A database's template without resources, in which the review finds nothing."""
    synthesis = SimpleNamespace(folder=Path("cdk.out"), templates={"dev-cdc-lake-database": {"Resources": {}}})
    monkeypatch.setattr(deploy, "find", lambda _environment, _synthesis: [])
    monkeypatch.setattr(deploy, "synthesize", lambda *_arguments, **_options: synthesis)


@pytest.mark.parametrize("unpinned", [["softether"], ["debezium", "lenses-s3", "config-provider", "softether"]])
def test_a_release_without_checksum_is_refused_before_anything_happens(
    called: Path, environment: Environment, pin_all_but: Callable[..., None], unpinned: list[str]
) -> None:
    pin_all_but(*unpinned)
    with pytest.raises(OperateError, match=f"no SHA-256 for {', '.join(unpinned)}: run `./lake dev lock plugins`"):
        deploy.deploy(environment)
    assert not called.exists()


@pytest.mark.usefixtures("pin_all_but")
@pytest.mark.parametrize("command", [deploy.bootstrap, deploy.deploy, deploy.destroy])
def test_others_credentials_are_refused(called: Path, environment: Environment, command: Callable[..., int]) -> None:
    line = f'credentials are of account {MOTOS_ACCOUNT}, but .* says account = "987654321098"'
    with pytest.raises(OperateError, match=line):
        command(environment.model_copy(update={"account": "987654321098"}))
    assert not called.exists()


@pytest.mark.usefixtures("pin_all_but")
def test_an_example_in_the_settings_is_refused_before_aws_is_asked(called: Path) -> None:
    with pytest.raises(OperateError) as caught:
        deploy.deploy(load("prod"))
    assert str(caught.value).splitlines() == [
        "environments/prod.toml: account: 222222222222 is an example: put your own there",
        "environments/prod.toml: monitoring.alarm_email: data-platform@example.com is an example, which nobody reads: "
        "name who is told",
        "environments/prod.toml: vpn.client_cidrs: 203.0.113.0/24 is for documentation, so nobody has it: name the "
        "networks that people come from",
    ]
    assert not called.exists()


@pytest.mark.usefixtures("pin_all_but")
def test_what_aws_does_not_have_there_ends_it(called: Path, environment: Environment) -> None:
    elsewhere = environment.model_copy(update={"availability_zones": ("ap-southeast-2a", "ap-southeast-2d")})
    with pytest.raises(OperateError, match=f"availability_zones: account {MOTOS_ACCOUNT} has no ap-southeast-2d: it"):
        deploy.deploy(elsewhere)
    assert not called.exists()


@pytest.mark.usefixtures("pin_all_but")
def test_what_was_reviewed_is_deployed_and_cdks_failure_is_told(
    called: Path, environment: Environment, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("STATUS", "1")
    # The templates are dev's but for the account; it takes seconds.
    monkeypatch.setattr("operate.review.findings._cfn_lint", lambda *_: iter(()))
    assert deploy.deploy(environment) == CANNOT
    [folder] = (called.parent / "cdk.out").iterdir()
    expected = ["deploy", "--no-notices", "--all", "--app", str(folder), "--require-approval", "broadening"]
    assert json.loads(called.read_text()) == expected
    assert (folder / "dev-cdc-lake-network.template.json").is_file()
    # The pinned releases are deployed.
    assert "0" * 64 in (folder / "dev-cdc-lake-vpn.template.json").read_text()


READERS_FIRST = [("dev-cdc-lake-connectors", "--exclusively"), ("--all",)]
SECRET: dict[str, Any] = {"Outputs": {"Secret": {"Export": {}}}}
# Of a server outside, the readers import nothing.
SLOT, OTHER = ({"Resources": {name: {"Type": "Custom::OutsideSource"}}} for name in ("Crm", "Erp"))
NO_SLOT: dict[str, Any] = {"Resources": {"Crm": {"Type": "Custom::QueriedSource"}}}


@pytest.mark.usefixtures("pin_all_but", "reviewed", "called")
@pytest.mark.parametrize(
    ("before", "after", "status", "calls"),
    [
        pytest.param(SECRET, {}, 0, READERS_FIRST, id="what they import"),
        pytest.param(SLOT, {}, 0, READERS_FIRST, id="a slot that one of them reads"),
        pytest.param(SLOT, {}, CANNOT, READERS_FIRST[:1], id="a failure"),
        pytest.param(SLOT, OTHER, 0, [], id="another pipeline comes"),
        pytest.param(SLOT, SECRET, 0, [], id="another secret comes"),
        pytest.param(NO_SLOT, OTHER, 0, READERS_FIRST[1:], id="nothing that they use"),
    ],
)
def test_what_uses_what_goes_with_a_pipeline_is_updated_before_the_database(
    environment: Environment, monkeypatch: pytest.MonkeyPatch, before: Any, after: Any, status: int, calls: list[Any]
) -> None:
    stack, cdk = "dev-cdc-lake-database", Mock(return_value=status)
    synthesis = SimpleNamespace(folder=Path("cdk.out"), templates={stack: {"Resources": {}, **after}})
    monkeypatch.setattr(deploy, "synthesize", lambda *_, **__: synthesis)
    monkeypatch.setattr(snapshots, "template", lambda *_: before)
    monkeypatch.setattr(deploy, "cdk", cdk)
    for name in (stack, "dev-cdc-lake-connectors"):
        deploy_stack(name)
    if calls:
        assert deploy.deploy(environment) == status
    else:
        with pytest.raises(OperateError, match="a pipeline goes, and what others need comes: deploy without"):
            deploy.deploy(environment)
    assert [call.args[1:-4] for call in cdk.call_args_list] == calls


@pytest.mark.usefixtures("pin_all_but", "reviewed", "called")
def test_the_next_deployment_leaves_the_templates_of_one_under_way(
    environment: Environment, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(deploy, "synthesize", synthesize := Mock(wraps=vars(deploy)["synthesize"]))
    for process in (1, 2):
        monkeypatch.setattr("os.getpid", lambda number=process: number)
        deploy.deploy(environment)
    one, other = (call.args[1] for call in synthesize.call_args_list)
    assert one != other


MISSED = {"orders": "since yesterday", "shop": "since today"}


@pytest.mark.usefixtures("pin_all_but", "reviewed", "called")
def test_changes_that_the_lake_misses_are_the_status_until_a_re_snapshot(
    environment: Environment, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert deploy.deploy(environment) == 0
    monkeypatch.setattr(source_cluster, "missed_since", lambda _session, _environment: MISSED)
    assert deploy.deploy(environment) == NO
    said = capsys.readouterr().out
    assert (
        "of orders while no slot kept it (since yesterday): connect the VPN and run `./lake resnapshot -e dev`" in said
    )
    assert "run `./lake resnapshot -e dev -p shop`" in said
    monkeypatch.setenv("STATUS", "1")
    assert deploy.deploy(environment) == CANNOT


@pytest.mark.usefixtures("pin_all_but", "reviewed")
@pytest.mark.parametrize(("deployed", "enabled"), [(False, True), (True, True), (True, False)])
def test_what_the_account_lacks_ends_a_first_deployment_and_is_said_in_a_later_one(
    called: Path,
    environment: Environment,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    deployed: bool,
    enabled: bool,
) -> None:
    found = [Found(line="vCPUs: 5", lacks=True), Found(line="elastic IPs: 5")]
    monkeypatch.setattr(account, "look", lambda *_arguments: found)
    monkeypatch.setattr(account, "region_enabled", lambda _environment: Found(line="region", lacks=not enabled))
    if deployed:
        deploy_stack("dev-cdc-lake-network")
    if deployed and enabled:
        assert deploy.deploy(environment) == 0
        assert "region\nvCPUs: 5\nelastic IPs: 5\n" in capsys.readouterr().out
    else:
        lacks = "vCPUs: 5" if enabled else "region"
        with pytest.raises(OperateError, match=f"^the account isn't ready\n{lacks}$"):
            deploy.deploy(environment)
    assert called.exists() is (deployed and enabled)


@pytest.mark.usefixtures("pin_all_but", "reviewed")
def test_a_finding_ends_it(called: Path, environment: Environment, monkeypatch: pytest.MonkeyPatch) -> None:
    finding = Finding(rule="no-open-ports", level="error", stack="s", resource="R", message="tcp 22 is open")
    monkeypatch.setattr(deploy, "find", lambda _environment, _synthesis: [finding])
    with pytest.raises(OperateError, match="the review says no\nerror: no-open-ports: s/R: tcp 22 is open"):
        deploy.deploy(environment)
    assert not called.exists()


@pytest.mark.usefixtures("synthesized")
@pytest.mark.parametrize(("policy", "stays"), [("destroy", False), ("retain", True)])
def test_the_network_of_kept_things_stays(called: Path, environment: Environment, policy: str, *, stays: bool) -> None:
    assert deploy.destroy(environment.model_copy(update={"removal_policy": policy})) == 0
    arguments = json.loads(called.read_text())
    assert arguments[0] == "destroy"
    assert "dev-cdc-lake-database" in arguments
    for stack in ("guard", "network"):
        assert (f"dev-cdc-lake-{stack}" not in arguments) is stays


def test_bootstrap_names_the_environments_account_and_region(called: Path, environment: Environment) -> None:
    assert deploy.bootstrap(environment) == 0
    assert json.loads(called.read_text()) == ["bootstrap", "--no-notices", f"aws://{MOTOS_ACCOUNT}/ap-southeast-2"]


@pytest.mark.usefixtures("synthesized")
def test_adopting_imports_stack_by_stack_and_stops_at_the_first_failure(
    called: Path, environment: Environment, monkeypatch: pytest.MonkeyPatch
) -> None:
    def mappings(_client: object, _templates: object, folder: Path) -> dict[str, Path]:
        return {"dev-cdc-lake-lake": folder / "lake.json", "dev-cdc-lake-streaming": folder / "streaming.json"}

    monkeypatch.setattr(deploy, "write_mappings", mappings)
    monkeypatch.setenv("STATUS", "1")
    assert deploy.adopt(environment) == CANNOT
    folder = called.parent / "cdk.out" / "dev"
    mapping = ["--resource-mapping", str(folder / "lake.json")]
    expected = ["import", "--no-notices", "dev-cdc-lake-lake", "--app", str(folder), *mapping]
    assert json.loads(called.read_text()) == expected


@pytest.mark.usefixtures("synthesized")
def test_what_a_failed_deployment_left_goes_first_and_nothing_to_adopt_is_said(
    called: Path, environment: Environment, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = Mock(**{"delete_failed_creations.return_value": [], "write_mappings.return_value": {}})
    monkeypatch.setattr(outputs, "delete_failed_creations", asked.delete_failed_creations)
    monkeypatch.setattr(deploy, "write_mappings", asked.write_mappings)
    with pytest.raises(OperateError, match="nothing to adopt"):
        deploy.adopt(environment)
    assert [call[0] for call in asked.mock_calls] == ["delete_failed_creations", "write_mappings"]
    assert not called.exists()
