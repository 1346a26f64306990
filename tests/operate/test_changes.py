"""CloudFormation's effects, with small templates, so that each rule is tested alone."""

from typing import Any

import pytest

from operate.changes import values
from operate.changes.compare import Touched, touched
from operate.changes.page import Row, new_value, page
from operate.changes.update_rules import (
    CUSTOM,
    EFFECTS,
    FACTS,
    UnknownTypeError,
    effect_of,
    fixed_name,
    schema,
    too_many,
)
from operate.changes.values import Change, NoOtherValueError, changes, settings
from plugins.connector_names import FIXED
from settings.environment import Environment
from settings.load import load

ENVIRONMENTS = ["dev", "prod"]


def resource(type_: str, **properties: Any) -> dict[str, Any]:
    return {"Type": type_, "Properties": properties}


def template(*, outputs: dict[str, Any] | None = None, **resources: Any) -> dict[str, Any]:
    exported = {name: {"Value": value, "Export": {"Name": name}} for name, value in (outputs or {}).items()}
    return {"Resources": resources, "Outputs": exported}


def effects(before: dict[str, Any], after: dict[str, Any]) -> dict[str, str]:
    found = touched({"s": before}, {"s": after})
    return {each.name: each.effect for each in found}


def test_what_a_schema_calls_create_only_is_replaced_and_the_rest_changed_in_place() -> None:
    before = template(Group=resource("AWS::EC2::SecurityGroup", VpcId="a", SecurityGroupIngress=[]))
    assert effects(before, template(Group=resource("AWS::EC2::SecurityGroup", VpcId="b", SecurityGroupIngress=[]))) == {
        "Group": "replaced"
    }
    assert effects(before, template(Group=resource("AWS::EC2::SecurityGroup", VpcId="a"))) == {"Group": "in place"}
    assert effects(before, before) == {}


def test_a_replacement_under_the_same_name_is_refused() -> None:
    def cluster(name: str) -> dict[str, Any]:
        return template(Db=resource("AWS::RDS::DBCluster", DBClusterIdentifier="prod", DatabaseName=name))

    assert effects(cluster("a"), cluster("b")) == {"Db": "refused"}


def test_a_replacement_carries_on_to_what_refers_to_it() -> None:
    def network(cidr: str) -> dict[str, Any]:
        return template(
            Vpc=resource("AWS::EC2::VPC", CidrBlock=cidr),
            Group=resource("AWS::EC2::SecurityGroup", VpcId={"Ref": "Vpc"}),
            Rule=resource("AWS::EC2::SecurityGroupIngress", GroupId={"Fn::GetAtt": ["Group", "GroupId"]}),
            Other=resource("AWS::SNS::Topic"),
        )

    assert effects(network("a"), network("b")) == {"Vpc": "replaced", "Group": "replaced", "Rule": "replaced"}


def test_a_custom_resources_request_is_read_and_what_it_refers_to_followed() -> None:
    def stack(cidr: str) -> dict[str, Any]:
        parts = ['{"connectorName":"c","kafkaCluster":"', {"Ref": "Vpc"}, '"}']
        request = {"Fn::Join": ["", parts]}
        return template(
            Vpc=resource("AWS::EC2::VPC", CidrBlock=cidr),
            Source=resource("Custom::Connector", ServiceToken="t", Request=request),
        )

    assert effects(stack("a"), stack("b")) == {"Vpc": "replaced", "Source": "recreated"}


def test_an_export_in_use_can_neither_change_nor_vanish() -> None:
    consumer = {"Resources": {"Alarm": resource("AWS::SNS::Topic", DisplayName={"Fn::ImportValue": "Address"})}}

    def names(after: dict[str, Any]) -> list[tuple[str, str, str]]:
        before = {"a": template(outputs={"Address": "b-1"}), "b": consumer}
        return [(each.type, each.effect, each.why) for each in touched(before, {"a": after, "b": consumer})]

    refused = [("export", "refused", "another stack imports it")]
    assert names(template(outputs={"Address": "b-1"})) == []
    assert names(template(outputs={"Address": "b-2"})) == refused
    assert names(template()) == refused
    unused = {"a": template(outputs={"Address": "b-1"})}
    assert touched(unused, {"a": template()}) == []


