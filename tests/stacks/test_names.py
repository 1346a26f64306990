"""Two environments of two pipelines each share an account and a region, and no name."""

import re
from pathlib import Path
from typing import Any

import pytest

from settings.load import load
from stacks.gate.template import plain_text, request_of
from tests.settings.pipelines import add_to, copied_pipelines, write_pipeline
from tests.stacks.settings import copied

pytestmark = pytest.mark.synth

# Properties called names that name nothing in the account: the owner of their container names it.
INSIDE = {
    "ApplicationName",
    "AttributeName",
    # AWS's own CA.
    "CACertificateIdentifier",
    "CertificateName",
    "DatabaseName",
    "DeviceName",
    "FunctionName",
    "LogStreamName",
    "MasterUsername",
    "MetricName",
    "PolicyName",
    "ServiceName",
}
# AWS treats a policy's name as a resource of its own here.
NAMED_POLICIES = {"AWS::Logs::ResourcePolicy", "AWS::IAM::ManagedPolicy"}


def names(templates: dict[str, dict[str, Any]]) -> set[tuple[str, str]]:
    """(type, name) of everything with a name in the account: in properties, custom resources' requests, exports."""
    found = set()
    for stack, template in templates.items():
        found.add(("stack", stack))
        found |= {("export", plain_text(o["Export"]["Name"])) for o in template["Outputs"].values() if "Export" in o}
        for resource in template["Resources"].values():
            type_, properties = resource["Type"], resource.get("Properties", {})
            places = [properties, properties.get("DatabaseInput", {}), request_of(resource) or {}]
            for key, value in (item for place in places for item in place.items()):
                named = re.search(r"[nN]ame$|Identifier$", key)
                # References are the names of their targets.
                if (
                    named
                    and "\0" not in plain_text(value)
                    and (key not in INSIDE or type_ in NAMED_POLICIES)
                    and isinstance(value, str)
                ):
                    found.add((type_, value))
    return found


def test_two_environments_of_one_account_and_region_share_no_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from operate.synth import synthesize

    folder, pipelines = copied(tmp_path), copied_pipelines(tmp_path)
    write_pipeline(pipelines, "shop", ["orders", "items"])
    monkeypatch.setattr("stacks.processing.jobs.PIPELINES", pipelines)
    add_to(folder, "shop")
    found = []
    for name in ("one", "two"):
        (folder / f"{name}.toml").write_text((folder / "dev.toml").read_text())
        found.append(names(synthesize(load(name, folder, pipelines), tmp_path / name).templates))
    one, two = found
    assert {type_ for type_, _ in one} >= {
        "AWS::CloudWatch::Alarm",
        "AWS::CloudWatch::Dashboard",
        "AWS::EMR::Cluster",
        "AWS::Glue::Database",
        "AWS::Logs::LogGroup",
        "AWS::MSK::Cluster",
        "AWS::MSK::Configuration",
        "AWS::RDS::DBCluster",
        "AWS::S3::Bucket",
        "Custom::Connector",
        "Custom::EmrStep",
        "Custom::Plugin",
    }
    # A pipeline's resources contain its name, so that none is another pipeline's.
    assert {name for type_, name in one if type_ == "Custom::Connector"} == {
        f"one-cdc-lake-{pipeline}-{role}" for pipeline in ("orders", "shop") for role in ("source", "sink")
    }
    # What both name and neither creates.
    shared = {(type_, name) for type_, name in one & two if "one" not in name}
    assert shared == set()


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
