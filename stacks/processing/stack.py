"""EMR and the streaming jobs on it: from landing objects to the lake's Hudi tables."""

from dataclasses import asdict

from aws_cdk import CfnOutput, Tags
from aws_cdk import aws_ec2 as ec2
from aws_cdk import aws_emr as emr
from constructs import Construct

from contract.tags import CLUSTER
from settings.environment import Environment
from stacks.base import (
    EnvironmentStack,
    arn,
    bucket_arn,
    encryption_key,
    of_service,
    removal,
    statement,
)
from stacks.database import DatabaseStack
from stacks.job_steps import Jobs
from stacks.lake import LakeStack
from stacks.network import NetworkStack
from stacks.paused import Paused
from stacks.processing.access import EMR_TAG, EmrAccess, open_database, source_properties
from stacks.processing.cluster import EmrCluster
from stacks.processing.jobs import JobAssets
from stacks.processing.roles import EmrRoles
from stacks.provider import HandlerProvider

LOGS_PREFIX = "emr/"
STOP_PREFIX = "stop/"
# Why the nodes read a pipeline's secret, by whether it is query-based.
LOGINS = {
    True: "What the jobs log in with where they query, to read and nothing else.",
    False: "What the jobs log in with where they read a captured table's first rows: the connector's role, which may "
    "replicate, as the snapshot needs it.",
}
SALTS = "What the jobs give the database to hash columns with, as it sends them a captured table's first rows."


class ProcessingStack(EnvironmentStack):
    """The cluster and its steps, neither in a pause; jobs publish metrics to the environment's namespace."""

    def __init__(
        self,
        scope: Construct,
        environment: Environment,
        network: NetworkStack,
        *,
        database: DatabaseStack,
        lake: LakeStack,
        paused: Paused,
    ) -> None:
        super().__init__(scope, "processing", environment, paused)
        self._database = database
        # The buckets are named, not imported: an imported value can't be changed while it is in use.
        self.add_stack_dependency(lake)
        volume_key = encryption_key(
            self, "VolumeKey", f"Disks of EMR's nodes in {environment.prefix}", removal(environment)
        )
        reach = network.vpn_access if environment.vpn.emr_access else None
        self._access = EmrAccess(
            self, "Access", vpc=network.vpc, vpn_access=reach, applications=environment.processing.applications
        )
        self._roles = EmrRoles(self, "Roles", volume_key=volume_key)
        self._assets = JobAssets(self, "Job")
        self._doors = open_database(self, environment, self._access, database)
        emr_cluster = EmrCluster(
            self,
            "Emr",
            environment=environment,
            subnet=self._tagged_subnet(network.vpc),
            access=self._access,
            roles=self._roles,
            volume_key_arn=volume_key.key_arn,
            log_uri=f"s3://{environment.bucket_name('logs')}/{LOGS_PREFIX}",
            runs=not paused.leaves_out_all,
        )
        self._steps(emr_cluster.cluster)
        self._grants()
        if cluster := emr_cluster.cluster:
            CfnOutput(self, "ClusterId", value=cluster.ref)
            CfnOutput(self, "PrimaryNode", value=cluster.attr_master_public_dns)
        CfnOutput(self, "KeyParameter", value=emr_cluster.ssh_key.private_key.parameter_name)

    def _tagged_subnet(self, vpc: ec2.IVpc) -> ec2.ISubnet:
        """The first private subnet: a cluster has one zone. EMR's policy acts only on tagged subnets."""
        subnet = vpc.private_subnets[0]
        Tags.of(subnet).add(EMR_TAG["key"], EMR_TAG["value"], include_resource_types=["AWS::EC2::Subnet"])
        return subnet

    def _steps(self, cluster: emr.CfnCluster | None) -> None:
        """Create one resource for all steps, so that tables can move between them; its id is the first step's.

        Without a cluster, create only its prerequisites.
        """
        first, *further = Jobs(self._environment, self._assets, self._sources()).steps()
        provider = self._step_provider()
        if cluster is None:
            return
        request = {
            "clusterId": cluster.ref,
            "name": first.name,
            "arguments": first.arguments,
            **({"further": [asdict(step) for step in further]} if further else {}),
            "stopBucket": self._environment.bucket_name("artefacts"),
            "stopPrefix": STOP_PREFIX,
        }
        provider.resource(self, "Step-cdc_events", "EmrStep", request, after=[self._roles, *self._doors])

    def _sources(self) -> dict[str, dict[str, str]]:
        return {
            pipeline.name: source_properties(
                self, self._environment, pipeline, database=self._database, assets=self._assets
            )
            for pipeline in self._environment.job_connects
        }

    def _step_provider(self) -> HandlerProvider:
        bucket = self._environment.bucket_name("artefacts")
        artefacts, stop_files = bucket_arn(self, bucket), f"{STOP_PREFIX}*"
        actions = of_service("elasticmapreduce", ("AddJobFlowSteps", "CancelSteps", "ListSteps"))
        tagged = {f"elasticmapreduce:ResourceTag/{CLUSTER}": self._environment.prefix}
        clusters = arn(self, "elasticmapreduce", "cluster/*")
        rights = {
            "Clusters with this environment's tag only. Their id can't say it: when a cluster is replaced, the handler "
            "stops the steps of the old one. One that EMR has forgotten has no tags, and must be known to be gone.": [
                statement(*actions, on=clusters, when={"StringEquals": tagged}),
                statement("elasticmapreduce:DescribeCluster", on=clusters, when={"StringEqualsIfExists": tagged}),
            ],
            "Stop files, claims and owners alone: their names are those of the steps.": [
                statement("s3:PutObject", "s3:GetObject", on=f"{artefacts}/{stop_files}"),
                statement("s3:DeleteObject", on=f"{artefacts}/{STOP_PREFIX}owners/*"),
                statement("s3:ListBucket", on=artefacts, when={"StringLike": {"s3:prefix": stop_files}}),
            ],
        }
        return HandlerProvider(self, "StepHandler", module="emr_step", packages=(), rights=rights, journal=bucket)

    def _grants(self) -> None:
        buckets, roles = self._environment.bucket_name, self._roles
        for pipeline in self._environment.streamed:
            roles.may_read(buckets("landing"), f"{pipeline.landing_prefix}/")
        for queried, reason in LOGINS.items():
            pipelines = [each for each in self._environment.job_connects if each.is_queried == queried]
            if arns := [self._database.connector_secrets[each.name].secret_arn for each in pipelines]:
                roles.may_read_secrets(arns, reason=reason)
        hashing = [each.name for each in self._environment.pipelines if each.hashes_directly]
        if salts := [self._database.salts[name].secret_arn for name in hashing]:
            roles.may_read_secrets(salts, reason=SALTS)
        roles.may_read(buckets("artefacts"), STOP_PREFIX)
        roles.may_write(buckets("lake"))
        roles.allow_below(buckets("logs"), LOGS_PREFIX, "s3:PutObject")
        by_lake_formation = self._environment.analytics.lake_formation
        roles.may_keep_tables(self._environment.lake.database, lake_formation=by_lake_formation)
        roles.may_publish_metrics(self._environment.prefix)
        self._assets.grant_read(roles.nodes)
