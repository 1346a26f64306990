import json
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pytest

from contract.events import ADDED_TYPES, LSN, OPERATION, SETTLED
from db.source import deletes
from local.errors import PlatformError
from local.platform.platform import Platform
from local.platform.record import PORTS, PlatformOptions
from local.resnapshot import pipelines
from local.resnapshot.changed_tables import LocalConnector
from local.resnapshot.command import resnapshot_tables
from local.resnapshot.log_tables import EventWriter
from local.resnapshot.pipelines import log_table, read_tables_again, settlement, signals_of
from local.resnapshot.run import Wanted
from settings.load import load_pipeline
from settings.pipeline import Pipeline

TEXT = """
[source]
database = "shop"

[[tables]]
source = "public.OrderItems"
how = "log"
key = ["Order ID", "day"]
"""


@pytest.fixture
def pipeline(tmp_path: Path) -> Pipeline:
    (tmp_path / "shop.toml").write_text(TEXT)
    fields = [
        {"name": "order_id", "source.name": "Order ID", "type": "int"},
        {"name": "day", "type": {"type": "int", "connect.name": "io.debezium.time.Date"}},
        *({"name": name, "type": ["null", kind], "default": None} for name, kind in ADDED_TYPES.items()),
    ]
    folder = tmp_path / "shop"
    folder.mkdir()
    (folder / "order_items.avsc").write_text(json.dumps({"type": "record", "name": "o", "fields": fields}))
    return load_pipeline("shop", tmp_path)


def test_a_pipelines_signals_are_in_the_schema_of_its_own(pipeline: Pipeline) -> None:
    signals = signals_of(pipeline)
    assert (signals.table, signals.publication) == (("cdc_shop", "signal"), "cdc_shop")
    assert signals.role == pipeline.source.role
    assert signals.left_out[("public", "OrderItems")] == pipeline.tables[0].leave_out


def test_a_tables_key_has_the_sources_names_and_the_schemas_types(pipeline: Pipeline, tmp_path: Path) -> None:
    table = log_table(pipeline, pipeline.tables[0], tmp_path / "shop" / "order_items.avsc")
    assert (table.name, table.key, table.topic) == (
        ("public", "OrderItems"),
        ("Order ID", "day"),
        "shop.public.OrderItems",
    )
    assert table.key_types["Order ID"] == "int"


def test_a_schema_without_the_key_is_named(pipeline: Pipeline, tmp_path: Path) -> None:
    path = tmp_path / "other.avsc"
    path.write_text(json.dumps({"type": "record", "name": "o", "fields": [{"name": "day", "type": "int"}]}))
    with pytest.raises(PlatformError, match=r"other\.avsc has no field for Order ID, the key of public\.OrderItems"):
        log_table(pipeline, pipeline.tables[0], path)
    with pytest.raises(PlatformError, match=r"gone\.avsc can't be read"):
        log_table(pipeline, pipeline.tables[0], tmp_path / "gone.avsc")


def test_the_outbox_isnt_read_again_but_written_anew() -> None:
    orders = load_pipeline("orders")
    reader: LocalConnector = None  # type: ignore[assignment]
    with pytest.raises(PlatformError, match=r"datalake\.cdc_events is written anew"):
        read_tables_again({}, orders, orders.tables, reader, where=None, timeout_s=1, say=print)


@pytest.mark.parametrize("where", [None, "day > 7"])
def test_what_cant_be_read_again_is_passed_over(
    tmp_path: Path, pipeline: Pipeline, monkeypatch: pytest.MonkeyPatch, where: str | None
) -> None:
    odd = '[[tables]]\nsource = "public.Order Items"\nlake_table = "odd"\nhow = "log"\nkey = ["Order ID", "day"]\n'
    log = '[[tables]]\nsource = "public.log"\nhow = "log"\nappend_only = true\n'
    (tmp_path / "shop.toml").write_text(f"{TEXT}\n{log}\n{odd}")
    for name in ("log", "odd"):
        (tmp_path / "shop" / f"{name}.avsc").write_text((tmp_path / "shop" / "order_items.avsc").read_text())
    pipeline = load_pipeline("shop", tmp_path)
    asked: list[Any] = []
    monkeypatch.setattr(pipelines, "_cursor", lambda _parameters: nullcontext())
    monkeypatch.setattr(pipelines, "read_again", lambda _cursor, _signals, readings, *_, **__: asked.extend(readings))
    reader: LocalConnector = None  # type: ignore[assignment]
    said: list[str] = []
    read_tables_again({}, pipeline, pipeline.tables, reader, where=where, timeout_s=1, say=said.append)
    # No condition reaches a name that a signal can't spell; all its rows are read by a pattern.
    names = ["public.OrderItems", *(["public.Order Items"] if where is None else [])]
    assert [(reading.shown, reading.where, reading.blocks) for reading in asked] == [
        (name, where, " " in name) for name in names
    ]
    passed_over = ["public.log", *(["public.Order Items"] if where else [])]
    assert [line.partition(", ")[0] for line in said] == [f"not read again: {name}" for name in passed_over]
    with pytest.raises(PlatformError, match=r"public\.log can't be read again: every event is a row there"):
        read_tables_again({}, pipeline, [pipeline.table("public.log")], reader, where=where, timeout_s=1, say=print)
    assert len(asked) == len(names)


class Written(EventWriter):
    """Records what is written."""

    def __init__(self) -> None:
        self.events: list[tuple[str, Any, Any, Any]] = []

    def write(self, topic: str, keyed: Any) -> None:
        self.events += [(topic, key, event[OPERATION], event[LSN]) for key, event in keyed]


@pytest.mark.parametrize(
    ("truncate", "where", "expected"),
    [
        ("ignore", None, [("shop.public.OrderItems", None, SETTLED, 99)]),
        ("ignore", "day > 7", []),
        ("apply", None, []),
        ("stop", None, []),
    ],
)
def test_a_table_whose_truncates_are_ignored_is_settled_once_all_of_it_was_read(
    tmp_path: Path,
    pipeline: Pipeline,
    monkeypatch: pytest.MonkeyPatch,
    truncate: str,
    where: str | None,
    expected: list[Any],
) -> None:
    (tmp_path / "shop.toml").write_text(f'{TEXT}truncate = "{truncate}"\n')
    pipeline = load_pipeline("shop", tmp_path)
    monkeypatch.setattr(pipelines, "_cursor", lambda _parameters: nullcontext())
    monkeypatch.setattr(deletes, "horizon_lsn", lambda _cursor, *, timeout_s: 99 if timeout_s else 0)
    written = Written()
    settlement({}, pipeline, pipeline.tables, where=where)(written)
    assert written.events == expected


@pytest.mark.parametrize(
    ("names", "line"),
    [
        ([], "is down: `./lake up` starts it"),
        (["rental"], "nobody knows of which rows: leave --table and --where out"),
    ],
)
def test_what_the_connector_cant_read_is_passed_over_for_all_tables_only(
    tmp_path: Path, names: list[str], line: str
) -> None:
    options = PlatformOptions(pipeline="pagila")
    platform = Platform(tmp_path, options)
    platform.record.write(options, dict.fromkeys(PORTS, 1), frozenset({"job"}))
    with pytest.raises(PlatformError, match=line):
        resnapshot_tables(platform, names, Wanted(skip=True))
