"""Each kind of change in real templates of both environments, in the right words."""

import copy
import json
from typing import Any

import pytest

from operate.diff import comparison
from operate.diff.comparison import compare
from operate.diff.normal_form import normal_form
from tests.operate.diff.conftest import Templates, lines, of_environment


def test_the_same_templates_have_no_changes(templates: Templates) -> None:
    found = templates.compared()
    assert (found.any, found.sections, found.diff, found.summary) == (False, (), "", "no changes")
    assert comparison.text(found).startswith(f"{templates.environment.name} against the snapshot: no changes\n")


def test_another_hash_of_an_asset_is_no_change(of_prod: Templates) -> None:
    text = json.dumps(of_prod.before)
    one, other = (text.replace("<asset>.", f"{digit * 64}.") for digit in "ab")
    assert one != other
    before, after = ({key: normal_form(each) for key, each in json.loads(text).items()} for text in (one, other))
    assert not compare("dev", "the snapshot", before, after).any


@pytest.mark.parametrize(
    ("policy", "said"),
    [("Delete", "lost"), ("Retain", "the old one is kept, without a stack, and the new one begins without it")],
)
def test_a_replaced_database_says_what_is_lost_and_goes_with_it(of_prod: Templates, policy: str, said: str) -> None:
    for side in (of_prod.before, of_prod.after):
        for each in side["database"]["Resources"].values():
            if each["Type"] == "AWS::RDS::DBCluster":
                each["UpdateReplacePolicy"] = policy
    of_prod.properties("database", "AWS::RDS::DBCluster")["DBClusterIdentifier"] = "another"
    found = of_prod.compared()
    assert lines(found, "Data lost or left behind") == [
        f"database/Database (RDS DBCluster) replaced: {said}: every row of the database, its backups and the "
        "connector's slot"
    ]
    replaced = lines(found, "Replaced")
    assert any(line.startswith("database/Database (RDS DBCluster)") and "→ another" in line for line in replaced)
    assert any(line.startswith("database/DatabaseWriter (RDS DBInstance): ") for line in replaced)
    assert found.sections[0].grave


def test_a_replacement_under_the_same_name_is_refused_and_says_what_it_would_cost(of_prod: Templates) -> None:
    of_prod.properties("database", "AWS::RDS::DBCluster")["DatabaseName"] = "another"
    [line] = lines(of_prod.compared(), "Refused by CloudFormation")
    assert "DatabaseName devdb → another: its name is taken by the one that it would replace" in line
    assert "every row of the database" in line


def test_a_bucket_that_goes_says_what_becomes_of_its_objects(templates: Templates) -> None:
    template = templates.after["lake"]["Resources"]
    name = next(key for key, each in template.items() if each["Type"] == "AWS::S3::Bucket" and key.startswith("Lake"))
    kept = template.pop(name).get("DeletionPolicy", "Delete") != "Delete"
    [line] = lines(templates.compared(), "Data lost or left behind")
    assert line.startswith("lake/Lake (S3 Bucket) gone: ")
    assert ("is kept, without a stack" in line) == kept
    assert ("lost: every object in it" in line) != kept


def test_what_empties_a_bucket_says_so_when_it_goes() -> None:
    templates = of_environment("dev")
    resources = templates.after["lake"]["Resources"]
    del resources[next(key for key, each in resources.items() if each["Type"] == "Custom::S3AutoDeleteObjects")]
    [line] = lines(templates.compared(), "Data lost or left behind")
    assert "(S3AutoDeleteObjects) gone: lost: every object in its bucket" in line


def test_a_port_that_opens_and_one_that_closes_are_told(of_prod: Templates) -> None:
    rule = of_prod.properties("database", "AWS::EC2::SecurityGroupIngress")
    opened = {"GroupId": rule["GroupId"], "IpProtocol": "tcp", "FromPort": 22, "ToPort": 22, "CidrIp": "0.0.0.0/0"}
    of_prod.after["database"]["Resources"]["Open"] = {"Type": "AWS::EC2::SecurityGroupIngress", "Properties": opened}
    said = "database/<DatabaseAccess>: TCP 22 {}in from everybody (0.0.0.0/0)"
    assert lines(of_prod.compared(), "Network wider") == [said.format("")]
    of_prod.before, of_prod.after = of_prod.after, of_prod.before
    found = of_prod.compared()
    assert lines(found, "Network narrower") == [said.format("no longer ")]
    assert lines(found, "Network wider") == []


