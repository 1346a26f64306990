"""Production: nothing that loses data, and what keeps it from being lost. Each rule says what to set instead."""

from collections.abc import Iterator

from contract.events import ORDERING
from settings import aws_offers
from settings import production as least
from settings.addresses import too_many
from settings.environment import Environment
from settings.rules.problem import Problem, Rule, streamed


def _in_production(rule: Rule) -> Rule:
    def applied(environment: Environment) -> Iterator[Problem]:
        if environment.production:
            yield from rule(environment)

    return applied


def named_so(environment: Environment) -> Iterator[Problem]:
    if environment.name == "prod" and not environment.production:
        yield "production", "must be true in an environment that is named prod"


def survives(environment: Environment) -> Iterator[Problem]:
    """Data outlives its stack, an instance, and a mistake."""
    if environment.removal_policy == "destroy":
        yield "removal_policy", 'production data must survive `cdk destroy`: set "retain"'
    settings = environment.database
    if not settings.deletion_protection:
        yield "database.deletion_protection", "must be true in production"
    if settings.sample_data:
        yield "database.sample_data", "production gets no sample data: set false"
    if settings.instances < 2:
        yield "database.instances", "production needs a reader to fail over to: set 2 or more"
    if settings.backup_retention_days < least.BACKUP_DAYS:
        yield (
            "database.backup_retention_days",
            "a fault that is found after a weekend would be in every backup, and Aurora can't go further back: set "
            f"{least.BACKUP_DAYS} or more",
        )
    if not 1 <= settings.secret_rotation_days <= least.PASSWORD_DAYS:
        yield (
            "database.secret_rotation_days",
            f"the master's password would stay what it is, whoever has seen it: set from 1 to {least.PASSWORD_DAYS}",
        )


def acknowledged_is_kept(environment: Environment) -> Iterator[Problem]:
    """An event that Kafka has acknowledged is on two brokers: Debezium doesn't send it again."""
    settings = environment.streaming
    if len(set(environment.availability_zones)) < least.ZONES:
        yield (
            "availability_zones",
            "a topic has as many replicas as there are zones: of two, with one away, an event that counts as written "
            f"is on one disk alone. Name {least.ZONES}, for three replicas of which two must have it",
        )
    if settings.brokers < least.BROKERS:
        yield "streaming.brokers", f"three replicas are on three brokers: set {least.BROKERS} or more"
    if settings.topic_retention_hours < least.TOPIC_HOURS:
        yield (
            "streaming.topic_retention_hours",
            "what the sink hasn't read when it ends is gone, and it may be down over a weekend: set "
            f"{least.TOPIC_HOURS} or more",
        )


def runs_on(environment: Environment) -> Iterator[Problem]:
    """Nothing that AWS may take away, and nothing that is too small to come back after a fault."""
    settings = environment.processing
    if settings.market != "on_demand":
        yield (
            "processing.market",
            'AWS may take spot nodes back at any time, and the job with them: set "on_demand"',
        )
    if not settings.core_instances:
        yield "processing.core_instances", "the primary node alone keeps job and daemons on one machine: set 1 or more"
    if environment.streaming.broker_type == aws_offers.MSK_SMALL_BROKER:
        yield (
            "streaming.broker_type",
            f"{aws_offers.MSK_SMALL_BROKER} takes 4 new connections a second: after a fault all clients come back at "
            "once, and are refused. Set kafka.m5.large",
        )


def landed_is_kept(environment: Environment) -> Iterator[Problem]:
    """What has landed waits for a job that is down, and for one that builds its table anew."""
    settings = environment.lake
    if settings.landing_expiry_days < least.LANDING_DAYS:
        yield (
            "lake.landing_expiry_days",
            f"what a job hasn't read when it expires is missing from the table: set {least.LANDING_DAYS} or more",
        )
    if settings.noncurrent_version_expiry_days < least.NONCURRENT_DAYS:
        yield (
            "lake.noncurrent_version_expiry_days",
            f"what is deleted by mistake could be brought back for too short: set {least.NONCURRENT_DAYS} or more",
        )
    for number, pipeline in streamed(environment):
        for table in pipeline.captured.tables:
            if table.ordering != ORDERING:
                yield (
                    f"pipelines[{number}]",
                    f"{table.name} is ordered by {table.ordering}, which can be the same for two changes, of which one "
                    f"would be lost: set {ORDERING} in pipelines/{pipeline.name}.toml",
                )


def reached_by_few(environment: Environment) -> Iterator[Problem]:
    """The way out doesn't hang on an instance, and the way in isn't open to the world."""
    if environment.network.nat != "gateways":
        yield (
            "network.nat",
            "an instance that fails takes its zone's connectors and jobs off AWS's services until somebody replaces "
            'it: set "gateways"',
        )
    if reason := too_many(environment.vpn.client_cidrs):
        yield "vpn.client_cidrs", f"lets {reason} try passwords: name the networks that your people come from"
    if not 1 <= environment.vpn.password_rotation_days <= least.PASSWORD_DAYS:
        yield "vpn.password_rotation_days", f"production's passwords last from 1 to {least.PASSWORD_DAYS} days"


def logs_are_kept(environment: Environment) -> Iterator[Problem]:
    """Logs stay until an inquiry has begun."""
    kept = {
        "network.flow_log_retention_days": environment.network.flow_log_retention_days,
        "database.log_retention_days": environment.database.log_retention_days,
        "streaming.log_retention_days": environment.streaming.log_retention_days,
        "connectors.log_retention_days": environment.connectors.log_retention_days,
        "lake.log_expiry_days": environment.lake.log_expiry_days,
    }
    for key, days in kept.items():
        if days < least.LOG_DAYS:
            yield key, f"who asks what has happened comes too late after {days} days: set {least.LOG_DAYS} or more"


_RULES: tuple[Rule, ...] = (
    survives,
    acknowledged_is_kept,
    runs_on,
    landed_is_kept,
    reached_by_few,
    logs_are_kept,
)
RULES: tuple[Rule, ...] = (named_so, *map(_in_production, _RULES))