def test_an_export_of_something_that_is_replaced_is_refused() -> None:
    def producer(cidr: str) -> dict[str, Any]:
        return template(Vpc=resource("AWS::EC2::VPC", CidrBlock=cidr), outputs={"Id": {"Ref": "Vpc"}})

    consumer = {"Resources": {"G": resource("AWS::EC2::SecurityGroup", VpcId={"Fn::ImportValue": "Id"})}}
    found = touched({"a": producer("1"), "b": consumer}, {"a": producer("2"), "b": consumer})
    assert [(each.name, each.effect) for each in found] == [("Vpc", "replaced"), ("Id", "refused")]


def test_a_new_configuration_reaches_the_cluster_and_more_at_once_is_refused() -> None:
    def kafka(properties: str, brokers: int) -> dict[str, Any]:
        revision = {"Fn::GetAtt": ["Configuration", "LatestRevision.Revision"]}
        cluster = resource("AWS::MSK::Cluster", NumberOfBrokerNodes=brokers, ConfigurationInfo={"Revision": revision})
        return template(Configuration=resource("AWS::MSK::Configuration", ServerProperties=properties), Cluster=cluster)

    assert effects(kafka("a", 2), kafka("b", 2)) == {"Configuration": "in place", "Cluster": "in place"}
    assert effects(kafka("a", 2), kafka("a", 4)) == {"Cluster": "in place"}
    assert effects(kafka("a", 2), kafka("b", 4))["Cluster"] == "refused"
    assert too_many(
        "AWS::MSK::Cluster", [("BrokerNodeGroupInfo", "InstanceType"), ("BrokerNodeGroupInfo", "StorageInfo")]
    )


def test_data_that_goes_or_is_replaced_is_noticed() -> None:
    bucket = Touched(stack="s", type="AWS::S3::Bucket", name="B", effect="gone")
    assert bucket.loses_data
    assert not Touched(stack="s", type="AWS::S3::Bucket", name="B", effect="in place").loses_data


@pytest.mark.parametrize(
    ("type_", "path", "before", "after", "effect"),
    [
        (
            "AWS::MSK::Cluster",
            ("BrokerNodeGroupInfo", "StorageInfo", "EBSStorageInfo", "VolumeSize"),
            20,
            10,
            "refused",
        ),
        (
            "AWS::MSK::Cluster",
            ("BrokerNodeGroupInfo", "StorageInfo", "EBSStorageInfo", "VolumeSize"),
            20,
            40,
            "in place",
        ),
        ("AWS::MSK::Cluster", ("BrokerNodeGroupInfo", "ClientSubnets"), [], ["a"], "replaced"),
        ("AWS::MSK::Cluster", ("KafkaVersion",), "3.9.x", "3.8.x", "refused"),
        ("AWS::MSK::Cluster", ("KafkaVersion",), "3.8.x", "3.9.x", "in place"),
        ("AWS::MSK::Cluster", ("KafkaVersion",), "2.8.2.tiered", "2.8.2", "in place"),
        ("AWS::MSK::Cluster", ("KafkaVersion",), "3.8.x", "3.9.x.kraft", "refused"),
        ("AWS::MSK::Cluster", ("NumberOfBrokerNodes",), 4, 2, "refused"),
        ("AWS::RDS::DBCluster", ("EngineVersion",), "16.11", "16.8", "refused"),
        ("AWS::EMR::Cluster", ("Instances", "CoreInstanceGroup", "InstanceCount"), 2, 3, "in place"),
        ("AWS::EMR::Cluster", ("Instances", "CoreInstanceGroup", "InstanceType"), "a", "b", "replaced"),
        ("AWS::EMR::Cluster", ("ReleaseLabel",), "a", "b", "replaced"),
        ("Custom::Connector", ("connectorConfiguration", "tasks.max"), "1", "2", "in place"),
        ("Custom::Connector", ("connectorName",), "a", "b", "refused"),
        ("Custom::Plugin", ("releases",), [], ["a"], "replaced"),
    ],
)
def test_each_fact_holds_in_its_direction(
    type_: str, path: tuple[str, ...], before: Any, after: Any, effect: str
) -> None:
    assert effect_of(type_, path, before, after)[0] == effect


def test_a_type_that_nobody_has_looked_up_is_not_guessed() -> None:
    with pytest.raises(UnknownTypeError, match="Custom::New: write into"):
        effect_of("Custom::New", ("a",), 1, 2)
    with pytest.raises(UnknownTypeError, match="AWS::EC2::Instance Tenancy may replace it or not"):
        effect_of("AWS::EC2::Instance", ("Tenancy",), 1, 2)


