"""The EMR cluster and its steps: who reaches it, its rights, its encryption, and the effects of changes."""

import json
from pathlib import Path
from typing import Any

import pytest

from contract.lake import STOP_FILE
from spark_jobs.options import command_line, properties, settings
from spark_jobs.options.settings import FileSettings
from spark_jobs.options.table_list import TableList
from stacks.processing import jobs
from stacks.processing.access import CORE_PORTS, PRIMARY_PORTS
from tests.stacks.conftest import Synthesized

pytestmark = pytest.mark.synth


def test_a_vpn_that_may_reaches_what_the_applications_serve(many: Synthesized) -> None:
    rules = many.properties("processing", "AWS::EC2::SecurityGroupIngress")
    found = {((_group(each["GroupId"]), _group(each["SourceSecurityGroupId"])), each.get("FromPort")) for each in rules}
    served = {port for name in many.settings.processing.applications for port in PRIMARY_PORTS[name]}
    assert {port for source, port in found if source == ("VpnToPrimary", "VpnAccess")} == {22, *served}
    assert {port for source, port in found if source == ("VpnToCore", "VpnAccess")} == {*CORE_PORTS.values()}


def _group(reference: Any) -> str:
    """The role of a security group, from a reference to it."""
    text = json.dumps(reference)
    names = ("VpnAccess", "VpnToPrimary", "VpnToCore", "Primary", "Core", "Service", "Database")
    return next(name for name in names if name in text)


def test_one_step_keeps_all_tables_as_its_job_understands_it(environment: Synthesized) -> None:
    wanted = environment.settings
    [(name, arguments)] = environment.steps().items()
    assert name == "tables"
    listed, decided = _tables(environment, arguments)
    assert set(decided) == {f"{wanted.lake.database}.cdc_events"}
    for table, each in decided.items():
        assert isinstance(each.source, FileSettings)
        assert each.source.root == f"s3://{wanted.bucket_name('landing')}/cdc-events"
        assert each.table.base_path == f"s3://{wanted.bucket_name('lake')}/cdc_events"
        assert f"{each.table.database}.{each.table.name}" == table
        assert each.sync is not None
    assert (listed.stop_file, listed.metrics_namespace) == (STOP_FILE, wanted.prefix)


def _tables(environment: Synthesized, arguments: list[str]) -> tuple[TableList, dict[str, settings.Settings]]:
    """How the job of many tables parses a step's command."""
    [application] = [number for number, argument in enumerate(arguments) if argument.endswith(".py")]
    options = command_line.parse_many(arguments[application + 1 :])
    # An asset is read at its future address.
    listed = TableList(options, lambda url: environment.asset(url).read_text())
    warnings: list[str] = []
    found = {table.full_name: listed.settings(table, warnings.append) for table in listed.tables}
    assert warnings == []
    return listed, found


def test_only_a_cluster_with_the_environments_tag_is_changed_and_a_forgotten_one_is_asked_for(dev: Synthesized) -> None:
    """A forgotten cluster has no tags: a condition on them would hide that it is gone."""
    found = [
        (each["Action"], [*each["Condition"]])
        for policy in dev.properties("processing", "AWS::IAM::Policy")
        if "StepHandlerIsComplete" in json.dumps(policy["Roles"])
        for each in policy["PolicyDocument"]["Statement"]
        if "elasticmapreduce" in json.dumps(each["Action"])
    ]
    changes = [f"elasticmapreduce:{name}" for name in ("AddJobFlowSteps", "CancelSteps", "ListSteps")]
    assert found == [(changes, ["StringEquals"]), ("elasticmapreduce:DescribeCluster", ["StringEqualsIfExists"])]


def test_included_properties_are_the_same_as_the_files(tmp_path: Path) -> None:
    flat = tmp_path / "flat.properties"
    for source in (jobs.JOBS / "conf").glob("*.properties"):
        flat.write_text(jobs.included(source))
        loaded = properties.load(str(source), lambda path: Path(path).read_text())
        assert properties.load(str(flat), lambda path: Path(path).read_text()) == loaded
        assert "include" not in {line.partition("=")[0].strip() for line in flat.read_text().splitlines()}


def test_a_step_comes_after_everything_that_its_job_needs(dev: Synthesized) -> None:
    [step] = dev.resources("processing", "Custom::EmrStep").values()
    policies = [name for name in dev.resources("processing", "AWS::IAM::Policy") if name.startswith("RolesNodes")]
    assert set(policies) <= set(step["DependsOn"])
