"""Freshness: each event's times at topic, object and commit are found by its offset."""

import json

import pytest

from bench.freshness import STAGES, Arrival, Event, committed, journeys, landed, percentiles
from contract.errors import UserError

NAME = "cdc/demo.datalake.cdc_events/0/000000000011_1_2.json"


def test_an_object_and_a_commit_say_how_far_they_go() -> None:
    assert landed(f"/s3/landing/{NAME}", 5) == Arrival(11, 5)
    assert landed("landing/.indexes/0/x.lock", 5) is None
    progress = json.dumps({"watermarks": {"demo.datalake.cdc_events/0": NAME.removeprefix("cdc/")}})
    commit = json.dumps({"extraMetadata": {"deltastreamer.checkpoint.key": progress}})
    assert committed(commit, 7) == Arrival(11, 7)
    assert committed(json.dumps({"extraMetadata": None}), 7) is None


def test_an_event_is_in_the_first_object_and_commit_that_reach_it() -> None:
    events = [Event(offset=offset, source_ms=1000 * offset, topic_ms=1000 * offset + 50) for offset in (2, 0, 1, 3)]
    objects = [Arrival(1, 2000), Arrival(2, 3000), Arrival(3, 4000)]
    found = journeys(events, objects, [Arrival(2, 9000), Arrival(1, 5000)])
    assert [journey.source_ms for journey in found] == [0, 1000, 2000]  # the last has not arrived
    assert [journey.landed_ms for journey in found] == [2000, 2000, 3000]
    assert [journey.committed_ms for journey in found] == [5000, 5000, 9000]
    assert {name: stage(found[2]) for name, stage in STAGES.items()} == {
        "source to topic": 50,
        "topic to object": 950,
        "object to commit": 6000,
        "source to commit": 7000,
    }


def test_percentiles_are_in_seconds() -> None:
    assert percentiles(float(1000 * number) for number in range(1, 101)) == (50.5, 96)
    assert percentiles([2000.0]) == (2, 2)
    with pytest.raises(UserError, match="nothing has arrived"):
        percentiles([])
