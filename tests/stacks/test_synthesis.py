"""Synthesis: offline, the same bytes from the same input, as the snapshots say, each name an environment's own."""

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from contract.errors import CANNOT
from operate.diff import snapshots
from settings.environment import Environment
from settings.load import load
from stacks.gate.template import plain_text, request_of
from tests.stacks.conftest import Synthesized
from tests.synthesis import shared_synthesis

pytestmark = pytest.mark.synth


ROOT = Path(__file__).resolve().parents[2]
CHECKOUT = (
    *("analytics", "app.py", "cdk.json", "contract", "db", "environments", "pipelines", "plugins", "requirements.txt"),
    *("spark_jobs", "settings", "stacks"),
)
GUARD = "guard"
STACKS = ("analytics", "connectors", "database", "lake", "monitoring", "network", "processing", "streaming", "vpn")


def synthesize(checkout: Path, outdir: Path) -> subprocess.CompletedProcess[str]:
    """Run the app for prod as CDK's command line does, without credentials and with an unreachable network."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("AWS_", "CDK_"))}
    nowhere = "http://127.0.0.1:9"
    variables = {
        "AWS_EC2_METADATA_DISABLED": "true",
        "CDK_CONTEXT_JSON": json.dumps({"env": "prod"}),
        "CDK_OUTDIR": str(outdir),
        # CDK's own check changes nothing in the templates.
        "CDK_VALIDATION": "false",
        "HTTPS_PROXY": nowhere,
        "HTTP_PROXY": nowhere,
        "PYTHONHASHSEED": "2",
    }
    return subprocess.run(
        [sys.executable, "app.py"], cwd=checkout, env=kept | variables, capture_output=True, text=True, check=False
    )


def written_templates(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.glob("*.template.json")}


def test_the_same_input_makes_the_same_bytes_elsewhere_and_in_a_review(tmp_path: Path, prod: Synthesized) -> None:
    copy = tmp_path / "elsewhere"
    copy.mkdir()
    for name in CHECKOUT:
        source = ROOT / name
        shutil.copytree(source, copy / name) if source.is_dir() else shutil.copy(source, copy / name)
    (copy / ".cache").symlink_to(ROOT / ".cache")
    done = synthesize(copy, tmp_path / "made")
    assert done.returncode == 0, done.stderr
    made = written_templates(tmp_path / "made")
    assert set(made) == {f"prod-cdc-lake-{stack}.template.json" for stack in (GUARD, *STACKS)}
    assert made == written_templates(prod.synthesis.folder)


def test_every_stack_waits_for_the_one_that_may_refuse_the_deployment(prod: Synthesized) -> None:
    artifacts = json.loads((prod.synthesis.folder / "manifest.json").read_text())["artifacts"]
    for stack in STACKS:
        assert f"prod-cdc-lake-{GUARD}" in artifacts[f"prod-cdc-lake-{stack}"]["dependencies"]


def test_cdks_command_line_adds_nothing_to_the_templates() -> None:
    """Each of these, on by default, would make `cdk deploy` write different bytes from `./lake aws synth`."""
    settings = json.loads((ROOT / "cdk.json").read_text())
    assert (settings["pathMetadata"], settings["assetMetadata"], settings["versionReporting"]) == (False, False, False)


def test_a_wrong_environment_is_one_line(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    import app

    monkeypatch.setenv("CDK_CONTEXT_JSON", json.dumps({"env": "staging"}))
    with pytest.raises(SystemExit) as ended:
        app.main()
    line = "synth: environments/staging.toml: no such environment; there are dev, prod, sandbox\n"
    assert (ended.value.code, capsys.readouterr().err) == (CANNOT, line)


@pytest.mark.parametrize("name", ["dev", "prod", "sandbox"])
def test_the_snapshot_is_what_the_code_makes(name: str, request: pytest.FixtureRequest, tmp_path: Path) -> None:
    found: Synthesized = request.getfixturevalue(name)
    # The base, which others are compared with.
    shutil.copytree(snapshots.SNAPSHOTS / snapshots.BASE, tmp_path / snapshots.BASE)
    made = snapshots.write(found.settings, found.synthesis.stacks, tmp_path)
    kept = snapshots.SNAPSHOTS / name
    assert texts(made) == texts(kept), "run `./lake aws synth --save`, look at what it changes and commit it"


def texts(folder: Path) -> dict[str, str]:
    return {path.name: path.read_text() for path in folder.iterdir()}


def changed_settings() -> Environment:
    """dev's settings, except for a connector's flush interval and workers, and a job's option."""
    dev = load("dev")
    [orders] = dev.pipelines
    source = orders.source.model_copy(update={"workers": 2})
    sink = orders.sink.model_copy(update={"flush_interval_seconds": 30})
    job = orders.job.model_copy(update={"sync_interval_seconds": 60})
    changed = orders.model_copy(update={"source": source, "sink": sink, "job": job})
    return dev.model_copy(update={"pipelines": (changed,)})


