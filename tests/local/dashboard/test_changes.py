"""The last changes, before and after, from events."""

import json
from pathlib import Path
from typing import Any, cast

from local.dashboard.changes import COLUMNS, FIRST_EVENTS, Changes, date_columns, differing
from local.look.topic import RawEvent


def event(offset: int, operation: str, **row: Any) -> RawEvent:
    value = {"id": 1, **row, "__op": operation, "__source_ts_ms": 1_795_346_725_000}
    value["__deleted"] = "true" if operation == "d" else "false"
    return RawEvent(offset=offset, key=b'{"id": 1}', value=json.dumps(value).encode())


def taken(*events: RawEvent, dates: tuple[str, ...] = ()) -> list[tuple[str, tuple[tuple[str, str, str], ...], bool]]:
    changes = Changes("t", dates)
    changes.take(events)
    return [(change.what, change.columns, change.seen) for change in changes.newest]


class Following:
    """A topic with this many events of one row, which records where reads begin."""

    def __init__(self, end: int) -> None:
        self.has = 0, end
        self.read: list[int] = []

    def bounds(self) -> tuple[int, int]:
        return self.has

    def raw_events(self, start: int) -> list[RawEvent]:
        self.read.append(start)
        return [event(offset, "u", name=f"{offset}") for offset in range(start, self.has[1])]


def test_a_topic_is_read_on_from_where_the_last_look_ended() -> None:
    changes, topic = Changes("t"), cast("Any", Following(FIRST_EVENTS + 50))
    changes.read(topic)
    changes.read(topic)
    topic.has = 0, FIRST_EVENTS + 52
    assert changes.read(topic)[0].columns == (("name", f"{FIRST_EVENTS + 50}", f"{FIRST_EVENTS + 51}"),)
    assert topic.read == [50, FIRST_EVENTS + 50]


def test_a_topic_that_was_made_anew_is_read_from_its_beginning() -> None:
    changes, topic = Changes("t"), cast("Any", Following(9))
    changes.read(topic)
    topic.has = 0, 2
    assert changes.read(topic)[0].offset == 1
    assert topic.read == [0, 0]


def test_an_update_shows_the_columns_that_changed() -> None:
    (found,) = taken(event(0, "r", name="a", city="x"), event(1, "u", name="b", city="x"))
    assert found == ("updated", (("name", "a", "b"),), True)


def test_an_insert_has_no_before_and_a_delete_no_after() -> None:
    deleted, inserted = taken(event(0, "c", name="a"), event(1, "d", name="a"))
    assert inserted == ("inserted", (("id", "", "1"), ("name", "", "a")), True)
    assert deleted == ("deleted", (("id", "1", ""), ("name", "a", "")), True)


def test_a_row_that_was_never_seen_is_said_so() -> None:
    (found,) = taken(event(7, "u", name="b"))
    assert found[2] is False


def test_loaded_rows_tombstones_and_what_is_no_json_are_no_changes() -> None:
    no_row = RawEvent(offset=1, key=b"{}", value=None)
    assert taken(event(0, "r"), no_row, RawEvent(offset=2, key=b"{}", value=b"{")) == []


def test_days_are_dates_and_what_is_missing_is_null() -> None:
    (found,) = taken(event(0, "r", day=None), event(1, "u", day=20779), dates=("day",))
    assert found[1] == (("day", "NULL", "2026-11-22"),)


def test_long_values_are_cut() -> None:
    ((_, _, after),) = differing({"text": ""}, {"text": "x" * 200})
    assert len(after) == 80


def test_the_dates_are_the_schemas(tmp_path: Path) -> None:
    schema = tmp_path / "t.avsc"
    date = {"type": "int", "connect.name": "io.debezium.time.Date"}
    schema.write_text(json.dumps({"fields": [{"name": "day", "type": ["null", date]}, {"name": "n", "type": "int"}]}))
    assert date_columns(schema) == {"day"}
    assert date_columns(tmp_path / "none.avsc") == frozenset()


class Growing:
    """A topic that gets its last event after its end was queried and before it is read."""

    def __init__(self, *events: RawEvent) -> None:
        self.found, self.ends = events, iter((len(events) - 1,))

    def bounds(self) -> tuple[int, int]:
        return 0, next(self.ends, len(self.found))

    def raw_events(self, start: int) -> list[RawEvent]:
        return list(self.found[start:])


def test_an_event_that_comes_while_others_are_read_is_taken_once() -> None:
    changes, topic = Changes("t"), cast("Any", Growing(event(0, "c", name="a"), event(1, "u", name="b")))
    assert [change.offset for change in changes.read(topic)] == [1, 0]
    assert [change.offset for change in changes.read(topic)] == [1, 0]


def test_of_a_wide_row_the_first_columns_are_shown_and_the_others_counted() -> None:
    changes = Changes("t")
    changes.take([event(0, "c", **{f"c{number}": number for number in range(1_599)})])
    (change,) = changes.newest
    assert (len(change.columns), change.more) == (COLUMNS, 1_600 - COLUMNS)


def test_a_long_key_is_cut() -> None:
    changes = Changes("t")
    key = json.dumps({"id": "x" * 100_000}).encode()
    changes.take([RawEvent(offset=0, key=key, value=event(0, "c").value)])
    assert len(changes.newest[0].key) == 200
