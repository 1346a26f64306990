"""Compares alarms with what the settings make: what each watches, with which limit, for how long."""

from collections.abc import Iterator
from typing import Any

from stacks.gate.properties import differing
from stacks.gate.template import App
from stacks.monitoring.metrics import Metrics
from stacks.monitoring.watched import PERIOD_MINUTES, watched, watches

# Of an alarm: its texts, and whom it tells, which other rules judge.
_APART = frozenset({"AlarmActions", "AlarmDescription", "AlarmName", "OKActions", "Tags", "TreatMissingData"})


class _Written(Metrics):
    """The metrics as CloudFormation has them in an alarm: CDK writes the same."""

    def _metric(self, namespace: str, name: str, statistic: str, **dimensions: str) -> Any:
        listed = [{"Name": key, "Value": value} for key, value in sorted(dimensions.items())]
        metric = {"Dimensions": listed, "MetricName": name, "Namespace": namespace}
        return metric | {"Period": 60 * PERIOD_MINUTES, "Statistic": statistic}

    def _expression(self, label: str, expression: str, **metrics: Any) -> Any:
        found: list[Any] = [{"Expression": expression, "Id": "expr_1", "Label": label, "ReturnData": True}]
        for name, metric in metrics.items():
            stat = {"Period": metric.pop("Period"), "Stat": metric.pop("Statistic")}
            found.append({"Id": name, "MetricStat": {"Metric": metric, **stat}, "ReturnData": False})
        return {"Metrics": found}


def alarms(app: App) -> Iterator[tuple[str, str, str]]:
    """Each alarm of the settings' pipelines must be there, watch what they say, and act."""
    settings = app.facts.settings
    wanted = {f"{settings.prefix}-{watch.name}": watch for watch in watches(settings.monitoring, watched(settings))}
    stack, metrics = f"{settings.prefix}-monitoring", _Written.of(settings)
    found = {alarm.get("AlarmName"): alarm for alarm in app.resources("AWS::CloudWatch::Alarm")}
    for name in sorted(wanted.keys() - found.keys()):
        yield stack, name, "this alarm is missing: nobody would be told"
    for name in sorted(found.keys() & wanted.keys()):
        watch, alarm = wanted[name], found[name]
        measured: Any = watch.metric(metrics)
        planned: dict[str, Any] = {
            "ComparisonOperator": "GreaterThanThreshold" if watch.least is None else "LessThanThreshold",
            "DatapointsToAlarm": watch.datapoints or watch.periods,
            "EvaluationPeriods": watch.periods,
            "Threshold": watch.threshold(settings.monitoring),
            **measured,
        }
        given = {key: value for key, value in alarm.properties.items() if key not in _APART}
        for line in differing("", planned, given):
            yield stack, alarm.id, line
