"""Careless or hostile changes to the templates: each by name, with the rule that refuses it."""

from tests.stacks.gate.changed import (
    Changed,
    Mutation,
    add,
    allow,
    deletion,
    imported,
    let_in,
    open_,
    port,
    set_,
    take_out,
    trusting,
)

OTHER = "999999999999"
HANDLER = "ProvidersConnectorOnEventRole"
NODES = "RolesNodes"
MSK, RDS, EMR = "AWS::MSK::Cluster", "AWS::RDS::DBCluster", "AWS::EMR::Cluster"
BUCKET, BUCKET_POLICY = "AWS::S3::Bucket", "AWS::S3::BucketPolicy"
RESOLVED = "{{resolve:secretsmanager:prod:SecretString:password}}"


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


# The name of the rule that refuses it, and the change.
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
    "budget that mails a stranger": (
        "data-closed",
        set_(
            "monitoring",
            "AWS::Budgets::Budget",
            "NotificationsWithSubscribers",
            [{"Subscribers": [{"SubscriptionType": "EMAIL", "Address": "x@example.com"}]}],
        ),
    ),
    "budget that tells nobody": (
        "data-closed",
        set_("monitoring", "AWS::Budgets::Budget", "NotificationsWithSubscribers", None),
    ),
    "budgets of every account": (
        "rights-accepted",
        let_in(
            "monitoring",
            "AWS::SNS::TopicPolicy",
            "PolicyDocument",
            {"Service": "budgets.amazonaws.com"},
            "sns:Publish",
        ),
    ),
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
