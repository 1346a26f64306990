"""Who reaches the EMR cluster (its own nodes, EMR's service, perhaps VPN clients), and how jobs reach databases."""

from collections.abc import Iterator, Mapping

from aws_cdk import CfnOutput, Stack, Tags
from aws_cdk import aws_ec2 as ec2
from constructs import Construct

from settings.connectors import ROOT_CERTIFICATE, root_certificate
from settings.environment import Environment
from settings.environment_pipeline import POSTGRESQL, EnvironmentPipeline
from settings.job import server
from spark_jobs.options import keys
from stacks.base import let_in, source_value
from stacks.database import DatabaseStack
from stacks.processing.jobs import JobAssets

# EMR management guide, "Working with Amazon EMR-managed security groups": its own ports in a private subnet.
_AGENT_PORT, _SERVICE_PORT = 8443, 9443
# Web interfaces and servers, by application: EMR management guide, "View web interfaces hosted on clusters".
PRIMARY_PORTS: Mapping[str, tuple[int, ...]] = {
    "Hadoop": (8088, 9870, 19888),
    "Hive": (10000,),
    "Hue": (8888,),
    "Livy": (8998,),
    "Presto": (8889,),
    "Spark": (18080,),
    "Trino": (8889,),
}
CORE_PORTS = {"the node manager": 8042, "HDFS": 9864}
# AmazonEMRServicePolicy_v2 acts only on resources with this tag.
EMR_TAG = {"key": "for-use-with-amazon-emr-managed-policies", "value": "true"}


class EmrAccess(Construct):
    """The security groups: `primary` and `core` are the nodes', `service` is EMR's, `vpn_…` admit VPN clients.

    The VPN groups always exist, because EMR would replace the cluster for another group; without `vpn_access` they are
    empty: Livy, YARN, HiveServer2, Hue and Trino let everyone who reaches them act as the cluster.
    """

    def __init__(
        self,
        scope: Construct,
        id_: str,
        *,
        vpc: ec2.IVpc,
        vpn_access: ec2.ISecurityGroup | None,
        applications: tuple[str, ...],
    ) -> None:
        super().__init__(scope, id_)
        self._vpc = vpc
        self.primary = self._group("Primary", "EMR primary node")
        self.core = self._group("Core", "EMR core nodes")
        self.service = self._group("Service", "EMR service to its nodes", outbound=False)
        self.vpn_primary = self._group("VpnToPrimary", "VPN clients to the EMR primary node", outbound=False)
        self.vpn_core = self._group("VpnToCore", "VPN clients to EMR core nodes", outbound=False)
        self._open_to_nodes()
        self._open_to_service()
        if vpn_access is not None:
            self._open_to_vpn(vpn_access, applications)

    def _group(self, id_: str, description: str, *, outbound: bool = True) -> ec2.SecurityGroup:
        group = ec2.SecurityGroup(self, id_, vpc=self._vpc, description=description, allow_all_outbound=outbound)
        Tags.of(group).add(EMR_TAG["key"], EMR_TAG["value"])
        return group

    def _open_to_nodes(self) -> None:
        """Hadoop's daemons and Spark's executors choose their ports, so open all ports between nodes."""
        for target in (self.primary, self.core):
            for source in (self.primary, self.core):
                for port in (ec2.Port.all_tcp(), ec2.Port.all_udp(), ec2.Port.all_icmp()):
                    target.add_ingress_rule(source, port, "Nodes among themselves")

    def _open_to_service(self) -> None:
        for node in (self.primary, self.core):
            node.add_ingress_rule(self.service, ec2.Port.tcp(_AGENT_PORT), "EMR service to the node's agent")
            self.service.add_egress_rule(node, ec2.Port.tcp(_AGENT_PORT), "EMR service to the node's agent")
        self.service.add_ingress_rule(self.primary, ec2.Port.tcp(_SERVICE_PORT), "Primary node to EMR service")

    def _open_to_vpn(self, vpn_access: ec2.ISecurityGroup, applications: tuple[str, ...]) -> None:
        self.vpn_primary.add_ingress_rule(vpn_access, ec2.Port.tcp(22), "SSH")
        ports = {port: application for application in applications for port in PRIMARY_PORTS[application]}
        for port, application in sorted(ports.items()):
            self.vpn_primary.add_ingress_rule(vpn_access, ec2.Port.tcp(port), application)
        for name, port in CORE_PORTS.items():
            self.vpn_core.add_ingress_rule(vpn_access, ec2.Port.tcp(port), name)


def source_properties(
    stack: Stack,
    environment: Environment,
    pipeline: EnvironmentPipeline,
    *,
    database: DatabaseStack,
    assets: JobAssets,
) -> dict[str, str]:
    """Return the properties with which the job reaches a pipeline's database; the secret holds the user."""
    outside = pipeline.database
    authority = root_certificate(environment, pipeline).get(ROOT_CERTIFICATE)
    salt = {keys.FIRST_LOAD_SALT_SECRET: database.salts[pipeline.name].secret_arn} if pipeline.hashes_directly else {}
    return salt | server(
        host=outside.host if outside else source_value(stack, environment, pipeline, "host"),
        port=outside.port if outside else POSTGRESQL,
        database=pipeline.database_name,
        password={keys.JDBC_PASSWORD_SECRET: database.connector_secrets[pipeline.name].secret_arn},
        sslmode=None if authority else "require",
        authority=assets.text(f"{environment.name}/{pipeline.name}.pem", authority) if authority else None,
    )


def open_database(
    stack: Stack, environment: Environment, access: EmrAccess, database: DatabaseStack
) -> list[ec2.CfnSecurityGroupIngress]:
    """Admit the cluster's nodes to our own database if jobs read it; output the groups for external ones to admit.

    Drivers run on the primary node; executors on core nodes, if there are any, read large batches.
    """
    if any(pipeline.database for pipeline in environment.job_connects):
        groups = ",".join(group.security_group_id for _, group in _nodes(environment, access))
        CfnOutput(stack, "JobSecurityGroups", value=groups)
    if not any(pipeline.database is None for pipeline in environment.job_connects):
        return []
    return [
        let_in(
            stack,
            f"DatabaseFrom{name}",
            to=database.security_group,
            source_id=group.security_group_id,
            port=POSTGRESQL,
            description="PostgreSQL from the streaming job",
        )
        for name, group in _nodes(environment, access)
    ]


def _nodes(environment: Environment, access: EmrAccess) -> Iterator[tuple[str, ec2.SecurityGroup]]:
    yield "Primary", access.primary
    if environment.processing.core_instances:
        yield "Core", access.core
