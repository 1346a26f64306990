"""What a careless or hostile change would do to the templates: the review refuses each of them, one by one.

Templates are changed after synthesis, with everything that was accepted left as it is: so nothing passes because
somebody has once said yes to something of the same role.
"""

import copy
import dataclasses
from collections.abc import Callable
from typing import Any

import pytest
from typer.testing import CliRunner

from operate import stack_commands as deployment
from operate import synth
from operate.review import facts
from settings.load import load
from stacks.gate import Finding, accepted_statement, review
from tests.stacks.conftest import Synthesized

pytestmark = pytest.mark.synth

Templates = dict[str, dict[str, Any]]
Mutation = Callable[["Changed"], None]
OTHER = "999999999999"


class Changed:
    """Production's templates, to be changed: resources are found by role of their stack and by type."""

    def __init__(self, templates: Templates) -> None:
        self.templates = copy.deepcopy(templates)

    def stack(self, role: str) -> dict[str, Any]:
        return self.templates[f"prod-cdc-lake-{role}"]

    def find(self, role: str, type_: str, beginning: str = "") -> dict[str, Any]:
        """The first resource of a type whose logical id begins so."""
        return next(
            resource
            for logical_id, resource in self.stack(role)["Resources"].items()
            if resource["Type"] == type_ and logical_id.startswith(beginning)
        )

    def properties(self, role: str, type_: str, beginning: str = "") -> dict[str, Any]:
        found: dict[str, Any] = self.find(role, type_, beginning)["Properties"]
        return found

    def add(self, role: str, type_: str, **properties: object) -> None:
        self.stack(role)["Resources"]["Added"] = {"Type": type_, "Properties": properties}

    def allow(self, role: str, beginning: str, actions: object, resource: object = "*", **more: object) -> None:
        """Give a role of the stack more rights, in its own policy."""
        policy = self.properties(role, "AWS::IAM::Policy", beginning)
        statement = {"Effect": "Allow", "Action": actions, "Resource": resource} | more
        policy["PolicyDocument"]["Statement"].append(statement)

    def let_in(self, role: str, type_: str, key: str, principal: object, action: str, **more: object) -> None:
        """Let somebody in by a resource's policy."""
        statement = {"Effect": "Allow", "Principal": principal, "Action": action, "Resource": "*"} | more
        self.properties(role, type_)[key]["Statement"].append(statement)

    def open(self, role: str, beginning: str, *rules: dict[str, object]) -> None:
        group = self.properties(role, "AWS::EC2::SecurityGroup", beginning)
        group.setdefault("SecurityGroupIngress", []).extend(rules)


def port(number: int, **source: object) -> dict[str, object]:
    return {"IpProtocol": "tcp", "FromPort": number, "ToPort": number} | source


def imported(changed: Changed, beginning: str) -> dict[str, object]:
    """Refer to a resource of the network's stack, as other stacks do."""
    for output in changed.stack("network")["Outputs"].values():
        if beginning in str(output.get("Export", {}).get("Name")):
            return {"Fn::ImportValue": output["Export"]["Name"]}
    raise KeyError(beginning)


HANDLER = "ProvidersConnectorOnEventRole"
NODES = "RolesNodes"


def trust(changed: Changed, role: str, beginning: str, principal: object) -> None:
    document = changed.properties(role, "AWS::IAM::Role", beginning)["AssumeRolePolicyDocument"]
    document["Statement"].append({"Effect": "Allow", "Action": "sts:AssumeRole", "Principal": principal})


def split_over_two_resources(changed: Changed) -> None:
    logical_id = next(name for name in changed.stack("database")["Resources"] if name.startswith("DatabaseAccess"))
    group = {"Fn::GetAtt": [logical_id, "GroupId"]}
    changed.open("database", "DatabaseAccess", port(5432, CidrIp="203.0.0.0/17"))
    changed.add("database", "AWS::EC2::SecurityGroupIngress", GroupId=group, **port(5432, CidrIp="203.0.128.0/17"))
    changed.open("database", "DatabaseAccess", port(5432, CidrIp="203.1.0.0/17"))


def route_private_subnets_to_the_internet(changed: Changed) -> None:
    route = changed.properties("network", "AWS::EC2::Route", "VpcPrivateSubnet1")
    route.pop("NatGatewayId")
    gateway = next(n for n, r in changed.stack("network")["Resources"].items() if r["Type"].endswith("InternetGateway"))
    route["GatewayId"] = {"Ref": gateway}


