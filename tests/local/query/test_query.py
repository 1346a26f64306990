"""A statement reads only what it names, sees only the lake's tables, and reaches no file and no network."""

from functools import partial
from pathlib import Path

import pyarrow
import pytest

from contract.errors import UserError
from local.look.lake import InstantError, Readable
from local.query import query
from local.query.engine import QueryError, engine
from local.query.query import Period, QueriedLake, ask, described
from tests.local.query.lakes import KnownLake, known_table, lake_of, rows

ORDERS = pyarrow.table(
    {
        "_hoodie_commit_time": ["20261122110000000"] * 2,
        "_hoodie_record_key": ["1", "2"],
        "order_id": pyarrow.array([1, 2], pyarrow.int32()),
        "customer_id": ["A", "B"],
        "customer": ["{}", None],
        "order_date": pyarrow.array([None, None], pyarrow.date32()),
        "shipped_date": pyarrow.array([None, None], pyarrow.date32()),
        "updated_at": pyarrow.array([None, None], pyarrow.timestamp("us", "UTC")),
        "order_items": ['[{"quantity": 7, "unit_price": 1.5, "discount": 0.15}]', "[]"],
    }
)


@pytest.fixture
def lake(tmp_path: Path) -> QueriedLake:
    no_city = ORDERS.slice(0, 0).select(["_hoodie_record_key", "order_id"])
    return lake_of(tmp_path, known_table("cdc_events", ORDERS, outbox=True), known_table("cities", no_city))


@pytest.fixture
def orders(lake: QueriedLake) -> KnownLake:
    found = lake.tables[0].lake
    assert isinstance(found, KnownLake)
    return found


@pytest.mark.parametrize("name", ["datalake.cdc_events", "CDC_Events", '"datalake"."cdc_events"'])
def test_a_table_has_athenas_name(lake: QueriedLake, name: str) -> None:
    assert rows(lake, f"SELECT customer_id FROM {name} WHERE order_id = 2") == [{"customer_id": "B"}]


def test_only_the_named_tables_and_columns_are_read(lake: QueriedLake, orders: KnownLake) -> None:
    rows(lake, "SELECT count(*) FROM cities")
    assert orders.read == []
    rows(lake, "SELECT max(a.customer_id) FROM cdc_events AS a JOIN cdc_events AS b USING (order_id)")
    assert orders.read == [["order_id", "customer_id"]]
    rows(lake, "SELECT count(*) FROM cdc_events")
    assert orders.read[1:] == [["_hoodie_record_key"]]


def test_an_instant_is_read_while_no_cleaning_removes_it(
    lake: QueriedLake, orders: KnownLake, monkeypatch: pytest.MonkeyPatch
) -> None:
    instant = "20261122110000000"
    oldest = iter([instant, instant, "20261122120000000", instant, "20261122120000000"])
    monkeypatch.setattr(query, "readable", lambda _lake: Readable(oldest=next(oldest), newest="20261122130000000"))
    count = partial(ask, lake, "SELECT count(*) FROM cdc_events", Period(as_of=instant))
    count()
    with pytest.raises(InstantError, match="cdc_events can't be read as of"):
        count()
    assert orders.instants == [instant]
    # A cleaning that begins while the rows are read.
    with pytest.raises(InstantError, match="cdc_events can't be read as of"):
        count()


def test_a_named_query_is_a_view(lake: QueriedLake) -> None:
    [item] = rows(lake, "SELECT order_id, quantity * unit_price * (1 - discount) AS revenue FROM datalake.order_items")
    assert (item["order_id"], str(item["revenue"])) == (1, "8.925000")


def test_the_quarantine_is_a_view(lake: QueriedLake) -> None:
    found = rows(lake, "SELECT lake_table, reason FROM quarantine")
    assert [row["lake_table"] for row in found] == ["cdc_events", "cities"]


def test_a_sum_of_integers_is_an_integer(lake: QueriedLake) -> None:
    result = ask(lake, 'SELECT sum(order_id) AS "a ""b" FROM cdc_events', Period())
    assert (result.schema.field(0).type, result.to_pylist()) == (pyarrow.int64(), [{'a "b': 3}])


def test_tables_and_columns_are_listed_without_a_row(lake: QueriedLake, orders: KnownLake) -> None:
    assert ask(lake, "SHOW TABLES IN datalake", Period()).column(0).to_pylist() == lake.names
    found = {(row["table"], row["column"]): row["type"] for row in described(lake).to_pylist()}
    assert found["cdc_events", "order_id"] == "integer"
    assert found["order_items", "unit_price"] == "decimal(12, 2)"
    assert not [table for table, _ in found if table == "cities"]
    assert orders.read == []


def test_integers_are_divided_as_in_athena(lake: QueriedLake) -> None:
    assert rows(lake, "SELECT order_id / 2 AS half FROM cdc_events ORDER BY order_id") == [{"half": 0}, {"half": 1}]


@pytest.mark.parametrize("sql", ["DESCRIBE datalake.cdc_events", "show columns in cdc_events;", 'DESC "cdc_events"'])
def test_a_table_is_described(lake: QueriedLake, sql: str) -> None:
    assert ask(lake, sql, Period()).column("column").to_pylist() == ORDERS.column_names


@pytest.mark.parametrize(
    "sql",
    [
        'SELECT * FROM "/etc/passwd"',
        "SELECT * FROM information_schema.tables",
        "SELECT * FROM other.cdc_events",
        "DESCRIBE nothing",
        "SELECT * FROM ORDERS",
    ],
)
def test_another_name_is_refused_with_those_that_there_are(lake: QueriedLake, sql: str) -> None:
    with pytest.raises(QueryError, match=r"there is no table .*: there are datalake\.cdc_events, datalake\.cities"):
        ask(lake, sql, Period())


@pytest.mark.parametrize("sql", ["SELECT nothing FROM cdc_events", "SELECT 1 / 0", "SELECT no_such_function(1)"])
def test_what_cant_be_done_is_one_line(lake: QueriedLake, sql: str) -> None:
    with pytest.raises(UserError) as refused:
        ask(lake, sql, Period())
    assert "\n" not in str(refused.value)


def test_changes_are_of_tables_and_not_of_queries(lake: QueriedLake) -> None:
    with pytest.raises(QueryError, match="--since shows rows of captured tables"):
        ask(lake, "SELECT * FROM order_items", Period(since="20261122110000000"))


# Even without the translation, the engine itself refuses.
@pytest.mark.parametrize(
    "sql",
    [
        "SELECT * FROM read_csv('/etc/passwd')",
        "SELECT * FROM read_text('/etc/passwd')",
        "SELECT * FROM read_parquet('http://127.0.0.1:1/x')",
        "SELECT * FROM '/etc/passwd.csv'",
        "SELECT * FROM glob('/*')",
        "SELECT * FROM ORDERS",
        "COPY (SELECT 1) TO '/tmp/query-test'",
        "ATTACH '/tmp/query-test.db'",
        "INSTALL httpfs",
        "LOAD httpfs",
        "SET enable_external_access = true",
        "SET lock_configuration = false",
        "RESET enable_external_access",
    ],
)
def test_the_engine_reaches_nothing_outside(sql: str) -> None:
    with engine("datalake") as here, pytest.raises(QueryError) as refused:
        here.ask(sql)
    assert "\n" not in str(refused.value)
