"""Contents of the monitoring stack's template, for tests."""

import json
from collections.abc import Mapping
from typing import Any

from tests.stacks.conftest import Synthesized


def alarms(environment: Synthesized, name: str = "dev") -> dict[str, dict[str, Any]]:
    """The alarms' properties by name, without the environment's prefix."""
    found = environment.resources("monitoring", "AWS::CloudWatch::Alarm").values()
    return {alarm["Properties"]["AlarmName"].removeprefix(f"{name}-cdc-lake-"): alarm["Properties"] for alarm in found}


def events(environment: Synthesized) -> list[dict[str, Any]]:
    """The properties of EventBridge's rules."""
    return environment.properties("monitoring", "AWS::Events::Rule")


def dashboard(environment: Synthesized) -> str:
    """The dashboard's body as text; values known only later as their logical ids."""
    return _body(environment.resources("monitoring", "AWS::CloudWatch::Dashboard"))


def widgets(environment: Synthesized) -> list[dict[str, Any]]:
    """The dashboard's widgets."""
    found: list[dict[str, Any]] = json.loads(dashboard(environment))["widgets"]
    return found


def widgets_of(stack: Any) -> list[dict[str, Any]]:
    """The widgets of the dashboard in a CDK stack."""
    from aws_cdk.assertions import Template

    resources = Template.from_stack(stack).find_resources("AWS::CloudWatch::Dashboard")
    found: list[dict[str, Any]] = json.loads(_body(resources))["widgets"]
    return found


def ids(environment: Synthesized) -> dict[str, str]:
    """The alarms' descriptions by their logical ids."""
    found = environment.resources("monitoring", "AWS::CloudWatch::Alarm")
    return {id_: alarm["Properties"]["AlarmDescription"] for id_, alarm in found.items()}


def _body(resources: Mapping[str, Any]) -> str:
    [found] = resources.values()
    body = found["Properties"]["DashboardBody"]
    parts = body["Fn::Join"][1] if isinstance(body, dict) else [body]
    return "".join(part if isinstance(part, str) else str(_id(part)) for part in parts)


def _id(part: dict[str, Any]) -> str:
    [value] = part.values()
    return str(value[0] if isinstance(value, list) else value)
