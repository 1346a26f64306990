import re

from contract import events
from plugins.connector_names import OUTBOX
from plugins.source.captured import CapturedTable
from plugins.source.source_connector import transformations
from plugins.workers.connect_workers import IS_TRUNCATE

ITEMS = CapturedTable(schema="public", table="items", stops_at_truncate=True)
STAGED = CapturedTable(schema="public", table="staged", tells_of_truncate=True)


def steps(config: dict[str, str]) -> list[str]:
    return config["transforms"].split(",")


def test_the_outbox_has_the_unwrapping_alone() -> None:
    config = transformations((OUTBOX,), "shop", None)
    assert config["transforms"] == "unwrap"
    assert not [name for name in config if not name.startswith("transforms")]
    assert "transforms.unwrap.predicate" not in config


def test_a_truncate_stops_only_where_a_table_says_so() -> None:
    config = transformations((ITEMS, OUTBOX), "shop", None)
    assert steps(config) == ["nulls", "unwrap"]
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
    first, second, unwrap, *told = steps(config)
    assert (first, second, unwrap) == ("signals", "nulls", "unwrap")
    assert config["predicates"].split(",") == ["signals", "truncates"]
    assert config["predicates.truncates.type"] == IS_TRUNCATE.name
    assert (config["transforms.unwrap.predicate"], config["transforms.unwrap.negate"]) == ("truncates", "true")
    assert {config[f"transforms.{name}.predicate"] for name in told} == {"truncates"}
    names = dict(pair.split(":") for pair in config[f"transforms.{told[-1]}.renames"].split(","))
    assert set(names.values()) == events.ADDED_TYPES.keys() - {events.DELETED}
    assert (names["op"], names["source_lsn"], names["source_ts_ms"]) == ("__op", "__lsn", "__source_ts_ms")
