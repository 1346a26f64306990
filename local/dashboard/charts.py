"""The lake's order items, and the dashboard's charts of them: drawn from the definition that QuickSight gets.

The SQL is Athena's (analytics/sql/order_items.sql), translated for DuckDB.
"""

# ruff: noqa: S608  # names are the definition's and our own; nothing comes from outside

import contextlib
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import duckdb
import pyarrow

from analytics import dashboard
from analytics.queries import QUERIES
from analytics.translate import translate

ITEMS = "order_items"
# Columns of the outbox that the query reads.
READ = ("customer_id", "order_id", "order_items")
NEWEST_ITEMS = 20
AGGREGATIONS = {"SUM": "sum({})", "AVERAGE": "avg({})", "DISTINCT_COUNT": "count(DISTINCT {})"}
OTHERS = "others"
_DATABASE, _TABLE = "lake", "outbox"
# Readable on light and dark.
INK, GRID = "#808890", "#80808040"
AXIS = {"axisLabel": {"color": INK}, "nameTextStyle": {"color": INK}, "splitLine": {"lineStyle": {"color": GRID}}}
_SMALLEST, _LARGEST = 6, 34


@dataclass(frozen=True, kw_only=True)
class Chart:
    """A chart: `kind` is pie or scatter; each row is a name and its numbers, in the order of `columns`."""

    kind: str
    title: str
    alt: str
    columns: tuple[str, ...]
    rows: tuple[tuple[Any, ...], ...]


@dataclass(frozen=True, kw_only=True)
class Orders:
    """Results from the lake's orders: the charts, and the items of the newest orders as text."""

    charts: tuple[Chart, ...]
    columns: tuple[str, ...]
    items: tuple[tuple[str, ...], ...]


def read_orders(rows: pyarrow.Table) -> Orders:
    """Return charts and order items for the outbox's rows, which have the columns READ. Raises duckdb.Error."""
    with contextlib.closing(duckdb.connect()) as engine:
        engine.execute(f"CREATE SCHEMA {_DATABASE}")
        engine.register("given", rows)
        engine.execute(f"CREATE VIEW {_DATABASE}.{_TABLE} AS SELECT * FROM given")
        engine.execute(f"CREATE TABLE {ITEMS} AS {items_sql()}")
        newest = engine.execute(f"SELECT * FROM {ITEMS} ORDER BY order_id DESC LIMIT {NEWEST_ITEMS}")
        columns = tuple(name for name, *_ in newest.description or [])
        items = tuple(tuple(map(str, row)) for row in newest.fetchall())
        sheet = dashboard.definition("")["Sheets"][0]
        return Orders(charts=tuple(_chart(engine, visual) for visual in sheet["Visuals"]), columns=columns, items=items)


def items_sql() -> str:
    [query] = [query for query in QUERIES if query.name == ITEMS]
    return translate(query.sql(_DATABASE, dict.fromkeys(query.names, _TABLE))).sql


def _chart(engine: duckdb.DuckDBPyConnection, visual: Mapping[str, Any]) -> Chart:
    [(kind, given)] = visual.items()
    configuration = given["ChartConfiguration"]
    [wells] = configuration["FieldWells"].values()
    [category] = [field["CategoricalDimensionField"]["Column"]["ColumnName"] for field in wells["Category"]]
    measures = [
        field["NumericalMeasureField"] for name in ("Values", "XAxis", "YAxis", "Size") for field in wells.get(name, [])
    ]
    values = ", ".join(f"CAST({_measure(field)} AS DOUBLE)" for field in measures)
    found = engine.execute(f'SELECT "{category}", {values} FROM {ITEMS} GROUP BY 1 ORDER BY 2 DESC, 1').fetchall()
    return Chart(
        kind="pie" if kind.startswith("Pie") else "scatter",
        title=given["Title"]["FormatText"]["PlainText"],
        alt=given["VisualContentAltText"],
        columns=(category, *(_label(field) for field in measures)),
        rows=tuple(_limited(found, configuration)),
    )


def _measure(field: Mapping[str, Any]) -> str:
    column = field["Column"]["ColumnName"]
    expression = dashboard.REVENUE_EXPRESSION if column == dashboard.REVENUE else f"{{{column}}}"
    sql = re.sub(r"\{(\w+)\}", r'"\1"', expression)
    return AGGREGATIONS[field["AggregationFunction"]["SimpleNumericalAggregation"]].format(sql)


def _label(field: Mapping[str, Any]) -> str:
    how = field["AggregationFunction"]["SimpleNumericalAggregation"].lower().replace("distinct_count", "number of")
    return f"{how.replace('sum', 'sum of')} {field['Column']['ColumnName']}"


def _limited(rows: list[tuple[Any, ...]], configuration: Mapping[str, Any]) -> list[tuple[Any, ...]]:
    limit = configuration.get("SortConfiguration", {}).get("CategoryItemsLimit", {}).get("ItemsLimit")
    if limit is None or len(rows) <= limit:
        return rows
    return [*rows[:limit], (OTHERS, sum(row[1] for row in rows[limit:]))]


def options(chart: Chart) -> dict[str, Any]:
    common: dict[str, Any] = {"animation": False, "tooltip": {}}
    if chart.kind == "pie":
        data = [{"name": name, "value": round(value, 2)} for name, value in chart.rows]
        label = {"color": INK}
        return {**common, "series": [{"type": "pie", "radius": "70%", "data": data, "label": label}]}
    most = max((row[3] for row in chart.rows), default=1)
    points = [
        {
            "name": name,
            "value": [round(x, 2), round(y, 2), size],
            "symbolSize": _SMALLEST + (_LARGEST - _SMALLEST) * size / most,
        }
        for name, x, y, size in chart.rows
    ]
    return {
        **common,
        "grid": {"left": 60, "right": 20, "top": 20, "bottom": 44},
        "xAxis": {**AXIS, "name": chart.columns[1], "nameLocation": "middle", "nameGap": 26, "scale": True},
        "yAxis": {**AXIS, "name": chart.columns[2], "nameLocation": "middle", "nameGap": 44, "scale": True},
        "series": [{"type": "scatter", "data": points, "itemStyle": {"opacity": 0.6}}],
    }
