"""Contents of the monitoring stack's template, for tests."""

import json
from collections.abc import Mapping
from typing import Any

from tests.stacks.conftest import Synthesized


def alarms(environment: Synthesized) -> dict[str, dict[str, Any]]:
    """The alarms' properties by name, without the environment's prefix."""
    found = environment.properties("monitoring", "AWS::CloudWatch::Alarm")
    return {alarm["AlarmName"].removeprefix(f"{environment.settings.prefix}-"): alarm for alarm in found}


def events(environment: Synthesized) -> list[dict[str, Any]]:
    """The properties of EventBridge's rules."""
    return environment.properties("monitoring", "AWS::Events::Rule")


def dashboard(resources: Mapping[str, Any]) -> str:
    """The body of the dashboard among resources as text; values known only later as their logical ids."""
    [found] = [each for each in resources.values() if each["Type"] == "AWS::CloudWatch::Dashboard"]
    body = found["Properties"]["DashboardBody"]
    parts = body["Fn::Join"][1] if isinstance(body, dict) else [body]
    return "".join(part if isinstance(part, str) else str(_id(part)) for part in parts)


def widgets(resources: Mapping[str, Any]) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(dashboard(resources))["widgets"]
    return found


def _id(part: dict[str, Any]) -> str:
    [value] = part.values()
    return str(value[0] if isinstance(value, list) else value)
