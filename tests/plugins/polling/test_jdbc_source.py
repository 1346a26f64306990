"""Connectors that poll PostgreSQL: their configurations, and their pairs with sinks."""

from dataclasses import replace

import pytest

from plugins.connector_properties import key_of
from plugins.polling.jdbc_rules import problems
from plugins.polling.jdbc_settings import CONNECTOR_CLASSES, JdbcSourceSettings, PolledTable
from plugins.polling.jdbc_source import jdbc_source, joined_rows, keyed_table, whole_tables
from plugins.polling.joined_query import polled
from tests.plugins.polling.test_jdbc_settings import ADDRESS, CITY, DATABASE, PLACES, POLLING, SETTINGS

STORE = replace(ADDRESS, table="store_address")


FOUR_TASKS = replace(SETTINGS, polling=replace(POLLING, tasks_max=4))
OF_TYPES: dict[str, str | None] = {"key.converter.schemas.enable": "true", "value.converter.schemas.enable": "true"}
CREATED = {"partitions": "1", "replication.factor": "3", "min.insync.replicas": "2", "cleanup.policy": "delete"}
# Settings, and the connector properties that follow; None: nothing.
DECIDED: list[tuple[JdbcSourceSettings, dict[str, str | None]]] = [
    (
        SETTINGS,
        {
            "mode": "timestamp+incrementing",
            "timestamp.column.name": "last_update",
            "incrementing.column.name": "address_id",
            "validate.non.null": "true",
            "connection.password": DATABASE.password,
            # Rows wait for transactions that end late.
            "timestamp.delay.interval.ms": "5000",
            "numeric.mapping": "best_fit",
            "value.converter.decimal.format": "NUMERIC",
            "value.converter.schemas.enable": "false",
            # Brokers make no topics.
            **{f"topic.creation.default.{name}": value for name, value in CREATED.items()},
            "topic.creation.default.retention.ms": str(7 * 24 * 3_600_000),
        },
    ),
    (
        replace(SETTINGS, polled=(ADDRESS, STORE)),
        {
            "schema.pattern": "public",
            "table.whitelist": "address,store_address",
            "topic.prefix": "pagila.public.",
            "catalog.pattern": None,
            "query": None,
        },
    ),
    (replace(SETTINGS, polled=(replace(ADDRESS, schema="a_b"),)), {"schema.pattern": r"a\_b"}),
    (
        replace(SETTINGS, polled=PLACES),
        {
            "query": polled(PLACES.query),
            "topic.prefix": "pagila.address_place",
            "table.whitelist": None,
            "schema.pattern": None,
            "validate.non.null": None,
        },
    ),
    # No more tasks than tables.
    (FOUR_TASKS, {"tasks.max": "1"}),
    (replace(FOUR_TASKS, polled=(ADDRESS, STORE)), {"tasks.max": "2"}),
    (replace(FOUR_TASKS, polled=PLACES), {"tasks.max": "1"}),
    # Values tell their types where a file needs them.
    (replace(SETTINGS, with_schemas=True), OF_TYPES),
]


@pytest.mark.parametrize(("settings", "says"), DECIDED)
def test_a_source_says_what_is_decided(settings: JdbcSourceSettings, says: dict[str, str | None]) -> None:
    config = jdbc_source(settings)
    assert {name: config.get(name) for name in says} == says
    assert [name for name, value in config.items() if "password" in name + value] == ["connection.password"]
    # An hour for a database that is away.
    assert int(config["connection.attempts"]) * int(config["connection.backoff.ms"]) == 3_600_000


@pytest.mark.parametrize("connector", CONNECTOR_CLASSES)
@pytest.mark.parametrize("rows", [(ADDRESS,), PLACES])
def test_nothing_is_said_that_loses_rows_or_that_no_connector_knows(connector: str, rows: object) -> None:
    polling = replace(POLLING, connector_class=connector)
    settings = replace(SETTINGS, polling=polling, polled=rows, steps=key_of("address_id"))  # type: ignore[arg-type]
    config = jdbc_source(settings)
    assert not list(problems(config))
    assert "name" not in config
    assert all(isinstance(value, str) for value in config.values())


@pytest.mark.parametrize(
    ("tables", "sources"),
    [
        ((ADDRESS, CITY, STORE), {"public-address_id": "address,store_address", "public-city_id": "city"}),
        # A connector's offsets go by its name, which another stamp leaves as it is.
        (
            (ADDRESS, replace(STORE, stamp="changed")),
            {"public-address_id": "address", "public-address_id-changed": "store_address"},
        ),
        ((ADDRESS, replace(STORE, schema="b")), {"public-address_id": "address", "b-address_id": "store_address"}),
    ],
)
def test_tables_of_one_schema_key_and_stamp_share_a_connector(
    tables: tuple[PolledTable, ...], sources: dict[str, str]
) -> None:
    found = {name: config for name, config in whole_tables(POLLING, tables).items() if "mode" in config}
    assert {name: config["table.whitelist"] for name, config in found.items()} == {
        f"pagila-{name}-source": names for name, names in sources.items()
    }


def test_what_is_shared_reaches_every_source() -> None:
    polling = replace(POLLING, replicas=2, poll_interval_ms=1_000, delay_ms=60_000)
    pairs = whole_tables(polling, [ADDRESS]) | keyed_table(polling, ADDRESS) | joined_rows(polling, PLACES)
    for config in (config for name, config in pairs.items() if name.endswith("-source")):
        assert config["topic.creation.default.replication.factor"] == "2"
        assert config["poll.interval.ms"] == "1000"
        assert config["timestamp.delay.interval.ms"] == "60000"
