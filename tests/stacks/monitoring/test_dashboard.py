"""The dashboard for a reader of the live page: the words, the worst first, then the stages in order."""

import re
from collections.abc import Sequence
from typing import Any

import pytest

from contract.states import CATALOGUE, STAGES, Word
from stacks.monitoring.watches import ON_THEIR_WAY, UNALARMED, WORDS, heading, key
from tests.stacks.conftest import Synthesized, stack_alone
from tests.stacks.monitoring.found import alarms, events, widgets

pytestmark = pytest.mark.synth
# CloudWatch user guide, "CloudWatch service quotas", and API reference, "Dashboard Body Structure and Syntax".
MOST_WIDGETS, MOST_ALARMS, MOST_METRICS, WIDTH, HEIGHT = 500, 100, 500, 24, 1_000


@pytest.fixture(params=["dev", "prod", "many"])
def environment(request: pytest.FixtureRequest) -> Synthesized:
    found: Synthesized = request.getfixturevalue(request.param)
    return found


def titles(found: Sequence[dict[str, Any]], type_: str) -> list[str]:
    """The titles of the widgets of a type in reading order: from the top, and in a line from the left."""
    chosen = sorted((one for one in found if one["type"] == type_), key=lambda one: (one["y"], one["x"]))
    return [one["properties"]["title"] for one in chosen]


def stage(title: str) -> str:
    return re.split(r": | of ", title)[0]


def sections(found: Sequence[dict[str, Any]]) -> list[list[str]]:
    """The stages of the graphs below each heading."""
    heads = [one["y"] for one in found if one["type"] == "text" and one["width"] == WIDTH]
    graphs = [one for one in found if one["type"] == "metric" and one["y"] > heads[0]]
    return [
        [stage(title) for title in titles([one for one in graphs if first < one["y"] < last], "metric")]
        for first, last in zip(heads, [*heads[1:], float("inf")], strict=True)
    ]


def test_every_alarm_and_event_says_exactly_one_word(environment: Synthesized) -> None:
    told = [*(alarm["AlarmDescription"] for alarm in alarms(environment).values())]
    told += [rule["Description"] for rule in events(environment)]
    told += [rule["Targets"][0]["InputTransformer"]["InputTemplate"].strip('"') for rule in events(environment)]
    for text in told:
        said, runbook = re.fullmatch(r"(.+?): .+\. Runbook: docs/aws/alarms\.md#([\w-]+)", text).groups()  # type: ignore[union-attr]
        assert Word(said) is WORDS[runbook]


def test_the_alarms_stand_below_their_words_the_worst_first(environment: Synthesized) -> None:
    found = widgets(environment["monitoring"]["Resources"])
    shown = [one["properties"] for one in found if one["type"] == "alarm"]
    wanted = [word for word in Word if word not in UNALARMED or word is Word.STARTING]
    # A widget shows 100 alarms at most.
    assert list(dict.fromkeys(titles(found, "alarm"))) == [heading(word) for word in wanted]
    by_word: dict[Word, list[str]] = {}
    for one in shown:
        word = Word(one["title"].split(":")[0])
        assert one.get("states") == (["INSUFFICIENT_DATA"] if word is Word.STARTING else None)
        by_word.setdefault(word, []).extend(one["alarms"])
    made = environment.resources("monitoring", "AWS::CloudWatch::Alarm")
    described = {id_: alarm["Properties"]["AlarmDescription"] for id_, alarm in made.items()}
    starting = by_word.pop(Word.STARTING)
    for word, alarmed in by_word.items():
        assert {described[id_].split(":")[0] for id_ in alarmed} == {str(word)}
    assert sorted(id_ for alarmed in by_word.values() for id_ in alarmed) == sorted(starting) == sorted(described)


