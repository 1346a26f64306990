"""How far a look has come: what commits carry of it, how often a table is read, and what the lake certainly has."""

import re
from contextlib import nullcontext
from dataclasses import replace
from types import SimpleNamespace
from typing import Any, cast
from unittest.mock import Mock

import pytest

from spark_jobs.errors import JobError, SettingsError
from spark_jobs.options import keys
from spark_jobs.options.jdbc_settings import Detection
from spark_jobs.sources.postgres import detection, source
from spark_jobs.sources.postgres.control import Control
from spark_jobs.sources.postgres.detection import Mark, Progress, all_rows, goes_on, read_progress, why_all_rows
from spark_jobs.sources.postgres.source import Jdbc
from tests.spark_jobs.options.test_jdbc_settings import decided
from tests.waiting import Clock

MARK = Mark(system="7/1", shape="s", horizon=2**40, members=(16384, 16390), since=("5/x", "4"), low=5)
PROGRESS = Progress(table="public.address", mark=MARK, target=MARK, whole=True, after="-123", read_ms=7, rows=603)


def test_progress_is_read_as_it_was_written() -> None:
    assert read_progress(PROGRESS.to_text(), "public.address") == PROGRESS
    assert read_progress(None, "public.address") == Progress(table="public.address")


OTHERS = ("topic,0:5", "{}", "[]", '{"version":2,"source":"jdbc"}', '{"version":1,"source":"files"}')


@pytest.mark.parametrize(
    ("text", "message"),
    [
        *((text, "isn't one of JdbcSource: give --ignore-checkpoint") for text in OTHERS),
        (PROGRESS.to_text(), r"progress of public\.address, the settings say public\.city"),
    ],
)
def test_another_text_or_another_tables_is_refused(text: str, message: str) -> None:
    with pytest.raises(SettingsError, match=message):
        read_progress(text, "public.city")


@pytest.mark.parametrize(
    ("begun", "changes", "reason"),
    [
        (1_000, {"system": "8/1"}, r"this is another cluster or database .* \(7/1, now 8/1\)"),
        (1_000, {"shape": "other"}, "its columns are others than before"),
        (1_000, {"kind": "v"}, "changes were found in another way before"),
        (1_000, {"since": "2"}, "the server has crashed since"),
        # Where 32 bits don't tell what is older.
        (999, {}, "the database knows fewer transactions than before"),
        (1_000, {}, None),
        (2**31 - 2**20, {}, None),
        # Some more begin before the rows are read.
        (1_000 + 2**31 - 1, {}, r"2\^31 transactions were begun"),
        (1_000 + 2**31, {}, r"2\^31 transactions were begun"),
        (1_000 + 2**32, {}, r"2\^31 transactions were begun"),
    ],
)
def test_all_rows_are_read_where_the_last_look_does_not_tell_what_changed(
    begun: int, changes: dict[str, Any], reason: str | None
) -> None:
    mark = Mark(system="7/1", shape="s", horizon=1_000, members=(1,), since=("1",))
    seen = replace(control("1", begun), **changes)
    found = why_all_rows(mark, seen, detection.decided(decided(), seen))
    assert found is None if reason is None else re.match(reason, str(found))


@pytest.mark.parametrize(
    ("kind", "foreign", "found"),
    [*((kind, False, Detection.XMIN) for kind in "rp"), *((kind, kind in "rf", Detection.HASH) for kind in "rfvmq")],
)
def test_rows_that_no_transaction_is_known_of_are_looked_at_by_digests(
    kind: str, found: Detection, *, foreign: bool
) -> None:
    seen = replace(control("1", 1), kind=kind, foreign=foreign)
    assert detection.decided(decided(), seen) is found
    assert detection.decided(decided({keys.JDBC_DETECTION: "hash"}), seen) is Detection.HASH
    refused = pytest.raises(JobError, match=r"detection=xmin: the rows of public\.address don't say which transaction")
    with nullcontext() if found is Detection.XMIN else refused:
        assert detection.decided(decided({keys.JDBC_DETECTION: "xmin"}), seen) is found


@pytest.mark.parametrize(
    ("standby", "servers", "all_rows_at"),
    [
        (False, "AABBA", "ABA"),
        # A name for several servers: each is compared once.
        (True, "ABABACB", "ABC"),
    ],
)
def test_all_rows_are_read_once_for_each_start_of_a_server(standby: bool, servers: str, all_rows_at: str) -> None:
    mark, again = Mark(system="7/1", shape="s", horizon=1, members=(1,)), ""
    for server in servers:
        seen = control(server, 2, standby=standby)
        if (reason := why_all_rows(mark, seen, Detection.XMIN)) is not None:
            assert "was started again" in reason
            again += server
        # No digests are queried.
        mark = all_rows(None, None, seen, Detection.XMIN, mark)  # type: ignore[arg-type]
    assert again == all_rows_at


def control(since: str, begun: int, *, standby: bool = False) -> Control:
    return Control(
        horizon=begun,
        next_transaction=begun,
        standby=standby,
        system="7/1",
        since=since,
        oldest_micros=None,
        kind="r",
        foreign=False,
        members=(1,),
        indexes=(2,),
        shape="s",
    )


