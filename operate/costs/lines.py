"""What is paid for the resources of a template, by their type: a line's words, its price's name and how many."""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import chain
from typing import Any, NamedTuple

import jmespath

from stacks.gate.template import App, Subject

# What Auto Mode's general-purpose pool might choose: two vCPUs and 8 GiB, part of which the node reserves.
NODE, UNITS_OF_A_NODE = "m5.large", 1.5


@dataclass(frozen=True, kw_only=True)
class Stopping:
    """A part that is off in a pause: `what` people call it, `type` of the resources that are billed by the hour.

    `to_know`: what happens to it meanwhile.
    """

    what: str
    type: str
    to_know: str


# Aurora's storage stays: only its instances stop, all of a cluster at once.
AURORA = Stopping(what="Aurora's instances", type="AWS::RDS::DBInstance", to_know="AWS starts them again after 7 days.")
CONNECTORS = Stopping(
    what="MSK Connect",
    type="Custom::Connector",
    to_know="their slots keep what they haven't read: a database that runs on meanwhile fills its disk.",
)
# Auto Mode has nodes for its workloads; the cluster itself keeps running.
NODES = Stopping(
    what="EKS's nodes",
    type="Custom::KubernetesConnector",
    to_know="their connectors' slots keep what they haven't read; the cluster without nodes goes on, and is paid for.",
)
# It can't be stopped, only terminated along with its disks.
EMR = Stopping(what="EMR", type="AWS::EMR::Cluster", to_know="its job goes on from its last commit.")
# In a pause's order, which follows the events: nothing is left where it expires. A resume begins at the other end.
WHAT_STOPS = (CONNECTORS, NODES, EMR, AURORA)


class Line(NamedTuple):
    """A line of the bill for resources of a type; paths, also in braces, are JMESPath of the resource's properties.

    `number` times `times` units at `price`; the default of `number` is that of the resource's machines. With `usage`,
    the line is for all resources together: an assumption in prices.toml, times `per`. `share`: of the price. `part`:
    the bill's; the default is the resource's stack.
    """

    what: str
    price: str
    number: str = ""
    times: str = "`1`"
    usage: str = ""
    per: Callable[[App], float] | None = None
    share: str = ""
    stopping: Stopping | None = None
    part: str = ""

    @property
    def together(self) -> bool:
        return bool(self.usage or self.per)


# The machines of a resource, each with an address. On EKS an autoscaler has that many workers at least.
MACHINES = {
    "AWS::EC2::Instance": "`1`",
    "AWS::EC2::NatGateway": "`1`",
    "AWS::EC2::VPCEndpoint": "length(SubnetIds || `[]`)",
    "AWS::EMR::Cluster": "sum(Instances.*.InstanceCount)",
    "AWS::MSK::Cluster": "NumberOfBrokerNodes",
    "AWS::RDS::DBInstance": "`1`",
    "Custom::Connector": "Request.capacity.provisionedCapacity.workerCount",
    "Custom::KubernetesConnector": "Request.objects[].spec.[replicas, minReplicas][] | max(@)",
}
_CPU = "Request.objects[].spec.template.spec.containers[].resources.requests.cpu | sum([*].to_number(@))"


def value(path: str, each: Subject) -> Any:
    return jmespath.search(path, each.opened)


def machines(each: Subject) -> Any:
    return value(MACHINES.get(each.type, "`1`"), each)


def eks_nodes(app: App) -> int:
    """Count the nodes as Auto Mode might choose them: for the workers' units, and one for the add-ons."""
    units: float = sum(machines(each) * value(_CPU, each) for each in app.resources(NODES.type))
    return 1 + math.ceil(units / UNITS_OF_A_NODE)


def _tables(app: App) -> int:
    return sum(len(pipeline.captured.lake_tables) for pipeline in app.settings.pipelines)


def _log(what: str, usage: str, *types: str) -> Line:
    """Return the line of a log's ingestion; resources of these `types` write it."""
    return Line(
        f"{what}, GB",
        "logs.data",
        usage=usage,
        per=lambda app: sum(machines(each) for each in app.resources(*types)),
        part="logs",
    )


def _emr(group: str, what: str) -> tuple[Line, ...]:
    """Return the lines of EMR's primary or core nodes; the gate allows each disk once."""
    place = f"Instances.{group}InstanceGroup"
    type_, number = f"{{{place}.InstanceType}}", f"sum([{place}][%s].InstanceCount)"
    gb = f"sum([EbsRootVolumeSize, sum({place}.EbsConfiguration.EbsBlockDeviceConfigs[].VolumeSpecification.SizeInGB)])"
    return (
        Line(f"EMR {what}, {type_}", type_, number % "?Market!='SPOT'", stopping=EMR),
        Line(f"EMR {what} on spot, {type_}", type_, number % "?Market=='SPOT'", share="ec2.spot", stopping=EMR),
        Line(f"EMR's fee, {type_}", type_, number % "", share="emr.fee", stopping=EMR),
        Line("their volumes, GB", "ebs.gp3", number % "", gb, stopping=EMR),
    )


