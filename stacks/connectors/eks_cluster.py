"""The EKS cluster of the connectors' workers, if the environment runs them on Kubernetes (docs/decisions/0095).

The only function with full access to the cluster creates what all worker groups share: their namespace and its access
rules.
"""

import json
from collections.abc import Iterator

from aws_cdk import CfnOutput, Duration, RemovalPolicy
from aws_cdk import aws_ec2 as ec2
from aws_cdk import aws_eks_v2 as eks
from aws_cdk import aws_iam as iam
from aws_cdk import aws_logs as logs
from constructs import Construct

from settings.environment import Environment
from settings.services import Eks
from stacks.base import (
    HTTPS,
    EnvironmentStack,
    acknowledge,
    allow,
    closed_group,
    encryption_key,
    id_of,
    log_group,
    statement,
)
from stacks.connectors.manifests import NAMESPACE, PART_OF, Object
from stacks.connectors.roles import pod_identity
from stacks.network import NetworkStack
from stacks.paused import Paused
from stacks.provider import HandlerProvider

# For a cluster whose API is new, and access entries that EKS is still propagating.
PATIENCE = Duration.minutes(15)
# Auto Mode's built-in pools: for pods without a node selector, and for add-ons.
NODE_POOLS = ["general-purpose", "system"]
# EKS user guide, "Auto Mode cluster IAM role" and "Auto Mode node IAM role".
CLUSTER_POLICIES = (
    "AmazonEKSBlockStoragePolicy",
    "AmazonEKSClusterPolicy",
    "AmazonEKSComputePolicy",
    "AmazonEKSLoadBalancingPolicy",
    "AmazonEKSNetworkingPolicy",
)
NODE_POLICIES = ("AmazonEC2ContainerRegistryPullOnly", "AmazonEKSWorkerNodeMinimalPolicy")
LOGGED = (
    eks.ClusterLoggingTypes.API,
    eks.ClusterLoggingTypes.AUDIT,
    eks.ClusterLoggingTypes.AUTHENTICATOR,
    eks.ClusterLoggingTypes.CONTROLLER_MANAGER,
    eks.ClusterLoggingTypes.SCHEDULER,
)
LOGS_ADDON, LOGS_NAMESPACE, LOGS_ACCOUNT = "amazon-cloudwatch-observability", "amazon-cloudwatch", "cloudwatch-agent"
# CloudWatch user guide, "Container Insights: additional configuration of the add-on": pods' logs, no metrics.
LOGS_ALONE = {"containerLogs": {"enabled": True}, "agent": {"config": {"logs": {"metrics_collected": {}}}}}
CPU_ADDON = "metrics-server"
EVERYTHING = "AmazonEKSClusterAdminPolicy"
# Kubernetes groups that access entries name; the rules below say what each may do in the namespace.
DEPLOYERS, WATCHERS = "cdc-lake-deployers", "cdc-lake-watchers"
_ALL = ["create", "delete", "get", "list", "patch", "update"]
_DEPLOYING = (
    ("", ["configmaps", "serviceaccounts", "services"], _ALL),
    ("apps", ["deployments"], _ALL),
    ("autoscaling", ["horizontalpodautoscalers"], _ALL),
    ("networking.k8s.io", ["networkpolicies"], _ALL),
    ("policy", ["poddisruptionbudgets"], _ALL),
    ("", ["pods", "pods/log"], ["get", "list"]),
    # Connect's REST interface, which is open to no one else.
    ("", ["services/proxy"], ["create", "delete", "get", "update"]),
)
_WATCHING = (
    ("", ["pods"], ["list"]),
    ("", ["pods/proxy"], ["get"]),
    # Restarting failed tasks is a POST.
    ("", ["services/proxy"], ["create", "get"]),
)


