"""Careless or hostile changes to the templates: each by name, with the rule that refuses it."""

from tests.stacks.gate.changed import (
    Changed,
    Mutation,
    add,
    allow,
    append,
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
STATEMENTS = "PolicyDocument/Statement"
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


def drop_a_condition(changed: Changed) -> None:
    policy = changed.properties("processing", "AWS::IAM::Policy", NODES)
    for statement in policy["PolicyDocument"]["Statement"]:
        if statement["Action"] == "cloudwatch:PutMetricData":
            del statement["Condition"]


def of_nodes(statement: dict[str, str]) -> Mutation:
    return append("processing", "AWS::IAM::Policy", STATEMENTS, statement, NODES)


# By the rule that refuses them.
REFUSED_BY: dict[str, dict[str, Mutation]] = {
    "rights-accepted": {
        "handler makes access keys": allow("connectors", HANDLER, "iam:CreateAccessKey"),
        "handler reads every secret": allow("connectors", HANDLER, "secretsmanager:GetSecretValue"),
        "handler decrypts everything": allow("connectors", HANDLER, "kms:Decrypt"),
        "nodes read every object": allow("processing", NODES, "s3:GetObject"),
        "handler in other letters": allow("connectors", HANDLER, "IAM:createaccesskey"),
        "nodes read all of another bucket": allow(
            "processing", NODES, "s3:GetObject", "arn:aws:s3:::prod-cdc-lake-logs-222222222222-ap-southeast-2/*"
        ),
        "nodes publish any metric": drop_a_condition,
        "handler passes one role more": allow(
            "connectors", HANDLER, "iam:PassRole", "arn:aws:iam::222222222222:role/Admin"
        ),
        "opens a bucket by name": allow(
            "processing", NODES, "s3:PutBucketPolicy", "arn:aws:s3:::prod-cdc-lake-lake-222222222222-ap-southeast-2"
        ),
        "rewrites a function by name": allow(
            "processing", NODES, "lambda:UpdateFunctionCode", "arn:aws:lambda:ap-southeast-2:222222222222:function:f"
        ),
        "inline policy in the role": set_(
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
        "bucket of another account": let_in("lake", BUCKET_POLICY, "PolicyDocument", {"AWS": OTHER}, "s3:GetObject"),
        "bucket of a service for anyone": let_in(
            "lake", BUCKET_POLICY, "PolicyDocument", {"Service": "cloudtrail.amazonaws.com"}, "s3:PutObject"
        ),
        "key of another account": let_in(
            "processing", "AWS::KMS::Key", "KeyPolicy", {"AWS": f"arn:aws:iam::{OTHER}:root"}, "kms:*"
        ),
        "budgets of every account": let_in(
            "monitoring",
            "AWS::SNS::TopicPolicy",
            "PolicyDocument",
            {"Service": "budgets.amazonaws.com"},
            "sns:Publish",
        ),
    },
    "data-closed": {
        "public database": set_("database", "AWS::RDS::DBInstance", "PubliclyAccessible", True),
        "database for the whole network": open_("database", "DatabaseAccess", port(5432, CidrIp="10.110.0.0/16")),
        "another port of the database": set_("database", "AWS::EC2::SecurityGroupIngress", "ToPort", 5433),
        "bucket that may be public": set_("lake", BUCKET, "PublicAccessBlockConfiguration/BlockPublicPolicy", False),
        "bucket without its block": set_("lake", BUCKET, "PublicAccessBlockConfiguration", None),
        "bucket without encryption": set_("lake", BUCKET, "BucketEncryption", None),
        "bucket without TLS": set_("lake", BUCKET_POLICY, f"{STATEMENTS}/0", None, "LakePolicy"),
        "bucket copied elsewhere": set_("lake", BUCKET, "ReplicationConfiguration", {"Role": "x", "Rules": []}),
        "tables that expire": append(
            "lake", BUCKET, "LifecycleConfiguration/Rules", {"Id": "clean", "ExpirationInDays": 1}, "Lake5"
        ),
        "database in plain text": set_("database", RDS, "StorageEncrypted", False),
        "database without TLS": set_("database", "AWS::RDS::DBClusterParameterGroup", "Parameters/rds.force_ssl", "0"),
        "database unprotected": take_out("database", "Custom::ProtectedDatabase"),
        "backups of a day": set_("database", RDS, "BackupRetentionPeriod", 1),
        "brokers for everyone": set_("streaming", MSK, "ClientAuthentication/Unauthenticated/Enabled", True),
        "brokers in plain text": set_(
            "streaming", MSK, "EncryptionInfo/EncryptionInTransit/ClientBroker", "TLS_PLAINTEXT"
        ),
        "public brokers": set_(
            "streaming",
            MSK,
            "BrokerNodeGroupInfo/ConnectivityInfo",
            {"PublicAccess": {"Type": "SERVICE_PROVIDED_EIPS"}},
        ),
        "cluster without encryption": set_("processing", EMR, "SecurityConfiguration", None),
        "scripts on the nodes": set_(
            "processing", EMR, "BootstrapActions", [{"Name": "x", "ScriptBootstrapAction": {"Path": "s3://x/y"}}]
        ),
        "key that stays the same": set_("processing", "AWS::KMS::Key", "EnableKeyRotation", False),
        "budget that mails a stranger": set_(
            "monitoring",
            "AWS::Budgets::Budget",
            "NotificationsWithSubscribers",
            [{"Subscribers": [{"SubscriptionType": "EMAIL", "Address": "x@example.com"}]}],
        ),
        "budget that tells nobody": set_("monitoring", "AWS::Budgets::Budget", "NotificationsWithSubscribers", None),
        "alarms to the web": set_("monitoring", "AWS::SNS::Subscription", "Protocol", "https"),
    },
    "no-open-ports": {
        "ssh from two halves of the world": open_(
            "vpn", "VpnServer", port(22, CidrIp="0.0.0.0/1"), port(22, CidrIp="128.0.0.0/1")
        ),
        "open to the world": open_("database", "DatabaseAccess", port(5432, CidrIp="0.0.0.0/0")),
        "two groups of rules": split_over_two_resources,
        "a prefix list": open_("database", "DatabaseAccess", port(5432, SourcePrefixListId="pl-1")),
        "a group from elsewhere": open_(
            "database", "DatabaseAccess", port(5432, SourceSecurityGroupId="sg-0123456789abcdef0")
        ),
        "a parameter's range": open_("database", "DatabaseAccess", port(5432, CidrIp={"Ref": "Anyone"})),
        "everything private": open_("database", "DatabaseAccess", port(5432, CidrIp="10.0.0.0/8")),
        "ipsec and the rest": open_(
            "vpn", "VpnServer", {"IpProtocol": "udp", "FromPort": 500, "ToPort": 4500, "CidrIp": "0.0.0.0/0"}
        ),
    },
    "no-administrators": {
        "handler passes any role": allow("connectors", HANDLER, "iam:PassRole"),
        "nodes become any role": allow("processing", NODES, "sts:AssumeRole"),
        "all but some": of_nodes({"Effect": "Allow", "NotAction": "iam:*", "Resource": "*"}),
        "all but some resources": of_nodes(
            {"Effect": "Allow", "Action": "s3:GetObject", "NotResource": "arn:aws:s3:::x/*"}
        ),
        "every action of a service": allow("processing", NODES, "s3:*"),
        "a pattern of services": allow("processing", NODES, "s*:Get*"),
        "bucket of all but one": append(
            "lake",
            BUCKET_POLICY,
            STATEMENTS,
            {"Effect": "Allow", "NotPrincipal": {"AWS": OTHER}, "Action": "s3:GetObject", "Resource": "*"},
        ),
        "a policy that can't be read": set_(
            "connectors", "AWS::Logs::ResourcePolicy", "PolicyDocument", '{"Statement": ['
        ),
    },
    "own-account": {
        "nodes become a role of another account": allow(
            "processing", NODES, "sts:AssumeRole", f"arn:aws:iam::{OTHER}:role/x"
        ),
    },
    "rights-of-roles": {
        "administrator's managed policy": set_(
            "processing", "AWS::IAM::Role", "ManagedPolicyArns", ["arn:aws:iam::aws:policy/AdministratorAccess"], NODES
        ),
        "policy of a user": set_("processing", "AWS::IAM::Policy", "Users", ["someone"], NODES),
    },
    "known-types": {
        "a user": add("network", "AWS::IAM::User", UserName="someone"),
        "an access key": add("network", "AWS::IAM::AccessKey", UserName="someone"),
        "function on the web": add("connectors", "AWS::Lambda::Url", AuthType="NONE"),
        "a peering": add("network", "AWS::EC2::VPCPeeringConnection", PeerVpcId="vpc-1"),
        "secret in an output": lambda changed: (
            changed.stack("vpn").setdefault("Outputs", {}).update(P={"Value": RESOLVED})
        ),
        "a macro": lambda changed: changed.stack("vpn").update(Transform="Mine"),
        "somebody's custom resource": add(
            "lake", "Custom::Thing", ServiceToken=f"arn:aws:lambda:ap-southeast-2:{OTHER}:function:f"
        ),
    },
    "kafka-rights-scoped": {
        "kafka whole": allow("connectors", "SinkRole", "kafka-cluster:*"),
    },
    "trust": {
        "role of everyone": trusting("processing", NODES, "*"),
        "role of another account": trusting("processing", NODES, {"AWS": f"arn:aws:iam::{OTHER}:root"}),
        "role of this account's people": trusting("processing", NODES, {"AWS": "arn:aws:iam::222222222222:root"}),
        "role of a service for anyone": trusting("processing", NODES, {"Service": "glue.amazonaws.com"}),
        "bucket of everyone": let_in("lake", BUCKET_POLICY, "PolicyDocument", "*", "s3:GetObject"),
        "key of everyone": let_in("processing", "AWS::KMS::Key", "KeyPolicy", {"AWS": "*"}, "kms:Decrypt"),
        "secret of everyone": let_in(
            "database", "AWS::SecretsManager::ResourcePolicy", "ResourcePolicy", "*", "secretsmanager:GetSecretValue"
        ),
        "topic of everyone": let_in("monitoring", "AWS::SNS::TopicPolicy", "PolicyDocument", "*", "sns:Subscribe"),
        "logs of everyone, as text": set_(
            "connectors",
            "AWS::Logs::ResourcePolicy",
            "PolicyDocument",
            '{"Statement": [{"Effect": "Allow", "Principal": "*", "Action": "logs:PutLogEvents", "Resource": "*"}]}',
        ),
        "function of everyone": set_("connectors", "AWS::Lambda::Permission", "Principal", "*"),
        "function of a service for anyone": set_("connectors", "AWS::Lambda::Permission", "SourceArn", None),
    },
    "own-code": {
        "function of somebody's code": set_(
            "connectors", "AWS::Lambda::Function", "Code", {"S3Bucket": "elsewhere", "S3Key": "x.zip"}
        ),
        "function with somebody's layer": set_(
            "connectors", "AWS::Lambda::Function", "Layers", [f"arn:aws:lambda:ap-southeast-2:{OTHER}:layer:l:1"]
        ),
    },
    "private-network": {
        "private subnets to the internet": route_private_subnets_to_the_internet,
        "private subnet at a public table": attach_the_databases_subnet_to_a_public_table,
        "public addresses for all": set_(
            "network", "AWS::EC2::Subnet", "MapPublicIpOnLaunch", True, "VpcPrivateSubnet1"
        ),
        "public instance among private ones": public_instance_in_a_private_subnet,
        "database in public subnets": database_in_public_subnets,
        "a route to a peering": set_(
            "network", "AWS::EC2::Route", "VpcPeeringConnectionId", "pcx-1", "VpcPrivateSubnet1"
        ),
        "somebody's private link": set_(
            "network", "AWS::EC2::VPCEndpoint", "ServiceName", "com.amazonaws.vpce.ap-southeast-2.vpce-svc-1"
        ),
        "credentials by any request": set_("vpn", "AWS::EC2::Instance", "MetadataOptions", None),
    },
    "data-survives": {
        "database goes with its stack": deletion("database", RDS),
        "key of disks goes with its stack": deletion("processing", "AWS::KMS::Key"),
        "bucket goes with its stack": deletion("lake", BUCKET, "Landing"),
        "flow log goes with its stack": deletion("network", "AWS::Logs::LogGroup", "FlowLog"),
    },
    "logs-kept": {
        "no flow log": take_out("network", "AWS::EC2::FlowLog"),
        "logs of a day": set_("connectors", "AWS::Logs::LogGroup", "RetentionInDays", 1),
    },
    "no-secret-values": {
        "secret in a function": set_(
            "connectors", "AWS::Lambda::Function", "Environment", {"Variables": {"P": RESOLVED}}
        ),
        "secret in a template": set_("vpn", "AWS::SecretsManager::Secret", "SecretString", "hunter2"),
        "master's password in a template": set_("database", RDS, "MasterUserPassword", "hunter2hunter2"),
    },
}
