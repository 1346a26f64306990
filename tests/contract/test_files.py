"""Files that can't import anything agree with the contract."""

import json
import re
from pathlib import Path

import pytest

from contract import events, metrics, source, states
from settings.load import load_pipeline

ROOT = Path(__file__).resolve().parents[2]


def test_the_outboxs_pipeline_has_the_contracts_names() -> None:
    orders = load_pipeline("orders")
    names = (orders.source.database, orders.source.publication, orders.source.slot, orders.source.role)
    assert names == (source.DATABASE, source.PUBLICATION, source.SLOT, source.CONNECTOR_ROLE)
    assert [table.name for table in orders.tables] == [f"{source.SCHEMA}.{source.OUTBOX_TABLE}"]


@pytest.mark.parametrize("path", sorted((ROOT / "pipelines").rglob("*.avsc")), ids=lambda path: path.stem)
def test_a_schema_has_the_fields_that_are_added(path: Path) -> None:
    fields = {field["name"]: field["type"] for field in json.loads(path.read_text(encoding="utf-8"))["fields"]}
    queried = load_pipeline(path.parent.name).is_queried
    wanted = events.QUERIED_TYPES if queried else events.ADDED_TYPES
    added = {name: kind for name, kind in fields.items() if name in {**events.ADDED_TYPES, **events.QUERIED_TYPES}}
    assert added == {name: ["null", kind] for name, kind in wanted.items()}


def test_the_alarms_page_names_metrics_that_the_job_publishes() -> None:
    ours = {value for name, value in vars(metrics).items() if name.isupper()}
    text = (ROOT / "docs" / "aws" / "alarms.md").read_text(encoding="utf-8")
    words = set(re.findall(r"`([A-Z][A-Za-z]+(?:Seconds|Files|Offsets|Attempts)|Quarantined)`", text))
    assert words <= ours


def test_the_live_pages_document_says_what_each_word_means() -> None:
    text = (ROOT / "docs" / "query" / "dashboard.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| \*\*([^*]+)\*\* \| ([^|]+) \|", text, re.MULTILINE)
    assert rows == [(str(word), meaning) for word, meaning in states.MEANING.items()]
    assert " → ".join(states.STAGES) in " ".join(text.split())


def test_every_word_means_something_and_the_worst_comes_first() -> None:
    assert [*states.MEANING] == [*states.Word]


def test_the_live_pages_colours_are_of_the_words() -> None:
    css = (ROOT / "local" / "dashboard" / "page.css").read_text(encoding="utf-8")
    classes = set(re.findall(r"\.([a-z-]+)", " ".join(re.findall(r"(.*) \{ --colour", css))))
    assert {word.replace(" ", "-") for word in states.Word} <= classes