class KubernetesStack(EnvironmentStack):
    """The cluster, the access to it, and its pods' logs.

    `security_group_id` belongs to nodes and pods, `handler_access` to callers of the Kubernetes API.
    """

    def __init__(
        self, scope: Construct, environment: Environment, settings: Eks, network: NetworkStack, paused: Paused
    ) -> None:
        super().__init__(scope, "kubernetes", environment, paused)
        self.settings = settings
        self._vpc = network.vpc
        self.name = environment.prefix
        self.handler_access = self._handler_access()
        self.cluster = self._cluster(self._api_access(network.vpn_access))
        self.security_group_id = self.cluster.cluster_security_group_id
        self._administrators()
        self._addons(run=not paused.leaves_out_all)
        self._shared()
        CfnOutput(self, "ClusterName", value=self.cluster.cluster_name)

    @property
    def address(self) -> dict[str, str]:
        return {
            "name": self.name,
            "endpoint": self.cluster.cluster_endpoint,
            "authority": self.cluster.cluster_certificate_authority_data,
        }

    def access_entry(self, scope: Construct, id_: str, role: iam.IRole, group: str) -> eks.CfnAccessEntry:
        """Give a role access to the cluster as a member of one of our Kubernetes groups."""
        return eks.CfnAccessEntry(
            scope, id_, cluster_name=self.name, principal_arn=role.role_arn, kubernetes_groups=[group]
        )

    def _handler_access(self) -> ec2.SecurityGroup:
        group = closed_group(self, "HandlerAccess", self._vpc, "Callers of the Kubernetes API")
        group.add_egress_rule(ec2.Peer.any_ipv4(), ec2.Port.tcp(HTTPS), "The Kubernetes API, S3 and CloudWatch")
        return group

    def _api_access(self, vpn_access: ec2.ISecurityGroup) -> ec2.SecurityGroup:
        group = closed_group(self, "ApiAccess", self._vpc, "The Kubernetes API")
        group.add_ingress_rule(self.handler_access, ec2.Port.tcp(HTTPS), "The deployment's own functions")
        group.add_ingress_rule(vpn_access, ec2.Port.tcp(HTTPS), "kubectl on the VPN")
        return group

    def _cluster(self, access: ec2.SecurityGroup) -> eks.Cluster:
        # It encrypts only the cluster's own data, and is deleted with it.
        key = encryption_key(self, "Key", f"Kubernetes's secrets of {self.name}", RemovalPolicy.DESTROY)
        log = self._log("ControlPlaneLog", f"/aws/eks/{self.name}/cluster")
        service = iam.ServicePrincipal("eks.amazonaws.com").with_session_tags()
        nodes = iam.ServicePrincipal("ec2.amazonaws.com")
        node_role = self._role("NodeRole", nodes, NODE_POLICIES, "EKS's own policies for nodes: to pull images.")
        cluster = eks.Cluster(
            self,
            "Cluster",
            cluster_name=self.name,
            version=eks.KubernetesVersion.of(self.settings.kubernetes_version),
            vpc=self._vpc,
            vpc_subnets=[ec2.SubnetSelection(subnet_type=ec2.SubnetType.PRIVATE_WITH_EGRESS)],
            security_group=access,
            endpoint_access=self._endpoint(),
            role=self._role("ClusterRole", service, CLUSTER_POLICIES, "EKS's own policies for a cluster in Auto Mode."),
            secrets_encryption_key=key,
            cluster_logging=list(LOGGED),
            bootstrap_cluster_creator_admin_permissions=False,
            default_capacity_type=eks.DefaultCapacityType.AUTOMODE,
            compute=eks.ComputeConfig(node_pools=NODE_POOLS, node_role=node_role),
        )
        # EKS would create the group itself, without expiry.
        cluster.node.add_dependency(log)
        if self.settings.endpoint_cidrs:
            acknowledge(
                cluster,
                "AwsSolutions-EKS1",
                reason="The environment's file names the addresses that may reach the API, and no others do.",
            )
        return cluster

    def _endpoint(self) -> eks.EndpointAccess:
        if not self.settings.endpoint_cidrs:
            return eks.EndpointAccess.PRIVATE
        return eks.EndpointAccess.PUBLIC_AND_PRIVATE.only_from(*self.settings.endpoint_cidrs)

    def _log(self, id_: str, name: str) -> logs.LogGroup:
        return log_group(self, id_, self._environment, self._environment.connectors.log_retention_days, name=name)

    def _role(self, id_: str, principal: iam.IPrincipal, policies: tuple[str, ...], reason: str) -> iam.Role:
        managed = [iam.ManagedPolicy.from_aws_managed_policy_name(name) for name in policies]
        role = iam.Role(self, id_, assumed_by=principal, managed_policies=managed)
        findings = [f"AwsSolutions-IAM4[Policy::arn:<AWS::Partition>:iam::aws:policy/{name}]" for name in policies]
        acknowledge(role, *findings, reason=reason)
        return role

    def _administrators(self) -> None:
        scope = eks.AccessScopeType.CLUSTER
        everything = eks.AccessPolicy.from_access_policy_name(EVERYTHING, access_scope_type=scope)
        for arn in self.settings.administrators:
            self.cluster.grant_access(id_of("Administrator", arn), arn, [everything])

    def _addons(self, *, run: bool) -> None:
        """Pods' logs to CloudWatch, and the CPU metrics that autoscalers use; Auto Mode has the rest.

        Their pods keep a node alive when no connector runs: in a pause they don't `run`, but their log and role stay.
        """
        log = self._log("WorkerLog", f"/aws/containerinsights/{self.name}/application")
        role = iam.Role(self, "LogRole", assumed_by=pod_identity(self.name, LOGS_NAMESPACE, LOGS_ACCOUNT))
        log.grant_write(role)
        reason = "The agent looks whether its log group is there; AWS lists no resource for that."
        allow(role, statement("logs:DescribeLogGroups", on="*"), reason=reason)
        if not run:
            return
        addon = eks.CfnAddon(
            self,
            "Logs",
            addon_name=LOGS_ADDON,
            cluster_name=self.cluster.cluster_name,
            # Logs only: stacks/handlers/kubernetes_watch.py publishes the metrics that alarms use.
            configuration_values=json.dumps(LOGS_ALONE, sort_keys=True),
            pod_identity_associations=[
                eks.CfnAddon.PodIdentityAssociationProperty(role_arn=role.role_arn, service_account=LOGS_ACCOUNT)
            ],
        )
        addon.node.add_dependency(log)
        eks.CfnAddon(self, "Cpu", addon_name=CPU_ADDON, cluster_name=self.cluster.cluster_name)

    def _shared(self) -> None:
        provider = HandlerProvider(
            self,
            "Objects",
            module="kubernetes_objects",
            rights={},
            journal=self._environment.bucket_name("artefacts"),
            vpc=self._vpc,
            security_groups=[self.handler_access],
            variables={"DEADLINE_SECONDS": f"{PATIENCE.to_seconds():.0f}"},
        )
        arn = f"arn:{self.partition}:eks::aws:cluster-access-policy/{EVERYTHING}"
        scope = eks.CfnAccessEntry.AccessScopeProperty(type="cluster")
        entry = eks.CfnAccessEntry(
            self,
            "ObjectsAccess",
            cluster_name=self.cluster.cluster_name,
            principal_arn=provider.worker_role.role_arn,
            access_policies=[eks.CfnAccessEntry.AccessPolicyProperty(policy_arn=arn, access_scope=scope)],
        )
        request = {"cluster": self.address, "objects": shared_objects()}
        after = [entry, self.handler_access]
        provider.resource(self, "SharedObjects", "KubernetesObjects", request, after=after)


