"""Alarms and events: what is watched, the thresholds, the state word of each, and its section in the documents."""

import dataclasses
import re
from pathlib import Path
from typing import Any

import pytest

from contract import metrics as names
from contract.states import MEANING, Word
from operate.review.findings import find
from settings.load import load
from spark_jobs.runtime import metrics
from stacks.monitoring.watches import EVENTS, UNALARMED, WORDS, key
from tests.stacks.conftest import Synthesized
from tests.stacks.monitoring.found import alarms, dashboard, events

PAGE = Path(__file__).resolve().parents[3] / "docs" / "aws" / "alarms.md"


def expression(alarm: dict[str, Any]) -> tuple[str, dict[str, Any]]:
    """An alarm's expression, and its metrics by their ids."""
    [wanted] = [query["Expression"] for query in alarm["Metrics"] if query["ReturnData"]]
    parts = {query["Id"]: query["MetricStat"]["Metric"] for query in alarm["Metrics"] if "MetricStat" in query}
    return wanted, parts


def dimensions(metric: dict[str, Any]) -> dict[str, Any]:
    return {dimension["Name"]: dimension["Value"] for dimension in metric["Dimensions"]}


@pytest.mark.synth
def test_each_alarm_links_its_section_and_each_section_has_an_alarm(dev: Synthesized, many: Synthesized) -> None:
    descriptions = [alarm["AlarmDescription"] for alarm in alarms(dev).values()]
    descriptions += [rule["Description"] for rule in events(dev)]
    # Pipelines of ordinary tables have further ones, and so do query-based ones.
    descriptions += [alarm["AlarmDescription"] for alarm in alarms(many).values()]
    named = {found[1] for text in descriptions if (found := re.search(r"Runbook: docs/aws/alarms\.md#([\w-]+)$", text))}
    assert all("Runbook: " in text for text in descriptions)
    assert named == set(re.findall(r"^## (.+)$", PAGE.read_text(), re.MULTILINE))


@pytest.mark.synth
def test_no_data_is_as_bad_as_bad_data(environment: Synthesized) -> None:
    for alarm in alarms(environment).values():
        assert alarm["TreatMissingData"] == "breaching"
        assert alarm["AlarmActions"] == alarm["OKActions"] != []
        assert alarm["EvaluationPeriods"] * 300 <= 86_400


def rings(alarm: dict[str, Any], *points: tuple[int | None, int | None]) -> bool:
    """Whether the alarm rings after these periods, each with the events waiting and the objects landed, None: no data.

    Only the parts of CloudWatch's user guide that its expression uses ("Using math expressions with CloudWatch
    metrics", "Missing data points"): FILL(metric, value) replaces missing values, IF(condition, a, b) chooses, and the
    alarm rings if all of the last EvaluationPeriods breach, including those without a value (`breaching`).
    """
    wanted, _ = expression(alarm)
    assert re.fullmatch(r"[\w\s(),>=]+", wanted)
    assert set(re.findall(r"[A-Z]+", wanted)) == {"IF", "FILL", "AND"}

    def value(waiting: int | None, landed: int | None) -> int:
        words = {
            "FILL": lambda metric, instead: instead if metric is None else metric,
            "IF": lambda condition, one, other: one if condition else other,
            "waiting0": waiting,
            "landed": landed,
        }
        return int(eval(wanted.replace(" AND ", " and "), {"__builtins__": {}}, words))  # noqa: S307  (checked above)

    periods = int(alarm["EvaluationPeriods"])
    assert alarm["DatapointsToAlarm"] == periods
    last = [value(*point) > alarm["Threshold"] for point in points[-periods:]]
    return len(last) == periods and all(last)


HOUR = 12
QUIET, BUSY, STUCK, UNKNOWN = (0, None), (40, 3), (40, None), (None, None)


