"""The sample rows: of the right size, free of gaps, and repeated with keys of their own."""

from collections import Counter

import pytest

from db.sample import ORDERS, generate, row_counts
from db.tables import TABLES, Row

Tables = dict[str, list[Row]]


def tables(scale: int = 1) -> Tables:
    made: Tables = {table: [] for table in TABLES}
    for table, rows in generate(scale):
        made[table] += rows
    return made


@pytest.fixture(scope="module")
def sample() -> Tables:
    return tables()


@pytest.mark.parametrize("scale", [1, 3])
def test_row_counts_are_what_is_generated(scale: int) -> None:
    assert {table: len(rows) for table, rows in tables(scale).items()} == row_counts(scale)
    assert row_counts(scale)["orders"] == ORDERS * scale


def test_a_scaled_set_begins_with_the_plain_one_and_continues_from_11078(sample: Tables) -> None:
    scaled = tables(3)
    assert scaled["orders"][:829] == sample["orders"]
    assert [row[0] for row in scaled["orders"][829:]] == [str(key) for key in range(11078, 11078 + 2 * 829)]
    assert {row[0] for row in scaled["order_details"]} == {row[0] for row in scaled["orders"]}
    days = [str(row[3]) for row in scaled["orders"]]
    assert days == sorted(days)
    assert sum(row[5] is None for row in scaled["orders"]) == 3 * 20


def test_rows_are_as_wide_as_their_tables_and_keys_are_unique(sample: Tables) -> None:
    for table, rows in sample.items():
        assert {len(row) for row in rows} <= {len(TABLES[table])}, table
        width = 2 if table in ("order_details", "employee_territories", "customer_customer_demo") else 1
        assert len({row[:width] for row in rows}) == len(rows), table


def test_ids_are_northwinds(sample: Tables) -> None:
    assert [row[0] for row in sample["orders"]] == [str(key) for key in range(10248, 11078) if key != 11075]
    assert (sample["orders"][0][3], sample["orders"][-1][3]) == ("1996-07-04", "1998-05-06")
    assert {len(str(row[0])) for row in sample["customers"]} == {5}
    assert {"VINET", "RATTC", "RICSU"} <= {row[0] for row in sample["customers"]}


def test_three_customers_buy_more_than_the_others(sample: Tables) -> None:
    """A dashboard of the orders shows three big customers."""
    value: Counter[str] = Counter()
    buyer = {row[0]: str(row[1]) for row in sample["orders"]}
    for order_id, _, price, quantity, discount in sample["order_details"]:
        value[buyer[order_id]] += round(float(str(price)) * float(str(quantity)) * (1 - float(str(discount))))
    ranked = [amount for _, amount in value.most_common()]
    assert len(ranked) == 89
    assert ranked[2] > 1.3 * ranked[3]


def test_products_and_suppliers_have_names_of_their_own(sample: Tables) -> None:
    for table in ("products", "suppliers", "customers", "shippers", "territories"):
        assert len({row[1] for row in sample[table]}) == len(sample[table]), table
