"""The walk-throughs: their changes, arrivals, output, proof, and when tables count as equal."""

import json
from collections.abc import Callable
from dataclasses import asdict, replace
from datetime import UTC, datetime
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest.mock import MagicMock, Mock

import pytest
from rich.console import Console
from typer.testing import CliRunner

from cli import prepare
from cli.__main__ import app
from contract.errors import CANNOT
from local.comparison.compare import Difference, TableComparison
from local.demo import walk, watch
from local.demo.display import Display, print_tables
from local.demo.jdbc_connector import KEYED, STAMPS, JdbcConnector, Polled, compared
from local.demo.walk import PIPELINE, Proof, places_demo
from local.demo.watch import PLACE_CHANGES, AffectedRows, Change, NotArrivedError, Seen, Watch, show
from local.errors import PlatformError
from settings.load import load_pipeline

ADDRESS = AffectedRows(what="address", keys="SELECT 101", shows=("address2", "district"))
CHANGE = Change(name="an apartment", statements=(), reaches=(ADDRESS,))
ITEMS = [{"product_id": 11, "quantity": 12}, {"product_id": 42, "quantity": 10}]


@pytest.mark.parametrize(
    ("row", "what", "shown"),
    [
        ({"order_items": ITEMS}, "order_items", "items: 12 x #11, 10 x #42"),
        ({"order_items": json.dumps(ITEMS)}, "order_items", "items: 12 x #11, 10 x #42"),
        ({"customer": '{"company_name": "Vins SA"}'}, "customer.company_name", "company_name: Vins SA"),
        (None, "order_items", "no row"),
        ({"order_items": None}, "order_items", "items: none"),
        ({"customer": None}, "customer.company_name", "company_name: None"),
        ({"shipped_date": 10392}, "shipped_date", "shipped_date: 10392"),
    ],
)
def test_a_row_is_shown_by_columns_and_paths_into_json(row: dict[str, Any] | None, what: str, shown: str) -> None:
    assert show(row, what) == shown


def test_what_is_reached_is_captured_and_shown_and_names_fit_in_the_displays_lines() -> None:
    tables = {table.lake_table for table in load_pipeline(PIPELINE).tables}
    assert all(reached.what in tables and reached.shows for change in PLACE_CHANGES for reached in change.reaches)
    assert all(len(change.name) < 36 for change in PLACE_CHANGES)
    assert len({change.name for change in PLACE_CHANGES}) == len(PLACE_CHANGES)


class Watched(Watch):
    """A source and a lake that show a row after this many checks."""

    def __init__(self, left: int = 0) -> None:
        self.left = left

    def initial_load(self, *, timeout_s: float) -> tuple[int, float]:
        return 603, timeout_s / 180

    def arrives(self, reached: AffectedRows, keys: list[int]) -> Callable[[], bool]:  # noqa: ARG002  (each arrives alike)
        def arrived() -> bool:
            self.left -= 1
            return self.left < 0

        return arrived

    def seen(self, reached: AffectedRows, keys: list[int]) -> Seen:
        row = {"address2": "#2202", "district": "Tete", "_hoodie_commit_time": "20261122174023213"}
        return Seen(reached=reached, keys=keys, source=row, lake=row)

    def _commit(self, change: Change) -> list[list[int]]:
        return [[101] for _ in change.reaches]


def test_what_has_not_arrived_is_named() -> None:
    two = replace(CHANGE, reaches=(ADDRESS, replace(ADDRESS, what="address_place")))
    line = "^an apartment: address 101; address_place 101 not in the lake after 0 s$"
    with pytest.raises(NotArrivedError, match=line):
        Watched(left=100).make(two, timeout_s=0)
    assert Watched(left=1).make(two, timeout_s=10)[1] > 0


def test_a_change_is_shown_as_source_and_lake_have_it() -> None:
    console = Console(record=True, width=100)
    gone = Seen(reached=ADDRESS, keys=[104, 105], source=None, lake=None)
    Display(console).arrived([Watched().seen(ADDRESS, [101]), gone])
    assert [" ".join(line.split()) for line in console.export_text().splitlines()] == [
        "source address 101 address2: #2202, district: Tete",
        "lake commit 20261122174023213 address2: #2202, district: Tete",
        "source address 104 and 1 more no row",
        "lake commit - no row",
    ]


