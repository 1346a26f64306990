"""Histories of tables captured from a log: every version once, even skipped ones, despite failures in between."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any
from unittest.mock import Mock

import pytest

from analytics.queries import QUERIES
from contract.history import COMMIT, ENDED, VERSION
from spark_jobs.derived import differences, history
from spark_jobs.derived.history import HistoryTable
from spark_jobs.options import keys
from spark_jobs.runtime.hadoop import Hadoop
from spark_jobs.table.commits import Carried, Timeline
from tests import cases
from tests.cases import long
from tests.spark_jobs.derived.conftest import Failing, History
from tests.spark_jobs.events import Event, event
from tests.spark_jobs.lake import Lake, has_cached

pytestmark = pytest.mark.integration

KEPT = {keys.HISTORY_KEPT: "true"}
AT_ONCE = {"hoodie.clean.max.commits": "1"}
START = datetime(2026, 1, 1, tzinfo=UTC)
Version = tuple[int, str | None]


@dataclass(kw_only=True)
class Kept(History):
    """A table captured from a log, and its history."""

    lake: Lake

    def put_away(self) -> list[str]:
        folder = self.lake.folder / "lake" / "_events" / "cdc_events"
        return sorted(path.name for path in folder.iterdir()) if folder.exists() else []

    def versions(self, *, key: int | None = None) -> list[Version]:
        """Each key's versions in order: its name, None where it ended."""
        found = self.rows().orderBy("order_id", COMMIT, VERSION).collect()
        assert all(row["customer_id"] is None and row["__lsn"] is None for row in found if row[ENDED])
        named = [(row["order_id"], row["customer_id"]) for row in found]
        return [version for version in named if key in (None, version[0])]

    def queried(self) -> list[tuple[str, int, int | None]]:
        """The named query's result: each version's name, and from and until which second it held."""
        [query] = [each for each in QUERIES if each.name == "versions"]
        self.rows().createOrReplaceTempView("history")
        text = query.text.replace("datalake.cdc_events_history", "history")
        found = self.lake.spark.sql(f"SELECT * FROM ({text}) ORDER BY order_id, {COMMIT}, {VERSION}").collect()
        return [(row["customer_id"], second(row["valid_from"]), second(row["valid_to"])) for row in found]


def second(at: datetime | None) -> Any:
    return None if at is None else round((at.astimezone(UTC) - START).total_seconds())


def change(key: int, lsn: int, name: str | None) -> Event:
    """Name a row, None to delete it, at the second `lsn`."""
    at = int((START + timedelta(seconds=lsn)).timestamp() * 1000)
    return event(key, lsn, "u" if name else "d", customer_id=name or "GONE", __source_ts_ms=at)


@pytest.fixture
def kept(lake: Lake, request: pytest.FixtureRequest) -> Kept:
    lake.extra, lake.arguments = KEPT, ("--table-type", getattr(request, "param", "COPY_ON_WRITE"))
    lake.run(change(1, 1, "one"), change(2, 1, "two"))
    path = lake.table_path.with_name("cdc_events_history")
    kept = Kept(spark=lake.spark, path=path, of=lake.table_path, key="order_id", lake=lake)
    kept.follow()
    return kept


@pytest.mark.parametrize("kept", ["COPY_ON_WRITE", long("MERGE_ON_READ")], indirect=True)
def test_every_version_is_there_once_in_order_even_those_of_cleaned_commits(kept: Kept) -> None:
    # A column of the table has the name of one of the history's.
    odd = {"b": {"ended": "x"}}
    names = ("a", "b", "b", None, None, "c", "one")
    again = [change(4, 10, "a"), change(4, 11, None), change(4, 12, "b")]
    kept.lake.run(
        *(change(1, 10 + number, name) | odd.get(name or "", {}) for number, name in enumerate(names)),
        change(2, 20, "zwei"),
        *(change(3, 21 + number, name) for number, name in enumerate((None, "three", None))),
        *again,
    )
    assert len(kept.put_away()) == 1
    assert kept.follow() == 1
    assert kept.versions(key=1) == [(1, name) for name in ("one", "a", "b", None, "c", "one")]
    found = kept.rows().filter("order_id = 1").orderBy(COMMIT, VERSION).collect()
    assert [row["ended_"] for row in found] == [None, None, "x", None, None, None]
    assert kept.versions(key=2) == [(2, "two"), (2, "zwei")]
    assert kept.versions(key=3) == [(3, "three"), (3, None)]
    [*of_the_first, last] = kept.queried()[:5]
    assert of_the_first == [("one", 1, 10), ("a", 10, 11), ("b", 11, 13), ("c", 15, 16)]
    assert last == ("one", 16, None)
    kept.lake.run(change(1, 30, "one"), change(1, 31, "one"))
    assert kept.follow() == 0

    # Three commits are cleaned before the history has them: their events have the versions. What is sent again is none:
    # the history has it, or a commit that waits does.
    kept.lake.extra = KEPT | AT_ONCE | {"hoodie.cleaner.commits.retained": "1"}
    again += [change(4, 13, "c"), change(4, 14, "d")]
    kept.lake.run(*again, change(1, 40, "a"), change(1, 41, "b"))
    kept.lake.run(*again, change(4, 15, "e"), change(1, 50, "c"))
    kept.lake.run(change(1, 60, None), change(1, 61, "d"))
    assert kept.follow() == 1
    assert kept.versions(key=4) == [(4, name) for name in ("a", None, "b", "c", "d", "e")]
    assert kept.versions(key=1)[-6:] == [(1, name) for name in ("one", "a", "b", "c", None, "d")]
    assert kept.put_away() == []


