"""Two environments share an account and a region, and no name."""

import re
from typing import Any

import pytest

from stacks.gate import plain_text, request_of
from tests.stacks.conftest import Synthesized

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


def test_each_name_in_the_account_has_the_environments_in_it(many: Synthesized, prod: Synthesized) -> None:
    """Two environments may share an account and a region."""
    found = names(many.synthesis.templates)
    assert {type_ for type_, _ in found} >= {
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
    pipelines = ("orders", "shop", "wide", "crm", "erp")
    assert {name for type_, name in found if type_ == "Custom::Connector"} == {
        f"dev-cdc-lake-{pipeline}-{role}" for pipeline in pipelines for role in ("source", "sink")
    }
    for environment, has_it in ((many, r"\bdev(_datalake)?\b"), (prod, r"\bprod(_datalake)?\b")):
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
