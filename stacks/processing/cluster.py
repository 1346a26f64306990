"""The EMR cluster: its nodes, applications and common configuration."""

from aws_cdk import CfnTag
from aws_cdk import aws_ec2 as ec2
from aws_cdk import aws_emr as emr
from constructs import Construct

from contract.tags import CLUSTER
from settings import aws_offers
from settings.environment import Environment
from stacks.base import acknowledge
from stacks.processing.access import EMR_TAG, EmrAccess
from stacks.processing.roles import EmrRoles

# EMR's maximum. A running step that is cancelled may keep its slot, and all our jobs are steps.
STEP_CONCURRENCY = 256
VOLUME_GB = 64
GLUE_CLIENT = "com.amazonaws.glue.catalog.metastore.AWSGlueDataCatalogHiveClientFactory"
# Makes the applications with a catalogue of their own, apart from Hive's, use Glue's: properties by classification.
# Trino's Hive connector no longer reads Hudi tables ("Amazon EMR 7.3.0 - Trino release notes") and redirects readers to
# the catalogue `hudi` (docs/decisions/0058).
CATALOGUES = {
    "Presto": {"presto-connector-hive": {"hive.metastore.glue.datacatalog.enabled": "true"}},
    "Trino": {
        "trino-connector-hive": {
            "hive.metastore": "glue",
            "hive.hudi-catalog-name": "hudi",
            # Athena also searches subfolders; without this, Trino would find nothing in the quarantine.
            "hive.recursive-directories": "true",
        },
        "trino-connector-hudi": {"connector.name": "hudi", "hive.metastore": "glue"},
    },
}


