"""Each fault of Stafford's connectors is refused with the property that has it."""

from collections.abc import Callable
from dataclasses import replace
from functools import partial

import pytest

from plugins.polling.jdbc_rules import problems
from plugins.polling.jdbc_settings import JdbcSourceSettings, PolledDatabase, PolledQuery, PolledTable, Polling
from plugins.polling.jdbc_source import jdbc_source
from plugins.source.captured import CapturedTable
from tests.plugins.polling import article

DATABASE = PolledDatabase(
    hostname="db.example.com", name="pagila", user="reader", password="${file:/run/secrets/poll.properties:password}"
)
ADDRESS = PolledTable(schema="public", table="address", key="address_id", stamp="last_update")
CITY = PolledTable(schema="public", table="city", key="city_id", stamp="last_update")
PLACES = PolledQuery(
    name="address_place",
    query="SELECT a.address_id, c.city, greatest(a.last_update, c.last_update) AS last_update"
    " FROM address a JOIN city c USING (city_id)",
    key="address_id",
    stamp="last_update",
)
POLLING = Polling(
    name="pagila", database=DATABASE, topic_prefix="pagila", bucket="landing", prefix="cdc", region="us-east-1"
)
SETTINGS = JdbcSourceSettings(name="pagila-source", polling=POLLING, topic_prefix="pagila", polled=(ADDRESS,))


def test_the_url_verifies_the_server_and_has_no_password() -> None:
    assert DATABASE.url.startswith("jdbc:postgresql://db.example.com:5432/pagila?sslmode=verify-full&")
    assert "password" not in DATABASE.url
    assert "reader" not in DATABASE.url
    # A root certificate is found on the plugin's class path.
    url = replace(DATABASE, root_certificate="rds-ca.pem").url
    assert "&sslfactory=org.postgresql.ssl.SingleCertValidatingFactory&sslfactoryarg=classpath:rds-ca.pem" in url
    assert "//[::1]:5432/a%20b%3Fc?" in replace(DATABASE, hostname="::1", name="a b?c").url


@pytest.mark.parametrize("password", ["your-password", "", "${file}", "x${file:/a:b}"])
def test_a_password_itself_is_refused_and_not_repeated(password: str) -> None:
    with pytest.raises(ValueError, match="must be a config provider's reference") as refusal:
        replace(DATABASE, password=password)
    assert not password or password not in str(refusal.value).split("such as")[0]


def test_a_captured_table_is_polled_by_its_key() -> None:
    captured = CapturedTable(schema="public", table="address", key=("address_id",))
    assert PolledTable.of(captured, "last_update") == ADDRESS


def test_topics_are_named_after_what_is_polled() -> None:
    assert SETTINGS.topics == ("pagila.public.address",)
    assert replace(SETTINGS, polled=PLACES).topics == ("pagila.address_place",)


def of(name: str, *key: str, **withheld: tuple[str, ...]) -> PolledTable:
    return PolledTable.of(CapturedTable(schema="public", table=name, key=key, **withheld), "last_update")  # type: ignore[arg-type]


REFUSED: list[tuple[Callable[[], object], str]] = [
    (lambda: replace(DATABASE, sslmode="require", root_certificate="rds-ca.pem"), "^database_sslmode must be verify-"),
    (lambda: of("film_actor", "film_id", "actor_id"), r"public\.film_actor: rows of one stamp .* its key has 2"),
    (lambda: of("address", "address_id", leave_out=("phone",)), "phone would leave the database"),
    (lambda: of("address", "address_id", hashed=("phone",)), "phone would leave the database"),
    (lambda: replace(ADDRESS, key=""), "can't be polled by"),
    (lambda: replace(ADDRESS, stamp="a,b"), "can't be polled by"),
    (lambda: replace(ADDRESS, key="last_update"), "can't be the key and the stamp"),
    (lambda: replace(PLACES, query=article.QUERY), "^query address_place: it joins 3 tables"),
    *(
        (partial(replace, SETTINGS, polled=(replace(ADDRESS, table=name),)), "or no topic, has such a name")
        for name in ("a,b", " a", "a.b", "Order Details")
    ),
    (lambda: replace(SETTINGS, polled=(replace(ADDRESS, schema="50%"),)), "or no topic, has such a name"),
    (lambda: replace(POLLING, name="a b"), "^name "),
    (lambda: replace(POLLING, topic_prefix="a b"), "^topic_prefix "),
    (lambda: replace(POLLING, poll_interval_ms=0), "^poll_interval_ms "),
    (lambda: replace(POLLING, delay_ms=-1), "^delay_ms "),
    (lambda: replace(POLLING, tasks_max=0), "^tasks_max "),
    (lambda: replace(POLLING, replicas=0), "^replicas "),
    (lambda: replace(POLLING, connector_class="io.debezium.connector.jdbc.JdbcSinkConnector"), "^connector_class "),
]


@pytest.mark.parametrize(("made", "reason"), REFUSED)
def test_what_cannot_be_polled_is_refused_by_name(made: Callable[[], object], reason: str) -> None:
    with pytest.raises(ValueError, match=reason):
        made()


GOOD = jdbc_source(SETTINGS)
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
def test_each_fault_of_the_article_is_refused_by_its_property(source: dict[str, str], faults: dict[str, str]) -> None:
    found = dict(problems(source))
    assert found.keys() == faults.keys()
    assert {name for name, said in faults.items() if said not in found[name]} == set()
    assert "your-password" not in str(found)


@pytest.mark.parametrize(
    ("name", "value", "reason"),
    [
        *(("mode", mode, "") for mode in ("bulk", "incrementing", "timestamp", "", "timestamp,incrementing")),
        *(("incrementing.column.name", key, "timestamp alone") for key in ("", " ")),
        ("timestamp.column.name", "a, b", "not the newest"),
        ("table.name.format", "${topic}", ""),
        ("table.whitelst", "address", ""),
        ("table.whitelist", "", "every table"),
        ("schema.pattern", "my_shop", ""),
        ("schema.pattern", "%", ""),
        ("connection.url", "jdbc:postgresql://db/pagila?user=a&password=b", ""),
        ("connector.class", "io.aiven.connect.jdbc.JdbcSinkConnector", ""),
        ("query", "SELECT 1", ""),
        # As JSON may have it.
        ("validate.non.null", False, "never arrives"),
    ],
)
def test_one_wrong_property_is_named(name: str, value: object, reason: str) -> None:
    [(named, said)] = problems({**GOOD, name: value})
    assert named == name
    assert reason in said