@pytest.mark.parametrize(
    ("waits", "works", "pause"), [(0.0, 0.1, 5.0), (30.0, 0.1, 5.0), (0.0, 2.0, 20.0), (30.0, 2.0, 20.0)]
)
def test_the_next_look_comes_after_ten_times_what_the_database_took(
    monkeypatch: pytest.MonkeyPatch, waits: float, works: float, pause: float
) -> None:
    """A look waits for a connection that is busy for a while, and takes a while itself."""
    clock, looking = Clock(), Mock(**{"is_outrun.return_value": False})

    def passes(seconds: float, result: Any) -> Mock:
        def call(*_given: object, **_more: object) -> Any:
            clock.now += seconds
            return result

        return Mock(side_effect=call)

    database = Mock(look=passes(waits, looking))
    monkeypatch.setattr(source, "SWEEPS_SHARE", 0.1)
    monkeypatch.setattr(Jdbc, "_identified", lambda _self: "")
    monkeypatch.setattr(Jdbc, "_looked", passes(works, None))
    jdbc = Jdbc(Mock(), decided(), database, ["address_id"], log=print, elapsed=clock)
    assert jdbc.next_batch(None) is None
    began = clock.now - works
    clock.now = began + pause - 0.01
    jdbc.next_batch(None)
    assert database.look.call_count == 1
    clock.now = began + pause + 0.01
    jdbc.next_batch(None)
    assert database.look.call_count == 2


def batch(read_ms: int, part: str | None = None) -> Any:
    """What a look may find, with the progress of its commit: up to the key `part`, or complete."""
    progress = Progress(table="public.address", after=part, read_ms=read_ms)
    return SimpleNamespace(complete=part is None, checkpoint=progress.to_text())


FIRST, PART, LAST = batch(1), batch(2, "200"), batch(3)


@pytest.mark.parametrize(
    "looks",
    [
        pytest.param([(0, None, None, 0), (7, None, None, 7_000)], id="it finds nothing"),
        pytest.param([(3, None, FIRST, None), (4, FIRST, batch(2), 3_000)], id="the lake has what it brought"),
        pytest.param([(0, None, FIRST, None), (1, None, FIRST, None)], id="its commit failed"),
        pytest.param([(0, None, FIRST, None), None, (1, FIRST, PART, None)], id="the look before is unknown"),
        # Rows of the first part may have changed since they were read.
        pytest.param([(0, FIRST, PART, None), (1, PART, LAST, None), (2, LAST, FIRST, None)], id="in parts"),
    ],
)
def test_a_look_says_since_when_the_lake_has_all(
    monkeypatch: pytest.MonkeyPatch, looks: list[tuple[float, Any, Any, int | None] | None]
) -> None:
    """Each look's time, the lake's progress, what it finds, and since when the lake has all then; None is a reset."""
    found: list[Any] = []
    database, clock = Mock(**{"look.return_value.is_outrun.return_value": False}), Clock()
    monkeypatch.setattr(Jdbc, "_identified", lambda _self: "")
    monkeypatch.setattr(Jdbc, "_looked", lambda *_given, **_more: found[-1])
    settings = decided({"hoodie.streamer.jdbc.sweep.interval.seconds": "0"})
    jdbc = Jdbc(Mock(), settings, database, ["address_id"], log=print, clock=clock)
    jdbc.elapsed = jdbc.clock
    for look in looks:
        if look is None:
            jdbc.reset()
            continue
        clock.now, progress, result, looked_ms = look
        found.append(result)
        jdbc.next_batch(progress.checkpoint if progress else None)
        assert jdbc.looked_ms == looked_ms


def test_a_table_that_is_rewritten_during_each_look_is_left_for_later(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Jdbc, "_identified", lambda _self: "")
    monkeypatch.setattr(Jdbc, "_looked", lambda *_given, **_more: FIRST)
    database = Mock(**{"look.return_value.is_outrun.return_value": True})
    with pytest.raises(TimeoutError, match=r"public\.address was rewritten during each of two looks"):
        Jdbc(Mock(), decided(), database, (), log=print).next_batch(None)


def test_a_transaction_grows_no_older_than_the_last_look_knows() -> None:
    clock = Clock()
    clock.now, source = 100.0, Jdbc(Mock(), Mock(), Mock(), (), log=print, elapsed=clock)
    looked = cast(Any, SimpleNamespace(horizon=5, next_transaction=6))
    source._watch(looked)
    clock.now += 7_200
    assert source.horizon_age_seconds == 0.0
    source._watch(looked)
    assert source.horizon_age_seconds == 7_200.0


def test_parts_go_on_only_while_the_mark_before_them_tells_rows_apart() -> None:
    old = Mark(system="7/1", shape="s", horizon=1_000, members=(1,), since=("1",))
    parts = Progress(table="t", mark=old, target=replace(old, horizon=2**30))
    assert goes_on(parts, control("1", 2**30), Detection.XMIN)
    assert not goes_on(parts, control("1", 1_000 + 2**31), Detection.XMIN)
    assert goes_on(replace(parts, whole=True), control("1", 1_000 + 2**31), Detection.XMIN)
