"""The connectors on MSK Connect: each gets its own plugin and worker configuration from custom resources.

The handlers behind these have only the rights that they need, which follow the calls in the handlers' modules; MSK
Connect's resource types and conditions come from AWS's service authorization reference.
"""

import base64
import hashlib
from collections.abc import Sequence

from aws_cdk import CfnOutput, CfnResource, CustomResource, Duration, Fn, Size, Stack
from aws_cdk import aws_ec2 as ec2
from aws_cdk import aws_iam as iam
from aws_cdk import aws_kafkaconnect as kafkaconnect
from aws_cdk import aws_logs as logs
from constructs import Construct

from contract import tags
from plugins.connector_names import GENERATION
from plugins.workers.connect_workers import properties_file
from settings.environment import Environment
from settings.environment_pipeline import POSTGRESQL
from stacks.base import arn, bucket_arn, id_of, let_in, log_group, of_service, statement
from stacks.connectors.specs import ConnectorSpec, PipelineConnectors
from stacks.database import DatabaseStack
from stacks.preparation import destinations
from stacks.provider import MODELS, HandlerProvider, role_of, scheduled_function
from stacks.streaming import StreamingStack

PLUGIN_KEYS = "plugins/"
RESTARTED_NAMES = (
    "AWS appends an id to a connector's name, and lists no resource for what is listed or for metrics; the names are "
    "this environment's connectors."
)
OWN_NAMES = (
    "AWS appends an id to the names of connectors, plugins and log streams, and lists no resource for what is listed, "
    "created or delivered; the names are this environment's, and what is created must carry its owner's tag."
)
IN_THE_CALLERS_NAME = (
    "MSK Connect makes a connector's network interfaces and log delivery with the caller's rights, and is handed the "
    "connectors' two roles and no others; AWS lists no resource for what it makes so."
)
_TAGS = ("ListTagsForResource", "TagResource", "UntagResource")
# What CreateConnector does in the caller's name, as the service authorization reference lists it. PutResourcePolicy is
# missing on purpose: AWS would use it to let log delivery write to the group, and its holder may write any other policy
# of the account. The stack writes that policy itself; the CloudWatch Logs user guide ("Logs sent to
# CloudWatch Logs") requires the right only of callers who must write the policy.
_NETWORK = ("CreateNetworkInterface", "DescribeSecurityGroups", "DescribeSubnets", "DescribeVpcs")
_DELIVERY = ("CreateLogDelivery", "DeleteLogDelivery", "GetLogDelivery", "ListLogDeliveries", "UpdateLogDelivery")
_LOGS = ("DescribeLogGroups", "DescribeResourcePolicies")