class EmrCluster(Construct):
    """`cluster` is EMR's, with one primary node, or None in a pause, which keeps only its prerequisites.

    `ssh_key` opens its nodes to everyone who may read the key's parameter.
    """

    def __init__(
        self,
        scope: Construct,
        id_: str,
        *,
        environment: Environment,
        subnet: ec2.ISubnet,
        access: EmrAccess,
        roles: EmrRoles,
        volume_key_arn: str,
        log_uri: str,
        runs: bool,
    ) -> None:
        super().__init__(scope, id_)
        self._environment = environment
        self._settings = environment.processing
        self._subnet = subnet
        self._access = access
        self.ssh_key = ec2.KeyPair(self, "SshKey", type=ec2.KeyPairType.ED25519)
        security = self._security_configuration(volume_key_arn)
        self.cluster = self._cluster(roles, security, log_uri) if runs else None

    def _cluster(self, roles: EmrRoles, security: emr.CfnSecurityConfiguration, log_uri: str) -> emr.CfnCluster:
        settings, environment = self._settings, self._environment
        cluster = emr.CfnCluster(
            self,
            "Cluster",
            name=environment.prefix,
            release_label=settings.release,
            applications=[emr.CfnCluster.ApplicationProperty(name=name) for name in settings.applications],
            configurations=self._configurations(),
            instances=self._instances(),
            managed_scaling_policy=self._scaling(),
            step_concurrency_level=STEP_CONCURRENCY,
            job_flow_role=roles.profile.instance_profile_name,
            service_role=roles.service.role_arn,
            security_configuration=security.ref,
            log_uri=log_uri,
            visible_to_all_users=True,
            ebs_root_volume_size=VOLUME_GB,
            tags=[CfnTag(**EMR_TAG), CfnTag(key=CLUSTER, value=environment.prefix)],
        )
        # Without its rights it fails to start.
        cluster.node.add_dependency(roles, self._access)
        _acknowledge(cluster)
        return cluster

    def _instances(self) -> emr.CfnCluster.JobFlowInstancesConfigProperty:
        settings, access, core = self._settings, self._access, None
        # Without core nodes, all daemons run on the primary node.
        if settings.core_instances:
            core = self._group("Core", settings.core_instance_type, settings.core_instances)
        return emr.CfnCluster.JobFlowInstancesConfigProperty(
            master_instance_group=self._group("Primary", settings.primary_instance_type, 1),
            core_instance_group=core,
            ec2_subnet_id=self._subnet.subnet_id,
            ec2_key_name=self.ssh_key.key_pair_name,
            emr_managed_master_security_group=access.primary.security_group_id,
            emr_managed_slave_security_group=access.core.security_group_id,
            service_access_security_group=access.service.security_group_id,
            additional_master_security_groups=[access.vpn_primary.security_group_id],
            additional_slave_security_groups=[access.vpn_core.security_group_id],
            keep_job_flow_alive_when_no_steps=True,
            # It holds no data, and EMR's protection would prevent CloudFormation from rolling back a failed first
            # deployment and from removing a replaced cluster. The stack is protected instead.
            termination_protected=False,
            unhealthy_node_replacement=True,
        )

    def _group(self, name: str, type_: str, count: int) -> emr.CfnCluster.InstanceGroupConfigProperty:
        volume = emr.CfnCluster.VolumeSpecificationProperty(size_in_gb=VOLUME_GB, volume_type="gp3")
        return emr.CfnCluster.InstanceGroupConfigProperty(
            name=name,
            instance_type=type_,
            instance_count=count,
            # A spot request bids at most the on-demand price: EMR's default.
            market=self._settings.market.upper(),
            ebs_configuration=emr.CfnCluster.EbsConfigurationProperty(
                ebs_block_device_configs=[
                    emr.CfnCluster.EbsBlockDeviceConfigProperty(volume_specification=volume, volumes_per_instance=1)
                ]
            ),
        )

    def _scaling(self) -> emr.CfnCluster.ManagedScalingPolicyProperty | None:
        settings = self._settings
        if not settings.maximum_core_instances:
            return None
        return emr.CfnCluster.ManagedScalingPolicyProperty(
            compute_limits=emr.CfnCluster.ComputeLimitsProperty(
                unit_type="Instances",
                minimum_capacity_units=settings.core_instances,
                maximum_capacity_units=settings.maximum_core_instances,
                maximum_core_capacity_units=settings.maximum_core_instances,
            )
        )

    def _configurations(self) -> list[emr.CfnCluster.ConfigurationProperty]:
        """Glue as the common metastore, Python 3.11, and the region, which boto3 can't determine itself."""
        python = f"python{aws_offers.RELEASES[self._settings.release]}"
        glue = {"hive.metastore.client.factory.class": GLUE_CLIENT}
        properties = {
            "hive-site": glue,
            "spark-hive-site": glue,
            "spark-defaults": {"spark.pyspark.python": python},
        }
        for application in self._settings.applications:
            properties |= CATALOGUES.get(application, {})
        region = {"AWS_REGION": self._environment.region, "AWS_DEFAULT_REGION": self._environment.region}
        export = emr.CfnCluster.ConfigurationProperty(classification="export", configuration_properties=region)
        return [
            emr.CfnCluster.ConfigurationProperty(classification=name, configuration_properties=values)
            for name, values in properties.items()
        ] + [emr.CfnCluster.ConfigurationProperty(classification="spark-env", configurations=[export])]

    def _security_configuration(self, volume_key_arn: str) -> emr.CfnSecurityConfiguration:
        return emr.CfnSecurityConfiguration(
            self,
            "SecurityConfiguration",
            security_configuration={
                "EncryptionConfiguration": {
                    "EnableAtRestEncryption": True,
                    "EnableInTransitEncryption": False,
                    "AtRestEncryptionConfiguration": {
                        "S3EncryptionConfiguration": {"EncryptionMode": "SSE-S3"},
                        "LocalDiskEncryptionConfiguration": {
                            "EncryptionKeyProviderType": "AwsKms",
                            "AwsKmsKey": volume_key_arn,
                            "EnableEbsEncryption": True,
                        },
                    },
                },
                "InstanceMetadataServiceConfiguration": {
                    "MinimumInstanceMetadataServiceVersion": 2,
                    "HttpPutResponseHopLimit": 1,
                },
            },
        )


def _acknowledge(cluster: emr.CfnCluster) -> None:
    acknowledge(
        cluster,
        "AwsSolutions-EMR4",
        reason="The local disks are encrypted: the rule looks for the setting one level above where EMR wants it "
        "(EncryptionConfiguration).",
    )
    acknowledge(
        cluster,
        "AwsSolutions-EMR5",
        reason="S3, Glue and CloudWatch are reached by TLS, and Spark encrypts what driver and executors exchange "
        "with AES. EMR's own switch needs a certificate with its private key in S3; the rest stays between the "
        "cluster's two security groups in one private subnet.",
    )
