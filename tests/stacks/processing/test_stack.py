"""The EMR cluster and its steps: who reaches it, what it may do, what is encrypted, what a change does."""

import json
import re
import shlex
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from contract.stop_file import TOKEN
from settings.load import load
from spark_jobs.options import command_line, keys, properties, settings
from spark_jobs.options.source_settings import FileSettings
from spark_jobs.options.table_list import TableList
from stacks.gate import plain_text, request_of
from stacks.processing import job_assets
from stacks.processing.access import CORE_PORTS, PRIMARY_PORTS
from tests.stacks.conftest import Synthesized

pytestmark = pytest.mark.synth
EMR_TAG = {"Key": "for-use-with-amazon-emr-managed-policies", "Value": "true"}


def only(environment: Synthesized, type_: str) -> dict[str, Any]:
    """The properties of the only resource of a type."""
    [resource] = environment.resources("processing", type_).values()
    found: dict[str, Any] = resource["Properties"]
    return found


def cluster(environment: Synthesized) -> dict[str, Any]:
    return only(environment, "AWS::EMR::Cluster")


def configurations(environment: Synthesized) -> dict[str, Any]:
    return {entry["Classification"]: entry for entry in cluster(environment)["Configurations"]}


def requests(environment: Synthesized) -> list[dict[str, Any]]:
    """The requests of the steps."""
    found = environment.resources("processing", "Custom::EmrStep").values()
    return [request for resource in found if (request := request_of(resource))]


def statements(environment: Synthesized, role: str) -> Iterator[dict[str, Any]]:
    """The statements of a role's policy, with lists of actions and of resources as text."""
    for logical_id, policy in environment.resources("processing", "AWS::IAM::Policy").items():
        if logical_id.startswith(role):
            for statement in policy["Properties"]["PolicyDocument"]["Statement"]:
                actions, resources = (_list(statement[key]) for key in ("Action", "Resource"))
                yield statement | {"Action": actions, "Resource": [plain_text(resource) for resource in resources]}


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]


def may(environment: Synthesized, role: str, action: str) -> set[str]:
    """The resources on which a role may do something."""
    found = [statement["Resource"] for statement in statements(environment, role) if action in statement["Action"]]
    return {resource for resources in found for resource in resources}


def test_the_cluster_is_what_the_settings_say(dev: Synthesized) -> None:
    found, wanted = cluster(dev), load("dev").processing
    assert found["ReleaseLabel"] == "emr-7.10.0"
    assert [application["Name"] for application in found["Applications"]] == list(wanted.applications)
    groups = found["Instances"]
    assert (groups["MasterInstanceGroup"]["InstanceCount"], groups["CoreInstanceGroup"]["InstanceCount"]) == (1, 2)
    assert groups["KeepJobFlowAliveWhenNoSteps"] is True
    assert found["LogUri"] == "s3://dev-cdc-lake-logs-111111111111-ap-southeast-2/emr/"


def test_glue_is_everyones_metastore_and_python_is_3_11(dev: Synthesized) -> None:
    found = configurations(dev)
    for name in ("hive-site", "spark-hive-site"):
        factory = found[name]["ConfigurationProperties"]["hive.metastore.client.factory.class"]
        assert factory.endswith("AWSGlueDataCatalogHiveClientFactory")
    assert found["spark-defaults"]["ConfigurationProperties"] == {"spark.pyspark.python": "python3.11"}
    [export] = found["spark-env"]["Configurations"]
    assert export["ConfigurationProperties"]["AWS_DEFAULT_REGION"] == "ap-southeast-2"


def test_trino_reads_hudi_tables_by_their_own_catalogue(dev: Synthesized) -> None:
    """Since EMR 7.3 its Hive connector can't, and sends readers on to the catalogue that it is told."""
    found = configurations(dev)
    hive = found["trino-connector-hive"]["ConfigurationProperties"]
    assert hive == {
        "hive.metastore": "glue",
        "hive.hudi-catalog-name": "hudi",
        "hive.recursive-directories": "true",
    }
    hudi = found["trino-connector-hudi"]["ConfigurationProperties"]
    assert hudi == {"connector.name": "hudi", "hive.metastore": "glue"}