class MskConnect:
    """Creates pipelines' connectors in a stack, and opens their paths to the databases.

    The names of plugins and connectors begin with the environment's prefix.
    """

    def __init__(
        self,
        stack: Stack,
        *,
        environment: Environment,
        database: DatabaseStack,
        streaming: StreamingStack,
        vpc: ec2.IVpc,
        artefacts: str,
        pipelines: Sequence[PipelineConnectors],
    ) -> None:
        self._stack = stack
        self._environment = environment
        self._streaming = streaming
        self._vpc = vpc
        self._names = [name for pipeline in pipelines for name in (pipeline.source.name, pipeline.sink.name)]
        self._artefacts = artefacts
        self._log_group = _worker_log(stack, environment)
        providers, journal = Construct(stack, "Providers"), environment.bucket_name("artefacts")
        self._plugins = HandlerProvider(
            providers,
            "Plugin",
            module="connector_plugin",
            timeout=Duration.minutes(10),
            memory_size=1_024,
            ephemeral_storage_size=Size.gibibytes(2),
            rights={OWN_NAMES: self._plugin_rights(journal)},
            journal=journal,
        )
        if pipelines:
            roles = [role.role_arn for each in pipelines for role in (each.source_role, each.sink_role)]
            rights = {OWN_NAMES: self._connector_rights(), IN_THE_CALLERS_NAME: self._passing_rights(roles)}
            self._connectors = HandlerProvider(
                providers, "Connector", module="connector", rights=rights, journal=journal
            )
            self._open(database)

    def connector(self, id_: str, spec: ConnectorSpec, *, runs: bool) -> CustomResource | None:
        """Create one connector, or only its dependencies; its resources' ids begin with `id_`."""
        plugin = self._plugin(id_, spec)
        worker = _worker_configuration(self._stack, f"{id_}WorkerConfiguration", spec)
        if not runs:
            return None
        capacity = {"mcuCount": spec.capacity.mcu_per_worker, "workerCount": spec.capacity.workers}
        request = {
            "connectorName": spec.name,
            "kafkaConnectVersion": self._environment.connectors.kafka_connect_version,
            "capacity": {"provisionedCapacity": capacity},
            "connectorConfiguration": spec.configuration,
            "plugins": [{"customPlugin": plugin}],
            "workerConfiguration": {
                "workerConfigurationArn": worker.attr_worker_configuration_arn,
                # The first revision is the only one: the resource type's documentation says it can't be updated.
                "revision": 1,
            },
            "serviceExecutionRoleArn": spec.role.role_arn,
            "logDelivery": {
                "workerLogDelivery": {"cloudWatchLogs": {"enabled": True, "logGroup": self._log_group.log_group_name}}
            },
            **self._cluster(),
        }
        connector = self._resource(f"{id_}Connector", "Connector", self._connectors, request)
        # The log group brings its policy, so MSK Connect needs no right to write one.
        connector.node.add_dependency(spec.role, self._log_group)
        CfnOutput(self._stack, f"{id_}ConnectorArn", value=connector.get_att_string("Arn"))
        return connector

    def look_after(self) -> None:
        """Restart the connectors' failed tasks, every five minutes; the function can find and restart no others."""
        listing = statement("kafkaconnect:ListConnectors", "cloudwatch:GetMetricData", on="*")
        restarting = statement(
            "kafkaconnect:ListConnectorOperations",
            "kafkaconnect:RestartConnector",
            on=[arn(self._stack, "kafkaconnect", f"connector/{name}/*") for name in self._names],
        )
        restarts = scheduled_function(
            Construct(self._stack, "Restarts"),
            "Function",
            "connector_restarts",
            every=Duration.minutes(5),
            description="Restart failed tasks of the connectors",
            rights={RESTARTED_NAMES: [listing, restarting]},
            timeout=Duration.minutes(2),
            environment=MODELS | {"CONNECTORS": ",".join(self._names)},
        )
        # cfn-lint 1.58 doesn't know RestartConnector; MSK Connect's API reference and botocore's model have it.
        policy = role_of(restarts).node.find_child("DefaultPolicy").node.default_child
        assert isinstance(policy, CfnResource)  # noqa: S101  made by its first statement
        policy.add_metadata("cfn-lint", {"config": {"ignore_checks": ["W3037"]}})

    def _plugin(self, id_: str, spec: ConnectorSpec) -> dict[str, str]:
        resources = spec.certificates | spec.classes
        request: dict[str, object] = {
            "name": spec.name,
            "bucket": self._artefacts,
            "prefix": PLUGIN_KEYS,
            "releases": [release.request() for release in spec.releases],
            **({"resources": resources} if resources else {}),
        }
        plugin = self._resource(f"{id_}Plugin", "Plugin", self._plugins, request)
        return {"customPluginArn": plugin.get_att_string("Arn"), "revision": plugin.get_att_string("Revision")}

    def _cluster(self) -> dict[str, object]:
        return {
            "kafkaCluster": {
                "apacheKafkaCluster": {
                    "bootstrapServers": self._streaming.bootstrap_brokers,
                    "vpc": {
                        "subnets": [subnet.subnet_id for subnet in self._vpc.private_subnets],
                        "securityGroups": [self._streaming.security_group.security_group_id],
                    },
                }
            },
            "kafkaClusterClientAuthentication": {"authenticationType": "IAM"},
            "kafkaClusterEncryptionInTransit": {"encryptionType": "TLS"},
        }

    def _resource(self, id_: str, type_: str, provider: HandlerProvider, request: dict[str, object]) -> CustomResource:
        """Create a resource; its request has the app's tags, which CloudFormation adds only to its own types."""
        return provider.resource(self._stack, id_, type_, request | {"tags": self._environment.tags})

    def _open(self, database: DatabaseStack) -> None:
        """Allow the connectors, which use the brokers' security group, egress to databases, and ingress into our own.

        External databases admit this security group themselves.
        """
        brokers, cluster = self._streaming.security_group, database.security_group
        let_in(
            self._stack,
            "DatabaseFromConnectors",
            to=cluster,
            source_id=brokers.security_group_id,
            port=POSTGRESQL,
            description="PostgreSQL from the connectors",
        )
        ways = {"ConnectorsToDatabase": (cluster.security_group_id, POSTGRESQL, "PostgreSQL")}
        for place, port in destinations(self._environment):
            # Two rules with the same content can't coexist.
            ways[id_of("ConnectorsToOutside", f"{place}:{port}")] = (place, port, "PostgreSQL of an outside database")
        if len(ways) > 1:
            CfnOutput(self._stack, "ClientSecurityGroup", value=brokers.security_group_id)
        for id_, (place, port, description) in ways.items():
            # In this stack: a rule in the brokers' stack would make it depend on this one.
            ec2.CfnSecurityGroupEgress(
                self._stack,
                id_,
                group_id=brokers.security_group_id,
                **{"cidr_ip" if "/" in place else "destination_security_group_id": place},
                ip_protocol="tcp",
                from_port=port,
                to_port=port,
                description=description,
            )

    def _plugin_rights(self, bucket: str) -> list[iam.PolicyStatement]:
        prefix = self._environment.prefix
        name, keys = bucket_arn(self._stack, bucket), f"{PLUGIN_KEYS}{prefix}-*"
        objects = ("GetObject", "GetObjectVersion", "PutObject", "AbortMultipartUpload", "DeleteObjectVersion")
        return [
            statement("kafkaconnect:ListCustomPlugins", "kafkaconnect:ListConnectors", on="*"),
            _creating("CreateCustomPlugin"),
            self._on(f"custom-plugin/{prefix}-*/*", "DescribeCustomPlugin", "DeleteCustomPlugin", *_TAGS),
            statement(*of_service("s3", objects), on=f"{name}/{keys}"),
            statement("s3:ListBucket", "s3:ListBucketVersions", on=name, when={"StringLike": {"s3:prefix": keys}}),
        ]

    def _connector_rights(self) -> list[iam.PolicyStatement]:
        prefix = self._environment.prefix
        actions = ("DescribeConnector", "UpdateConnector", "DeleteConnector", "ListConnectorOperations", *_TAGS)
        return [
            statement("kafkaconnect:ListConnectors", on="*"),
            _creating("CreateConnector"),
            # Not by name: CloudFormation updates this policy before it deletes connectors that have left the template.
            self._on(f"connector/{prefix}-*/*", *actions),
            self._on(f"connector-operation/{prefix}-*/*", "DescribeConnectorOperation"),
            self._on(f"custom-plugin/{prefix}-*/*", "DescribeCustomPlugin", "UpdateConnector"),
            self._on(f"worker-configuration/{prefix}-*/*", "DescribeWorkerConfiguration", "UpdateConnector"),
            # The group's ARN ends in `:*`, so it covers the group and its streams.
            statement("logs:DescribeLogStreams", "logs:GetLogEvents", on=self._log_group.log_group_arn),
        ]

    def _passing_rights(self, role_arns: Sequence[str]) -> list[iam.PolicyStatement]:
        stack, service = self._stack, "kafkaconnect.amazonaws.com"
        linked = f"arn:{stack.partition}:iam::{stack.account}:role/aws-service-role/{service}/AWSServiceRoleFor*"
        return [
            statement("iam:PassRole", on=role_arns, when={"StringEquals": {"iam:PassedToService": service}}),
            statement("iam:CreateServiceLinkedRole", on=linked, when={"StringEquals": {"iam:AWSServiceName": service}}),
            # CreateNetworkInterface supports resources, but MSK Connect calls it under its own role: AWS doesn't
            # document what the caller needs, on which resources. The others only read.
            statement(*of_service("ec2", _NETWORK), on="*"),
            # A log delivery is no IAM resource: these actions support only `*`, as in the user guide.
            statement(*of_service("logs", (*_DELIVERY, *_LOGS)), on="*"),
        ]

    def _on(self, resource: str, *actions: str) -> iam.PolicyStatement:
        return statement(*of_service("kafkaconnect", actions), on=arn(self._stack, "kafkaconnect", resource))


