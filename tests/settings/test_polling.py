import json
import re
from dataclasses import replace
from pathlib import Path

import pytest

from plugins.polling.jdbc_rules import problems
from plugins.polling.jdbc_source import Connectors
from settings.load import load_pipeline
from settings.pipeline import Pipeline
from settings.polling import polling_connectors
from tests.plugins.polling.test_jdbc_settings import POLLING

PAGE = Path(__file__).resolve().parents[2] / "docs" / "your-database" / "kafka-connect.md"
STAMPS = {"address_place": ("a.last_update", "c.last_update", "n.last_update")}


@pytest.fixture(scope="module")
def pipeline() -> Pipeline:
    return load_pipeline("pagilaquery")


@pytest.fixture(scope="module")
def connectors(pipeline: Pipeline) -> Connectors:
    """Return Stafford's three sources and sinks, for the pipeline of its tables."""
    return polling_connectors(
        pipeline,
        POLLING,
        keyed=["public.address"],
        stamps=STAMPS,
        renames={"district": "state_province"},
        values={"message_source": "pagila", "environment": "development"},
        folder="country",
    )


def test_a_pipelines_tables_and_queries_are_polled_each_by_its_key(connectors: Connectors) -> None:
    keys = {name: config.get("incrementing.column.name") for name, config in connectors.items()}
    assert keys == {
        "pagila-public-address_id-source": "address_id",
        "pagila-public-city_id-source": "city_id",
        "pagila-public-country_id-source": "country_id",
        "pagila-tables-sink": None,
        "pagila-keyed-address-source": "address_id",
        "pagila-keyed-address-sink": None,
        "pagila-query-address_place-source": "address_id",
        "pagila-query-address_place-sink": None,
    }


def test_each_topic_has_one_source_and_one_sink_and_no_source_loses_rows(connectors: Connectors) -> None:
    sources = [config for config in connectors.values() if "mode" in config]
    read = [topic for config in connectors.values() for topic in config.get("topics", "").split(",") if topic]
    written = [
        config["topic.prefix"] + table for config in sources for table in config.get("table.whitelist", "").split(",")
    ]
    topics = ("keyed.public.address", "public.address", "public.city", "public.country", "query.address_place")
    assert sorted(read) == sorted(written) == [f"pagila.{topic}" for topic in topics]
    assert [list(problems(config)) for config in sources] == [[]] * len(sources)


def test_a_keyed_table_and_a_query_have_their_fields_and_the_querys_records_their_types(connectors: Connectors) -> None:
    keyed = connectors["pagila-keyed-address-source"]
    assert keyed["transforms"] == "createKey,extractKey,insertTopic,insert_message_source"
    assert keyed["transforms.insert_message_source.static.value"] == "pagila"
    source, sink = (connectors[f"pagila-query-address_place-{end}"] for end in ("source", "sink"))
    assert sink["transforms"] == "rename,insert_message_source,insert_environment,toHeader"
    assert "_header.country" in sink["connect.s3.kcql"]
    assert {source["value.converter.schemas.enable"], sink["value.converter.schemas.enable"]} == {"true"}


def test_the_pipelines_query_gets_the_newest_of_its_tables_stamps(connectors: Connectors, pipeline: Pipeline) -> None:
    query = connectors["pagila-query-address_place-source"]["query"]
    assert "greatest(a.last_update, c.last_update, n.last_update) AS last_update" in query
    with pytest.raises(ValueError, match="a change of another one would never arrive"):
        polling_connectors(pipeline, POLLING)


def test_a_tables_own_column_is_its_stamp(pipeline: Pipeline) -> None:
    tables = (pipeline.tables[0].model_copy(update={"column": "changed_at"}),)
    connectors = polling_connectors(pipeline.model_copy(update={"tables": tables}), replace(POLLING, name="other"))
    assert connectors["other-public-address_id-source"]["timestamp.column.name"] == "changed_at"


def test_a_pipeline_of_the_log_is_debeziums() -> None:
    with pytest.raises(ValueError, match="Debezium reads it"):
        polling_connectors(load_pipeline("pagila"), POLLING)


def test_names_that_the_pipeline_has_not_are_refused(pipeline: Pipeline) -> None:
    with pytest.raises(ValueError, match=r"keyed: 'public\.adress' isn't a table of pipeline pagilaquery"):
        polling_connectors(pipeline, POLLING, keyed=["public.adress"], stamps=STAMPS)
    with pytest.raises(ValueError, match="stamps: 'places' isn't a query"):
        polling_connectors(pipeline, POLLING, stamps={"places": ("a.x",)})


def test_two_queries_of_one_name_are_refused(pipeline: Pipeline) -> None:
    query = next(table for table in pipeline.tables if table.query)
    twice = pipeline.model_copy(update={"tables": (query, query.model_copy(update={"lake_table": "other"}))})
    with pytest.raises(ValueError, match="two connectors would be called pagila-query-address_place-sink: "):
        polling_connectors(twice, POLLING, stamps=STAMPS)


def test_the_page_says_how_configurations_are_made(capsys: pytest.CaptureFixture[str]) -> None:
    [program] = re.findall(r"```python\n(.*?)```", PAGE.read_text(), re.DOTALL)
    exec(program, {})  # noqa: S102  the page's own example
    connectors = json.loads(capsys.readouterr().out)
    assert len(connectors) == 8
    assert all(isinstance(value, str) for config in connectors.values() for value in config.values())
