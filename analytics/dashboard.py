"""The order items' dashboard: its data set and charts, in the shape of QuickSight's API.

The stack passes it to CloudFormation (stacks/analytics/). QuickSight checks its references only at deployment;
tests/analytics/test_dashboard.py checks them earlier.
Source: Amazon QuickSight API reference, AnalysisDefinition and DashboardVersionDefinition, which have the same shape.
"""

import re
from collections.abc import Mapping
from typing import Any

Definition = dict[str, Any]

# The data set's name in the definition; each environment maps it to its own.
DATA_SET = "order_items"
# The data set's columns as in analytics/sql/order_items.sql, with QuickSight's types (InputColumn).
COLUMNS: Mapping[str, str] = {
    "customer_id": "STRING",
    "order_id": "INTEGER",
    "discount": "DECIMAL",
    "quantity": "DECIMAL",
    "unit_price": "DECIMAL",
}
# A calculated field of the definition: those of a data set, in its LogicalTableMap, are deprecated.
REVENUE = "revenue"
REVENUE_EXPRESSION = "{quantity} * {unit_price} * (1 - {discount})"

SHEET = "order-items"
REVENUE_BY_CUSTOMER = "revenue-by-customer"
CUSTOMERS = "customers"
# QuickSight's grid has 36 columns.
GRID_COLUMNS = 36
_ROWS = 12
_PIE_SLICES = 20


def definition(data_set_arn: str) -> Definition:
    """Return the definition of analysis and dashboard for the data set with this ARN."""
    visuals = [_revenue_by_customer(), _customers()]
    return {
        "DataSetIdentifierDeclarations": [{"Identifier": DATA_SET, "DataSetArn": data_set_arn}],
        "CalculatedFields": [{"DataSetIdentifier": DATA_SET, "Name": REVENUE, "Expression": REVENUE_EXPRESSION}],
        "Sheets": [
            {
                "SheetId": SHEET,
                "Name": "Order items",
                "ContentType": "INTERACTIVE",
                "Visuals": visuals,
                "Layouts": [_side_by_side([REVENUE_BY_CUSTOMER, CUSTOMERS])],
            }
        ],
    }


def _revenue_by_customer() -> Definition:
    value = _measure("pie-revenue", REVENUE, "SUM")
    wells = {"Category": [_dimension("pie-customer", "customer_id")], "Values": [value]}
    return {
        "PieChartVisual": {
            "VisualId": REVENUE_BY_CUSTOMER,
            "Title": _title("Revenue by customer"),
            "VisualContentAltText": "Each customer's share of the revenue",
            "ChartConfiguration": {
                "FieldWells": {"PieChartAggregatedFieldWells": wells},
                "SortConfiguration": {
                    "CategorySort": [{"FieldSort": {"FieldId": "pie-revenue", "Direction": "DESC"}}],
                    "CategoryItemsLimit": {"ItemsLimit": _PIE_SLICES, "OtherCategories": "INCLUDE"},
                },
            },
        }
    }


def _customers() -> Definition:
    """A scatter plot: one point per customer, by average quantity and revenue of an item, sized by number of orders."""
    wells = {
        "XAxis": [_measure("scatter-quantity", "quantity", "AVERAGE")],
        "YAxis": [_measure("scatter-revenue", REVENUE, "AVERAGE")],
        "Category": [_dimension("scatter-customer", "customer_id")],
        # Count an order with several items once.
        "Size": [_measure("scatter-orders", "order_id", "DISTINCT_COUNT")],
    }
    return {
        "ScatterPlotVisual": {
            "VisualId": CUSTOMERS,
            "Title": _title("Average quantity and revenue by customer"),
            "VisualContentAltText": "Each customer by average quantity and revenue of an item, as large as her orders",
            "ChartConfiguration": {"FieldWells": {"ScatterPlotCategoricallyAggregatedFieldWells": wells}},
        }
    }


def _column(name: str) -> Definition:
    return {"DataSetIdentifier": DATA_SET, "ColumnName": name}


def _dimension(field: str, column: str) -> Definition:
    return {"CategoricalDimensionField": {"FieldId": field, "Column": _column(column)}}


def _measure(field: str, column: str, aggregation: str) -> Definition:
    return {
        "NumericalMeasureField": {
            "FieldId": field,
            "Column": _column(column),
            "AggregationFunction": {"SimpleNumericalAggregation": aggregation},
        }
    }


def _title(text: str) -> Definition:
    return {"Visibility": "VISIBLE", "FormatText": {"PlainText": text}}


def _side_by_side(visuals: list[str]) -> Definition:
    span = GRID_COLUMNS // len(visuals)
    elements = [
        {
            "ElementId": visual,
            "ElementType": "VISUAL",
            "ColumnIndex": number * span,
            "ColumnSpan": span,
            "RowIndex": 0,
            "RowSpan": _ROWS,
        }
        for number, visual in enumerate(visuals)
    ]
    return {"Configuration": {"GridLayout": {"Elements": elements}}}


# By kind: what our principal gets. This project owns source, data set and dashboard, so they are read-only;
# the analysis may be changed, until the next deployment that changes it.
GRANTED: Mapping[str, tuple[str, ...]] = {
    kind: tuple(f"quicksight:{action}" for action in actions.split())
    for kind, actions in {
        "DataSource": "DescribeDataSource DescribeDataSourcePermissions PassDataSource",
        "DataSet": "DescribeDataSet DescribeDataSetPermissions PassDataSet DescribeIngestion ListIngestions",
        "Analysis": "DescribeAnalysis DescribeAnalysisPermissions QueryAnalysis UpdateAnalysis"
        " UpdateAnalysisPermissions RestoreAnalysis DeleteAnalysis",
        "Dashboard": "DescribeDashboard ListDashboardVersions QueryDashboard",
    }.items()
}
# Users and groups belong to the region where the account signed up, which may differ from the environment's.
_PRINCIPAL = re.compile(
    r"arn:aws[a-z-]*:quicksight:[a-z]{2}(-[a-z]+)+-\d:(?P<account>\d{12}):(user|group)/[^/\s*]+/\S+"
)


def granted(kind: str, principal: str) -> list[dict[str, Any]]:
    """Return our principal's permissions on a resource of this kind (`Dashboard`): a list of ResourcePermission."""
    return [{"Principal": principal, "Actions": list(GRANTED[kind])}]


def account_of(principal: str) -> str | None:
    """Return the account in a QuickSight user's or group's ARN; None for any other text, such as an IAM ARN."""
    found = _PRINCIPAL.fullmatch(principal)
    return found["account"] if found else None
