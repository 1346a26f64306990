"""Names of tables in events, the lake and commands; names of secrets."""

import pytest

from contract.secret_names import is_secret
from contract.table_names import (
    clashes,
    is_lake_name,
    lake_name,
    listed,
    table_of_text,
    table_option,
    table_text,
    table_topic,
    topic_identity,
    topic_part,
)


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("orders", "orders"),
        ("order", "order"),
        ("_private__x_", "_private__x_"),
        ("Order Details", "order_details"),
        ("OrderDetails", "order_details"),
        ("orderID", "order_id"),
        ("HTTPServer2Name", "http_server2_name"),
        ("ORDER_ID", "order_id"),
        ("2024 sales", "_2024_sales"),
        ("café", "cafe"),
        ("Größe", "gro_u00df_e"),
        ("łódź", "u0142_odz"),
        ("名前", "u540d_u524d"),
        ("a.b", "a_b"),
        ('say "hi"', "say_hi"),
        ("--", "_"),
        ("😀", "_"),
    ],
)
def test_a_name_of_the_lake_is_in_snake_case(name: str, expected: str) -> None:
    assert lake_name(name) == expected
    assert is_lake_name(expected)


@pytest.mark.parametrize("name", ["名" * 21, "😀" * 15, "각" * 21, "x" * 63])
def test_the_longest_name_of_postgresql_is_one_of_the_lake(name: str) -> None:
    assert len(name.encode()) <= 63
    assert is_lake_name(lake_name(name))


def test_names_that_become_one_are_found() -> None:
    assert clashes(["a", "Order Id", "orderId", "b"], lake_name) == {"order_id": ["Order Id", "orderId"]}


# The output of Debezium 3.7.0's SchemaTopicNamingStrategy.
@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("Order Details", "Order_Details"),
        ("größe", "gr__e"),
        ("a.b", "a.b"),
        ("x$y", "x_y"),
        ("名前", "__"),
        ("a-b", "a-b"),
        ("a:b", "a_b"),
        ("A", "A"),
        ("😀x", "__x"),
    ],
)
def test_a_topic_is_named_as_debezium_does(name: str, expected: str) -> None:
    assert topic_part(name) == expected
    assert table_topic("mine", "Sch ema", name) == f"mine.Sch_ema.{expected}"


def test_topics_that_kafka_takes_for_one_are_found() -> None:
    topics = [table_topic("p", "public", "a_b"), table_topic("p", "public.a", "b"), table_topic("p", "x", "a")]
    assert clashes(topics, topic_identity) == {"p_public_a_b": topics[:2]}


def test_a_list_counts_what_it_does_not_name() -> None:
    assert listed(["a", "b"], 2) == "a, b"
    assert listed(["a long name", "b", "c", "d"], 2) == "a long name, b and 2 more"


@pytest.mark.parametrize(("name", "shown"), [("public.orders", "public.orders"), ('a.b "c"', "'a.b \"c\"'")])
def test_a_table_is_named_to_make_as_a_shell_takes_it(name: str, shown: str) -> None:
    assert table_option(name) == f"-t {shown}"


SECRETS = (
    *("database.password", "connect.s3.aws.access.key", "consumer.override.sasl.jaas.config", "SECRET"),
    *("producer.override.ssl.keystore.key", "config.providers.secretsmanager.param.token", "basic.authorization"),
)
OTHERS = ("config.providers.secretsmanager.class", "key.converter", "message.key.columns")


@pytest.mark.parametrize("name", [*SECRETS, *OTHERS])
def test_a_key_whose_value_is_a_secret_is_known(name: str) -> None:
    assert is_secret(name) is (name in SECRETS)


@pytest.mark.parametrize(
    ("schema", "table", "text"),
    [
        ("public", "orders", "public.orders"),
        ("public", "Order Details", "public.Order Details"),
        ("Größe.n", 'Tabelle "x".y Ünï', '"Größe.n"."Tabelle ""x"".y Ünï"'),
        ('"s"', '"t"', '"""s"""."""t"""'),
        ("public", "t ", '"public"."t "'),
    ],
)
def test_a_tables_text_tells_its_schema_and_name_apart(schema: str, table: str, text: str) -> None:
    assert (table_text(schema, table), table_of_text(text)) == (text, (schema, table))