def test_a_rule_for_a_databases_port_changes_with_the_database(of_prod: Templates) -> None:
    of_prod.properties("database", "AWS::RDS::DBCluster")["Port"] = 5433
    [line] = lines(of_prod.compared(), "Network wider")
    assert line == "database/<DatabaseAccess>: TCP 5433 in from <DatabaseRotationSingleUserSecurityGroup>"


@pytest.mark.parametrize(
    ("address", "peer"), [("8.8.8.8/32", "all TCP out to 8.8.8.8/32"), (None, "everything out to everybody")]
)
def test_a_group_lets_everything_out_until_it_has_a_rule(of_prod: Templates, address: str | None, peer: str) -> None:
    group = {"Type": "AWS::EC2::SecurityGroup", "Properties": {"GroupDescription": "x"}}
    for side, cidr in ((of_prod.before, "10.0.0.1/32"), (of_prod.after, address)):
        rule = {"GroupId": {"Fn::GetAtt": ["Access0123ABCD", "GroupId"]}, "IpProtocol": "tcp", "CidrIp": cidr}
        out = {"Out": {"Type": "AWS::EC2::SecurityGroupEgress", "Properties": rule}} if cidr else {}
        side["streaming"] = {"Resources": {"Access0123ABCD": group, **out}}
    [line] = lines(of_prod.compared(), "Network wider")
    assert line.startswith(f"streaming/<Access>: {peer}")


def test_a_range_that_grows_is_wider_alone_and_one_that_shrinks_narrower_alone(of_prod: Templates) -> None:
    for side, source in ((of_prod.before, "203.0.113.0/25"), (of_prod.after, "203.0.113.0/24")):
        for each in side["vpn"]["Resources"].values():
            if each["Type"] == "AWS::EC2::SecurityGroup":
                each["Properties"]["SecurityGroupIngress"] = [
                    {"CidrIp": source, "IpProtocol": "udp", "FromPort": 500, "ToPort": 500}
                ]
    found = of_prod.compared()
    assert [len(lines(found, title)) for title in ("Network wider", "Network narrower")] == [1, 0]
    of_prod.before, of_prod.after = of_prod.after, of_prod.before
    found = of_prod.compared()
    assert [len(lines(found, title)) for title in ("Network wider", "Network narrower")] == [0, 1]


def statement(templates: Templates) -> dict[str, Any]:
    policy = templates.properties("processing", "AWS::IAM::Policy", "RolesNodes")["PolicyDocument"]
    return next(each for each in policy["Statement"] if isinstance(each["Action"], list) and each["Effect"] == "Allow")


def test_an_action_that_comes_and_one_that_goes_are_told(of_prod: Templates) -> None:
    actions = statement(of_prod)["Action"]
    gone = actions.pop()
    actions.append("iam:PassRole")
    found = of_prod.compared()
    assert [line.partition(" on ")[0] for line in lines(found, "Rights wider")] == [
        "processing: <RolesNodes> may now iam:PassRole"
    ]
    assert [line.partition(" on ")[0] for line in lines(found, "Rights narrower")] == [
        f"processing: <RolesNodes> may no longer {gone}"
    ]


def test_a_wildcard_that_holds_what_was_there_is_wider_alone(of_prod: Templates) -> None:
    found = statement(of_prod)
    service = found["Action"][0].partition(":")[0]
    found["Action"] = [each for each in found["Action"] if each.startswith(f"{service}:")]
    of_prod.before = copy.deepcopy(of_prod.after)
    statement(of_prod)["Action"] = f"{service}:*"
    changes = of_prod.compared()
    assert [f"may now {service}:*" in line for line in lines(changes, "Rights wider")] == [True]
    assert lines(changes, "Rights narrower") == []