def public_instance_in_a_private_subnet(changed: Changed) -> None:
    interface = changed.properties("vpn", "AWS::EC2::Instance")["NetworkInterfaces"][0]
    interface["SubnetId"] = imported(changed, "VpcPrivateSubnet1Subnet")


def database_in_public_subnets(changed: Changed) -> None:
    group = changed.properties("database", "AWS::RDS::DBSubnetGroup")
    group["SubnetIds"] = [imported(changed, "VpcPublicSubnet1Subnet")]


def attach_the_databases_subnet_to_a_public_table(changed: Changed) -> None:
    resources = changed.stack("network")["Resources"]
    table = next(n for n, r in resources.items() if n.startswith("VpcPublicSubnet1RouteTable") and "Tag" in str(r))
    association = changed.properties("network", "AWS::EC2::SubnetRouteTableAssociation", "VpcPrivateSubnet1")
    association["RouteTableId"] = {"Ref": table}


def drop_the_bucket_policys_denial(changed: Changed) -> None:
    policy = changed.properties("lake", "AWS::S3::BucketPolicy", "LakePolicy")
    policy["PolicyDocument"]["Statement"] = policy["PolicyDocument"]["Statement"][1:]


def drop_a_condition(changed: Changed) -> None:
    policy = changed.properties("processing", "AWS::IAM::Policy", NODES)
    for statement in policy["PolicyDocument"]["Statement"]:
        if statement["Action"] == "cloudwatch:PutMetricData":
            del statement["Condition"]


def expire_the_tables(changed: Changed) -> None:
    rules = changed.properties("lake", "AWS::S3::Bucket", "Lake5")["LifecycleConfiguration"]["Rules"]
    rules.append({"Id": "clean", "Status": "Enabled", "ExpirationInDays": 1})


def set_(role: str, type_: str, path: str, value: object, beginning: str = "") -> Mutation:
    """A mutation that sets one property; None takes it out."""

    def mutate(changed: Changed) -> None:
        *way, last = path.split("/")
        place = changed.properties(role, type_, beginning)
        for key in way:
            place = place[key]
        if value is None:
            del place[last]
        else:
            place[last] = value

    return mutate


def take_out(role: str, type_: str) -> Mutation:
    """A mutation that takes every resource of a type out of a stack."""

    def mutate(changed: Changed) -> None:
        resources = changed.stack(role)["Resources"]
        for name in [name for name, resource in resources.items() if resource["Type"] == type_]:
            del resources[name]

    return mutate


def deletion(role: str, type_: str, beginning: str = "") -> Mutation:
    return lambda changed: changed.find(role, type_, beginning).update(DeletionPolicy="Delete")


def allow(role: str, beginning: str, actions: object, resource: object = "*", **more: object) -> Mutation:
    return lambda changed: changed.allow(role, beginning, actions, resource, **more)


def open_(role: str, beginning: str, *rules: dict[str, object]) -> Mutation:
    return lambda changed: changed.open(role, beginning, *rules)


def add(role: str, type_: str, **properties: object) -> Mutation:
    return lambda changed: changed.add(role, type_, **properties)


def let_in(role: str, type_: str, key: str, principal: object, action: str, **more: object) -> Mutation:
    return lambda changed: changed.let_in(role, type_, key, principal, action, **more)


def trusting(role: str, beginning: str, principal: object) -> Mutation:
    return lambda changed: trust(changed, role, beginning, principal)


MSK, RDS, EMR = "AWS::MSK::Cluster", "AWS::RDS::DBCluster", "AWS::EMR::Cluster"
BUCKET, BUCKET_POLICY = "AWS::S3::Bucket", "AWS::S3::BucketPolicy"
RESOLVED = "{{resolve:secretsmanager:prod:SecretString:password}}"

