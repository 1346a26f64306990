"""Refuses settings that are valid alone but wrong together, or that AWS would refuse only after minutes of deploying.

Every rule yields `(key, reason)` for what it refuses. The reason is one line and says what to do instead.
"""

from settings.environment import Environment
from settings.rules import (
    analytics,
    connectors,
    eks,
    network,
    outside,
    pipelines,
    processing,
    production,
    restore,
    services,
)
from settings.rules.problem import Problem, Rule

RULES: tuple[Rule, ...] = (
    *network.RULES,
    *production.RULES,
    *services.RULES,
    *restore.RULES,
    *connectors.RULES,
    *eks.RULES,
    *pipelines.RULES,
    *outside.RULES,
    *processing.RULES,
    *analytics.RULES,
)


def broken(environment: Environment) -> list[Problem]:
    return [problem for rule in RULES for problem in rule(environment)]
