"""What a pipeline needs of an external database: a network path, and its preparation or a check of it."""

import hashlib
from dataclasses import dataclass

from aws_cdk import CfnOutput, CustomResource
from aws_cdk import aws_ec2 as ec2

from settings.environment import Environment
from settings.environment_pipeline import EnvironmentPipeline, OutsideDatabase
from stacks.base import HTTPS, arn, closed_group, statement
from stacks.pipeline_names import construct_id, source_parameter
from stacks.preparation import Preparation, captured_objects, read_secrets


@dataclass(frozen=True, kw_only=True)
class Egress:
    """An external database's addresses or security group, and its port."""

    port: int
    cidr: str | None = None
    security_group: str | None = None

    @property
    def id(self) -> str:
        """The rule's id, from its content, since two rules with the same content can't coexist."""
        said = f"{self.cidr or self.security_group}:{self.port}"
        return f"ConnectorsToOutside{hashlib.sha256(said.encode()).hexdigest()[:8]}"


def _egress(database: OutsideDatabase) -> list[Egress]:
    ways = [Egress(port=database.port, cidr=cidr) for cidr in database.cidrs]
    if database.security_group:
        ways.append(Egress(port=database.port, security_group=database.security_group))
    return ways


def destinations(environment: Environment) -> list[Egress]:
    """Return the connectors' paths to external databases, each once: pipelines may share a server."""
    found = [way for pipeline in environment.streamed if pipeline.database for way in _egress(pipeline.database)]
    return list(dict.fromkeys(found))


def outside_source(
    preparation: Preparation, environment: Environment, pipeline: EnvironmentPipeline, database: OutsideDatabase
) -> CustomResource:
    """Prepare one pipeline's database, or check that it is prepared; connectors must wait for this."""
    record = source_parameter(environment, pipeline, "prepared-by")
    access = outside_access(preparation, pipeline, database)
    entries = arn(preparation.stack, "ssm", f"parameter{record}")
    rights = {
        "It logs in to this pipeline's database.": [read_secrets(database.secret, database.owner_secret or "")],
        "It writes down that it has prepared the database: this pipeline's entries alone, a hash of each owner.": [
            statement("ssm:GetParametersByPath", on=entries),
            statement("ssm:PutParameter", "ssm:DeleteParameters", on=f"{entries}/*"),
        ],
    }
    provider = preparation.provider(construct_id(pipeline, "OutsidePreparation"), access, rights)
    request: dict[str, object] = {
        "host": database.host,
        "port": database.port,
        "sslmode": database.sslmode,
        "certificate": database.authority or "",
        "connectorSecretArn": database.secret,
        "ownerSecretArn": database.owner_secret or "",
        "record": record,
    }
    id_ = construct_id(pipeline, "OutsideSource")
    return preparation.prepared(id_, "OutsideSource", provider, request | captured_objects(pipeline), [access])


def outside_access(
    preparation: Preparation, pipeline: EnvironmentPipeline, database: OutsideDatabase
) -> ec2.SecurityGroup:
    """Create the group of the function that checks an external database: it reaches only that and AWS's services."""
    group = closed_group(
        preparation.stack,
        construct_id(pipeline, "OutsideAccess"),
        preparation.vpc,
        f"Preparation of pipeline {pipeline.name}",
    )
    for way in _egress(database):
        peer = ec2.Peer.ipv4(way.cidr) if way.cidr else ec2.Peer.security_group_id(way.security_group or "")
        group.add_egress_rule(peer, ec2.Port.tcp(way.port), "The source database")
    group.add_egress_rule(ec2.Peer.any_ipv4(), ec2.Port.tcp(HTTPS), "Secrets Manager and Systems Manager")
    CfnOutput(preparation.stack, construct_id(pipeline, "PreparationSecurityGroup"), value=group.security_group_id)
    return group
