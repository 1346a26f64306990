"""A restored database: the settings in the environment's file, and the resulting template."""

import json
from pathlib import Path
from typing import Any

import pytest

from contract.origin import changed
from settings.environment import Environment
from settings.load import ENVIRONMENTS, load
from stacks.gate.between import database_kept
from stacks.gate.properties import known_properties
from stacks.gate.template import App
from tests.cases import long
from tests.stacks.conftest import stack_alone

SNAPSHOT = 'snapshot = "rds:prod-cdc-lake-2026-11-20-03-05"'
POINT = 'cluster = "prod-cdc-lake"\ntime = "2026-11-21T10:30:00Z"'


CLUSTER = "AWS::RDS::DBCluster"
RESTORING = ("SnapshotIdentifier", "SourceDBClusterIdentifier", "RestoreToTime", "UseLatestRestorableTime")
INHERITED = ("MasterUsername", "MasterUserPassword", "DatabaseName", "StorageEncrypted", "KmsKeyId")


def restoring(folder: Path, lines: str) -> Environment:
    """prod with a section [database.restore] of these lines."""
    text = (ENVIRONMENTS / "prod.toml").read_text()
    (folder / "prod.toml").write_text(f'{text}\n[database.restore]\nname = "r1"\n{lines}\n')
    return load("prod", folder)


@pytest.mark.parametrize(
    "lines",
    [
        SNAPSHOT,
        'snapshot = "arn:aws:rds:ap-southeast-2:222222222222:cluster-snapshot:before-the-migration"',
        POINT,
        'cluster = "prod-cdc-lake"',
    ],
)
def test_a_restored_cluster_has_a_name_of_its_own(tmp_path: Path, lines: str) -> None:
    assert restoring(tmp_path, lines).database_cluster == "prod-cdc-lake-r1"
    assert load("prod").database_cluster == "prod-cdc-lake"


def resources(environment: Environment) -> dict[str, Any]:
    import stacks.node  # noqa: F401  before aws_cdk
    from stacks.database import DatabaseStack
    from stacks.network import NetworkStack

    return stack_alone(environment, lambda app: DatabaseStack(app, environment, NetworkStack(app, environment)))


def of_type(found: dict[str, Any], type_: str) -> list[dict[str, Any]]:
    return [resource["Properties"] for resource in found.values() if resource["Type"] == type_]


@pytest.mark.synth
@pytest.mark.parametrize(
    ("lines", "origin"),
    [
        (SNAPSHOT, {"SnapshotIdentifier": "rds:prod-cdc-lake-2026-11-20-03-05"}),
        (POINT, {"SourceDBClusterIdentifier": "prod-cdc-lake", "RestoreToTime": "2026-11-21T10:30:00Z"}),
        long(
            'cluster = "prod-cdc-lake"',
            {"SourceDBClusterIdentifier": "prod-cdc-lake", "UseLatestRestorableTime": True},
        ),
    ],
)
def test_a_restored_cluster_inherits_and_gets_its_password_from_the_preparation(
    tmp_path: Path, lines: str, origin: dict[str, Any]
) -> None:
    from stacks.guard import origin as guarded

    environment = restoring(tmp_path, lines)
    found = resources(environment)
    [judged] = App(settings=environment, templates={"s": {"Resources": found}}).resources(CLUSTER)
    assert [*known_properties(judged), *database_kept(judged)] == []
    [cluster] = of_type(found, CLUSTER)
    assert cluster["DBClusterIdentifier"] == "prod-cdc-lake-r1"
    assert {key: cluster[key] for key in (*RESTORING, *INHERITED) if key in cluster} == origin
    # What the guard compares is what the template has.
    assert not changed(cluster, guarded(environment))
    [prepared] = of_type(found, "Custom::PreparedSource")
    assert '\\"setMasterPassword\\":true' in json.dumps(prepared["Request"])
    preparing = [resource for name, resource in found.items() if name.startswith("SourcePreparation")]
    assert len([each for each in preparing if "rds:ModifyDBCluster" in json.dumps(each.get("Properties"))]) == 2
    secrets = (CLUSTER, "AWS::SecretsManager::Secret")
    kept = {each["DeletionPolicy"] for each in found.values() if each["Type"] in secrets}
    assert kept == {"RetainExceptOnCreate"}
    groups = [group.get("LogGroupName") for group in of_type(found, "AWS::Logs::LogGroup")]
    assert "/aws/rds/cluster/prod-cdc-lake-r1/postgresql" in groups
    generation = next(p["Value"] for p in of_type(found, "AWS::SSM::Parameter") if p["Name"].endswith("generation"))
    assert generation["Fn::Join"][1][-1] == "-r1"
