"""How often a table is looked at, at most a tenth of the time, and how far that is known to be in the lake."""

from dataclasses import dataclass
from typing import Any

import pytest

from spark_jobs.sources.postgres import source
from spark_jobs.sources.postgres.progress import Progress
from spark_jobs.sources.postgres.source import Jdbc
from tests.spark_jobs.test_jdbc_settings import decided


class Database:
    """Stands in for one whose connections are in use for a while; a look at it takes a while, too."""

    def __init__(self, *, waits: float, works: float) -> None:
        self.now, self.looks = 0.0, 0
        self._waits, self._works = waits, works

    def look(self, _first: str | None) -> "Database":
        self.now += self._waits
        self.looks += 1
        return self

    def text(self) -> str:
        self.now += self._works
        return ""

    def is_outrun(self) -> bool:
        return False

    def close(self, *, broken: bool = False) -> None:
        assert not broken


@pytest.mark.parametrize(
    ("waits", "works", "pause"), [(0.0, 0.1, 5.0), (30.0, 0.1, 5.0), (0.0, 2.0, 20.0), (30.0, 2.0, 20.0)]
)
def test_the_next_look_comes_after_ten_times_what_the_database_took(
    monkeypatch: pytest.MonkeyPatch, waits: float, works: float, pause: float
) -> None:
    database: Any = Database(waits=waits, works=works)
    monkeypatch.setattr(source, "_SHARE", 0.1)
    monkeypatch.setattr(Jdbc, "_identified", lambda _self: "")
    monkeypatch.setattr(Jdbc, "_looked", lambda _self, look, *_given, **_more: look.text() or None)
    looking: Any = None
    jdbc = Jdbc(looking, decided(), database, ["address_id"], log=print, elapsed=lambda: database.now)
    assert jdbc.next_batch(None) is None
    began = database.now - works
    database.now = began + pause - 0.01
    jdbc.next_batch(None)
    assert database.looks == 1
    database.now = began + pause + 0.01
    jdbc.next_batch(None)
    assert database.looks == 2


@dataclass
class Batch:
    """Stands in for what a look has found."""

    checkpoint: str
    complete: bool = True


@pytest.fixture
def database() -> Database:
    return Database(waits=0.0, works=1.0)


@pytest.fixture
def found() -> list[Batch | None]:
    """What the next looks find, in their order."""
    return []


@pytest.fixture
def looking(monkeypatch: pytest.MonkeyPatch, database: Database, found: list[Batch | None]) -> Jdbc:
    """Looks each time that it is asked, at the database's time, which is the clock, too."""
    monkeypatch.setattr(Jdbc, "_identified", lambda _self: "")
    monkeypatch.setattr(Jdbc, "_looked", lambda _self, look, *_given, **_more: (look.text(), found.pop(0))[1])
    stands_in: Any = database
    spark: Any = None
    decided_ = decided({"hoodie.streamer.jdbc.sweep.interval.seconds": "0"})
    now = lambda: database.now  # noqa: E731
    return Jdbc(spark, decided_, stands_in, ["address_id"], log=print, clock=now, elapsed=now)


def after(part: str | None, read_ms: int) -> str:
    """The progress of a commit, which is of a part of the keys where `part` is its last."""
    return Progress(table="public.address", after=part, read_ms=read_ms).to_text()


def test_a_look_that_finds_nothing_says_since_when_the_lake_has_all(
    database: Database, found: list[Batch | None], looking: Jdbc
) -> None:
    found += [None, None]
    looking.next_batch(None)
    assert looking.looked_ms == 0
    database.now = 7.0
    looking.next_batch(None)
    assert looking.looked_ms == 7_000


def test_what_a_look_brings_counts_once_the_lake_has_it(
    database: Database, found: list[Batch | None], looking: Jdbc
) -> None:
    first, second = after(None, 1), after(None, 2)
    found += [Batch(first), Batch(second)]
    database.now = 3.0
    looking.next_batch(None)
    assert looking.looked_ms is None
    looking.next_batch(first)
    assert looking.looked_ms == 3_000


def test_what_was_not_committed_or_is_a_part_counts_for_nothing(found: list[Batch | None], looking: Jdbc) -> None:
    first, part, last = after(None, 1), after("200", 2), after(None, 3)
    found += [Batch(first), Batch(first), Batch(part, complete=False), Batch(last), Batch(first)]
    looking.next_batch(None)
    looking.next_batch(None)  # its commit has failed
    looking.reset()
    looking.next_batch(first)  # nobody knows of the look before
    looking.next_batch(part)
    looking.next_batch(last)  # rows of the first part may have changed since they were read
    assert looking.looked_ms is None
