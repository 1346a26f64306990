"""Connectors that poll PostgreSQL: their configurations, and their pairs with sinks."""

from dataclasses import replace

import pytest

from plugins.connector_properties import key_of
from plugins.polling.jdbc_rules import problems
from plugins.polling.jdbc_settings import CONNECTOR_CLASSES, JdbcSourceSettings
from plugins.polling.jdbc_source import alike, jdbc_source, joined_rows, keyed_table, pattern_of, whole_tables
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


def test_a_schema_is_found_by_its_name_alone() -> None:
    assert (pattern_of("my_shop"), pattern_of("50%")) == (r"my\_shop", r"50\%")


@pytest.mark.parametrize("connector", CONNECTOR_CLASSES)
@pytest.mark.parametrize("rows", [(ADDRESS,), PLACES])
def test_nothing_is_said_that_loses_rows_or_that_no_connector_knows(connector: str, rows: object) -> None:
    polling = replace(POLLING, connector_class=connector)
    settings = replace(SETTINGS, polling=polling, polled=rows, steps=key_of("address_id"))  # type: ignore[arg-type]
    config = jdbc_source(settings)
    assert not list(problems(config))
    assert "name" not in config
    assert all(isinstance(value, str) for value in config.values())


def test_tables_of_one_key_share_a_connector() -> None:
    assert alike([ADDRESS, CITY, STORE]) == [(ADDRESS, STORE), (CITY,)]
    assert alike([ADDRESS, replace(STORE, stamp="changed"), replace(CITY, schema="b")]) == [
        (replace(CITY, schema="b"),),
        (replace(STORE, stamp="changed"),),
        (ADDRESS,),
    ]


COUNTRY = replace(CITY, table="country", key="country_id")


def test_each_sink_reads_its_sources_topics_by_their_names() -> None:
    pairs = whole_tables(POLLING, [ADDRESS, CITY, COUNTRY]) | keyed_table(POLLING, ADDRESS)
    pairs |= joined_rows(POLLING, PLACES)
    assert pairs["pagila-public-city_id-source"]["table.whitelist"] == "city"
    assert {name: config["topics"] for name, config in pairs.items() if name.endswith("-sink")} == {
        "pagila-tables-sink": "pagila.public.address,pagila.public.city,pagila.public.country",
        "pagila-keyed-address-sink": "pagila.keyed.public.address",
        "pagila-query-address_place-sink": "pagila.query.address_place",
    }
    assert all("topics.regex" not in config for config in pairs.values())
    for end in ("source", "sink"):
        assert pairs[f"pagila-query-address_place-{end}"].items() >= OF_TYPES.items()


def test_a_keyed_record_has_its_key_topic_and_database() -> None:
    source = keyed_table(POLLING, ADDRESS)["pagila-keyed-address-source"]
    assert source["transforms"] == "createKey,extractKey,insertTopic,insert_message_source"
    assert source["transforms.insert_message_source.static.value"] == "pagila"
    assert source["numeric.mapping"] == "best_fit"


def test_the_articles_third_sink_renames_adds_and_names_folders() -> None:
    values = {"message_source": "pagila", "message_source_engine": "postgresql", "environment": "development"}
    pairs = joined_rows(POLLING, PLACES, renames={"district": "state_province"}, values=values, folder="country")
    sink = pairs["pagila-query-address_place-sink"]
    assert sink["transforms"] == (
        "rename,insert_message_source,insert_message_source_engine,insert_environment,toHeader"
    )
    assert "_header.country" in sink["connect.s3.kcql"]


def test_what_is_shared_reaches_every_source() -> None:
    polling = replace(POLLING, replicas=2, poll_interval_ms=1_000, delay_ms=60_000)
    pairs = whole_tables(polling, [ADDRESS]) | keyed_table(polling, ADDRESS) | joined_rows(polling, PLACES)
    for config in (config for name, config in pairs.items() if name.endswith("-source")):
        assert config["topic.creation.default.replication.factor"] == "2"
        assert config["poll.interval.ms"] == "1000"
        assert config["timestamp.delay.interval.ms"] == "60000"


def test_tables_of_one_key_and_two_stamps_are_all_polled() -> None:
    pairs = whole_tables(POLLING, [ADDRESS, replace(STORE, stamp="changed")])
    assert whole_tables(POLLING, [ADDRESS]).keys() < pairs.keys(), "a connector's offsets go by its name"
    assert sorted(config["table.whitelist"] for config in pairs.values() if "mode" in config) == [
        "address",
        "store_address",
    ]
