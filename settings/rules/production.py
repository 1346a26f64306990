"""Rules for production: no settings that lose data, and those that protect it. Each says what to set instead.

The templates' review (stacks/gate) requires the same numbers.
"""

import json
from collections.abc import Iterator
from operator import attrgetter

from contract.events import ORDERING
from settings import aws_offers
from settings.addresses import too_many
from settings.environment import Environment
from settings.rules.problem import Problem, streamed

# Days. A weekend and a holiday may pass before an operator reacts, and the backup must be older than the fault.
BACKUP_DAYS = 7
# An investigation starts with a month of logs.
LOG_DAYS = 30
# MSK developer guide, "Best practices": three zones, a replication factor of 3 and min.insync.replicas of 2.
BROKERS = 3
ZONES = 3
# Hours. Kafka keeps events while the sink is down: from Friday evening until it is fixed on Monday.
TOPIC_HOURS = 72
# Days that landed objects stay for a job that is down, or a table that is rebuilt.
LANDING_DAYS = 14
# Days in which a deleted or overwritten object can be restored.
NONCURRENT_DAYS = 7
PASSWORD_DAYS = 90
# Minutes without an alarm: within a working day somebody can still react to what began in the morning.
ALARM_MINUTES = 120

_STALE = "the lake would be stale for hours before anybody is told"
_LOGS = "who asks what has happened would come too late"
_PASSWORD = "a password would stay valid for everyone who has seen it"  # noqa: S105  a reason
# Key → the one value allowed in production, and why.
_ONLY: dict[str, tuple[object, str]] = {
    "removal_policy": ("retain", "production data must survive `cdk destroy`"),
    "database.deletion_protection": (True, "production data must survive a mistake"),
    "database.sample_data": (False, "production gets no sample data"),
    "processing.market": ("on_demand", "AWS may take spot nodes back at any time, and the job with them"),
    "network.nat": (
        "gateways",
        "an instance that fails takes its zone's connectors and jobs off AWS's services until somebody replaces it",
    ),
}
# Key → production's minimum and maximum, and why.
_BOUNDS: dict[str, tuple[int, int | None, str]] = {
    "database.instances": (2, None, "production needs a reader to fail over to"),
    "database.backup_retention_days": (
        BACKUP_DAYS,
        None,
        "a fault that is found after a weekend would be in every backup, and Aurora can't go further back",
    ),
    "database.secret_rotation_days": (1, PASSWORD_DAYS, _PASSWORD),
    "vpn.password_rotation_days": (1, PASSWORD_DAYS, _PASSWORD),
    "streaming.brokers": (BROKERS, None, "three replicas are on three brokers"),
    "streaming.topic_retention_hours": (
        TOPIC_HOURS,
        None,
        "what the sink hasn't read when it ends is gone, and it may be down over a weekend",
    ),
    "processing.core_instances": (1, None, "the primary node alone keeps job and daemons on one machine"),
    "lake.landing_expiry_days": (
        LANDING_DAYS,
        None,
        "what a job hasn't read when it expires is missing from the table",
    ),
    "lake.noncurrent_version_expiry_days": (
        NONCURRENT_DAYS,
        None,
        "what is deleted by mistake could be brought back for too short",
    ),
    "monitoring.landing_silence_minutes": (5, ALARM_MINUTES, _STALE),
    "monitoring.commit_age_minutes": (5, ALARM_MINUTES, _STALE),
    "monitoring.horizon_age_minutes": (5, ALARM_MINUTES, "an open transaction would hide changes for hours"),
    "monitoring.broker_disk_percent": (1, 90, "a broker stops when its volume is full, and growing it takes time"),
    "network.flow_log_retention_days": (LOG_DAYS, None, _LOGS),
    "database.log_retention_days": (LOG_DAYS, None, _LOGS),
    "streaming.log_retention_days": (LOG_DAYS, None, _LOGS),
    "connectors.log_retention_days": (LOG_DAYS, None, _LOGS),
    "lake.log_expiry_days": (LOG_DAYS, None, _LOGS),
}


def production(environment: Environment) -> Iterator[Problem]:
    if not environment.production:
        if environment.name == "prod":
            yield "production", "must be true in an environment that is named prod"
        return
    for key, (only, why) in _ONLY.items():
        if attrgetter(key)(environment) != only:
            yield key, f"{why}: set {json.dumps(only)}"
    for key, (low, high, why) in _BOUNDS.items():
        value = attrgetter(key)(environment)
        if value < low or (high is not None and value > high):
            yield key, f"{why}: set {low} or more" if high is None else f"{why}: set from {low} to {high}"
    yield from _acknowledged_is_kept(environment)
    yield from _ordered(environment)
    if reason := too_many(environment.vpn.client_cidrs):
        yield "vpn.client_cidrs", f"lets {reason} try passwords: name the networks that your people come from"


def _acknowledged_is_kept(environment: Environment) -> Iterator[Problem]:
    """Require acknowledged events on two brokers, to which clients return after a fault."""
    if len(set(environment.availability_zones)) < ZONES:
        yield (
            "availability_zones",
            "a topic has as many replicas as there are zones: of two, with one away, an event that counts as written "
            f"is on one disk alone. Name {ZONES}, for three replicas of which two must have it",
        )
    if environment.streaming.broker_type == aws_offers.MSK_SMALL_BROKER:
        yield (
            "streaming.broker_type",
            f"{aws_offers.MSK_SMALL_BROKER} takes 4 new connections a second: after a fault all clients come back at "
            "once, and are refused. Set kafka.m5.large",
        )


def _ordered(environment: Environment) -> Iterator[Problem]:
    """Require ordering by the log: only it orders any two changes."""
    for number, pipeline in streamed(environment):
        for table in pipeline.captured.tables:
            if table.ordering != ORDERING:
                yield (
                    f"pipelines[{number}]",
                    f"{table.name} is ordered by {table.ordering}, which can be the same for two changes, of which one "
                    f"would be lost: set {ORDERING} in pipelines/{pipeline.name}.toml",
                )