def test_sessions_may_make_glues_default_database_and_no_other(dev: Synthesized) -> None:
    """Hive, Spark SQL and Hue look at it first; in a new account it isn't there."""
    glue = "arn:aws:glue:ap-southeast-2:111111111111"
    assert may(dev, "RolesNodes", "glue:CreateDatabase") == {f"{glue}:catalog", f"{glue}:database/default"}


def test_managed_scaling_is_productions(dev: Synthesized, prod: Synthesized) -> None:
    assert "ManagedScalingPolicy" not in cluster(dev)
    limits = cluster(prod)["ManagedScalingPolicy"]["ComputeLimits"]
    assert (limits["MinimumCapacityUnits"], limits["MaximumCapacityUnits"]) == (2, 6)


def test_cloudformation_can_remove_a_cluster_that_failed_or_was_replaced(dev: Synthesized, prod: Synthesized) -> None:
    """EMR's own protection would stop it; the stack's (test_kept.py) is what keeps prod's cluster."""
    for environment in (dev, prod):
        assert cluster(environment)["Instances"]["TerminationProtected"] is False


@pytest.mark.parametrize("name", ["dev", "prod"])
def test_disks_are_encrypted_and_metadata_takes_tokens_alone(dev: Synthesized, prod: Synthesized, name: str) -> None:
    environment = {"dev": dev, "prod": prod}[name]
    found = only(environment, "AWS::EMR::SecurityConfiguration")["SecurityConfiguration"]
    at_rest = found["EncryptionConfiguration"]["AtRestEncryptionConfiguration"]
    assert found["EncryptionConfiguration"]["EnableAtRestEncryption"] is True
    assert at_rest["LocalDiskEncryptionConfiguration"]["EnableEbsEncryption"] is True
    assert at_rest["S3EncryptionConfiguration"] == {"EncryptionMode": "SSE-S3"}
    assert found["InstanceMetadataServiceConfiguration"]["MinimumInstanceMetadataServiceVersion"] == 2
    assert "SecurityConfiguration" in cluster(environment)


def test_nobody_but_nodes_and_service_reaches_the_cluster(dev: Synthesized, prod: Synthesized) -> None:
    nodes = {("Primary", "Primary"), ("Primary", "Core"), ("Core", "Primary"), ("Core", "Core")}
    service = {("Primary", "Service"), ("Core", "Service"), ("Service", "Primary")}
    for environment in (dev, prod):
        groups = environment.resources("processing", "AWS::EC2::SecurityGroup")
        assert not any("SecurityGroupIngress" in group["Properties"] for group in groups.values())
        assert {source for source, _port in _ways_in(environment.synthesis.templates)} == {*nodes, *service}


def test_a_vpn_that_may_reaches_what_the_applications_serve(tmp_path: Path) -> None:
    from operate.synth import synthesize

    settings = load("dev")
    settings = settings.model_copy(update={"vpn": settings.vpn.model_copy(update={"emr_access": True})})
    found = _ways_in(synthesize(settings, tmp_path / "cdk.out").templates)
    served = {port for name in settings.processing.applications for port in PRIMARY_PORTS[name]}
    assert {port for source, port in found if source == ("VpnToPrimary", "VpnAccess")} == {22, *served}
    assert {port for source, port in found if source == ("VpnToCore", "VpnAccess")} == {*CORE_PORTS.values()}


def test_the_vpns_groups_are_there_for_a_setting_that_must_not_replace_the_cluster(dev: Synthesized) -> None:
    instances = cluster(dev)["Instances"]
    assert _group(instances["AdditionalMasterSecurityGroups"][0]) == "VpnToPrimary"
    assert _group(instances["AdditionalSlaveSecurityGroups"][0]) == "VpnToCore"


def test_the_nodes_serve_session_manager_to_those_with_an_iam_identity(dev: Synthesized) -> None:
    policies = dev.resources("processing", "AWS::IAM::Policy")
    (nodes,) = [policy for name, policy in policies.items() if name.startswith("RolesNodes")]
    actions = {
        action
        for statement in nodes["Properties"]["PolicyDocument"]["Statement"]
        for action in ([statement["Action"]] if isinstance(statement["Action"], str) else statement["Action"])
    }
    assert {action for action in actions if action.startswith("ssm")} == {
        "ssm:UpdateInstanceInformation",
        "ssmmessages:CreateControlChannel",
        "ssmmessages:CreateDataChannel",
        "ssmmessages:OpenControlChannel",
        "ssmmessages:OpenDataChannel",
    }


