import json
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pytest

from contract.events import ADDED_TYPES, LSN, OPERATION, SETTLED
from db.source import deletes
from local.errors import PlatformError
from local.resnapshot import pipelines
from local.resnapshot.pipelines import Channel, key_types
from plugins.connector_settings import SourceSettings
from settings.connectors import captured_tables
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


def channel(pipeline: Pipeline, **more: Any) -> Channel:
    """The pipeline's channel without services; `more` replaces some."""
    tables = captured_tables(pipeline)
    settings = SourceSettings(database_hostname="db", database_password="", topic_prefix=pipeline.name, **tables)
    given: dict[str, Any] = {"parameters": {}, "connector": None, "kafka": {}, "timeout_s": 1, "say": print, **more}
    return Channel(pipeline=pipeline.name, settings=settings, **given)


def test_a_schema_without_the_key_is_named(pipeline: Pipeline, tmp_path: Path) -> None:
    [table] = pipeline.tables
    assert key_types(table, tmp_path / "shop" / "order_items.avsc")["Order ID"] == "int"
    path = tmp_path / "other.avsc"
    path.write_text(json.dumps({"type": "record", "name": "o", "fields": [{"name": "day", "type": "int"}]}))
    with pytest.raises(PlatformError, match=r"other\.avsc has no field for Order ID, the key of public\.OrderItems"):
        key_types(table, path)
    with pytest.raises(PlatformError, match=r"gone\.avsc: no Avro schema of a record \(.*No such file"):
        key_types(table, tmp_path / "gone.avsc")


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
    monkeypatch.setattr(pipelines, "committing", lambda _parameters: nullcontext())
    monkeypatch.setattr(pipelines, "read_again", lambda _cursor, _signals, readings, *_, **__: asked.extend(readings))
    said: list[str] = []
    asking = channel(pipeline, say=said.append)
    asking.read_again(pipeline.tables, where)
    # No condition reaches a name that a signal can't spell; all its rows are read by a pattern.
    names = ["public.OrderItems", *(["public.Order Items"] if where is None else [])]
    assert [(reading.shown, reading.where, reading.blocks) for reading in asked] == [
        (name, where, " " in name) for name in names
    ]
    passed_over = ["public.log", *(["public.Order Items"] if where else [])]
    assert [line.partition(", ")[0] for line in said] == [f"not read again: {name}" for name in passed_over]
    with pytest.raises(PlatformError, match=r"public\.log can't be read again: every event is a row there"):
        asking.read_again([pipeline.table("public.log")], where)
    asking.read_again([pipeline.table("public.log")], where, alone=False)
    assert said[-1].startswith("not read again: public.log")
    assert len(asked) == len(names)


@pytest.mark.parametrize(
    ("truncate", "where", "expected"),
    [
        ("ignore", None, [("shop.public.OrderItems", None, SETTLED, 99)]),
        ("ignore", "day > 7", []),
        ("apply", None, [("shop.public.OrderItems", None, SETTLED, 99)]),
        ("stop", None, []),
    ],
)
def test_a_table_whose_truncates_the_job_handles_is_settled_once_all_of_it_was_read(
    tmp_path: Path,
    pipeline: Pipeline,
    monkeypatch: pytest.MonkeyPatch,
    truncate: str,
    where: str | None,
    expected: list[Any],
) -> None:
    (tmp_path / "shop.toml").write_text(f'{TEXT}truncate = "{truncate}"\n')
    pipeline = load_pipeline("shop", tmp_path)
    monkeypatch.setattr(pipelines, "committing", lambda _parameters: nullcontext())
    monkeypatch.setattr(deletes, "horizon_lsn", lambda _cursor, *, timeout_s: 99 if timeout_s else 0)
    written: list[tuple[str, Any, Any, Any]] = []

    def write(_client: Any, topic: str, keyed: Any) -> None:
        written.extend((topic, key, event[OPERATION], event[LSN]) for key, event in keyed)

    monkeypatch.setattr(pipelines, "write_events", write)
    channel(pipeline).settlement(pipeline.tables, where)()
    assert written == expected