# What the rule that refuses it is called, and how it is done.
MUTATIONS: dict[str, tuple[str, Mutation]] = {
    # Those that an independent review had passed.
    "handler makes access keys": ("rights-accepted", allow("connectors", HANDLER, "iam:CreateAccessKey")),
    "handler reads every secret": ("rights-accepted", allow("connectors", HANDLER, "secretsmanager:GetSecretValue")),
    "handler decrypts everything": ("rights-accepted", allow("connectors", HANDLER, "kms:Decrypt")),
    "public database": ("data-closed", set_("database", "AWS::RDS::DBInstance", "PubliclyAccessible", True)),
    "ssh from two halves of the world": (
        "no-open-ports",
        open_("vpn", "VpnServer", port(22, CidrIp="0.0.0.0/1"), port(22, CidrIp="128.0.0.0/1")),
    ),
    "nodes read every object": ("rights-accepted", allow("processing", NODES, "s3:GetObject")),
    # Rights.
    "handler in other letters": ("rights-accepted", allow("connectors", HANDLER, "IAM:createaccesskey")),
    "nodes read all of another bucket": (
        "rights-accepted",
        allow("processing", NODES, "s3:GetObject", "arn:aws:s3:::prod-cdc-lake-logs-222222222222-ap-southeast-2/*"),
    ),
    "nodes publish any metric": ("rights-accepted", drop_a_condition),
    "handler passes any role": (
        "no-administrators",
        allow("connectors", HANDLER, "iam:PassRole"),
    ),
    "handler passes one role more": (
        "rights-accepted",
        allow("connectors", HANDLER, "iam:PassRole", "arn:aws:iam::222222222222:role/Admin"),
    ),
    "nodes become any role": ("no-administrators", allow("processing", NODES, "sts:AssumeRole")),
    "nodes become a role of another account": (
        "own-account",
        allow("processing", NODES, "sts:AssumeRole", f"arn:aws:iam::{OTHER}:role/x"),
    ),
    "all but some": (
        "no-administrators",
        lambda changed: changed.properties("processing", "AWS::IAM::Policy", NODES)["PolicyDocument"][
            "Statement"
        ].append({"Effect": "Allow", "NotAction": "iam:*", "Resource": "*"}),
    ),
    "all but some resources": (
        "no-administrators",
        lambda changed: changed.properties("processing", "AWS::IAM::Policy", NODES)["PolicyDocument"][
            "Statement"
        ].append({"Effect": "Allow", "Action": "s3:GetObject", "NotResource": "arn:aws:s3:::x/*"}),
    ),
    "every action of a service": ("no-administrators", allow("processing", NODES, "s3:*")),
    "a pattern of services": ("no-administrators", allow("processing", NODES, "s*:Get*")),
    "opens a bucket by name": (
        "rights-accepted",
        allow("processing", NODES, "s3:PutBucketPolicy", "arn:aws:s3:::prod-cdc-lake-lake-222222222222-ap-southeast-2"),
    ),
    "rewrites a function by name": (
        "rights-accepted",
        allow(
            "processing", NODES, "lambda:UpdateFunctionCode", "arn:aws:lambda:ap-southeast-2:222222222222:function:f"
        ),
    ),
    "administrator's managed policy": (
        "rights-of-roles",
        set_(
            "processing", "AWS::IAM::Role", "ManagedPolicyArns", ["arn:aws:iam::aws:policy/AdministratorAccess"], NODES
        ),
    ),
    "inline policy in the role": (
        "rights-accepted",
        set_(
            "processing",
            "AWS::IAM::Role",
            "Policies",
            [
                {
                    "PolicyName": "x",
                    "PolicyDocument": {"Statement": [{"Effect": "Allow", "Action": "ec2:*", "Resource": "*"}]},
                }
            ],
            NODES,
        ),
    ),
    "policy of a user": ("rights-of-roles", set_("processing", "AWS::IAM::Policy", "Users", ["someone"], NODES)),
    "a user": ("known-types", add("network", "AWS::IAM::User", UserName="someone")),
    "an access key": ("known-types", add("network", "AWS::IAM::AccessKey", UserName="someone")),
    "kafka whole": ("kafka-rights-scoped", allow("connectors", "SinkRole", "kafka-cluster:*")),
    # Trust.
    "role of everyone": ("trust", trusting("processing", NODES, "*")),
    "role of another account": ("trust", trusting("processing", NODES, {"AWS": f"arn:aws:iam::{OTHER}:root"})),
    "role of this account's people": (
        "trust",
        trusting("processing", NODES, {"AWS": "arn:aws:iam::222222222222:root"}),
    ),
    "role of a service for anyone": ("trust", trusting("processing", NODES, {"Service": "glue.amazonaws.com"})),
    "bucket of everyone": ("trust", let_in("lake", BUCKET_POLICY, "PolicyDocument", "*", "s3:GetObject")),
    "bucket of another account": (
        "rights-accepted",
        let_in("lake", BUCKET_POLICY, "PolicyDocument", {"AWS": OTHER}, "s3:GetObject"),
    ),
    "bucket of a service for anyone": (
        "rights-accepted",
        let_in("lake", BUCKET_POLICY, "PolicyDocument", {"Service": "cloudtrail.amazonaws.com"}, "s3:PutObject"),
    ),
    "bucket of all but one": (
        "no-administrators",
        lambda changed: changed.properties("lake", BUCKET_POLICY)["PolicyDocument"]["Statement"].append(
            {"Effect": "Allow", "NotPrincipal": {"AWS": OTHER}, "Action": "s3:GetObject", "Resource": "*"}
        ),
    ),
    "key of everyone": ("trust", let_in("processing", "AWS::KMS::Key", "KeyPolicy", {"AWS": "*"}, "kms:Decrypt")),
    "key of another account": (
        "rights-accepted",
        let_in("processing", "AWS::KMS::Key", "KeyPolicy", {"AWS": f"arn:aws:iam::{OTHER}:root"}, "kms:*"),
    ),
    "secret of everyone": (
        "trust",
        let_in(
            "database", "AWS::SecretsManager::ResourcePolicy", "ResourcePolicy", "*", "secretsmanager:GetSecretValue"
        ),
    ),
    "topic of everyone": (
        "trust",
        let_in("monitoring", "AWS::SNS::TopicPolicy", "PolicyDocument", "*", "sns:Subscribe"),
    ),
    "logs of everyone, as text": (
        "trust",
        set_(
            "connectors",
            "AWS::Logs::ResourcePolicy",
            "PolicyDocument",
            '{"Statement": [{"Effect": "Allow", "Principal": "*", "Action": "logs:PutLogEvents", "Resource": "*"}]}',
        ),
    ),
    "a policy that can't be read": (
        "no-administrators",
        set_("connectors", "AWS::Logs::ResourcePolicy", "PolicyDocument", '{"Statement": ['),
    ),
    "function of everyone": (
        "trust",
        set_("connectors", "AWS::Lambda::Permission", "Principal", "*"),
    ),
    "function of a service for anyone": ("trust", set_("connectors", "AWS::Lambda::Permission", "SourceArn", None)),
    "function on the web": ("known-types", add("connectors", "AWS::Lambda::Url", AuthType="NONE")),
    "function of somebody's code": (
        "own-code",
        set_("connectors", "AWS::Lambda::Function", "Code", {"S3Bucket": "elsewhere", "S3Key": "x.zip"}),
    ),
    "function with somebody's layer": (
        "own-code",
        set_("connectors", "AWS::Lambda::Function", "Layers", [f"arn:aws:lambda:ap-southeast-2:{OTHER}:layer:l:1"]),
    ),
    # Reach.
    "open to the world": ("no-open-ports", open_("database", "DatabaseAccess", port(5432, CidrIp="0.0.0.0/0"))),
    "brokers open to the world": ("no-open-ports", open_("streaming", "BrokerAccess", port(9098, CidrIp="0.0.0.0/0"))),
    "livy open to IPv6": ("no-open-ports", open_("processing", "AccessVpnToPrimary", port(8998, CidrIpv6="::/0"))),
    "half of IPv6": ("no-open-ports", open_("processing", "AccessVpnToPrimary", port(8998, CidrIpv6="2000::/3"))),
    "world in many parts": (
        "no-open-ports",
        open_("vpn", "VpnServer", *(port(22, CidrIp=f"{first}.0.0.0/8") for first in range(1, 224) if first != 10)),
    ),
    "two groups of rules": ("no-open-ports", split_over_two_resources),
    "a prefix list": ("no-open-ports", open_("database", "DatabaseAccess", port(5432, SourcePrefixListId="pl-1"))),
    "a group from elsewhere": (
        "no-open-ports",
        open_("database", "DatabaseAccess", port(5432, SourceSecurityGroupId="sg-0123456789abcdef0")),
    ),
    "a parameter's range": ("no-open-ports", open_("database", "DatabaseAccess", port(5432, CidrIp={"Ref": "Anyone"}))),
    "everything private": ("no-open-ports", open_("database", "DatabaseAccess", port(5432, CidrIp="10.0.0.0/8"))),
    "ipsec and the rest": (
        "no-open-ports",
        open_("vpn", "VpnServer", {"IpProtocol": "udp", "FromPort": 500, "ToPort": 4500, "CidrIp": "0.0.0.0/0"}),
    ),
    "private subnets to the internet": ("private-network", route_private_subnets_to_the_internet),
    "private subnet at a public table": ("private-network", attach_the_databases_subnet_to_a_public_table),
    "public addresses for all": (
        "private-network",
        set_("network", "AWS::EC2::Subnet", "MapPublicIpOnLaunch", True, "VpcPrivateSubnet1"),
    ),
    "public instance among private ones": ("private-network", public_instance_in_a_private_subnet),
    "database in public subnets": ("private-network", database_in_public_subnets),
    "a peering": ("known-types", add("network", "AWS::EC2::VPCPeeringConnection", PeerVpcId="vpc-1")),
    "a route to a peering": (
        "private-network",
        set_("network", "AWS::EC2::Route", "VpcPeeringConnectionId", "pcx-1", "VpcPrivateSubnet1"),
    ),
    "somebody's private link": (
        "private-network",
        set_("network", "AWS::EC2::VPCEndpoint", "ServiceName", "com.amazonaws.vpce.ap-southeast-2.vpce-svc-1"),
    ),
    "credentials by any request": ("private-network", set_("vpn", "AWS::EC2::Instance", "MetadataOptions", None)),
    # Data.
    "bucket that may be public": (
        "data-closed",
        set_("lake", BUCKET, "PublicAccessBlockConfiguration/BlockPublicPolicy", False),
    ),
    "bucket without its block": ("data-closed", set_("lake", BUCKET, "PublicAccessBlockConfiguration", None)),
    "bucket without encryption": ("data-closed", set_("lake", BUCKET, "BucketEncryption", None)),
    "bucket without TLS": ("data-closed", drop_the_bucket_policys_denial),
    "bucket copied elsewhere": (
        "data-closed",
        set_("lake", BUCKET, "ReplicationConfiguration", {"Role": "x", "Rules": []}),
    ),
    "tables that expire": ("data-closed", expire_the_tables),
    "database in plain text": ("data-closed", set_("database", RDS, "StorageEncrypted", False)),
    "database without TLS": (
        "data-closed",
        set_("database", "AWS::RDS::DBClusterParameterGroup", "Parameters/rds.force_ssl", "0"),
    ),
    "database unprotected": ("data-closed", take_out("database", "Custom::ProtectedDatabase")),
    "backups of a day": ("data-closed", set_("database", RDS, "BackupRetentionPeriod", 1)),
    "brokers for everyone": (
        "data-closed",
        set_("streaming", MSK, "ClientAuthentication/Unauthenticated/Enabled", True),
    ),
    "brokers in plain text": (
        "data-closed",
        set_("streaming", MSK, "EncryptionInfo/EncryptionInTransit/ClientBroker", "TLS_PLAINTEXT"),
    ),
    "public brokers": (
        "data-closed",
        set_(
            "streaming",
            MSK,
            "BrokerNodeGroupInfo/ConnectivityInfo",
            {"PublicAccess": {"Type": "SERVICE_PROVIDED_EIPS"}},
        ),
    ),
    "cluster without encryption": ("data-closed", set_("processing", EMR, "SecurityConfiguration", None)),
    "scripts on the nodes": (
        "data-closed",
        set_("processing", EMR, "BootstrapActions", [{"Name": "x", "ScriptBootstrapAction": {"Path": "s3://x/y"}}]),
    ),
    "key that stays the same": ("data-closed", set_("processing", "AWS::KMS::Key", "EnableKeyRotation", False)),
    "alarms to the web": ("data-closed", set_("monitoring", "AWS::SNS::Subscription", "Protocol", "https")),
    "database goes with its stack": ("data-survives", deletion("database", RDS)),
    "bucket goes with its stack": ("data-survives", deletion("lake", BUCKET, "Landing")),
    "flow log goes with its stack": ("data-survives", deletion("network", "AWS::Logs::LogGroup", "FlowLog")),
    "no flow log": ("logs-kept", take_out("network", "AWS::EC2::FlowLog")),
    "logs of a day": ("logs-kept", set_("connectors", "AWS::Logs::LogGroup", "RetentionInDays", 1)),
    # Secrets, and what changes a template afterwards.
    "secret in a function": (
        "no-secret-values",
        set_("connectors", "AWS::Lambda::Function", "Environment", {"Variables": {"P": RESOLVED}}),
    ),
    "secret in a template": (
        "no-secret-values",
        set_("vpn", "AWS::SecretsManager::Secret", "SecretString", "hunter2"),
    ),
    "master's password in a template": (
        "no-secret-values",
        set_("database", RDS, "MasterUserPassword", "hunter2hunter2"),
    ),
    "secret in an output": (
        "known-types",
        lambda changed: changed.stack("vpn").setdefault("Outputs", {}).update(P={"Value": RESOLVED}),
    ),
    "a macro": ("known-types", lambda changed: changed.stack("vpn").update(Transform="Mine")),
    "somebody's custom resource": (
        "known-types",
        add("lake", "Custom::Thing", ServiceToken=f"arn:aws:lambda:ap-southeast-2:{OTHER}:function:f"),
    ),
}


