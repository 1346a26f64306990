"""The assumptions of `./lake aws costs` about the stacks, counted in their templates."""

from collections import Counter

import pytest

from operate.costs.bill import FUNCTIONS_RETENTION_DAYS
from operate.costs.prices import load_prices
from tests.stacks.conftest import Synthesized

pytestmark = pytest.mark.synth


@pytest.fixture(params=["dev", "prod", "sandbox"])
def environment(request: pytest.FixtureRequest) -> Synthesized:
    found: Synthesized = request.getfixturevalue(request.param)
    return found


@pytest.fixture(scope="module")
def counts() -> dict[str, int]:
    return load_prices().counts


def test_what_is_paid_a_piece_is_counted(environment: Synthesized, counts: dict[str, int]) -> None:
    types = {
        "secrets": "AWS::SecretsManager::Secret",
        "keys": "AWS::KMS::Key",
        "alarms": "AWS::CloudWatch::Alarm",
        "dashboards": "AWS::CloudWatch::Dashboard",
    }
    found = {name: len(environment.everywhere(type_)) for name, type_ in types.items()}
    # One pipeline of one table: its role's secret; its connectors' alarms, one for its topic's contents, its table's.
    secrets = counts["secrets"] + 1
    alarms = counts["alarms"] + counts["alarms_pipeline"] + 1 + counts["alarms_table"]
    assert found == {"secrets": secrets, "keys": counts["keys"], "alarms": alarms, "dashboards": counts["dashboards"]}


def test_s3s_request_metrics_are_paid_for_each_filter(environment: Synthesized, counts: dict[str, int]) -> None:
    buckets = environment.everywhere("AWS::S3::Bucket")
    filters = [found for bucket in buckets for found in bucket.get("MetricsConfigurations", [])]
    # S3 user guide, "Amazon S3 request metrics in CloudWatch".
    assert counts["request_metrics"] == 16 * len(filters)


def test_every_log_group_is_one_that_the_bill_knows(environment: Synthesized) -> None:
    """All but the functions' own (30 days) are named by their writer."""
    groups = {
        name
        for role in environment.by_role
        for name, group in environment.resources(role, "AWS::Logs::LogGroup").items()
        if group["Properties"]["RetentionInDays"] != FUNCTIONS_RETENTION_DAYS or "ServerLog" in name
    }
    known = ("BrokerLog", "FlowLog", "ServerLog", "WorkerLog")
    assert sorted(name.rstrip("0123456789ABCDEF") for name in groups) == sorted(known)


def test_the_volumes_are_as_large(environment: Synthesized, counts: dict[str, int]) -> None:
    [cluster] = environment.everywhere("AWS::EMR::Cluster")
    groups = [group for group in ("MasterInstanceGroup", "CoreInstanceGroup") if group in cluster["Instances"]]
    for group in groups:
        [disk] = cluster["Instances"][group]["EbsConfiguration"]["EbsBlockDeviceConfigs"]
        size = disk["VolumeSpecification"]["SizeInGB"] * disk["VolumesPerInstance"]
        assert size + cluster["EbsRootVolumeSize"] == counts["emr_volume_gb"]


def test_no_machine_runs_that_the_bill_does_not_know(environment: Synthesized, counts: dict[str, int]) -> None:
    sizes = Counter(
        device["Ebs"]["VolumeSize"]
        for instance in environment.everywhere("AWS::EC2::Instance")
        for device in instance["BlockDeviceMappings"]
    )
    nat = len(environment.everywhere("AWS::EC2::NatGateway"))
    expected = Counter({counts["vpn_volume_gb"]: 1})
    zones, kind = len(environment.settings.availability_zones), environment.settings.network.nat
    expected[counts["nat_volume_gb"]] += {"gateways": 0, "instances": zones, "instance": 1}[kind]
    assert sizes == expected
    # One Elastic IP for the bastion, and one for each gateway.
    assert len(environment.everywhere("AWS::EC2::EIP")) == 1 + nat
