"""CloudFormation's effects, with small templates, so that each rule is tested alone; and settings to compare with."""

from pathlib import Path
from typing import Any

import pytest

from contract.errors import UserError
from operate.diff import snapshots
from operate.diff.assigned import assigned
from operate.diff.changed import Changed, changed
from operate.diff.comparison import changes_between
from operate.diff.effects import EFFECTS, FACTS, MAYBE, UNKNOWN, effect_of, fixed_name, schema, too_many
from operate.diff.normal_form import normal_form
from settings.load import load


def resource(type_: str, **properties: Any) -> dict[str, Any]:
    return {"Type": type_, "Properties": properties}


def template(*, outputs: dict[str, Any] | None = None, **resources: Any) -> dict[str, Any]:
    exported = {name: {"Value": value, "Export": {"Name": name}} for name, value in (outputs or {}).items()}
    return {"Resources": resources, "Outputs": exported}


def touched(before: dict[str, Any], after: dict[str, Any]) -> list[Changed]:
    return changed(*({stack: normal_form(each) for stack, each in side.items()} for side in (before, after)))


def effects(before: dict[str, Any], after: dict[str, Any]) -> dict[str, str]:
    return {each.name: each.effect for each in touched({"s": before}, {"s": after})}


def test_what_a_schema_calls_create_only_is_replaced_and_the_rest_changed_in_place() -> None:
    before = template(Group=resource("AWS::EC2::SecurityGroup", VpcId="a", SecurityGroupIngress=[]))
    assert effects(before, template(Group=resource("AWS::EC2::SecurityGroup", VpcId="b", SecurityGroupIngress=[]))) == {
        "Group": "replaced"
    }
    assert effects(before, template(Group=resource("AWS::EC2::SecurityGroup", VpcId="a"))) == {"Group": "in place"}
    assert effects(before, before) == {}


def test_a_note_is_said_whichever_property_it_is_of() -> None:
    before, after = (template(Machine=resource("AWS::EC2::Instance", SecurityGroupIds=[x], UserData=x)) for x in "ab")
    assert [(each.effect, each.why) for each in touched({"s": before}, {"s": after})] == [
        ("in place", "stopped and started")
    ]


def test_another_hash_in_a_name_is_one_that_goes_and_a_second_of_that_name_is_new() -> None:
    before = template(Topic0123ABCD=resource("AWS::SNS::Topic", DisplayName="a"))
    after = template(
        Topic4567ABCD=resource("AWS::SNS::Topic", DisplayName="b"), Topic89ABCDEF=resource("AWS::SNS::Topic")
    )
    followed = ("gone", "another takes its place", 1)
    for sides, other in (((before, after), "new"), ((after, before), "gone")):
        found = touched(*({"s": side} for side in sides))
        assert [(each.effect, each.why, len(each.changes)) for each in found] == [followed, (other, "", 0)]


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


@pytest.mark.parametrize(
    ("export", "reader", "effects"),
    [("New", "connectors", ["refused"]), ("Kept", "connectors", []), ("Kept", "monitoring", ["refused"])],
)
def test_what_the_database_only_loses_its_readers_left_before(export: str, reader: str, effects: list[str]) -> None:
    consumer = template(Alarm=resource("AWS::SNS::Topic", DisplayName={"Fn::ImportValue": "Secret"}))
    before = {"database": template(outputs={"Kept": "a", "Secret": "b"}), reader: consumer}
    after = {"database": template(outputs={export: "a"}), reader: template(Alarm=resource("AWS::SNS::Topic"))}
    assert [each.effect for each in touched(before, after) if each.type == "export"] == effects


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
    assert too_many("AWS::MSK::Cluster", [("BrokerNodeGroupInfo", each) for each in ("InstanceType", "StorageInfo")])


VOLUME = "BrokerNodeGroupInfo StorageInfo EBSStorageInfo VolumeSize"


@pytest.mark.parametrize(
    ("type_", "path", "before", "after", "effect"),
    [
        ("AWS::MSK::Cluster", VOLUME, 20, 10, "refused"),
        ("AWS::MSK::Cluster", VOLUME, 20, 40, "in place"),
        ("AWS::MSK::Cluster", "BrokerNodeGroupInfo ClientSubnets", [], ["a"], "replaced"),
        ("AWS::MSK::Cluster", "KafkaVersion", "3.9.x", "3.8.x", "refused"),
        ("AWS::MSK::Cluster", "KafkaVersion", "3.8.x", "3.9.x", "in place"),
        ("AWS::MSK::Cluster", "KafkaVersion", "2.8.2.tiered", "2.8.2", "in place"),
        ("AWS::MSK::Cluster", "KafkaVersion", "3.8.x", "3.9.x.kraft", "refused"),
        ("AWS::MSK::Cluster", "NumberOfBrokerNodes", 4, 2, "refused"),
        ("AWS::MSK::Cluster", "NumberOfBrokerNodes", None, 2, "in place"),
        ("AWS::RDS::DBCluster", "EngineVersion", "16.11", "16.8", "refused"),
        ("AWS::RDS::DBCluster", "EngineVersion", "16.11", None, "in place"),
        ("AWS::RDS::DBCluster", "EngineVersion", {"Ref": "V2"}, {"Ref": "V1"}, "in place"),
        ("AWS::EMR::Cluster", "Instances CoreInstanceGroup InstanceCount", 2, 3, "in place"),
        ("AWS::EMR::Cluster", "Instances CoreInstanceGroup InstanceType", "a", "b", "replaced"),
        ("AWS::EMR::Cluster", "ReleaseLabel", "a", "b", "replaced"),
        ("Custom::Connector", "connectorConfiguration tasks.max", "1", "2", "in place"),
        ("Custom::Connector", "connectorName", "a", "b", "refused"),
        ("Custom::OutsideSource", "host", "a", "b", "refused"),
        ("Custom::OutsideSource", "tables", [], ["a"], "in place"),
        ("Custom::PreparedPipeline", "database", "a", "b", "refused"),
        ("Custom::PreparedPipeline", "role", "a", "b", "in place"),
        ("Custom::EmrStep", "name", "a", "b", "recreated"),
        ("Custom::Plugin", "releases", [], ["a"], "replaced"),
        ("Custom::Plugin", "ServiceToken", "a", "b", "refused"),
    ],
)
def test_each_fact_holds_in_its_direction(type_: str, path: str, before: Any, after: Any, effect: str) -> None:
    assert effect_of(type_, tuple(path.split()), before, after)[0] == effect


