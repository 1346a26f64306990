"""Positions, lags and rates, from one poll to the next."""

import pytest

from local.dashboard.stages import Lakes, Stage, Stages, Trail, wal_bytes
from local.look.status import DataStatus, TableStatus
from local.services.source_database import OutboxQueue, Slot

TABLE = "datalake.cdc_events"


def data(end: int | None, landed: int | None, **changed: object) -> DataStatus:
    table = TableStatus(name=TABLE, topic_end=end, sink_offset=landed, lake_rows=829)
    return DataStatus(tables=(table,), landing_objects=3, **changed)  # type: ignore[arg-type]


def lakes(read_to: int) -> Lakes:
    return Lakes(read_to={TABLE: read_to}, newest="20261122112531744", catalogued=1)


def by_name(stages: list[Stage]) -> dict[str, Stage]:
    return {stage.name: stage for stage in stages}


def test_every_stage_of_the_way_is_there_in_its_order() -> None:
    names = [stage.name for stage in Stages().read(0, None, DataStatus(), Lakes(read_to={}))]
    assert names == ["source", "slot", "topic", "landing", "job", "lake", "catalogue"]


def test_a_stage_that_says_nothing_is_unknown_and_not_zero() -> None:
    for stage in Stages().read(0, None, DataStatus(), Lakes(read_to={})):
        assert (stage.position, stage.lag_s, stage.lag_events, stage.rate) == (None, None, None, None), stage.name


def test_lag_is_counted_in_events_and_in_seconds_since_the_first_that_is_behind() -> None:
    stages = Stages()
    stages.read(100, None, data(10, 10), lakes(10))
    stages.read(102, None, data(12, 10), lakes(10))
    found = by_name(stages.read(107, None, data(15, 12), lakes(10)))
    assert (found["landing"].lag_events, found["landing"].lag_s) == (3, 0.0)
    assert (found["job"].lag_events, found["job"].lag_s) == (2, 0.0)
    assert (found["lake"].lag_events, found["lake"].lag_s) == (5, 5.0)


def test_what_has_arrived_is_behind_no_more() -> None:
    stages = Stages()
    stages.read(100, None, data(12, 10), lakes(10))
    found = by_name(stages.read(103, None, data(12, 12), lakes(12)))
    assert [(found[name].lag_events, found[name].lag_s) for name in ("landing", "job", "lake")] == [(0, 0.0)] * 3


def test_the_wal_that_is_held_and_the_bytes_behind_are_the_slots() -> None:
    slot = Slot(active=False, behind_bytes=624, held_bytes=2_000_000)
    found = by_name(Stages().read(0, "0/1000", data(1, 1, slot=slot), lakes(1)))["slot"]
    assert (found.position, found.held_bytes, found.lag_s) == ("624 bytes behind, nobody reads it", 2_000_000, 0.0)


def test_a_slot_that_falls_behind_is_so_since_then() -> None:
    stages = Stages()
    stages.read(0, "0/1000", data(1, 1, slot=Slot(active=True, behind_bytes=0)), lakes(1))
    stages.read(4, "0/101000", data(1, 1, slot=Slot(active=True, behind_bytes=1 << 20)), lakes(1))
    found = stages.read(10, "0/101000", data(1, 1, slot=Slot(active=True, behind_bytes=1 << 20)), lakes(1))
    assert by_name(found)["slot"].lag_s == 6.0


def test_a_little_wal_of_the_servers_own_is_no_lag() -> None:
    stages, slot = Stages(), Slot(active=True, behind_bytes=60_000)
    stages.read(0, "0/10000", data(1, 1, slot=slot), lakes(1))
    assert by_name(stages.read(90, "0/10000", data(1, 1, slot=slot), lakes(1)))["slot"].lag_s == 0.0


def test_an_empty_outbox_queue_is_no_lag_however_long_ago_it_was_read() -> None:
    queue = OutboxQueue(entries=0, seconds=2.5, failing=0, error=None)
    assert by_name(Stages().read(0, "0/1", data(1, 1, outbox_queue=queue), lakes(1)))["source"].lag_s == 0.0


def test_the_outbox_queue_is_the_sources_lag() -> None:
    queue = OutboxQueue(entries=4, seconds=2.5, failing=0, error=None)
    found = by_name(Stages().read(0, "0/1", data(1, 1, outbox_queue=queue), lakes(1)))["source"]
    assert (found.lag_events, found.lag_s) == (4, 2.5)


def test_a_rate_is_taken_over_the_last_seconds() -> None:
    trail = Trail()
    for second in range(0, 100, 10):
        trail.note(second, second * 2)
    assert trail.rate(95) == pytest.approx((180 - 120) / 30)
    assert trail.rate(1_000) == 0


def test_a_position_that_shrinks_begins_anew() -> None:
    trail = Trail()
    trail.note(0, 500)
    trail.note(5, 3)
    assert trail.rate(10) == 0
    assert trail.behind_s(10, 2) == 5


def test_only_a_move_that_was_watched_is_an_activity() -> None:
    trail = Trail()
    trail.note(0, 500)
    assert trail.last is None
    trail.note(5, 501)
    trail.note(9, 501)
    assert trail.last == 5


def test_a_log_position_is_a_number() -> None:
    assert wal_bytes("1/10") == (1 << 32) + 16


def test_a_pipeline_by_query_has_a_lake_and_a_catalogue_alone() -> None:
    queried = DataStatus(tables=(TableStatus(name=TABLE, lake_rows=829),), queried=True)
    found = Stages().read(0, None, queried, lakes(0))
    assert [stage.name for stage in found] == ["lake", "catalogue"]
    assert found[0].position == "commit 20261122112531744, 829 rows"
