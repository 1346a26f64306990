from dataclasses import replace

from plugins.polling import jdbc_rules
from plugins.polling.jdbc_source import joined_rows, keyed_table, whole_tables
from plugins.sink import sink_connector
from tests.plugins.polling.test_jdbc_settings import ADDRESS, CITY, PLACES, POLLING

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