@pytest.mark.synth
@pytest.mark.parametrize(
    ("points", "expected"),
    [
        # The group has its offset (stacks/handlers/topics.py), the topic no record, and S3's metric has never existed.
        pytest.param([QUIET] * HOUR, False, id="before the first order"),
        pytest.param([QUIET] * HOUR + [STUCK] * HOUR, True, id="the first order comes, and the sink never lands it"),
        pytest.param([BUSY] * HOUR + [QUIET] * HOUR, False, id="a quiet night"),
        pytest.param([BUSY] * HOUR + [STUCK] * HOUR, True, id="the sink dies: its group is empty, its lag grows"),
        pytest.param([BUSY] * HOUR + [UNKNOWN] * HOUR, True, id="the group is gone, and its lag with it"),
        pytest.param([BUSY] * HOUR + [UNKNOWN] * 2, False, id="a rebalance: no lag while the group is unstable"),
        pytest.param([UNKNOWN] * HOUR, True, id="a group without any offset: nobody knows what waits"),
        pytest.param([STUCK] * HOUR + [BUSY], False, id="it lands again"),
    ],
)
def test_silence_rings_when_something_waits_or_nobody_knows(
    dev: Synthesized, points: list[tuple[int | None, int | None]], expected: bool
) -> None:
    assert rings(alarms(dev)["nothing-landed"], *points) is expected


@pytest.mark.synth
def test_the_jobs_figures_are_those_that_it_publishes(dev: Synthesized) -> None:
    published = {names.COMMIT_AGE_SECONDS, names.COMMITS, names.FAILED_ATTEMPTS, *metrics.COUNTERS, *metrics.DURATIONS}
    for name in ("commit-age-cdc_events", "quarantined-events-cdc_events", "table-failing-cdc_events"):
        alarm = alarms(dev)[name]
        assert alarm["MetricName"] in published
        assert (alarm["Namespace"], dimensions(alarm)) == ("dev-cdc-lake", {"table": "dev_datalake.cdc_events"})
    shown = set(re.findall(r'"dev-cdc-lake","(\w+)","table"', dashboard(dev["monitoring"]["Resources"])))
    assert shown
    assert shown <= published


@pytest.mark.synth
def test_the_review_refuses_a_budget_below_the_costs(dev: Synthesized, monkeypatch: pytest.MonkeyPatch) -> None:
    # It reads the templates' contents, which have no budget to judge, and is slow.
    monkeypatch.setattr("operate.review.findings._cfn_lint", lambda *_: iter(()))
    environment = load("dev")
    poor = environment.model_copy(update={"budget": environment.budget.model_copy(update={"monthly_usd": 100})})
    found = find(poor, dataclasses.replace(dev.synthesis, violations=()))
    [message] = [str(each) for each in found if each.rule == "budget-covers-costs" and each.level == "error"]
    assert "environments/dev.toml: budget.monthly_usd: 100 is less than the environment costs" in message


# The page's sections, by heading: the anchors that alarms link.
SECTIONS = dict(re.findall(r"^## (.+)\n(.+(?:\n(?!## ).*)*)", PAGE.read_text(encoding="utf-8"), re.MULTILINE))


@pytest.mark.parametrize("name", WORDS)
def test_a_section_begins_with_its_word_then_says_what_it_means_what_to_check_and_what_to_do(name: str) -> None:
    kind = "event rule" if name in EVENTS else "alarm"
    assert SECTIONS[name].startswith(f"**{WORDS[name]}**, {kind}")
    assert re.findall(r"^\*\*(Meaning|Check|Do)\.\*\*", SECTIONS[name], re.MULTILINE) == ["Meaning", "Check", "Do"]


def test_every_word_is_told_by_alarms_or_in_another_way_but_not_by_both() -> None:
    assert {*WORDS.values()} | UNALARMED.keys() == {*Word}
    assert {*WORDS.values()} & UNALARMED.keys() == set()


def test_the_key_has_each_word_in_its_order_with_what_it_means_and_what_tells_it() -> None:
    rows = [line.split(" | ") for line in key("x").splitlines() if line.startswith("| **")]
    assert [(row[0], row[1]) for row in rows] == [(f"| **{word}**", MEANING[word]) for word in Word]
    said_of = dict(zip(Word, (row[2] for row in rows), strict=True))
    for runbook, word in WORDS.items():
        assert [each for each in Word if runbook in said_of[each]] == [word]
    assert all(f"{runbook} (by mail)" in said_of[WORDS[runbook]] for runbook in EVENTS)