def test_names_that_must_be_unique_are_known() -> None:
    assert fixed_name("AWS::MSK::Cluster", {"ClusterName": "dev"}) == "dev"
    assert fixed_name("AWS::S3::Bucket", {"BucketName": "b"}) == "b"
    assert fixed_name("AWS::KMS::Key", {"Description": "x"}) is None
    # Of one account: its database distinguishes tables.
    one, other = ({"CatalogId": "111111111111", "DatabaseName": name} for name in ("one", "other"))
    assert fixed_name("AWS::Glue::Table", one) != fixed_name("AWS::Glue::Table", other)
    assert fixed_name("AWS::Logs::LogGroup", {"LogGroupName": {"Ref": "x"}}) is None


def test_the_facts_are_of_properties_that_there_are_and_say_where_from() -> None:
    for type_, facts in FACTS.items():
        for fact in facts:
            assert fact.path[0] in schema(type_)["properties"]
            assert fact.source
            assert fact.effect in EFFECTS


def test_what_makes_a_connector_anew_is_what_its_handler_says() -> None:
    assert {fact.path[0] for fact in CUSTOM["Custom::Connector"]} == {"connectorName", *FIXED}


@pytest.mark.parametrize("name", ENVIRONMENTS)
def test_every_setting_is_changed_and_only_that_one(name: str) -> None:
    environment = load(name)
    found = list(changes(environment))
    keys = [key for key, _, _ in settings(environment)]
    assert {change.key for change in found} == set(keys)
    assert {"streaming.brokers", "pipelines[0].sink.kcql", "pipelines[0].job.one_step"} <= set(keys)
    for change in found:
        assert change.before != change.after
        assert (change.environment is None) == bool(change.refused)
        if change.environment and change.key not in values.TOGETHER:
            before, after = (dict_of(each) for each in (change.given or environment, change.environment))
            assert {key for key in before if before[key] != after[key]} == {change.key}


def dict_of(environment: Environment) -> dict[str, Any]:
    return {key: value for key, value, _ in settings(environment)}


def test_a_new_setting_without_another_value_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(values, "OTHERS", {})
    with pytest.raises(NoOtherValueError, match=r"availability_zones: write into operate/changes/values\.py"):
        list(changes(load("dev")))


def test_no_other_value_is_for_a_setting_that_is_gone() -> None:
    keys = {key for key, _, _ in settings(load("dev"))}
    assert values.OTHERS.keys() | values.TOGETHER.keys() | values.GIVEN.keys() <= keys
    assert {key for given in values.GIVEN.values() for key in given} <= keys


@pytest.mark.parametrize("name", ENVIRONMENTS)
def test_what_is_nothing_without_quicksight_is_changed_where_it_is(name: str) -> None:
    environment = load(name)
    found = {change.key: change for change in changes(environment)}
    assert {key for key, change in found.items() if change.given} == set(values.GIVEN)
    for key in values.GIVEN:
        given = found[key].given
        assert given is not None
        assert f":{environment.account}:" in str(given.analytics.quicksight_principal)
    refresh = found["analytics.refresh"]
    assert refresh.given is not None
    assert refresh.given.analytics.import_mode == "SPICE"
    assert refresh.environment is not None
    assert refresh.environment.analytics.refresh != refresh.given.analytics.refresh


def test_what_the_file_itself_has_isnt_given(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(values, "GIVEN", {"analytics.refresh": {"analytics.import_mode": "DIRECT_QUERY"}})
    assert [change.given for change in changes(load("dev")) if change.key == "analytics.refresh"] == [None]


def test_settings_with_the_same_effect_share_a_row_that_names_where_it_differs() -> None:
    rows = {
        "dev": [
            Row(key="a", change="2", effect="in place", text="x"),
            Row(key="b", change="+1", effect="", text="x"),
            Row(key="b", change="7", effect="", text="y"),
        ],
        "prod": [Row(key="a", change="2", effect="in place", text="x")],
    }
    text = page(rows)
    assert "| `a`: 2<br>`b`: +1 (dev) | x |" in text
    assert "| `b`: 7 (dev) | y |" in text


@pytest.mark.parametrize(
    ("before", "after", "written"),
    [
        (None, {"name": "r1", "snapshot": "s"}, "name = r1, snapshot = s"),
        ({}, {"a.key": "5"}, "a.key = 5"),
        (("alice",), (), "none"),
        ((), ("alice", "bob"), "alice, bob"),
        (False, True, "true"),
        (3, 4, "+1"),
        (4, 3, "3"),
    ],
)
def test_the_new_value_of_a_change_is_written(before: object, after: object, written: str) -> None:
    assert new_value(Change(key="k", before=before, after=after, environment=None)) == written