LINES: Mapping[str, tuple[Line, ...]] = {
    "AWS::EC2::NatGateway": (
        Line("NAT gateways", "nat.gateway"),
        Line("through NAT, GB", "nat.data", usage="nat_data_gb"),
    ),
    "AWS::EC2::Instance": (
        Line("instances, {InstanceType}", "{InstanceType}"),
        Line("their volumes, GB", "ebs.gp3", "sum(BlockDeviceMappings[].Ebs.VolumeSize)"),
        Line("public addresses", "vpc.public-ipv4", "length(NetworkInterfaces[?AssociatePublicIpAddress] || `[]`)"),
    ),
    "AWS::EC2::EIP": (Line("public addresses", "vpc.public-ipv4"),),
    # It replaces the instance's own address, which the gate requires.
    "AWS::EC2::EIPAssociation": (Line("public addresses", "vpc.public-ipv4", "`-1`"),),
    "AWS::EC2::VPCEndpoint": (Line("interface endpoints x zones", "vpc.endpoint"),),
    "AWS::RDS::DBInstance": (Line("Aurora instances, {DBInstanceClass}", "{DBInstanceClass}", stopping=AURORA),),
    "AWS::RDS::DBCluster": (
        Line("storage, GB", "aurora.storage", usage="aurora_storage_gb"),
        Line("I/O, millions", "aurora.requests", usage="aurora_requests_millions"),
    ),
    "AWS::MSK::Cluster": (
        Line("MSK brokers, {BrokerNodeGroupInfo.InstanceType}", "{BrokerNodeGroupInfo.InstanceType}"),
        Line("their volumes, GB", "msk.storage", times="BrokerNodeGroupInfo.StorageInfo.EBSStorageInfo.VolumeSize"),
    ),
    "Custom::Connector": (
        Line(
            "MSK Connect units, {Request.connectorName}",
            "connect.mcu",
            times="Request.capacity.provisionedCapacity.mcuCount",
            stopping=CONNECTORS,
        ),
    ),
    # Running and failed tasks, records and restarts: plugins/workers/connect_workers.py.
    "Custom::KubernetesConnector": (Line("connectors' metrics", "cloudwatch.metric", "`4`"),),
    "AWS::EKS::Cluster": (
        Line("EKS cluster", "eks.cluster"),
        Line(f"nodes of Auto Mode, such as {NODE}", NODE, per=eks_nodes, stopping=NODES),
        Line(f"Auto Mode's fee, {NODE}", NODE, per=eks_nodes, share="eks.auto-mode", stopping=NODES),
        Line("their volumes, GB", "ebs.gp3", usage="node_volume_gb", per=eks_nodes, stopping=NODES),
    ),
    "AWS::EMR::Cluster": tuple(chain(*zip(_emr("Master", "primary"), _emr("Core", "core"), strict=True))),
    "AWS::S3::Bucket": (
        Line("S3 storage, GB", "s3.storage", usage="lake_storage_gb"),
        Line("S3 requests, thousands", "s3.requests", usage="s3_requests_thousands"),
        # S3 user guide, "Amazon S3 request metrics in CloudWatch": 16 for each filter, billed as custom metrics.
        Line("request metrics", "cloudwatch.metric", "length(MetricsConfigurations || `[]`)", "`16`"),
    ),
    # QuickSight's users pay for it, and the account has them anyway.
    "AWS::Athena::WorkGroup": (Line("scanned by Athena, TB", "athena.scanned", usage="athena_scanned_tb"),),
    "Custom::EmrStep": (
        Line("the job's metrics", "cloudwatch.metric", usage="metrics", per=_tables, part="monitoring"),
    ),
    # You pay for each metric of an alarm on an expression.
    "AWS::CloudWatch::Alarm": (Line("alarms' metrics", "cloudwatch.alarm", "length(Metrics[?MetricStat] || [@])"),),
    "AWS::CloudWatch::Dashboard": (Line("dashboards", "cloudwatch.dashboard"),),
    "AWS::SecretsManager::Secret": (Line("secrets", "secrets.secret", part="all"),),
    "AWS::KMS::Key": (Line("KMS keys", "kms.key", part="all"),),
}
# By a log group's name in the app; all other groups together are the functions'.
LOGS: Mapping[str, Line] = {
    "FlowLog": _log("flow log", "flow_log_gb", *MACHINES),
    "ServerLog": _log("Aurora's log", "database_log_gb", AURORA.type),
    "BrokerLog": _log("brokers' log", "broker_log_gb", "AWS::MSK::Cluster"),
    "WorkerLog": _log("workers' log", "worker_log_gb", CONNECTORS.type, NODES.type),
    "ControlPlaneLog": _log("EKS's log", "eks_log_gb", "AWS::EKS::Cluster"),
}
FUNCTIONS_LOG = Line("functions' logs, GB", "logs.data", usage="functions_log_gb", part="logs")
# What costs nothing, or cents; log groups are LOGS'. A type of neither table is on the bill, without a price.
FREE = "|".join(
    (
        r"AWS::(Events|IAM|LakeFormation|Lambda|QuickSight|SNS|StepFunctions)::\w+",
        "AWS::EC2::(FlowLog|InternetGateway|KeyPair|Route|RouteTable|VPC|VPCGatewayAttachment)",
        r"AWS::EC2::(SecurityGroup|Subnet)\w*|AWS::EKS::(AccessEntry|Addon|PodIdentityAssociation)",
        "AWS::(Athena::NamedQuery|Budgets::Budget|EMR::SecurityConfiguration|Glue::(Database|Table)|S3::BucketPolicy)",
        r"AWS::(KafkaConnect::WorkerConfiguration|Logs::\w+|MSK::Configuration|RDS::(DBClusterParameter|DBSubnet)Group)",
        "AWS::SecretsManager::(ResourcePolicy|RotationSchedule|SecretTargetAttachment)",
        "AWS::(Serverless::Application|SSM::Parameter)",
        "Custom::(BootstrapBrokers|GuardedDeployment|KubernetesObjects|OutsideSource|Plugin|PreparedPipeline)",
        "Custom::(PreparedSource|ProtectedDatabase|QueriedSource|S3AutoDeleteObjects|Topics|VpcRestrictDefaultSG)",
    )
)