def _worker_log(stack: Stack, environment: Environment) -> logs.LogGroup:
    """Create the workers' log group and let log delivery write to it, so that the handlers don't need that right."""
    group = log_group(stack, "WorkerLog", environment, environment.connectors.log_retention_days)
    # The policy that AWS would write: CloudWatch Logs user guide, "Logs sent to CloudWatch Logs".
    group.add_to_resource_policy(
        iam.PolicyStatement(
            sid="AWSLogDeliveryWrite20150319",
            principals=[iam.ServicePrincipal("delivery.logs.amazonaws.com")],
            actions=["logs:CreateLogStream", "logs:PutLogEvents"],
            # The group's own ARN ends in `:*`, which would come between its name and the stream's.
            resources=[arn(stack, "logs", f"log-group:{group.log_group_name}:log-stream:*")],
            conditions={
                "StringEquals": {"aws:SourceAccount": stack.account},
                "ArnLike": {"aws:SourceArn": arn(stack, "logs", "*")},
            },
        )
    )
    return group


def _worker_configuration(stack: Stack, id_: str, spec: ConnectorSpec) -> kafkaconnect.CfnWorkerConfiguration:
    """Create a worker configuration (docs/decisions/0050), named by its content and its id: any change makes a new one.

    So the old one, still in use, is deleted only after the connector has taken the new one, and a renamed construct
    doesn't collide with its old name. The source's generation is known only at deployment: it replaces GENERATION in
    the file, which CloudFormation then encodes.
    """
    file = properties_file(spec.worker_properties)
    digest = hashlib.sha256(f"{stack.node.path}/{id_}\0{file}".encode()).hexdigest()[:16]
    name, content = f"{spec.name}-{digest}", base64.b64encode(file.encode()).decode()
    if GENERATION in file:
        name, content = f"{name}-{spec.generation}", Fn.base64(file.replace(GENERATION, spec.generation))
    return kafkaconnect.CfnWorkerConfiguration(stack, id_, name=name, properties_file_content=content)


def _creating(action: str) -> iam.PolicyStatement:
    """No ARN exists before creation; the tag, which the handlers always send, narrows the right instead."""
    return statement(f"kafkaconnect:{action}", on="*", when={"Null": {f"aws:RequestTag/{tags.OWNER}": "false"}})
