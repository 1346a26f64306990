from dataclasses import replace

import pytest

from plugins.polling.jdbc_settings import JdbcSourceSettings, PolledDatabase, PolledQuery, PolledTable, Polling
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


def test_a_root_certificate_is_found_on_the_plugins_class_path() -> None:
    url = replace(DATABASE, root_certificate="rds-ca.pem").url
    assert "&sslfactory=org.postgresql.ssl.SingleCertValidatingFactory&sslfactoryarg=classpath:rds-ca.pem" in url
    with pytest.raises(ValueError, match=r"^database_sslmode must be verify-full"):
        replace(DATABASE, sslmode="require", root_certificate="rds-ca.pem")


def test_hosts_and_databases_of_any_name_stand_in_a_url() -> None:
    assert "//[::1]:5432/" in replace(DATABASE, hostname="::1").url
    assert "/a%20b%3Fc?" in replace(DATABASE, name="a b?c").url


@pytest.mark.parametrize("password", ["your-password", "", "${file}", "x${file:/a:b}"])
def test_a_password_itself_is_refused_and_not_repeated(password: str) -> None:
    with pytest.raises(ValueError, match="must be a config provider's reference") as refusal:
        replace(DATABASE, password=password)
    assert not password or password not in str(refusal.value).split("such as")[0]


def test_rows_of_one_stamp_are_told_apart_by_one_column() -> None:
    table = CapturedTable(schema="public", table="film_actor", key=("film_id", "actor_id"))
    with pytest.raises(ValueError, match=r"public\.film_actor: rows of one stamp .* its key has 2"):
        PolledTable.of(table, "last_update")


@pytest.mark.parametrize("withheld", [{"leave_out": ("phone",)}, {"hashed": ("phone",)}])
def test_columns_that_stay_in_the_database_are_not_polled_with_the_table(withheld: dict[str, tuple[str, ...]]) -> None:
    table = CapturedTable(schema="public", table="address", key=("address_id",), **withheld)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="phone would leave the database"):
        PolledTable.of(table, "last_update")


def test_a_captured_table_is_polled_by_its_key() -> None:
    assert (
        PolledTable.of(CapturedTable(schema="public", table="address", key=("address_id",)), "last_update") == ADDRESS
    )


@pytest.mark.parametrize("name", ["a,b", " a", "a.b"])
def test_tables_that_a_list_cannot_name_are_refused(name: str) -> None:
    with pytest.raises(ValueError, match="a list of tables can't name it"):
        replace(ADDRESS, table=name)


@pytest.mark.parametrize("by", [{"key": ""}, {"stamp": "a,b"}, {"key": "last_update"}])
def test_columns_that_cannot_be_polled_by_are_refused(by: dict[str, str]) -> None:
    with pytest.raises(ValueError, match="can't be"):
        replace(ADDRESS, **by)


def test_a_query_that_misses_changes_is_refused_by_name() -> None:
    with pytest.raises(ValueError, match=r"^query places: it joins 3 tables"):
        PolledQuery(name="places", query=article.QUERY, key="address_id", stamp="last_update")


def test_topics_are_named_after_what_is_polled() -> None:
    assert SETTINGS.topics == ("pagila.public.address",)
    assert replace(SETTINGS, polled=PLACES).topics == ("pagila.address_place",)


def test_a_connector_has_one_key_for_all_its_tables() -> None:
    with pytest.raises(ValueError, match="need a connector of their own"):
        replace(SETTINGS, polled=(ADDRESS, CITY))


def test_no_table_and_one_table_twice_are_refused() -> None:
    with pytest.raises(ValueError, match="all would be polled"):
        replace(SETTINGS, polled=())
    with pytest.raises(ValueError, match="named twice"):
        replace(SETTINGS, polled=(ADDRESS, ADDRESS))


def test_a_table_whose_name_is_no_topic_is_refused() -> None:
    with pytest.raises(ValueError, match="which Kafka refuses"):
        replace(SETTINGS, polled=(replace(ADDRESS, table="Order Details"),))


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("name", "a b"),
        ("topic_prefix", "a b"),
        ("poll_interval_ms", 0),
        ("delay_ms", -1),
        ("tasks_max", 0),
        ("replicas", 0),
        ("connector_class", "io.debezium.connector.jdbc.JdbcSinkConnector"),
    ],
)
def test_each_field_is_checked_and_named(field: str, value: object) -> None:
    with pytest.raises(ValueError, match=f"^{field} "):
        replace(POLLING, **{field: value})  # type: ignore[arg-type]
