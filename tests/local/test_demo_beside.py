"""What a JDBC connector beside the walk-through has sent, as whoever keeps each key's last record has it."""

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console
from typer.testing import CliRunner

from cli import prepare
from cli.__main__ import app
from contract.errors import CANNOT
from local.demo import places, walk
from local.demo.beside import KEYED, STAMPS, Beside, Polled, compared, print_polled
from local.demo.display import Display
from local.demo.places import PIPELINE, PLACES_DEMO, places_demo
from settings.load_pipeline import load_pipeline

SOURCE: dict[int, dict[str, Any]] = {
    100: {"address_id": 100, "address": "123 CDC Test Lane", "last_update": datetime(2026, 11, 22, tzinfo=UTC)},
    101: {"address_id": 101, "address": "1599 Plock Drive", "last_update": datetime(2026, 11, 22, tzinfo=UTC)},
    102: {"address_id": 102, "address": None, "last_update": datetime(2026, 11, 22, tzinfo=UTC)},
}


def record(number: int, address: str | None) -> dict[str, Any]:
    """A record as the connector sends it: its stamp has lost digits, and a step has put in the topic."""
    return {"address_id": number, "address": address, "last_update": 1_795_000_000_000, "message_topic": "t"}


def test_the_last_record_of_each_key_counts() -> None:
    records = [record(100, "old"), record(104, "deleted"), record(102, None), record(100, "123 CDC Test Lane")]
    assert compared("t", records, "address_id", SOURCE) == Polled(topic="t", records=4, missing=1, stale=0, extra=1)
    stale = compared("t", [*records, record(100, "old"), record(102, "was")], "address_id", SOURCE)
    assert (stale.missing, stale.stale, stale.extra) == (1, 2, 1)


def test_a_row_for_each_topic_is_shown_under_the_connectors_name() -> None:
    console = Console(record=True, width=100)
    print_polled(console, "io.aiven.X 6.10.0", [Polled(topic="polled.t", records=1604, missing=0, stale=2, extra=1)])
    shown = console.export_text()
    assert "beside it: io.aiven.X 6.10.0" in shown
    assert "│ polled.t │   1,604 │       0 │     2 │        1 │" in shown


def test_the_names_are_those_of_the_pipelines_tables() -> None:
    tables = load_pipeline(PIPELINE).tables
    assert KEYED in {table.name for table in tables}
    queries = {table.table_name: str(table.query) for table in tables if table.query}
    assert queries.keys() == STAMPS.keys()
    for name, stamps in STAMPS.items():
        assert all(f" {stamp.partition('.')[0]} " in queries[name] for stamp in stamps)


def test_nothing_runs_beside_it_without_a_release() -> None:
    assert places_demo() == PLACES_DEMO
    assert places_demo(dump=Path("dump")).options.dump == Path("dump")


def test_what_is_no_release_is_one_line_before_anything_starts(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(walk, "run", lambda *_: pytest.fail("it has started"))
    monkeypatch.setattr(prepare, "jars", lambda: None)
    found = CliRunner().invoke(app, ["demo", "places", "--folder", str(tmp_path / "demo"), "--jdbc", str(tmp_path)])
    assert found.exit_code == CANNOT
    assert f"demo: JDBC_PLUGIN={tmp_path} holds no jdbc-connector-for-apache-kafka-*.jar" in found.output
    assert not (tmp_path / "demo").exists()


def test_what_a_connector_has_sent_is_in_the_summary(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    none: Any = dict.fromkeys(("source_rows", "lake_rows", "missing", "extra", "different", "quarantined"), 0)
    own = places.PlacesProof(**none, captured_by="JdbcSource", tables=())
    sent = [Polled(topic="polled.t", records=5, missing=0, stale=0, extra=1)]
    monkeypatch.setattr(places, "prove", lambda _platform, _display: own)
    monkeypatch.setattr(Beside, "sent", lambda _self, _platform: sent)
    (tmp_path / "jdbc-connector-for-apache-kafka-6.10.0.jar").touch()
    walk = places_demo(release=tmp_path)
    console = Console(record=True, width=100)
    nothing: Any = None
    with Display(console).live() as display:
        proof: Any = walk.prove(nothing, display)
    assert proof.equal
    assert proof.beside["topics"] == [{"topic": "polled.t", "records": 5, "missing": 0, "stale": 0, "extra": 1}]
    assert "what the JDBC connector has sent" in console.export_text()
