"""The walk-through by queries alone: what it changes, when a change has arrived, what is shown and called equal."""

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from rich.console import Console

from local.comparison.compare import Difference, TableComparison
from local.demo import walk, watch
from local.demo.arrival import Arrival, NotArrivedError, Seen
from local.demo.change import Change, Reached, only
from local.demo.display import Display, print_tables
from local.demo.place_changes import CHANGES
from local.demo.places import PIPELINE, PLACES_DEMO, PlacesProof, _figures
from local.demo.summary import Proof, count
from local.demo.watch import Watch
from local.errors import PlatformError
from local.platform.startup import Progress
from settings.load_pipeline import load_pipeline

COUNTS = ("source_rows", "lake_rows", "missing", "extra", "different", "quarantined")
ADDRESS = Reached(what="address", keys=only(101), shows=("address2", "district"))
CHANGE = Change(name="an apartment", statements=(), reaches=(ADDRESS,))


def test_what_is_reached_is_captured_and_has_what_is_shown() -> None:
    tables = {table.lake_table: table for table in load_pipeline(PIPELINE).tables}
    for reached in (reached for change in CHANGES for reached in change.reaches):
        assert reached.what in tables
        assert reached.shows


def test_names_fit_in_the_displays_lines() -> None:
    assert all(len(change.name) < 36 for change in CHANGES)
    assert len({change.name for change in CHANGES}) == len(CHANGES)


def test_the_articles_faults_are_not_walked_through_again() -> None:
    statements = [statement for change in CHANGES for statement in change.statements]
    assert not any("phone = city_id" in statement for statement in statements)
    moved = [change for change in CHANGES if "DELETE FROM public.address" in change.statements[-1]]
    assert [len(change.statements) for change in moved] == [4]


class Watched(Watch):
    """A source and a lake that show a row once they were asked for it so often."""

    def __init__(self, left: int = 0) -> None:
        self.left = left

    def initial_load(self, *, timeout_s: float, on_count: Callable[[str], None]) -> tuple[int, float]:
        on_count("some")
        return 603, timeout_s / 180

    def arrives(self, reached: Reached, keys: list[int]) -> Callable[[], bool]:  # noqa: ARG002  (each arrives alike)
        def arrived() -> bool:
            self.left -= 1
            return self.left < 0

        return arrived

    def seen(self, reached: Reached, keys: list[int]) -> Seen:
        row = {"address2": "#2202", "district": "Tete", "_hoodie_commit_time": "20261122174023213"}
        return Seen(reached=reached, keys=keys, source=row, lake=row)

    def _commit(self, change: Change) -> list[list[int]]:
        return [[101] for _ in change.reaches]


def test_what_has_not_arrived_is_named() -> None:
    two = replace(CHANGE, reaches=(ADDRESS, replace(ADDRESS, what="address_place")))
    with pytest.raises(
        NotArrivedError, match=r"^an apartment: address 101; address_place 101 not in the lake after 0 s$"
    ):
        Watched(left=100).make(two, timeout_s=0)
    assert Watched(left=1).make(two, timeout_s=10).seconds > 0


def test_a_change_is_shown_as_source_and_lake_have_it() -> None:
    console = Console(record=True, width=100)
    gone = Seen(reached=ADDRESS, keys=[104, 105], source=None, lake=None)
    Display(console).arrival(Arrival(seen=(Watched().seen(ADDRESS, [101]), gone), seconds=1.0))
    assert [" ".join(line.split()) for line in console.export_text().splitlines()] == [
        "source address 101 address2: #2202, district: Tete",
        "lake commit 20261122174023213 address2: #2202, district: Tete",
        "source address 104 and 1 more no row",
        "lake commit - no row",
    ]