@pytest.mark.long
@pytest.mark.parametrize("kept", ["MERGE_ON_READ"], indirect=True)
def test_a_compaction_that_ends_after_the_next_commit_takes_no_version(kept: Kept) -> None:
    often, arguments = {"hoodie.compact.inline.max.delta.commits": "1"}, kept.lake.arguments
    # Planned only, as a kill leaves it.
    kept.lake.extra = KEPT | often | {"hoodie.compact.schedule.inline": "true"}
    kept.lake.arguments = (*arguments, "--disable-compaction")
    kept.lake.run(change(1, 10, "a"))
    kept.follow()
    kept.lake.extra, kept.lake.arguments = KEPT | often, arguments
    kept.lake.run(change(1, 20, "b"), change(1, 21, "c"))
    kept.follow()
    assert kept.versions(key=1) == [(1, name) for name in ("one", "a", "b", "c")]


@pytest.mark.long
def test_values_left_out_are_restored_in_between_too(kept: Kept) -> None:
    unavailable = "__debezium_unavailable_value"
    kept.lake.run({**change(1, 10, "a"), "products": '["p"]'}, {**change(1, 11, "b"), "products": unavailable})
    kept.lake.run({**change(1, 12, "c"), "products": unavailable}, {**change(1, 13, "d"), "products": "[]"})
    kept.follow()
    found = kept.rows().filter("order_id = 1").orderBy(COMMIT, VERSION).collect()
    assert [(row["customer_id"], row["products"]) for row in found[1:]] == [
        *(("a", '["p"]'), ("b", '["p"]')),
        *(("c", '["p"]'), ("d", "[]")),
    ]


@pytest.mark.long
def test_a_history_that_was_away_for_long_has_the_versions_of_commits_whose_files_are_gone(
    kept: Kept, monkeypatch: pytest.MonkeyPatch
) -> None:
    short = {"hoodie.cleaner.commits.retained": "1", "hoodie.keep.min.commits": "2", "hoodie.keep.max.commits": "3"}
    kept.lake.extra = KEPT | short
    log = [("a", "b"), ("c",), (None,), (None, "d"), ("e", "e"), ("f", "g")]
    for number, names in enumerate(log):
        kept.lake.run(*(change(1, 10 * number + each + 10, name) for each, name in enumerate(names)))
    assert len(Timeline(Hadoop(kept.lake.spark), str(kept.lake.table_path)).instants_after("")) < len(log)
    monkeypatch.setattr(history, "_READABLE_COMMITS", 2)
    assert kept.follow() == 2
    assert kept.versions(key=1) == [(1, name) for name in ("one", "a", "b", "c", None, "d", "e", "f", "g")]
    assert not kept.log


@pytest.mark.long
def test_commits_without_events_are_passed_over_with_a_line(kept: Kept, monkeypatch: pytest.MonkeyPatch) -> None:
    kept.lake.extra = {}
    for lsn in (10, 11, 12, 13):
        kept.lake.run(change(1, lsn, f"at {lsn}"))
    monkeypatch.setattr(history, "_READABLE_COMMITS", 2)
    assert kept.follow() == 2
    assert kept.versions(key=1) == [(1, name) for name in ("one", "at 12", "at 13")]
    assert kept.log == ["skipped 2 commits whose files may be gone"]