def _ways_in(templates: dict[str, Any]) -> set[tuple[tuple[str, str], int | None]]:
    """Who reaches which of EMR's groups, at which port."""
    (template,) = [template for name, template in templates.items() if name.endswith("-processing")]
    rules = [
        resource["Properties"]
        for resource in template["Resources"].values()
        if resource["Type"] == "AWS::EC2::SecurityGroupIngress"
    ]
    return {((_group(rule["GroupId"]), _group(rule["SourceSecurityGroupId"])), rule.get("FromPort")) for rule in rules}


def _group(reference: Any) -> str:
    """The role of a security group from a reference to it."""
    text = json.dumps(reference)
    return next(
        name for name in ("VpnAccess", "VpnToPrimary", "VpnToCore", "Primary", "Core", "Service") if name in text
    )


def test_the_service_acts_on_what_is_tagged_and_passes_one_role(dev: Synthesized) -> None:
    tagged = [*dev.resources("processing", "AWS::EC2::SecurityGroup").values()]
    subnets = dev.resources("network", "AWS::EC2::Subnet").values()
    assert all(EMR_TAG in group["Properties"]["Tags"] for group in tagged)
    assert EMR_TAG in cluster(dev)["Tags"]
    assert sum(EMR_TAG in subnet["Properties"]["Tags"] for subnet in subnets) == 1
    passing = [statement for statement in statements(dev, "RolesService") if "iam:PassRole" in statement["Action"]]
    [statement] = passing
    assert len(statement["Resource"]) == 1
    assert statement["Condition"] == {"StringLike": {"iam:PassedToService": "ec2.amazonaws.com*"}}


def test_a_job_reads_the_landing_and_writes_the_lake(prod: Synthesized) -> None:
    bucket = load("prod").bucket_name
    s3 = "arn:aws:s3:::"
    assert may(prod, "RolesNodes", "s3:DeleteObject") == {f"{s3}{bucket('lake')}/*"}
    assert may(prod, "RolesNodes", "s3:PutObject") == {f"{s3}{bucket('lake')}/*", f"{s3}{bucket('logs')}/emr/*"}
    assets = {resource for resource in may(prod, "RolesNodes", "s3:GetObject") if "cdk-hnb659fds-assets" in resource}
    assert may(prod, "RolesNodes", "s3:GetObject") - assets == {
        f"{s3}{bucket('landing')}/cdc-events/*",
        f"{s3}{bucket('artefacts')}/stop/*",
        f"{s3}{bucket('lake')}/*",
    }
    # The job's own files, one by one: program, archive, log settings, list of tables, what they share, two for each.
    assert len(assets) == 7
    assert not any("*" in resource for resource in assets)


def test_a_job_keeps_the_tables_of_one_database(dev: Synthesized) -> None:
    glue = "arn:aws:glue:ap-southeast-2:111111111111"
    expected = {f"{glue}:catalog", f"{glue}:database/dev_datalake", f"{glue}:table/dev_datalake/*"}
    for action in ("glue:CreateTable", "glue:UpdateTable", "glue:DeleteTable"):
        assert may(dev, "RolesNodes", action) == expected
    everything = {action for statement in statements(dev, "RolesNodes") for action in statement["Action"]}
    assert not any("*" in action for action in everything)
    assert not {action for action in everything if action.startswith(("iam:", "ec2:", "secretsmanager:", "kafka"))}


def test_metrics_go_into_one_namespace(dev: Synthesized) -> None:
    [statement] = [found for found in statements(dev, "RolesNodes") if "cloudwatch:PutMetricData" in found["Action"]]
    assert statement["Condition"] == {"StringEquals": {"cloudwatch:namespace": "dev-cdc-lake"}}


