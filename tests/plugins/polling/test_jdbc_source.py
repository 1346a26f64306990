"""Connectors that poll PostgreSQL: their configurations, and their pairs with sinks."""

from dataclasses import replace

import pytest

from plugins.connector_properties import key_of
from plugins.polling import jdbc_rules
from plugins.polling.jdbc_rules import problems
from plugins.polling.jdbc_settings import CONNECTOR_CLASSES
from plugins.polling.jdbc_source import alike, jdbc_source, joined_rows, keyed_table, pattern_of, whole_tables
from plugins.sink import sink_connector
from tests.plugins.polling.test_jdbc_settings import ADDRESS, CITY, DATABASE, PLACES, POLLING, SETTINGS

STORE = replace(ADDRESS, table="store_address")


def test_a_table_is_polled_by_its_stamp_and_key() -> None:
    config = jdbc_source(SETTINGS)
    assert config["mode"] == "timestamp+incrementing"
    assert config["timestamp.column.name"] == "last_update"
    assert config["incrementing.column.name"] == "address_id"
    assert config["validate.non.null"] == "true"


def test_tables_are_named_one_by_one_in_one_schema() -> None:
    config = jdbc_source(replace(SETTINGS, polled=(ADDRESS, STORE)))
    assert config["schema.pattern"] == "public"
    assert config["table.whitelist"] == "address,store_address"
    assert config["topic.prefix"] == "pagila.public."
    assert "catalog.pattern" not in config
    assert "query" not in config


def test_a_schema_is_found_by_its_name_alone() -> None:
    assert pattern_of("my_shop") == r"my\_shop"
    assert pattern_of("50%") == r"50\%"
    assert jdbc_source(replace(SETTINGS, polled=(replace(ADDRESS, schema="a_b"),)))["schema.pattern"] == r"a\_b"


def test_a_query_has_no_tables_beside_it_and_its_topic_is_its_own() -> None:
    config = jdbc_source(replace(SETTINGS, polled=PLACES))
    assert config["query"].startswith("SELECT * FROM (\nSELECT a.address_id")
    assert config["topic.prefix"] == "pagila.address_place"
    assert not {"table.whitelist", "schema.pattern", "validate.non.null"} & config.keys()


def test_no_more_tasks_than_tables_are_asked_for() -> None:
    four = replace(SETTINGS, polling=replace(POLLING, tasks_max=4))
    assert jdbc_source(four)["tasks.max"] == "1"
    assert jdbc_source(replace(four, polled=(ADDRESS, STORE)))["tasks.max"] == "2"
    assert jdbc_source(replace(four, polled=PLACES))["tasks.max"] == "1"


def test_connect_makes_the_topics_because_brokers_do_not() -> None:
    config = jdbc_source(SETTINGS)
    assert config["topic.creation.default.partitions"] == "1"
    assert config["topic.creation.default.replication.factor"] == "3"
    assert config["topic.creation.default.min.insync.replicas"] == "2"
    assert config["topic.creation.default.cleanup.policy"] == "delete"
    assert config["topic.creation.default.retention.ms"] == str(7 * 24 * 3_600_000)


def test_the_password_is_a_reference_and_nowhere_else() -> None:
    config = jdbc_source(SETTINGS)
    assert config["connection.password"] == DATABASE.password
    assert [name for name, value in config.items() if "password" in name or "password" in value] == [
        "connection.password"
    ]


def test_a_database_that_is_away_is_waited_for() -> None:
    config = jdbc_source(SETTINGS)
    assert int(config["connection.attempts"]) * int(config["connection.backoff.ms"]) == 3_600_000


def test_rows_wait_for_transactions_that_end_late() -> None:
    assert jdbc_source(SETTINGS)["timestamp.delay.interval.ms"] == "5000"


def test_numbers_are_numbers() -> None:
    config = jdbc_source(SETTINGS)
    assert config["numeric.mapping"] == "best_fit"
    assert config["value.converter.decimal.format"] == "NUMERIC"


def test_values_tell_their_types_where_a_file_needs_them() -> None:
    assert jdbc_source(SETTINGS)["value.converter.schemas.enable"] == "false"
    config = jdbc_source(replace(SETTINGS, with_schemas=True))
    assert config["value.converter.schemas.enable"] == config["key.converter.schemas.enable"] == "true"


@pytest.mark.parametrize("connector", CONNECTOR_CLASSES)
@pytest.mark.parametrize("polled", [(ADDRESS,), PLACES])
def test_nothing_is_said_that_loses_rows_or_that_no_connector_knows(connector: str, polled: object) -> None:
    polling = replace(POLLING, connector_class=connector)
    settings = replace(SETTINGS, polling=polling, polled=polled, steps=key_of("address_id"))  # type: ignore[arg-type]
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


def test_tables_of_three_keys_have_three_sources_and_one_sink() -> None:
    pairs = whole_tables(POLLING, [ADDRESS, CITY, COUNTRY])
    assert list(pairs) == [
        "pagila-public-address_id-source",
        "pagila-public-city_id-source",
        "pagila-public-country_id-source",
        "pagila-tables-sink",
    ]
    assert pairs["pagila-public-city_id-source"]["table.whitelist"] == "city"
    assert pairs["pagila-public-city_id-source"]["incrementing.column.name"] == "city_id"


def test_the_sink_reads_topics_by_their_names_and_no_other_sources() -> None:
    topics = whole_tables(POLLING, [ADDRESS, CITY, COUNTRY])["pagila-tables-sink"]["topics"].split(",")
    assert topics == ["pagila.public.address", "pagila.public.city", "pagila.public.country"]
    others = keyed_table(POLLING, ADDRESS) | joined_rows(POLLING, PLACES)
    read = [config["topics"] for name, config in others.items() if name.endswith("-sink")]
    assert read == ["pagila.keyed.public.address", "pagila.query.address_place"]
    assert all("topics.regex" not in config for config in others.values())


def test_a_sink_reads_what_its_source_writes() -> None:
    pairs = keyed_table(POLLING, ADDRESS)
    source, sink = pairs["pagila-keyed-address-source"], pairs["pagila-keyed-address-sink"]
    assert source["topic.prefix"] + source["table.whitelist"] == sink["topics"]
    pairs = joined_rows(POLLING, PLACES)
    source, sink = pairs["pagila-query-address_place-source"], pairs["pagila-query-address_place-sink"]
    assert source["topic.prefix"] == sink["topics"]
    for side in ("key", "value"):
        assert source[f"{side}.converter.schemas.enable"] == sink[f"{side}.converter.schemas.enable"] == "true"


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


def test_no_configuration_says_what_would_be_refused() -> None:
    pairs = whole_tables(POLLING, [ADDRESS, CITY]) | keyed_table(POLLING, ADDRESS) | joined_rows(POLLING, PLACES)
    for name, config in pairs.items():
        if name.endswith("-source"):
            assert not list(jdbc_rules.problems(config)), name
        elif "STOREAS `JSON`" in config["connect.s3.kcql"]:
            assert not list(sink_connector.problems(config)), name