@pytest.mark.parametrize(
    ("type_", "path", "why"),
    [("Custom::New", "a", UNKNOWN), ("AWS::New::Type", "a", UNKNOWN), ("AWS::EC2::Instance", "Tenancy", MAYBE)],
)
def test_what_nobody_has_looked_up_is_not_guessed(type_: str, path: str, why: str) -> None:
    assert effect_of(type_, (path,), 1, 2) == ("in place", why)


@pytest.mark.parametrize("name", ["dev", "prod"])
def test_every_type_of_the_stacks_has_rules(name: str) -> None:
    templates = snapshots.read(load(name)).values()
    types = {resource["Type"] for template in templates for resource in template["Resources"].values()}
    assert {type_ for type_ in types if effect_of(type_, ("NotAProperty",), 1, 2)[1] == UNKNOWN} == set()


def test_names_that_must_be_unique_are_known() -> None:
    assert fixed_name("AWS::MSK::Cluster", {"ClusterName": "dev"}) == "dev"
    assert fixed_name("AWS::S3::Bucket", {"BucketName": "b"}) == "b"
    assert fixed_name("AWS::IAM::ManagedPolicy", {"ManagedPolicyName": "p"}) == "p"
    assert fixed_name("AWS::KMS::Key", {"Description": "x"}) is None
    # Of one account: its database distinguishes tables.
    one, other = ({"CatalogId": "111111111111", "DatabaseName": name} for name in ("one", "other"))
    assert fixed_name("AWS::Glue::Table", one) != fixed_name("AWS::Glue::Table", other)
    assert fixed_name("AWS::Logs::LogGroup", {"LogGroupName": {"Ref": "x"}}) is None


def test_the_facts_are_of_properties_that_there_are_and_say_where_from() -> None:
    for type_, facts in FACTS.items():
        for fact in facts:
            assert type_.startswith("Custom::") or fact.place.partition(".")[0] in schema(type_)["properties"]
            assert fact.source
            assert fact.effect in EFFECTS


SETTINGS = """database.engine_version=16.13 database.instances=3 database.restore={name="r1",snapshot="s"}
database.sample_data=false network.nat=gateways pipelines[0].sink.tasks=2 vpn.users=["alice"]"""


def test_settings_are_assigned_as_in_the_file() -> None:
    found = assigned(load("dev"), SETTINGS.split())
    assert (found.database.engine_version, found.database.instances) == ("16.13", 3)
    assert (found.database.restore and found.database.restore.name, found.database.sample_data) == ("r1", False)
    assert (found.network.nat, found.pipelines[0].sink.tasks, found.vpn.users) == ("gateways", 2, ("alice",))
    assert assigned(load("prod"), []) == load("prod")


@pytest.mark.parametrize(
    ("assignment", "said"),
    [
        ("nope.x=1", r"^--set nope\.x=1: there is no such setting: write key=value, such as "),
        ("pipelines[9].job=1", "there is no such setting"),
        ("database.name.x=1", "there is no such setting"),
        ("name=x", "there is no such setting"),
        ("pipelines[0].captured.name=x", "there is no such setting"),
        ("pipelines[0].name=nope", r"dev\.toml with --set: pipelines\[0\]\.name: there is no pipelines/nope\.toml"),
        ("streaming.volume_gb=x", r"dev\.toml with --set: streaming\.volume_gb: Input should be a valid integer"),
        ("production=true", "production data must survive"),
    ],
)
def test_a_setting_that_isnt_accepted_is_said(assignment: str, said: str) -> None:
    with pytest.raises(UserError, match=said):
        assigned(load("dev"), [assignment])


# What changes the network or the connectors' platform can't be deployed: docs/aws/deploy.md says what to do.
DEPLOYABLE = """streaming.brokers=4 database.instances=3 database.engine_version=16.13 database.secret_rotation_days=7
network.nat=gateways lake.database=orders processing.release=emr-7.9.0 vpn.users=["alice"]
pipelines[0].topic_prefix=orders pipelines[0].job.one_step=false monitoring.alarm_email=on-call@example.com"""


@pytest.mark.synth
def test_no_other_setting_changes_what_another_stack_imports(tmp_path: Path) -> None:
    from operate.synth import synthesize

    before, after = load("dev"), assigned(load("dev"), DEPLOYABLE.split())
    sides = snapshots.read(before), synthesize(after, tmp_path / "cdk.out").stacks
    found = changes_between(before, "the settings as they are", *sides).sections
    lines = {section.title: section.lines for section in found}
    assert "Refused by CloudFormation" not in lines
    assert lines["Replaced"]