def test_only_what_was_changed_is_touched_and_in_place(dev: Synthesized, tmp_path: Path) -> None:
    """Another name of a connector would be another slot, other offsets and another consumer group."""
    before, after = dev.synthesis.templates, shared_synthesis(changed_settings(), tmp_path, nag=False).templates
    found: dict[str, set[str]] = {}
    for stack, template in before.items():
        assert template["Resources"].keys() == after[stack]["Resources"].keys()
        for logical_id, resource in template["Resources"].items():
            if resource != (changed := after[stack]["Resources"][logical_id]):
                old, new = request_of(resource) or {}, request_of(changed) or {}
                name = logical_id.rstrip("0123456789ABCDEF")
                place = f"{stack.removeprefix('dev-cdc-lake-')}/{resource['Type']}/{name}"
                found[place] = {key for key in old if old[key] != new[key]}
    assert found == {
        "connectors/Custom::Connector/SinkConnector": {"connectorConfiguration"},
        "connectors/Custom::Connector/SourceConnector": {"capacity"},
        # The tables' settings are files named by content, which the job's nodes may then read.
        "processing/AWS::IAM::Policy/RolesNodesDefaultPolicy": set(),
        "processing/Custom::EmrStep/Stepcdcevents": {"arguments"},
    }


# Properties called names that name nothing in the account: the owner of their container names it; the CA is AWS's own.
INSIDE = {
    *("ApplicationName", "AttributeName", "CACertificateIdentifier", "CertificateName", "DatabaseName", "DeviceName"),
    *("FunctionName", "LogStreamName", "MasterUsername", "MetricName", "PolicyName", "ServiceName"),
}
# AWS treats a policy's name as a resource of its own here.
NAMED_POLICIES = {"AWS::Logs::ResourcePolicy", "AWS::IAM::ManagedPolicy"}


def names(templates: dict[str, dict[str, Any]]) -> set[tuple[str, str]]:
    """(type, name) of everything with a name in the account: in properties, custom resources' requests, exports."""
    found = set()
    for stack, template in templates.items():
        found.add(("stack", stack))
        found |= {
            ("export", plain_text(o["Export"]["Name"])) for o in template.get("Outputs", {}).values() if "Export" in o
        }
        for resource in template["Resources"].values():
            type_, properties = resource["Type"], resource.get("Properties", {})
            places = [properties, properties.get("DatabaseInput", {}), request_of(resource) or {}]
            for key, value in (item for place in places for item in place.items()):
                named = re.search(r"[nN]ame$|Identifier$", key) and (key not in INSIDE or type_ in NAMED_POLICIES)
                # References are the names of their targets.
                if named and isinstance(value, str) and "\0" not in plain_text(value):
                    found.add((type_, value))
    return found


def test_each_name_in_the_account_has_the_environments_in_it(many: Synthesized, prod: Synthesized) -> None:
    """Two environments may share an account and a region."""
    found = names(many.synthesis.templates)
    assert {type_ for type_, _ in found} >= {
        *("AWS::CloudWatch::Alarm", "AWS::CloudWatch::Dashboard", "AWS::EMR::Cluster", "AWS::Glue::Database"),
        *("AWS::Logs::LogGroup", "AWS::MSK::Cluster", "AWS::MSK::Configuration", "AWS::RDS::DBCluster"),
        *("AWS::S3::Bucket", "Custom::Connector", "Custom::EmrStep", "Custom::Plugin"),
    }
    for environment, has_it in ((many, r"\bdev(\b|_datalake|cdclake)"), (prod, r"\bprod(\b|_datalake|cdclake)")):
        found = names(environment.synthesis.templates)
        assert {(type_, name) for type_, name in found if not re.search(has_it, name)} == set()


def test_every_endpoint_that_a_file_may_name_is_one_of_cdks() -> None:
    import stacks.node  # noqa: F401  before aws_cdk

    # isort: split
    from aws_cdk import aws_ec2 as ec2

    from settings import aws_offers

    services = ec2.InterfaceVpcEndpointAwsService
    known = {
        getattr(services, name).short_name for name in dir(services) if name.isupper() and not name.startswith("_")
    }
    assert set(aws_offers.ENDPOINTS) <= known
