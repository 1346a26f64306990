"""Each fault of Stafford's connectors is refused with the property that has it."""

import pytest

from plugins.polling.jdbc_rules import PROPERTIES, problems
from plugins.polling.jdbc_source import jdbc_source
from tests.plugins.polling import article
from tests.plugins.polling.test_jdbc_settings import SETTINGS

GOOD = jdbc_source(SETTINGS)
# The options of Aiven's JDBC source 6 as its documentation lists them.
DOCUMENTED = {
    *("connection.url", "connection.user", "connection.password", "connection.attempts", "connection.backoff.ms"),
    *("table.whitelist", "table.blacklist", "catalog.pattern", "schema.pattern", "numeric.precision.mapping"),
    *("numeric.mapping", "db.timezone", "dialect.name", "sql.quote.identifiers", "mode", "incrementing.column.name"),
    *("timestamp.column.name", "validate.non.null", "query", "table.types", "poll.interval.ms", "batch.max.rows"),
    *("table.poll.interval.ms", "topic.prefix", "timestamp.delay.interval.ms", "timestamp.initial.ms"),
}


def reasons(config: dict[str, str]) -> dict[str, str]:
    return dict(problems(config))


def test_the_properties_are_those_that_the_connector_documents() -> None:
    assert PROPERTIES == DOCUMENTED


# Property → its reason, for all three sources, and for each.
OF_ALL = {
    "mode": "916,500 of 1,000,603",
    "connection.password": "must be a config provider's reference",
    "tasks.max": "one task asks for all tables",
    "topic.creation.default.partitions": "waits for ever",
    "topic.creation.default.replication.factor": "waits for ever",
}
GUESSED, NULLS = {"incrementing.column.name": "timestamp alone"}, {"validate.non.null": "never arrives"}
OF_TABLES = {"catalog.pattern": "PostgreSQL's database", "schema.pattern": "from any schema"}
OF_QUERY = {"transforms.InsertSourceDetails": "No field insertion configured", "query": "would never arrive"}


@pytest.mark.parametrize(
    ("source", "faults"),
    [
        (article.SOURCE_1, OF_ALL | OF_TABLES | GUESSED),
        (article.SOURCE_2, OF_ALL | OF_TABLES | GUESSED | NULLS),
        (article.SOURCE_3, OF_ALL | OF_QUERY | NULLS),
    ],
)
def test_each_fault_of_the_articles_sources_is_refused_by_its_property(
    source: dict[str, str], faults: dict[str, str]
) -> None:
    found = reasons(source)
    assert found.keys() == faults.keys()
    assert {name for name, said in faults.items() if said not in found[name]} == set()
    assert "your-password" not in str(found)


@pytest.mark.parametrize("mode", ["bulk", "incrementing", "timestamp", "", "timestamp,incrementing"])
def test_modes_that_lose_or_repeat_rows_are_refused(mode: str) -> None:
    assert list(reasons({**GOOD, "mode": mode})) == ["mode"]


@pytest.mark.parametrize("key", ["", " "])
def test_a_key_that_the_connector_would_guess_is_refused(key: str) -> None:
    assert "timestamp alone" in reasons({**GOOD, "incrementing.column.name": key})["incrementing.column.name"]


def test_several_stamps_are_refused_since_the_first_counts() -> None:
    assert "not the newest" in reasons({**GOOD, "timestamp.column.name": "a, b"})["timestamp.column.name"]


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("table.name.format", "${topic}"),
        ("table.whitelst", "address"),
        ("schema.pattern", "my_shop"),
        ("schema.pattern", "%"),
        ("connection.url", "jdbc:postgresql://db/pagila?user=a&password=b"),
        ("connector.class", "io.aiven.connect.jdbc.JdbcSinkConnector"),
        ("query", "SELECT 1"),
    ],
)
def test_one_wrong_property_is_named(name: str, value: str) -> None:
    assert list(reasons({**GOOD, name: value})) == [name]


def test_tables_that_nobody_named_are_refused() -> None:
    assert "every table" in reasons({name: GOOD[name] for name in GOOD.keys() - {"table.whitelist"}})["table.whitelist"]