def test_a_denial_that_goes_widens(of_prod: Templates) -> None:
    policy = of_prod.properties("lake", "AWS::S3::BucketPolicy")["PolicyDocument"]
    del policy["Statement"][0]
    assert lines(of_prod.compared(), "Rights wider") == [
        "lake: everybody is no longer denied s3:* on <Artefacts>, <Artefacts>/*"
        ' if {"Bool": {"aws:SecureTransport": "false"}}'
    ]


def test_a_managed_policy_that_is_handed_out_by_hand_is_told_by_its_rights(of_prod: Templates) -> None:
    for side, actions in ((of_prod.before, ["s3:GetObject"]), (of_prod.after, ["s3:GetObject", "s3:DeleteBucket"])):
        statement = {"Effect": "Allow", "Action": actions, "Resource": {"Fn::GetAtt": ["Lake5F1B88EA", "Arn"]}}
        policy = {"Type": "AWS::IAM::ManagedPolicy", "Properties": {"PolicyDocument": {"Statement": [statement]}}}
        side["lake"]["Resources"]["Analyst0123ABCD"] = policy
    found = of_prod.compared()
    assert lines(found, "Rights wider") == ["lake: any holder of <Analyst> may now s3:DeleteBucket on <Lake>"]
    assert lines(found, "Rights narrower") == []


TABLES = {"Table": {"DatabaseName": "orders", "TableWildcard": {}}}
CLUSTER_ADMIN = {"PolicyArn": "arn:aws:eks::aws:cluster-access-policy/AmazonEKSClusterAdminPolicy"}


@pytest.mark.parametrize(
    ("type_", "properties", "line"),
    [
        (
            "AWS::Lambda::Permission",
            {"Principal": "s3.amazonaws.com", "Action": "lambda:X", "FunctionName": {"Ref": "F"}, "SourceAccount": "1"},
            'Service:s3.amazonaws.com may now lambda:X on <F> if {"StringEquals": {"aws:SourceAccount": "1"}}',
        ),
        (
            "AWS::LakeFormation::PrincipalPermissions",
            {"Principal": {"DataLakePrincipalIdentifier": "eve"}, "Permissions": ["SELECT"], "Resource": TABLES},
            "eve may now lakeformation:SELECT on every table of orders",
        ),
        (
            "AWS::QuickSight::DataSet",
            {"Permissions": [{"Principal": "eve", "Actions": ["quicksight:PassDataSet"]}]},
            "eve may now quicksight:PassDataSet on <New>",
        ),
        (
            "AWS::EKS::AccessEntry",
            {"PrincipalArn": "eve", "AccessPolicies": [CLUSTER_ADMIN], "ClusterName": "c", "KubernetesGroups": ["g"]},
            "eve may now eks:AmazonEKSClusterAdminPolicy, eks:g on c",
        ),
    ],
)
def test_grants_without_policy_are_told(of_prod: Templates, type_: str, properties: dict[str, Any], line: str) -> None:
    of_prod.after["lake"]["Resources"]["New0123ABCD"] = {"Type": type_, "Properties": properties}
    assert lines(of_prod.compared(), "Rights wider") == [f"lake: {line}"]


def test_a_trust_that_is_replaced_names_who_comes_and_who_goes(of_prod: Templates) -> None:
    role = of_prod.properties("processing", "AWS::IAM::Role", "RolesNodes")
    [one] = role["AssumeRolePolicyDocument"]["Statement"]
    one["Principal"] = {"AWS": "arn:aws:iam::999999999999:root"}
    found = of_prod.compared()
    assert lines(found, "Rights wider") == [
        "processing: arn:aws:iam::999999999999:root may now sts:AssumeRole on <RolesNodes>"
    ]
    assert lines(found, "Locked out") == [
        "processing: Service:ec2.amazonaws.com may no longer sts:AssumeRole on <RolesNodes>"
    ]


def test_a_key_policys_resource_is_the_key(of_prod: Templates) -> None:
    key = of_prod.properties("monitoring", "AWS::KMS::Key")["KeyPolicy"]
    allowed = {"Effect": "Allow", "Principal": "*", "NotAction": "kms:Get*", "Resource": "*"}
    key["Statement"].append(allowed)
    [line] = lines(of_prod.compared(), "Rights wider")
    assert line.startswith("monitoring: everybody may now everything but kms:Get* on <")


