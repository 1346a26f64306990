"""The charts of the lake's order items."""

import json

import pyarrow
import pytest

from analytics import dashboard
from local.dashboard.charts import OTHERS, Orders, options, read_orders


def outbox(*orders: tuple[str, int, list[tuple[float, float, float]]]) -> pyarrow.Table:
    """Rows of customer, order and items, each of quantity, price and discount."""
    names = ("quantity", "unit_price", "discount")
    return pyarrow.table(
        {
            "customer_id": [customer for customer, _, _ in orders],
            "order_id": [order for _, order, _ in orders],
            "order_items": [
                json.dumps([dict(zip(names, item, strict=True)) for item in items]) for *_, items in orders
            ],
        }
    )


@pytest.fixture(scope="module")
def orders() -> Orders:
    return read_orders(outbox(("A", 1, [(2, 10, 0), (4, 5, 0.5)]), ("A", 2, [(6, 1, 0)]), ("B", 3, [(1, 100, 0)])))


def test_the_charts_are_those_of_the_definition(orders: Orders) -> None:
    [sheet] = dashboard.definition("")["Sheets"]
    titles = [given["Title"]["FormatText"]["PlainText"] for visual in sheet["Visuals"] for given in visual.values()]
    assert [chart.title for chart in orders.charts] == titles
    assert [chart.kind for chart in orders.charts] == ["pie", "scatter"]


def test_the_pie_is_revenue_by_customer_largest_first(orders: Orders) -> None:
    assert orders.charts[0].rows == (("B", 100.0), ("A", 36.0))


def test_the_scatter_is_averages_of_items_sized_by_orders(orders: Orders) -> None:
    assert set(orders.charts[1].rows) == {("A", 4.0, 12.0, 2.0), ("B", 1.0, 100.0, 1.0)}


def test_customers_beyond_the_definitions_limit_are_one_slice() -> None:
    many = read_orders(outbox(*((f"C{number:02}", number, [(float(number), 1.0, 0.0)]) for number in range(1, 31))))
    pie = many.charts[0].rows
    assert len(pie) == 21
    assert pie[-1] == (OTHERS, sum(range(1, 11)))


def test_the_newest_orders_items_are_text(orders: Orders) -> None:
    assert orders.columns == ("customer_id", "order_id", "discount", "quantity", "unit_price")
    assert orders.items[0] == ("B", "3", "0.00", "1.00", "100.00")


def test_a_lake_without_orders_has_empty_charts() -> None:
    empty = read_orders(outbox(("A", 1, [])))
    assert [chart.rows for chart in empty.charts] == [(), ()]
    assert options(empty.charts[1])["series"][0]["data"] == []


def test_echarts_gets_names_and_numbers(orders: Orders) -> None:
    pie, scatter = (options(chart)["series"][0] for chart in orders.charts)
    assert (pie["type"], pie["data"][0]) == ("pie", {"name": "B", "value": 100.0})
    assert scatter["type"] == "scatter"
    sizes = {point["name"]: point["symbolSize"] for point in scatter["data"]}
    assert sizes["A"] > sizes["B"]
