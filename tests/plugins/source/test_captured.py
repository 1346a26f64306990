"""Captured tables, and the transformations of their events."""

import re
from dataclasses import replace

import pytest

from contract import events
from plugins.connector_names import OUTBOX
from plugins.source.captured import CapturedTable, java_regex, shown
from plugins.source.source_connector import source_connector, transformations
from plugins.workers.connect_workers import IS_TRUNCATE
from tests.plugins import conftest

CUSTOMER = CapturedTable(schema="public", table="customer", leave_out=("photo",), hashed=("email",))
EVENTS = CapturedTable(schema="Sales, old", table="Wéird tab.le", key=("id", "at"))
SOURCE = replace(conftest.SOURCE, tables=(CUSTOMER, EVENTS), heartbeat_query=None)


def test_tables_and_columns_are_matched_by_their_exact_names_alone() -> None:
    config = source_connector(SOURCE)
    assert CUSTOMER.pattern == r"(?-i:public\.customer)"
    # A comma doesn't split the list.
    assert EVENTS.pattern == r"(?-i:Sales\x2C\ old\.Wéird\ tab\.le)"
    assert re.fullmatch(EVENTS.pattern.removeprefix("(?-i:").removesuffix(")"), "Sales, old.Wéird tab.le")
    assert config["table.include.list"] == f"{CUSTOMER.pattern},{EVENTS.pattern}"
    assert config["column.exclude.list"] == java_regex("public", "customer", "photo")
    assert config["hashed.columns"] == java_regex("public", "customer", "email")
    # No colon but the one before the columns.
    assert config["message.key.columns"] == r"(?-i)Sales\x2C\ old\.Wéird\ tab\.le:id,at"
    # An underscore stands for what Kafka can't have in a name.
    assert SOURCE.topics == ("shop.public.customer", "shop.Sales__old.W_ird_tab.le")


def test_what_no_table_asks_for_isnt_in_the_configuration() -> None:
    config = source_connector(replace(SOURCE, tables=(CapturedTable(schema="public", table="plain"),)))
    assert not [
        name for name in config if name.startswith(("column.", "hashed", "message.key", "signal.", "heartbeat.action"))
    ]


@pytest.mark.parametrize(
    ("direct", "mode", "read"),
    [((), "initial", None), (("items",), "initial", r"(?-i:public\.staged)"), (("items", "staged"), "no_data", None)],
)
def test_the_connector_reads_no_table_that_the_job_reads_and_tells_its_transactions(
    direct: tuple[str, ...], mode: str, read: str | None
) -> None:
    tables = tuple(replace(table, loaded_directly=table.table in direct) for table in (ITEMS, STAGED))
    config = source_connector(replace(SOURCE, tables=tables))
    assert (config["snapshot.mode"], config.get("snapshot.include.collection.list")) == (mode, read)
    assert ("source.txId" in config["transforms.unwrap.add.fields"]) is bool(direct)
    assert ("source_txId:__source_txId" in config["transforms.truncatesnames.renames"]) is bool(direct)


def test_a_signal_table_makes_incremental_snapshots_possible() -> None:
    config = source_connector(replace(SOURCE, signal_table="cdc.signals"))
    assert config["signal.data.collection"] == "cdc.signals"
    assert config["signal.enabled.channels"] == "source"
    assert config["driver.stringtype"] == "unspecified"
    assert "driver.stringtype" not in source_connector(SOURCE)


@pytest.mark.parametrize(
    ("tables", "problem"),
    [
        ((), "none is named"),
        ((CUSTOMER, CUSTOMER), "public.customer is named twice"),
        (
            (CapturedTable(schema="public", table="a b"), CapturedTable(schema="public", table="a_b")),
            "public.a b and public.a_b would share the topic shop.public.a_b",
        ),
    ],
)
def test_tables_that_cant_be_told_apart_are_refused(tables: tuple[CapturedTable, ...], problem: str) -> None:
    with pytest.raises(ValueError, match=problem):
        replace(SOURCE, tables=tables)


@pytest.mark.parametrize(
    ("table", "problem"),
    [
        ({"table": "a;b"}, "called 'a;b'"),
        ({"table": "x" * 64}, "can be captured is called"),
        ({"table": "a", "leave_out": ("c",), "hashed": ("c",)}, "c can't be left out and hashed"),
        ({"table": "a", "leave_out": ("c",), "key": ("c",)}, "c can't be left out: it is of the key"),
    ],
)
def test_a_table_that_cant_be_captured_is_refused(table: dict[str, object], problem: str) -> None:
    with pytest.raises(ValueError, match=problem):
        CapturedTable(schema="public", **table)  # type: ignore[arg-type]


@pytest.mark.parametrize("name", ["orders", "Order, Items", "a\\x2Cb", "größe (neu)", "x\\"])
def test_a_pattern_tells_the_name_that_it_was_made_of(name: str) -> None:
    assert shown(java_regex("public", name)) == f"public.{name}"


ITEMS = CapturedTable(schema="public", table="items", stops_at_truncate=True)
STAGED = CapturedTable(schema="public", table="staged", tells_of_truncate=True)


def steps(config: dict[str, str]) -> list[str]:
    return config["transforms"].split(",")


def test_the_outbox_has_the_unwrapping_alone() -> None:
    config = transformations((OUTBOX,), "shop", None)
    assert config["transforms"] == "unwrap"
    assert not [name for name in config if not name.startswith("transforms") or name.endswith("predicate")]


def test_a_truncate_stops_only_where_a_table_says_so() -> None:
    config = transformations((ITEMS, OUTBOX), "shop", None)
    assert steps(config) == ["offsets", "nulls", "unwrap"]
    assert config["skipped.operations"] == "none"
    assert re.fullmatch(config["predicates.truncates.stops"], "shop.public.items")
    assert not re.fullmatch(config["predicates.truncates.stops"], "shop.public.items2")
    assert (config["transforms.unwrap.predicate"], config["transforms.unwrap.negate"]) == ("truncates", "true")


def test_signals_never_become_events_of_a_topic() -> None:
    config = transformations((OUTBOX,), "shop", "cdc_shop.signal")
    assert steps(config) == ["signals", "unwrap"]
    assert config["transforms.signals.type"] == "org.apache.kafka.connect.transforms.Filter"
    assert re.fullmatch(config["predicates.signals.pattern"], "shop.cdc_shop.signal")


def test_a_truncate_that_is_told_of_passes_the_unwrapping_and_has_every_events_fields() -> None:
    config = transformations((ITEMS, STAGED), "shop", "cdc_shop.signal")
    first, second, third, unwrap, *told = steps(config)
    assert (first, second, third, unwrap) == ("signals", "offsets", "nulls", "unwrap")
    assert config["predicates"].split(",") == ["signals", "truncates"]
    assert config["predicates.truncates.type"] == IS_TRUNCATE.name
    assert (config["transforms.unwrap.predicate"], config["transforms.unwrap.negate"]) == ("truncates", "true")
    assert {config[f"transforms.{name}.predicate"] for name in told} == {"truncates"}
    names = dict(pair.split(":") for pair in config[f"transforms.{told[-1]}.renames"].split(","))
    assert set(names.values()) == events.ADDED_TYPES.keys() - {events.DELETED}
    assert (names["op"], names["source_lsn"], names["source_ts_ms"]) == ("__op", "__lsn", "__source_ts_ms")
