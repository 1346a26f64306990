"""How often a table is looked at: at most a tenth of the time, and what it waits for is no work of the database's."""

from typing import Any

import pytest

from spark_jobs.sources.jdbc import source
from spark_jobs.sources.jdbc.source import Jdbc
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