def shared_objects() -> list[Object]:
    """Return the shared objects and their access rules; the cluster's administrator creates them."""
    enforced = {f"pod-security.kubernetes.io/{mode}": "restricted" for mode in ("enforce", "audit", "warn")}
    labels = {"app.kubernetes.io/part-of": PART_OF, **enforced}
    return [
        {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE, "labels": labels}},
        # Makes Auto Mode's nodes enforce network policies (EKS user guide, "Use Network Policies with Auto Mode").
        {
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "metadata": {"name": "amazon-vpc-cni", "namespace": "kube-system"},
            "data": {"enable-network-policy-controller": "true"},
        },
        # Denies pods of the namespace all traffic that no group's own policy allows.
        {
            "apiVersion": "networking.k8s.io/v1",
            "kind": "NetworkPolicy",
            "metadata": {"name": "nothing", "namespace": NAMESPACE},
            "spec": {"podSelector": {}, "policyTypes": ["Ingress", "Egress"]},
        },
        *_may(DEPLOYERS, _DEPLOYING),
        *_may(WATCHERS, _WATCHING),
    ]


def _may(group: str, rules: tuple[tuple[str, list[str], list[str]], ...]) -> Iterator[Object]:
    metadata = {"name": group, "namespace": NAMESPACE, "labels": {"app.kubernetes.io/part-of": PART_OF}}
    api = "rbac.authorization.k8s.io"
    written = [{"apiGroups": [name], "resources": kinds, "verbs": verbs} for name, kinds, verbs in rules]
    yield {"apiVersion": f"{api}/v1", "kind": "Role", "metadata": metadata, "rules": written}
    yield {
        "apiVersion": f"{api}/v1",
        "kind": "RoleBinding",
        "metadata": metadata,
        "roleRef": {"apiGroup": api, "kind": "Role", "name": group},
        "subjects": [{"apiGroup": api, "kind": "Group", "name": group}],
    }