def errors(prod: Synthesized, templates: Templates) -> list[Finding]:
    found = review(templates, facts(load("prod")), prod.synthesis.accepted)
    return [finding for finding in found if finding.level == "error"]


@pytest.mark.parametrize("name", MUTATIONS)
def test_a_dangerous_change_is_refused(prod: Synthesized, name: str) -> None:
    rule, mutate = MUTATIONS[name]
    changed = Changed(prod.synthesis.templates)
    mutate(changed)
    found = errors(prod, changed.templates)
    assert rule in {finding.rule for finding in found}, found


@pytest.mark.parametrize("environment", ["dev", "prod"])
def test_what_is_there_passes(request: pytest.FixtureRequest, environment: str) -> None:
    synthesized: Synthesized = request.getfixturevalue(environment)
    found = review(synthesized.synthesis.templates, facts(load(environment)), synthesized.synthesis.accepted)
    assert [str(finding) for finding in found if finding.level == "error"] == []


def test_a_statement_is_accepted_for_its_role_alone(prod: Synthesized) -> None:
    changed = Changed(prod.synthesis.templates)
    metrics = {"Condition": {"StringEquals": {"cloudwatch:namespace": "prod-cdc-lake"}}}
    changed.allow("processing", "RolesService", "cloudwatch:PutMetricData", "*", **metrics)
    (found,) = errors(prod, changed.templates)
    assert "RolesService" in found.message
    assert "nobody has accepted this" in found.message


