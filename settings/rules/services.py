"""Rules for the managed services: Aurora's and MSK's limits, which CloudFormation finds only after minutes."""

from collections.abc import Iterator

from contract import rds_ca
from settings import aws_offers
from settings.environment import Environment
from settings.rules.problem import Problem, Rule


def certificate(environment: Environment) -> Iterator[Problem]:
    """Require a region for whose database authority we have the certificate."""
    try:
        rds_ca.root(environment.region)
    except ValueError as error:
        yield "region", str(error)


def database(environment: Environment) -> Iterator[Problem]:
    """Refuse deletion protection for a cluster that is to be destroyed with its stack."""
    settings = environment.database
    if settings.deletion_protection and environment.removal_policy == "destroy":
        yield "database.deletion_protection", 'would make `cdk destroy` fail: set false, or removal_policy = "retain"'


def streaming(environment: Environment) -> Iterator[Problem]:
    """Check small brokers' connection limits, and that brokers spread evenly over the zones."""
    settings = environment.streaming
    if settings.broker_type == aws_offers.MSK_SMALL_BROKER and environment.connector_workers > settings.brokers:
        yield (
            "streaming.broker_type",
            f"{settings.broker_type} takes 4 new connections a second, and {environment.connector_workers} workers of "
            f"connectors that start at once would be refused by {settings.brokers} brokers: set kafka.m5.large",
        )
    zones = len(environment.availability_zones)
    if zones and settings.brokers % zones:
        yield "streaming.brokers", f"{settings.brokers} brokers don't spread evenly over {zones} zones"


RULES: tuple[Rule, ...] = (certificate, database, streaming)
