"""The managed services: what Aurora and MSK have, which CloudFormation finds out only after minutes."""

from collections.abc import Iterator

from contract import rds_ca
from settings import aws_offers
from settings.environment import Environment
from settings.rules.problem import Problem, Rule


def certificate(environment: Environment) -> Iterator[Problem]:
    """The region's authority for databases is one whose certificate we have."""
    try:
        rds_ca.root(environment.region)
    except ValueError as error:
        yield "region", str(error)


def database(environment: Environment) -> Iterator[Problem]:
    """Versions and classes are Aurora's, and protection goes with what happens at the end."""
    settings = environment.database
    if settings.engine_version not in aws_offers.AURORA_POSTGRESQL_VERSIONS:
        known = ", ".join(aws_offers.AURORA_POSTGRESQL_VERSIONS)
        yield "database.engine_version", f"{settings.engine_version} isn't an Aurora PostgreSQL 16 of ours: {known}"
    if settings.instance_class not in aws_offers.AURORA_INSTANCE_CLASSES:
        known = ", ".join(aws_offers.AURORA_INSTANCE_CLASSES)
        yield "database.instance_class", f"{settings.instance_class} isn't one of {known}"
    if settings.deletion_protection and environment.removal_policy == "destroy":
        yield "database.deletion_protection", 'would make `cdk destroy` fail: set false, or removal_policy = "retain"'


def streaming(environment: Environment) -> Iterator[Problem]:
    """Versions and broker types are MSK's, and brokers spread evenly over the zones."""
    settings = environment.streaming
    if settings.kafka_version not in aws_offers.MSK_KAFKA_VERSIONS:
        known = ", ".join(aws_offers.MSK_KAFKA_VERSIONS)
        yield "streaming.kafka_version", f"{settings.kafka_version} isn't an MSK version that we know: {known}"
    if settings.broker_type not in aws_offers.MSK_BROKER_TYPES:
        known = ", ".join(aws_offers.MSK_BROKER_TYPES)
        yield "streaming.broker_type", f"{settings.broker_type} isn't a broker type that we know: {known}"
    elif settings.broker_type == aws_offers.MSK_SMALL_BROKER and environment.connector_workers > settings.brokers:
        yield (
            "streaming.broker_type",
            f"{settings.broker_type} takes 4 new connections a second, and {environment.connector_workers} workers of "
            f"connectors that start at once would be refused by {settings.brokers} brokers: set kafka.m5.large",
        )
    zones = len(environment.availability_zones)
    if zones and settings.brokers % zones:
        yield "streaming.brokers", f"{settings.brokers} brokers don't spread evenly over {zones} zones"


RULES: tuple[Rule, ...] = (certificate, database, streaming)