def test_a_steps_note_is_shown_as_it_is() -> None:
    console = Console(record=True, width=100)
    display = Display(console)
    with display.live(), display.step("database") as note:
        note("my[crm] and a[/x]")
        display._progress.refresh()
    assert "ok database" in (shown := console.export_text())
    assert " my[crm] and a[/x] " in shown


def test_the_initial_load_waits_for_what_the_job_makes_of_the_tables(monkeypatch: pytest.MonkeyPatch) -> None:
    there = SimpleNamespace(lake=SimpleNamespace(exists=lambda: True), lake_name="a")
    absent = SimpleNamespace(lake=SimpleNamespace(exists=lambda: False), lake_name="country_addresses")
    pipeline = SimpleNamespace(is_queried=True)
    services = SimpleNamespace(tables=(there,), derived=(there, absent), pipeline=pipeline)
    platform: Any = SimpleNamespace(services=services, source={})
    compared = [EQUAL]
    monkeypatch.setattr(watch, "compare_platform", lambda _platform, *, timeout_s: compared)  # noqa: ARG005
    with pytest.raises(NotArrivedError, match=r"^initial load: no country_addresses after 0 s$"):
        Watch(platform, loaded=0).initial_load(timeout_s=0)
    services.derived = (there,)
    assert Watch(platform, loaded=0).initial_load(timeout_s=0)[0] == 600
    compared.append(DIFFERS)
    with pytest.raises(NotArrivedError, match=r"^initial load: public\.address isn't in the lake as it is in the"):
        Watch(platform, loaded=0).initial_load(timeout_s=0)


EQUAL = TableComparison(table="public.city", source_rows=600, lake_rows=600)
DIFFERS = replace(
    EQUAL, table="public.address", late=1, shown=(Difference(key={"address_id": "104"}, kind="late"),), lake_rows=601
)


def test_all_is_equal_when_each_table_is_and_nothing_is_in_quarantine() -> None:
    counts = {"source_rows": 1200, "lake_rows": 1201, "missing": 0, "extra": 0, "different": 1, "quarantined": 2}
    assert Proof(found=[EQUAL, DIFFERS], quarantined=2).counts == counts
    assert Proof(found=[EQUAL, EQUAL]).equal
    assert not Proof(found=[EQUAL], quarantined=1).equal
    wrong: list[dict[str, Any]] = [{name: 1} for name in ("missing", "extra", "different", "late")]
    for more in (*wrong, {"problem": "the source has no such table"}):
        assert not Proof(found=[EQUAL, replace(EQUAL, **more)]).equal


def test_tables_are_a_row_each_and_what_differs_is_said() -> None:
    console = Console(record=True, width=100)
    print_tables(console, [EQUAL, DIFFERS])
    shown = console.export_text()
    assert "│ public.city    │    600 │  600 │       0 │     0 │         0 │" in shown
    assert "not in the lake yet: address_id = 104" in shown


@pytest.fixture
def platform(monkeypatch: pytest.MonkeyPatch) -> MagicMock:
    platform = MagicMock(**{"lock.held.return_value.__exit__.return_value": None})
    platform.return_value = platform
    monkeypatch.setattr(walk, "Platform", platform)
    return platform


def done(platform: MagicMock) -> list[str]:
    """What a walk has had the platform do, in order."""
    return [name.rpartition(".")[2] for name, *_ in platform.mock_calls]


@pytest.fixture
def walked(monkeypatch: pytest.MonkeyPatch) -> walk.WalkThrough:
    monkeypatch.setattr(walk, "Watch", lambda *_: Watched())
    return replace(places_demo(), changes=(CHANGE,), prove=lambda *_: Proof(found=[EQUAL], more={"events": 847}))


def test_a_walk_ends_with_its_summary_and_a_platform_that_is_down(
    walked: walk.WalkThrough, platform: MagicMock, tmp_path: Path
) -> None:
    walk.run(walked, Console(quiet=True), tmp_path)
    platform.assert_called_once_with(tmp_path / "platform", walked.options)
    assert done(platform) == ["", "held", "__enter__", "remove", "up", "down", "__exit__"]
    written = json.loads((tmp_path / "summary.json").read_text())
    assert written["steps"][0] == {"name": "initial load", "seconds_to_lake": 1.0}
    assert [step["name"] for step in written["steps"][1:]] == ["an apartment"]
    assert (written["source_rows"], written["events"]) == (600, 847)


