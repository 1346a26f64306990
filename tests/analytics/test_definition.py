"""The dashboard's definition is sound, in QuickSight's shapes, and each mistake that no other tool sees is found."""

import copy
import re
from collections.abc import Callable
from typing import Any

import botocore.session
import pytest
from botocore.model import Shape
from botocore.validate import ParamValidator

from analytics.dashboard import COLUMNS, CUSTOMERS, DATA_SET, REVENUE, REVENUE_BY_CUSTOMER, definition
from analytics.definition_check import definition_problems, permission_problems
from analytics.permissions import GRANTED, granted
from analytics.queries import QUERIES

ACCOUNT = "111111111111"
DATA_SET_ARN = f"arn:aws:quicksight:ap-southeast-2:{ACCOUNT}:dataset/order-items"
ANALYSTS = f"arn:aws:quicksight:us-east-1:{ACCOUNT}:group/default/analysts"
KNOWN = {DATA_SET: list(COLUMNS)}
Change = Callable[[dict[str, Any]], Any]


def shape(name: str) -> Shape:
    return botocore.session.get_session().get_service_model("quicksight").shape_for(name)


def pie(changed: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = changed["Sheets"][0]["Visuals"][0]["PieChartVisual"]["ChartConfiguration"]
    return found


def scatter(changed: dict[str, Any]) -> dict[str, Any]:
    configuration = changed["Sheets"][0]["Visuals"][1]["ScatterPlotVisual"]["ChartConfiguration"]
    found: dict[str, Any] = configuration["FieldWells"]["ScatterPlotCategoricallyAggregatedFieldWells"]
    return found


def elements(changed: dict[str, Any]) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = changed["Sheets"][0]["Layouts"][0]["Configuration"]["GridLayout"]["Elements"]
    return found


def size(changed: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = scatter(changed)["Size"][0]["NumericalMeasureField"]
    return found


def add_visual_twice(changed: dict[str, Any]) -> None:
    sheet = changed["Sheets"][0]
    sheet["Visuals"].append(copy.deepcopy(sheet["Visuals"][0]))


def two_kinds(changed: dict[str, Any]) -> None:
    visuals = changed["Sheets"][0]["Visuals"]
    visuals[0].update(visuals[1])


MUTATIONS: dict[str, tuple[Change, str]] = {
    "unknown column": (lambda d: size(d)["Column"].update(ColumnName="order"), "order_items has no column order"),
    "unknown data set": (
        lambda d: size(d)["Column"].update(DataSetIdentifier="orders"),
        "the data set orders isn't declared",
    ),
    "data set without columns": (
        lambda d: d["DataSetIdentifierDeclarations"].append({"Identifier": "x", "DataSetArn": DATA_SET_ARN}),
        "of the data set x no columns are known",
    ),
    "data set twice": (
        lambda d: d["DataSetIdentifierDeclarations"].append(d["DataSetIdentifierDeclarations"][0]),
        f"the data set {DATA_SET} is declared twice",
    ),
    "unknown column in the calculated field": (
        lambda d: d["CalculatedFields"][0].update(Expression="{price} * 2"),
        "the calculated field revenue uses price, which order_items doesn't have",
    ),
    "calculated field of itself": (
        lambda d: d["CalculatedFields"][0].update(Expression="{revenue} * 2"),
        "the calculated field revenue uses revenue, which order_items doesn't have",
    ),
    "calculated field in a column's place": (
        lambda d: d["CalculatedFields"][0].update(Name="quantity"),
        "the calculated field quantity has the name of a column of order_items",
    ),
    "calculated field gone": (lambda d: d.update(CalculatedFields=[]), "order_items has no column revenue"),
    "calculated field twice": (
        lambda d: d["CalculatedFields"].append(d["CalculatedFields"][0]),
        "the calculated field revenue of order_items is there twice",
    ),
    "unknown sort field": (
        lambda d: pie(d)["SortConfiguration"]["CategorySort"][0]["FieldSort"].update(FieldId="scatter-revenue"),
        "a visual is sorted by scatter-revenue, which is none of its fields",
    ),
    "unknown layout element": (
        lambda d: elements(d)[0].update(ElementId="pie"),
        "the layout has an element pie, which is no visual",
    ),
    "visual without a place": (lambda d: elements(d).pop(), f"the layout has no place for {CUSTOMERS}"),
    "layout element twice": (
        lambda d: elements(d).append(elements(d)[0]),
        f"the layout has {REVENUE_BY_CUSTOMER} twice",
    ),
    "beyond the grid": (lambda d: elements(d)[1].update(ColumnSpan=19), "customers goes beyond the 36 columns"),
    "sheet twice": (lambda d: d["Sheets"].append(d["Sheets"][0]), "the SheetId order-items is there twice"),
    "visual twice": (add_visual_twice, f"the VisualId {REVENUE_BY_CUSTOMER} is there twice"),
    "field twice": (lambda d: size(d).update(FieldId="scatter-revenue"), "the FieldId scatter-revenue is there twice"),
    "two kinds in one visual": (two_kinds, "one visual is PieChartVisual and ScatterPlotVisual: it must be of one"),
    "visual of no kind": (lambda d: d["Sheets"][0]["Visuals"].append({}), "one visual is nothing: it must be of one"),
    "two kinds in one field": (
        lambda d: scatter(d)["Size"][0].update(CategoricalMeasureField={}),
        "one field is CategoricalMeasureField and NumericalMeasureField",
    ),
}


def test_the_definition_is_sound() -> None:
    assert definition_problems(definition(DATA_SET_ARN), KNOWN) == []


@pytest.mark.parametrize("name", MUTATIONS)
def test_a_mistake_is_found(name: str) -> None:
    mutate, expected = MUTATIONS[name]
    changed = definition(DATA_SET_ARN)
    mutate(changed)
    assert any(line.startswith(expected) for line in definition_problems(changed, KNOWN)), name


@pytest.mark.parametrize("name", ["AnalysisDefinition", "DashboardVersionDefinition"])
def test_the_definition_has_the_shape_of_quicksights_model(name: str) -> None:
    report = ParamValidator().validate(definition(DATA_SET_ARN), shape(name))
    assert not report.has_errors(), report.generate_report()


def test_a_wrong_shape_is_seen_by_quicksights_model() -> None:
    changed = definition(DATA_SET_ARN)
    elements(changed)[0]["ColumnSpan"] = "half"
    changed["Sheets"][0]["Visuals"][0]["PieChartVisual"]["VisualID"] = "x"
    report = ParamValidator().validate(changed, shape("DashboardVersionDefinition")).generate_report()
    assert "ColumnSpan" in report
    assert "VisualID" in report


def test_both_charts_are_of_the_customers_with_revenue_from_one_calculated_field() -> None:
    whole = definition(DATA_SET_ARN)
    [field] = whole["CalculatedFields"]
    assert (field["Name"], field["Expression"]) == (REVENUE, "{quantity} * {unit_price} * (1 - {discount})")
    wells = pie(whole)["FieldWells"]["PieChartAggregatedFieldWells"]
    assert measured(wells["Values"]) == [(REVENUE, "SUM")]
    points = scatter(whole)
    assert measured(points["XAxis"]) == [("quantity", "AVERAGE")]
    assert measured(points["YAxis"]) == [(REVENUE, "AVERAGE")]
    assert measured(points["Size"]) == [("order_id", "DISTINCT_COUNT")]
    for category in (wells["Category"], points["Category"]):
        assert [each["CategoricalDimensionField"]["Column"]["ColumnName"] for each in category] == ["customer_id"]


def measured(well: list[dict[str, Any]]) -> list[tuple[str, str]]:
    fields = [each["NumericalMeasureField"] for each in well]
    return [
        (each["Column"]["ColumnName"], each["AggregationFunction"]["SimpleNumericalAggregation"]) for each in fields
    ]


@pytest.mark.parametrize("kind", GRANTED)
def test_what_is_granted_is_what_quicksight_knows(kind: str) -> None:
    permissions = granted(kind, ANALYSTS)
    assert permission_problems(kind, permissions, ACCOUNT) == []
    for each in permissions:
        report = ParamValidator().validate(each, shape("ResourcePermission"))
        assert not report.has_errors(), report.generate_report()


@pytest.mark.parametrize(
    ("principal", "expected"),
    [
        (f"arn:aws:iam::{ACCOUNT}:role/analyst", "is no user or group of QuickSight"),
        (f"arn:aws:quicksight:us-east-1:{ACCOUNT}:namespace/default", "is no user or group of QuickSight"),
        ("*", "is no user or group of QuickSight"),
        ("arn:aws:quicksight:us-east-1:999999999999:user/default/eve", "is of another account than"),
    ],
)
def test_a_wrong_principal_is_found(principal: str, expected: str) -> None:
    [problem] = permission_problems("Dashboard", granted("Dashboard", principal), ACCOUNT)
    assert problem.startswith(f"{principal} {expected}")


@pytest.mark.parametrize("action", ["quicksight:DescribeDashboards", "quicksight:QueryAnalysis", "s3:GetObject", "*"])
def test_an_action_of_something_else_is_found(action: str) -> None:
    permissions = [{"Principal": ANALYSTS, "Actions": ["quicksight:DescribeDashboard", action]}]
    assert permission_problems("Dashboard", permissions, ACCOUNT) == [
        f"{action} is nothing that one does with a Dashboard"
    ]


def test_the_data_sets_columns_are_the_querys() -> None:
    [query] = [each for each in QUERIES if each.name == "order_items"]
    selected, _, _ = query.sql("datalake", {"cdc_events": "cdc_events"}).partition("FROM")
    assert list(COLUMNS) == re.findall(r"(?:\bAS |\.)(\w+),?$", selected, re.MULTILINE)