@pytest.mark.parametrize("role", ["StepHandlerOnEvent", "StepHandlerIsComplete"])
def test_the_step_handler_touches_this_environments_clusters_alone(prod: Synthesized, role: str) -> None:
    [steps] = [
        statement
        for statement in statements(prod, role)
        if any(action.startswith("elasticmapreduce:") for action in statement["Action"])
    ]
    assert steps["Condition"] == {"StringEquals": {"elasticmapreduce:ResourceTag/cdc-lake-cluster": "prod-cdc-lake"}}
    assert {"Key": "cdc-lake-cluster", "Value": "prod-cdc-lake"} in cluster(prod)["Tags"]
    artefacts = load("prod").bucket_name("artefacts")
    written = {f"arn:aws:s3:::{artefacts}/stop/*", f"arn:aws:s3:::{artefacts}/requests/prod-cdc-lake-processing/*"}
    assert may(prod, role, "s3:PutObject") == written
    assert may(prod, role, "s3:DeleteObject") == {f"arn:aws:s3:::{artefacts}/stop/owners/*"}


@pytest.mark.parametrize("name", ["dev", "prod"])
def test_one_step_keeps_all_tables_as_its_job_understands_it(dev: Synthesized, prod: Synthesized, name: str) -> None:
    environment, wanted = {"dev": dev, "prod": prod}[name], load(name)
    [request] = requests(environment)
    assert (request["name"], "further" in request) == (f"{wanted.prefix}-tables", False)
    listed, decided = _tables(environment, request["arguments"])
    assert set(decided) == {f"{wanted.lake.database}.cdc_events"}
    for table, each in decided.items():
        assert isinstance(each.source, FileSettings)
        assert each.source.root == f"s3://{wanted.bucket_name('landing')}/cdc-events"
        assert each.table.base_path == f"s3://{wanted.bucket_name('lake')}/cdc_events"
        assert f"{each.table.database}.{each.table.name}" == table
        assert each.sync is not None
    assert (listed.stop_file, listed.metrics_namespace) == (TOKEN, wanted.prefix)


def _text(environment: Synthesized) -> Callable[[str], str]:
    """Read an asset by the address that it will have."""
    return lambda url: (environment.synthesis.folder / f"asset.{url.rpartition('/')[2]}").read_text()


def _tables(environment: Synthesized, arguments: list[str]) -> tuple[TableList, dict[str, settings.Settings]]:
    """What the job of many tables makes of a step's command."""
    [application] = [number for number, argument in enumerate(arguments) if argument.endswith(".py")]
    listed = TableList(command_line.parse_many(arguments[application + 1 :]), _text(environment))
    warnings: list[str] = []
    found = {table.full_name: listed.settings(table, warnings.append) for table in listed.tables}
    assert warnings == []
    return listed, found


def _decided(environment: Synthesized, arguments: list[str]) -> settings.Settings:
    """What the job of one table makes of a step's command."""
    [application] = [number for number, argument in enumerate(arguments) if argument.endswith(".py")]
    given = command_line.parse(arguments[application + 1 :])
    assert given.props is not None
    file = properties.load(given.props, _text(environment))
    warnings: list[str] = []
    decided = settings.decide(
        given, properties.combine(file, properties.parse_overrides(given.hoodie_conf)), warnings.append
    )
    assert warnings == []
    return decided


def test_the_stop_file_is_where_the_handler_puts_it(dev: Synthesized) -> None:
    [request] = requests(dev)
    assert f"{keys.STOP_FILE}={TOKEN}" in request["arguments"]
    assert (request["stopBucket"], request["stopPrefix"]) == (load("dev").bucket_name("artefacts"), "stop/")


def test_no_host_address_is_written_anywhere(dev: Synthesized) -> None:
    [request] = requests(dev)
    command = shlex.join(request["arguments"])
    assert "jdbc" not in command
    assert re.search(r"\b\d{1,3}(\.\d{1,3}){3}\b", command) is None


def test_included_properties_are_the_same_as_the_files(tmp_path: Path) -> None:
    flat = tmp_path / "flat.properties"
    for source in (job_assets.JOBS / "conf").glob("*.properties"):
        flat.write_text(job_assets.included(source))
        loaded = properties.load(str(source), lambda path: Path(path).read_text())
        assert properties.load(str(flat), lambda path: Path(path).read_text()) == loaded
        assert "include" not in {line.partition("=")[0].strip() for line in flat.read_text().splitlines()}


def test_a_step_comes_after_everything_that_its_job_needs(dev: Synthesized) -> None:
    [step] = dev.resources("processing", "Custom::EmrStep").values()
    policies = [name for name in dev.resources("processing", "AWS::IAM::Policy") if name.startswith("RolesNodes")]
    assert set(policies) <= set(step["DependsOn"])