def test_a_folder_that_isnt_a_demos_is_refused_and_one_that_is_begins_again(
    walked: walk.WalkThrough, platform: MagicMock, tmp_path: Path
) -> None:
    (tmp_path / "theirs" / "platform").mkdir(parents=True)
    with pytest.raises(PlatformError, match=rf"^{tmp_path}/theirs has other files than a demo's: give a new or empty"):
        walk.run(walked, Console(quiet=True), tmp_path / "theirs")
    assert done(platform) == []
    (tmp_path / "ours").mkdir()
    for _ in range(2):
        walk.run(walked, Console(quiet=True), tmp_path / "ours")


@pytest.mark.parametrize("error", [NotArrivedError("lost"), KeyboardInterrupt(), PlatformError("dead")])
def test_an_error_or_interrupt_stops_the_platform_and_writes_no_summary(
    walked: walk.WalkThrough, platform: MagicMock, tmp_path: Path, error: BaseException
) -> None:
    walk.run(walked, Console(quiet=True), tmp_path)
    with pytest.raises(type(error)):
        walk.run(replace(walked, prove=Mock(side_effect=error)), Console(quiet=True), tmp_path)
    assert done(platform)[-2:] == ["down", "__exit__"]
    # An error of it doesn't say that the rest runs on.
    assert platform.up.call_args.kwargs == {"stays": False}
    assert not (tmp_path / "summary.json").exists()


SOURCE: dict[int, dict[str, Any]] = {
    number: {"address_id": number, "address": address, "last_update": datetime(2026, 11, 22, tzinfo=UTC)}
    for number, address in ((100, "123 CDC Test Lane"), (101, "1599 Plock Drive"), (102, None))
}


def record(number: int, address: str | None) -> dict[str, Any]:
    """A record as the connector sends it: its stamp has lost digits, and a transform has added the topic."""
    return {"address_id": number, "address": address, "last_update": 1_795_000_000_000, "message_topic": "t"}


def test_the_last_record_of_each_key_counts() -> None:
    records = [record(100, "old"), record(104, "deleted"), record(102, None), record(100, "123 CDC Test Lane")]
    assert compared("t", records, "address_id", SOURCE) == Polled(topic="t", records=4, missing=1, stale=0, extra=1)
    stale = compared("t", [*records, record(100, "old"), record(102, "was")], "address_id", SOURCE)
    assert (stale.missing, stale.stale, stale.extra) == (1, 2, 1)


def test_the_names_are_those_of_the_pipelines_tables() -> None:
    tables = load_pipeline(PIPELINE).tables
    assert KEYED in {table.name for table in tables}
    queries = {table.table_name: str(table.query) for table in tables if table.query}
    assert queries.keys() == STAMPS.keys()
    for name, stamps in STAMPS.items():
        assert all(f" {stamp.partition('.')[0]} " in queries[name] for stamp in stamps)


def test_what_is_no_release_is_one_line_before_anything_starts(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(walk, "run", lambda *_: pytest.fail("it has started"))
    monkeypatch.setattr(prepare, "jars", lambda: None)
    found = CliRunner().invoke(app, ["demo", "places", "--folder", str(tmp_path / "demo"), "--jdbc", str(tmp_path)])
    assert found.exit_code == CANNOT
    assert f"demo: JDBC_PLUGIN={tmp_path} holds no jdbc-connector-for-apache-kafka-*.jar" in found.output
    assert not (tmp_path / "demo").exists()


def test_what_a_connector_has_sent_is_in_the_summary(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    sent = [Polled(topic="polled.t", records=1604, missing=0, stale=2, extra=1)]
    monkeypatch.setattr(walk, "compare", lambda _platform, _display: Proof(found=[EQUAL]))
    monkeypatch.setattr(walk, "write", lambda *_: None)
    monkeypatch.setattr(JdbcConnector, "sent", lambda _self, _platform: sent)
    (tmp_path / "jdbc-connector-for-apache-kafka-6.10.0.jar").touch()
    console = Console(record=True, width=100)
    with Display(console).live() as display:
        proved = places_demo(release=tmp_path).prove(MagicMock(), display)
    assert proved.equal
    assert proved.counted == "600 rows of 1 tables by JdbcSource"
    assert [table["equal"] for table in proved.more["tables"]] == [True]
    assert proved.more["beside"]["topics"] == list(map(asdict, sent))
    shown = console.export_text()
    assert "what the JDBC connector has sent" in shown
    assert "alongside: " in shown
    assert "│ polled.t │   1,604 │       0 │     2 │        1 │" in shown