def test_crashes_at_either_commit_double_no_version(kept: Kept, fails: Failing) -> None:
    kept.lake.land(change(1, 10, "a"), change(1, 11, "b"))
    fails(lambda: kept.lake.job().run_batch(), committed=False)
    [left] = kept.put_away()
    kept.lake.run()
    assert kept.put_away() == [left]
    kept.lake.land(change(1, 12, "c"), change(1, 13, "d"))
    fails(lambda: kept.lake.job().run_batch(), committed=False)
    # The repeated batch differs.
    kept.lake.land(change(1, 14, "e"))
    fails(lambda: kept.lake.job().run_batch(), committed=True)
    assert kept.lake.job().run_batch() is None
    assert len(kept.put_away()) == 3

    kept.spark.catalog.clearCache()
    fails(kept.follow, committed=False, step=(differences, "compare"))
    assert not has_cached(kept.spark)
    fails(kept.follow, committed=True)
    assert not has_cached(kept.spark)
    assert kept.follow() == 1
    assert kept.versions(key=1) == [(1, name) for name in ("one", "a", "b", "c", "d", "e")]

    # Events that the history has, and a crash's leftovers, are removed.
    kept.lake.run(change(1, 15, "f"))
    kept.follow()
    assert kept.put_away() == []
    # Cleaning by versions doesn't say which commits it kept: the newest alone is certainly whole.
    by_versions = {"hoodie.cleaner.policy": "KEEP_LATEST_FILE_VERSIONS", "hoodie.cleaner.fileversions.retained": "1"}
    kept.lake.extra = AT_ONCE | by_versions
    kept.lake.run(change(1, 70, "e"), change(1, 71, "f"))
    table = kept.lake.table()
    assert table.first_whole() == table.last_instant()
    # Without a history, no events are stored.
    assert kept.put_away() == []


def test_a_commit_that_is_cleaned_while_it_is_read_ends_no_version(kept: Kept, monkeypatch: pytest.MonkeyPatch) -> None:
    kept.lake.extra = KEPT | AT_ONCE | {"hoodie.cleaner.commits.retained": "1"}
    kept.lake.run(change(1, 10, "a"))
    compare, job = differences.compare, kept.job()

    def clean_and_compare(*given: Any, **named: Any) -> differences.Difference:
        monkeypatch.undo()
        for lsn in (20, 30, 40):
            kept.lake.run(change(1, lsn, "a"), change(2, lsn, "zwei"))
        return compare(*given, **named)

    monkeypatch.setattr(differences, "compare", clean_and_compare)
    with pytest.raises(TimeoutError, match="were removed while they were read"):
        job.run_batch()
    kept.follow()
    assert kept.versions() == [(1, "one"), (1, "a"), (2, "two"), (2, "zwei")]


@pytest.mark.parametrize(
    ("read_to", "waiting", "first_whole", "taken"),
    [
        ("", "123", "1", "3"),
        ("1", "", "", ""),
        ("1", "2345", "1", "2"),
        ("1", "23456", "4", "234"),
        ("1", "23456789ab", "1", "234"),
        ("1", "23456789ab", "8", "2345678"),
    ],
)
def test_commits_whose_files_may_be_gone_are_taken_with_the_next_that_is_whole(
    read_to: str, waiting: str, first_whole: str, taken: str
) -> None:
    """A digit for each commit; of more than eight that wait, the cleaner may just take the first."""
    table = HistoryTable.__new__(HistoryTable)
    table._read_to = read_to
    table._of = Mock(instants_after=lambda _: list(waiting), first_whole=lambda: first_whole)
    assert "".join(table._next()) == taken


def test_a_batch_that_was_never_committed_names_nothing() -> None:
    name = f"20260101-{history._digest('to here')}"
    for commit, named in [
        (Carried("20260102", "to here", "20260101"), {"20260102": name}),
        (Carried("20260103", "to here", "20260102"), {}),
        (Carried("20260102", "elsewhere", ""), {}),
        (Carried("20260101", "to here", ""), {}),
    ]:
        assert history.named_by([name], [commit]) == named


@pytest.mark.long
def test_any_log_in_any_batches_gives_the_versions_that_it_has(kept: Kept, fails: Failing) -> None:
    chance = cases.chance()
    log: list[Version] = [(1, "one"), (2, "two")]
    for _ in range(6):
        again = chance.randrange(4)
        begin = max(len(log) - again, 2)
        log += [(chance.randint(1, 4), chance.choice(["a", "b", None])) for _ in range(chance.randint(1, 12))]
        lines = [change(*(key, 10 + number, name)) for number, (key, name) in enumerate(log) if number >= begin]
        kept.lake.land(*lines)
        if chance.random() < 0.3:
            fails(lambda: kept.lake.job().run_batch(), committed=chance.random() < 0.5)
        kept.lake.job().run_batch()
        if chance.random() < 0.3:
            fails(kept.follow, committed=chance.random() < 0.5, always=False)
        if chance.random() < 0.5:
            kept.follow()
    kept.follow()
    assert kept.versions() == versions_of(log)


def versions_of(log: Sequence[tuple[int, str | None]]) -> list[Version]:
    """All versions in a log, each key's in order; a change without effect is none."""
    found: list[Version] = []
    for wanted in sorted({key for key, _ in log}):
        now: str | None = None
        for key, name in log:
            if key == wanted and name != now:
                now = name
                found.append((key, name))
    return found
