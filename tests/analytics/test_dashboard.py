"""The dashboard's definition has QuickSight's shapes, its references exist, and people get the intended rights."""

import re
from collections.abc import Iterator
from typing import Any

import botocore.session
import pytest
from botocore.model import Shape
from botocore.validate import ParamValidator

from analytics import dashboard
from analytics.dashboard import COLUMNS, DATA_SET, GRANTED, GRID_COLUMNS, REVENUE, definition, granted
from analytics.queries import QUERIES

ACCOUNT = "111111111111"
DATA_SET_ARN = f"arn:aws:quicksight:ap-southeast-2:{ACCOUNT}:dataset/order-items"
ANALYSTS = f"arn:aws:quicksight:us-east-1:{ACCOUNT}:group/default/analysts"


def shape(name: str) -> Shape:
    return botocore.session.get_session().get_service_model("quicksight").shape_for(name)


def found(value: Any, key: str) -> Iterator[Any]:
    """Values of a key, at any depth."""
    if isinstance(value, dict):
        yield from [value[key]] if key in value else []
    for inner in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        yield from found(inner, key)


def visuals() -> list[dict[str, Any]]:
    """The visuals, each of one kind."""
    [sheet] = definition(DATA_SET_ARN)["Sheets"]
    made = []
    for visual in sheet["Visuals"]:
        [of_kind] = visual.values()
        made.append(of_kind)
    return made


def test_the_columns_and_the_data_set_that_it_names_are_there() -> None:
    whole = definition(DATA_SET_ARN)
    [declared] = whole["DataSetIdentifierDeclarations"]
    assert declared == {"Identifier": DATA_SET, "DataSetArn": DATA_SET_ARN}
    assert {*found(whole, "DataSetIdentifier")} == {DATA_SET}
    assert {*found(whole, "ColumnName")} <= {*COLUMNS, REVENUE}
    [field] = whole["CalculatedFields"]
    assert {*re.findall(r"\{([^}]*)\}", field["Expression"])} <= {*COLUMNS}
    assert field["Name"] not in COLUMNS


def test_fields_are_of_one_kind_named_once_and_sorted_by_their_own_visual() -> None:
    names = []
    for visual in visuals():
        [wells] = visual["ChartConfiguration"]["FieldWells"].values()
        fields = [field for well in wells.values() for field in well]
        assert all(len(field) == 1 for field in fields)
        names += (own := [*found(fields, "FieldId")])
        assert {sort["FieldId"] for sort in found(visual, "FieldSort")} <= {*own}
    assert len(names) == len({*names})


def test_each_visual_has_one_place_on_the_grid() -> None:
    [elements] = found(definition(DATA_SET_ARN), "Elements")
    assert sorted(found(elements, "ElementId")) == sorted({*found(visuals(), "VisualId")})
    columns = [
        column
        for element in elements
        for column in range(element["ColumnIndex"], element["ColumnIndex"] + element["ColumnSpan"])
    ]
    assert columns == list(range(GRID_COLUMNS))


@pytest.mark.parametrize("name", ["AnalysisDefinition", "DashboardVersionDefinition"])
def test_the_definition_has_the_shape_of_quicksights_model(name: str) -> None:
    report = ParamValidator().validate(definition(DATA_SET_ARN), shape(name))
    assert not report.has_errors(), report.generate_report()


@pytest.mark.parametrize("kind", GRANTED)
def test_what_is_granted_is_in_order_and_in_quicksights_shape(kind: str) -> None:
    given = granted(kind, ANALYSTS)
    for each in given:
        report = ParamValidator().validate(each, shape("ResourcePermission"))
        assert not report.has_errors(), report.generate_report()


@pytest.mark.parametrize(
    ("principal", "account"),
    [
        (ANALYSTS, ACCOUNT),
        (f"arn:aws:iam::{ACCOUNT}:role/analyst", None),
        (f"arn:aws:quicksight:us-east-1:{ACCOUNT}:namespace/default", None),
        ("*", None),
        ("arn:aws:quicksight:us-east-1:999999999999:user/default/eve", "999999999999"),
    ],
)
def test_a_user_or_group_of_quicksight_says_its_account(principal: str, account: str | None) -> None:
    assert dashboard.account_of(principal) == account


def test_the_data_sets_columns_are_the_querys() -> None:
    [query] = [each for each in QUERIES if each.name == "order_items"]
    selected, _, _ = query.sql("datalake", {"cdc_events": "cdc_events"}).partition("FROM")
    assert list(COLUMNS) == re.findall(r"(?:\bAS |\.)(\w+),?$", selected, re.MULTILINE)