def test_the_key_stands_on_top_with_the_graph_that_tells_what_no_alarm_does(environment: Synthesized) -> None:
    found = widgets(environment["monitoring"]["Resources"])
    assert (found[0]["x"], found[0]["y"]) == (0, 0)
    assert found[0]["properties"]["markdown"] == key(environment.settings.prefix)
    [graph] = [one for one in found if one["properties"].get("title") == ON_THEIR_WAY]
    assert graph["y"] < min(one["y"] for one in found if one["type"] == "text" and one["width"] == WIDTH)
    labels = [metric[-1]["label"] for metric in graph["properties"]["metrics"] if "label" in metric[-1]]
    assert len(labels) == len(environment.settings.pipelines) + len(environment.settings.streamed)


def test_below_are_the_stages_in_the_order_in_which_an_event_passes_them(environment: Synthesized) -> None:
    found = sections(widgets(environment["monitoring"]["Resources"]))
    assert {name for names in found for name in names} == {*STAGES} - {CATALOGUE}
    for names in found:
        rows = [name for number, name in enumerate(names) if names[number - 1] != name or not number]
        # The tables of a pipeline have a row each, with the same stages.
        first = [STAGES.index(name) for name in dict.fromkeys(rows)]
        assert first == sorted(first)


def test_a_limit_is_drawn_with_the_word_that_begins_there(dev: Synthesized) -> None:
    drawn = {
        one["properties"]["title"]: (line["label"], line["value"], line["fill"])
        for one in widgets(dev["monitoring"]["Resources"])
        for line in one["properties"].get("annotations", {}).get("horizontal", [])
    }
    found, late = alarms(dev), dev.settings.monitoring.commit_age_minutes * 60
    assert drawn == {
        "slot: log that it holds (bytes)": ("late", found["replication-slot-lag"]["Threshold"], "above"),
        "topic: brokers' disks (%)": ("failing", found["broker-disk"]["Threshold"], "above"),
        "slot of orders: tasks that read it": ("down", found["connector-not-running-source"]["Threshold"], "below"),
        "landing of orders: tasks that write it": ("down", found["connector-not-running-sink"]["Threshold"], "below"),
        "lake of cdc_events: age, lag and duration of commits (s)": ("late", late, "above"),
    }


def test_it_keeps_to_what_cloudwatch_takes(environment: Synthesized) -> None:
    found = widgets(environment["monitoring"]["Resources"])
    assert len(found) <= MOST_WIDGETS
    taken: set[tuple[int, int]] = set()
    for one in found:
        assert one["x"] + one["width"] <= WIDTH
        assert 1 <= one["height"] <= HEIGHT
        assert 0 < len(one["properties"].get("alarms", ["any"])) <= MOST_ALARMS
        metrics = one["properties"].get("metrics", [])
        assert len(metrics) <= MOST_METRICS
        named = [metric[-1]["id"] for metric in metrics if isinstance(metric[-1], dict) and "id" in metric[-1]]
        assert len(named) == len(set(named))
        cells = {(one["x"] + x, one["y"] + y) for x in range(one["width"]) for y in range(one["height"])}
        assert not cells & taken, one["properties"].get("title")
        taken |= cells


def test_tables_share_rows_where_there_are_many(many: Synthesized, monkeypatch: pytest.MonkeyPatch) -> None:
    """The limit is lowered: a dashboard of CloudWatch's own limit takes long to make."""
    from aws_cdk import App, Stack

    from stacks.monitoring.dashboard import Dashboard

    def make(app: App) -> Stack:
        stack = Stack(app, "Stack")
        Dashboard(stack, "Dashboard", many.settings, {word: [] for word in Word})
        return stack

    shared = "job of shop (shop_orders to shop_items): events"
    assert shared not in titles(widgets(many["monitoring"]["Resources"]), "metric")
    monkeypatch.setattr("stacks.monitoring.dashboard.MOST_WIDGETS", 100)
    found = widgets(stack_alone(many.settings, make))
    assert len(found) <= 100
    assert shared in titles(found, "metric")