def test_the_initial_load_waits_for_what_the_job_makes_of_the_tables(monkeypatch: pytest.MonkeyPatch) -> None:
    there = SimpleNamespace(lake=SimpleNamespace(exists=lambda: True), lake_name="a")
    absent = SimpleNamespace(lake=SimpleNamespace(exists=lambda: False), lake_name="country_addresses")
    pipeline = SimpleNamespace(is_queried=True)
    services = SimpleNamespace(tables=(there,), derived=(there, absent), pipeline=pipeline)
    platform: Any = SimpleNamespace(services=services, source={})
    monkeypatch.setattr(Watch, "_count", lambda *_: 603)
    monkeypatch.setattr(watch, "_lake_count", lambda _table: 603)
    monkeypatch.setattr(watch, "compare_platform", lambda _platform: [EQUAL])
    with pytest.raises(NotArrivedError, match=r"^initial load: no country_addresses after 0 s$"):
        Watch(platform, loaded=0).initial_load(timeout_s=0, on_count=lambda _: None)
    services.derived = (there,)
    rows, _ = Watch(platform, loaded=0).initial_load(timeout_s=0, on_count=lambda _: None)
    assert rows == 603


EQUAL = TableComparison(table="public.city", source_rows=600, lake_rows=600)
DIFFERS = replace(
    EQUAL, table="public.address", late=1, shown=(Difference(key={"address_id": "104"}, kind="late"),), lake_rows=601
)


def proof(*found: TableComparison) -> PlacesProof:
    none: dict[str, Any] = dict.fromkeys(COUNTS, 0)
    return PlacesProof(**none, captured_by="JdbcSource", tables=tuple(map(_figures, found)))


def test_all_is_equal_when_each_table_is() -> None:
    counts = {"source_rows": 1200, "lake_rows": 1201, "missing": 0, "extra": 0, "different": 1}
    assert count([EQUAL, DIFFERS]) == counts
    assert proof(EQUAL, EQUAL).equal
    assert not proof(EQUAL, DIFFERS).equal
    assert not proof(EQUAL, replace(EQUAL, problem="the source has no such table")).equal


def test_tables_are_a_row_each_and_what_differs_is_said() -> None:
    console = Console(record=True, width=100)
    print_tables(console, [EQUAL, DIFFERS])
    shown = console.export_text()
    assert "│ public.city    │    600 │  600 │       0 │     0 │         0 │" in shown
    assert "not in the lake yet: address_id = 104" in shown


class Stopping:
    """Stands in for a platform: notes what is done with it."""

    done: list[str]

    def __init__(self, _folder: Path, options: Any) -> None:
        Stopping.done = [options.pipeline]
        self.lock = self

    def held(self) -> "Stopping":
        return self

    def __enter__(self) -> None:
        self.done.append("held")

    def __exit__(self, *_: object) -> None:
        self.done.append("released")

    def remove(self) -> None:
        self.done.append("removed")

    def up(self, _progress: Progress) -> None:
        self.done.append("up")

    def down(self, _progress: Progress) -> None:
        self.done.append("down")


@pytest.fixture
def walked(monkeypatch: pytest.MonkeyPatch) -> walk.WalkThrough:
    monkeypatch.setattr(walk, "Platform", Stopping)
    monkeypatch.setattr(walk, "Watch", lambda *_: Watched())
    return replace(PLACES_DEMO, changes=(CHANGE,), prove=lambda *_: Proof(**dict.fromkeys(COUNTS, 0)))


def test_a_walk_ends_with_its_summary_and_a_platform_that_is_down(walked: walk.WalkThrough, tmp_path: Path) -> None:
    walk.run(walked, Console(quiet=True), tmp_path)
    assert Stopping.done == [PIPELINE, "held", "removed", "up", "down", "released"]
    steps = json.loads((tmp_path / "summary.json").read_text())["steps"]
    assert [step["name"] for step in steps] == ["initial load", "an apartment"]


@pytest.mark.parametrize("error", [NotArrivedError("lost"), KeyboardInterrupt(), PlatformError("dead")])
def test_whatever_ends_a_walk_stops_the_platform_and_writes_no_summary(
    walked: walk.WalkThrough, tmp_path: Path, error: BaseException
) -> None:
    def fails(*_: object) -> Proof:
        raise error

    with pytest.raises(type(error)):
        walk.run(replace(walked, prove=fails), Console(quiet=True), tmp_path)
    assert Stopping.done[-2:] == ["down", "released"]
    assert not (tmp_path / "summary.json").exists()