def test_an_acceptance_of_nothing_is_refused(prod: Synthesized) -> None:
    changed = Changed(prod.synthesis.templates)
    policy = changed.properties("processing", "AWS::IAM::Policy", NODES)["PolicyDocument"]
    policy["Statement"] = [each for each in policy["Statement"] if each["Action"] != "cloudwatch:PutMetricData"]
    (found,) = errors(prod, changed.templates)
    assert "is accepted, and isn't in the template" in found.message


def test_what_nobody_may_accept_is_refused_though_somebody_has(prod: Synthesized) -> None:
    statement = {"Effect": "Allow", "Action": "secretsmanager:GetSecretValue", "Resource": "*"}
    changed = Changed(prod.synthesis.templates)
    changed.allow("connectors", HANDLER, statement["Action"])
    holder = next(n for n in changed.stack("connectors")["Resources"] if n.startswith(HANDLER) and "Policy" not in n)
    noted = {"holder": {"Ref": holder}, "statement": statement, "reason": "It was said to be all right."}
    accepted = (*prod.synthesis.accepted, accepted_statement("prod-cdc-lake-connectors", noted))
    found = review(changed.templates, facts(load("prod")), accepted)
    assert {finding.rule for finding in found if finding.level == "error"} == {"no-administrators"}


def test_a_refusal_is_the_commands_exit_status(prod: Synthesized, monkeypatch: pytest.MonkeyPatch) -> None:
    changed = Changed(prod.synthesis.templates)
    MUTATIONS["public database"][1](changed)
    mutated = dataclasses.replace(prod.synthesis, templates=changed.templates)
    # It reads the folder, which has no mutations, and takes its time.
    monkeypatch.setattr("operate.review._cfn_lint", lambda *_: iter(()))
    monkeypatch.setattr(synth, "synthesize", lambda *_, **__: mutated)
    result = CliRunner().invoke(deployment.app, ["review", "--env", "prod"])
    assert result.exit_code == 1
    assert "is a public database" in result.output
    assert "| connectors/ProvidersConnectorIsCompleteRole" in result.output