def test_connectors_and_steps_are_told_as_what_our_handlers_do(of_prod: Templates) -> None:
    of_prod.request("connectors", "Custom::Connector", "Source")["connectorConfiguration"]["poll.interval.ms"] = "1"
    of_prod.request("connectors", "Custom::Connector", "Sink")["kafkaConnectVersion"] = "4.0.x"
    of_prod.request("processing", "Custom::EmrStep")["arguments"].append("--verbose")
    of_prod.request("connectors", "Custom::Plugin", "SourcePlugin")["prefix"] = "other/"
    found = of_prod.compared()
    assert lines(found, "Recreated") == [
        "connectors/SinkConnector (Connector): the connector, under its name: progress stays",
        "processing/Stepcdcevents (EmrStep): the job restarts after its commit",
    ]
    assert "connectors/SourcePlugin (Plugin): its name is its content's" in lines(found, "Replaced")
    assert "connectors/SourceConnector (Connector): updated in place: its tasks start again, its offsets stay" in lines(
        found, "Changed in place"
    )
    assert len(lines(found, "Connectors, jobs, topics")) == 4


def test_a_new_stack_and_one_that_goes_are_told_with_their_resources(of_prod: Templates) -> None:
    topic = {"Type": "AWS::SNS::Topic", "Properties": {}}
    of_prod.after["extra"] = {"Resources": {"Topic0123ABCD": topic}, "Outputs": {"Name": {"Value": "x"}}}
    for title in ("New", "Gone"):
        [section] = of_prod.compared().sections
        assert (section.title, section.lines) == (title, ("extra/Topic (SNS Topic)",))
        of_prod.before, of_prod.after = of_prod.after, of_prod.before


def test_an_output_alone_is_told(of_prod: Templates) -> None:
    of_prod.after["lake"]["Outputs"]["Another"] = {"Value": "x"}
    assert lines(of_prod.compared(), "Changed apart from resources") == ["lake: Outputs"]


def test_a_custom_resource_that_nobody_knows_stops_nothing(of_prod: Templates) -> None:
    for side, request in ((of_prod.before, "1"), (of_prod.after, "2")):
        side["lake"]["Resources"]["Unknown"] = {"Type": "Custom::Unknown", "Properties": {"Size": request}}
    found = of_prod.compared()
    assert lines(found, "Connectors, jobs, topics") == ["lake/Unknown (Unknown): Size: 1 → 2"]
    [line] = lines(found, "Changed in place")
    assert "nobody has written down what this change does" in line


def test_images_that_are_looked_up_at_the_deployment_are_said(templates: Templates) -> None:
    found = templates.compared().resolved
    assert [line for line in found if line.startswith("vpn/Bastion (EC2 Instance): its image is what /aws/service/")]
    nat = [line for line in found if line.startswith("network/")]
    assert len(nat) == (0 if templates.environment.production else 2)
    assert all("a newer one replaces it" in line for line in found)


def test_the_words_come_before_the_diff_and_secrets_in_neither(of_prod: Templates) -> None:
    raw = json.dumps({"db.password": "hunter2", "x": "1"})
    for side, text in ((of_prod.before, "{}"), (of_prod.after, raw)):
        resource = {"Type": "Custom::Connector", "Properties": {"Request": text}}
        side["lake"] = normal_form({"Resources": {"C": resource}})
    text = comparison.text(of_prod.compared())
    assert text.index("lake/C (Connector): x: new, 1") < text.index("--- a/lake.json")
    assert "hunter2" not in text
    assert "db.password: new, <secret>" in text


@pytest.mark.parametrize("type_", ["Custom::OutsideSource", "Custom::PreparedPipeline", "Custom::PreparedSource"])
def test_a_pipeline_that_goes_says_that_its_slot_does(of_prod: Templates, type_: str) -> None:
    of_prod.before["database"]["Resources"]["Going"] = {"Type": type_, "Properties": {"Request": {"json": {}}}}
    assert "Lost: the connector's slot: changes until there is another" in lines(of_prod.compared(), "Gone")[0]
