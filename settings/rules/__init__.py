"""Refuses settings that are valid alone but wrong together, or that AWS would refuse only after minutes of deploying.

Every rule yields `(key, reason)` for what it refuses. The reason is one line and says what to do instead.
"""

import json
from collections.abc import Iterator
from operator import attrgetter

from settings.environment import Environment
from settings.rules import analytics, databases, network, pipelines, processing, production
from settings.rules.problem import Problem, Rule

# A setting, and the value of another one with which it has no effect.
_VOID = (
    ("network.nat_instance_type", "network.nat", "gateways"),
    ("database.sample_scale", "database.sample_data", False),
    ("connectors.eks", "connectors.platform", "msk-connect"),
    ("analytics.import_mode", "analytics.quicksight_principal", None),
    ("analytics.refresh", "analytics.import_mode", "DIRECT_QUERY"),
    ("analytics.lake_formation_readers", "analytics.lake_formation", False),
)


def without_effect(environment: Environment) -> Iterator[Problem]:
    for key, other, value in _VOID:
        part, name = key.split(".")
        section = getattr(environment, part)
        is_set = getattr(section, name) != type(section).model_fields[name].default
        if is_set and attrgetter(other)(environment) == value:
            state = "is missing" if value is None else f"= {json.dumps(value)}"
            yield key, f"has no effect while {other} {state}: change that, or take this out"


RULES: tuple[Rule, ...] = (
    network.zones,
    network.network,
    network.vpn,
    production.production,
    network.database,
    network.streaming,
    databases.restore,
    pipelines.connectors,
    network.platform,
    network.cluster,
    network.workers,
    pipelines.tables_exist,
    pipelines.queried,
    pipelines.clashes,
    pipelines.quotas,
    databases.outbox,
    databases.outside,
    processing.lake,
    processing.processing,
    processing.pace,
    processing.memory,
    analytics.principals,
    analytics.declared_tables,
    without_effect,
)


def broken(environment: Environment) -> list[Problem]:
    return [problem for rule in RULES for problem in rule(environment)]
