"""Each fault of Stafford's connectors is refused by the property that has it."""

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


@pytest.mark.parametrize("source", [article.SOURCE_1, article.SOURCE_2, article.SOURCE_3])
def test_a_bare_timestamp_is_refused_with_what_it_loses(source: dict[str, str]) -> None:
    assert "916,500 of 1,000,603" in reasons(source)["mode"]


@pytest.mark.parametrize("source", [article.SOURCE_1, article.SOURCE_2, article.SOURCE_3])
def test_a_password_in_the_clear_is_refused_and_not_repeated(source: dict[str, str]) -> None:
    assert "your-password" not in reasons(source)["connection.password"]


@pytest.mark.parametrize("source", [article.SOURCE_1, article.SOURCE_2, article.SOURCE_3])
def test_tasks_and_topics_have_to_be_said(source: dict[str, str]) -> None:
    assert {
        "tasks.max",
        "topic.creation.default.partitions",
        "topic.creation.default.replication.factor",
    } <= reasons(source).keys()


def test_a_schema_is_no_catalogue() -> None:
    found = reasons(article.SOURCE_1)
    assert "catalog.pattern" in found
    assert "from any schema" in found["schema.pattern"]


@pytest.mark.parametrize("source", [article.SOURCE_2, article.SOURCE_3])
def test_stamps_that_may_be_null_are_refused(source: dict[str, str]) -> None:
    assert "never arrives" in reasons(source)["validate.non.null"]


def test_an_inserted_field_without_a_name_is_refused() -> None:
    assert "No field insertion configured" in reasons(article.SOURCE_3)["transforms.InsertSourceDetails"]
    assert "transforms.InsertSourceDetails" not in reasons(article.SOURCE_2)


def test_a_join_by_one_tables_stamp_is_refused() -> None:
    assert "would never arrive" in reasons(article.SOURCE_3)["query"]


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
