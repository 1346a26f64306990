"""Refuses settings that are valid alone but wrong together, or that AWS would refuse only after minutes of deploying.

Every rule yields `(key, reason)` for what it refuses. The reason is one line and says what to do instead.
"""

from settings.environment import Environment
from settings.rules import analytics, databases, network, pipelines, processing, production
from settings.rules.problem import Problem, Rule

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
)


def broken(environment: Environment) -> list[Problem]:
    return [problem for rule in RULES for problem in rule(environment)]
