"""Says what is wrong with a dashboard's definition, and with whom it is shown to, before QuickSight would.

Shapes are checked by others (the providers' schemas, botocore's model), references by nobody: a column, a data set, a
sort field or a visual that isn't there, an id that is there twice, two kinds in one visual, an action of another kind,
an IAM role in the place of a QuickSight user. Each is a deployment that fails after minutes, or a chart with an error.
"""

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from analytics.dashboard import GRID_COLUMNS
from analytics.permissions import KNOWN, account_of

# Names of columns by what the definition calls their data set.
Columns = Mapping[str, Sequence[str]]
# Structures of which exactly one member may be there, by the key under which they, or a list of them, stand.
_ONE_OF_LISTS = {
    "Visuals": "visual",
    "Category": "field",
    "CategorySort": "sort",
    "Size": "field",
    "Values": "field",
    "XAxis": "field",
    "YAxis": "field",
}
_IN_EXPRESSION = re.compile(r"\{([^}]*)\}")


def definition_problems(definition: Mapping[str, Any], columns: Columns) -> list[str]:
    """Return a line for each thing that is wrong with a definition; `columns` are those of its data sets."""
    return [
        *_data_sets(definition, columns),
        *_columns(definition, _with_calculated(definition, columns)),
        *_expressions(definition, columns),
        *_one_kind(definition),
        *_ids(definition),
        *(line for sheet in definition.get("Sheets", []) for line in _layout(sheet)),
        *(line for visual in _visuals(definition) for line in _sorts(visual)),
    ]


def permission_problems(kind: str, permissions: Sequence[Mapping[str, Any]], account: str) -> list[str]:
    """Return a line for each thing that is wrong with the permissions of a resource of a kind such as `Dashboard`."""
    found = []
    for each in permissions:
        principal = str(each.get("Principal"))
        theirs = account_of(principal)
        if theirs is None:
            found.append(f"{principal} is no user or group of QuickSight, arn:aws:quicksight:<region>:<account>:…")
        elif theirs != account:
            found.append(f"{principal} is of another account than {account}")
        unknown = [action for action in each.get("Actions", []) if action not in KNOWN[kind]]
        found += [f"{action} is nothing that one does with a {kind}" for action in unknown]
    return found


def _data_sets(definition: Mapping[str, Any], columns: Columns) -> Iterator[str]:
    declared = [each["Identifier"] for each in definition.get("DataSetIdentifierDeclarations", [])]
    yield from (f"the data set {name} is declared twice" for name in _twice(declared))
    yield from (f"of the data set {name} no columns are known" for name in declared if name not in columns)
    used = {str(value) for key, value in _members(definition) if key == "DataSetIdentifier"}
    yield from (f"the data set {name} isn't declared" for name in sorted(used - set(declared)))


def _with_calculated(definition: Mapping[str, Any], columns: Columns) -> dict[str, set[str]]:
    known = {name: set(names) for name, names in columns.items()}
    for field in definition.get("CalculatedFields", []):
        known.setdefault(field["DataSetIdentifier"], set()).add(field["Name"])
    return known


def _columns(definition: Mapping[str, Any], known: Mapping[str, set[str]]) -> Iterator[str]:
    for column in _structures(definition, "ColumnName"):
        name, data_set = column["ColumnName"], column.get("DataSetIdentifier")
        if name not in known.get(str(data_set), {name}):
            yield f"{data_set} has no column {name}"


def _expressions(definition: Mapping[str, Any], columns: Columns) -> Iterator[str]:
    """Calculated fields use columns, or each other, and don't take a column's name."""
    known = _with_calculated(definition, columns)
    for field in definition.get("CalculatedFields", []):
        data_set, name = field["DataSetIdentifier"], field["Name"]
        for used in _IN_EXPRESSION.findall(field["Expression"]):
            if used == name or used not in known[data_set]:
                yield f"the calculated field {name} uses {used}, which {data_set} doesn't have"
        if name in columns.get(data_set, ()):
            yield f"the calculated field {name} has the name of a column of {data_set}"


def _one_kind(definition: Mapping[str, Any]) -> Iterator[str]:
    for key, value in _members(definition):
        if key in _ONE_OF_LISTS and isinstance(value, list):
            for each in value:
                if len(each) != 1:
                    kinds = " and ".join(sorted(each)) or "nothing"
                    yield f"one {_ONE_OF_LISTS[key]} is {kinds}: it must be of one kind"


def _ids(definition: Mapping[str, Any]) -> Iterator[str]:
    for key in ("SheetId", "VisualId"):
        ids = [each[key] for each in _structures(definition, key)]
        yield from (f"the {key} {id_} is there twice" for id_ in _twice(ids))
    fields = [each["FieldId"] for each in _structures(definition, "FieldId") if "Column" in each]
    yield from (f"the FieldId {id_} is there twice" for id_ in _twice(fields))
    calculated = [(each["DataSetIdentifier"], each["Name"]) for each in definition.get("CalculatedFields", [])]
    yield from (f"the calculated field {name} of {data_set} is there twice" for data_set, name in _twice(calculated))


def _layout(sheet: Mapping[str, Any]) -> Iterator[str]:
    visuals = {each["VisualId"] for each in _structures(sheet.get("Visuals", []), "VisualId")}
    elements = list(_structures(sheet.get("Layouts", []), "ElementId"))
    placed = [element["ElementId"] for element in elements]
    yield from (f"the layout has an element {name}, which is no visual" for name in placed if name not in visuals)
    yield from (f"the layout has {name} twice" for name in _twice(placed))
    yield from (f"the layout has no place for {name}" for name in sorted(visuals.difference(placed)))
    for element in elements:
        if element.get("ColumnIndex", 0) + element["ColumnSpan"] > GRID_COLUMNS:
            yield f"{element['ElementId']} goes beyond the {GRID_COLUMNS} columns of the grid"


def _sorts(visual: Mapping[str, Any]) -> Iterator[str]:
    fields = {each["FieldId"] for each in _structures(visual, "FieldId") if "Column" in each}
    for key, value in _members(visual):
        if key == "FieldSort" and value["FieldId"] not in fields:
            yield f"a visual is sorted by {value['FieldId']}, which is none of its fields"


def _visuals(definition: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    for sheet in definition.get("Sheets", []):
        yield from sheet.get("Visuals", [])


def _members(value: Any) -> Iterator[tuple[str, Any]]:
    """Every key with its value, at any depth."""
    if isinstance(value, Mapping):
        for key, inner in value.items():
            yield key, inner
            yield from _members(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from _members(inner)


def _structures(value: Any, key: str) -> Iterator[Mapping[str, Any]]:
    """Every structure, at any depth, that has this key."""
    if isinstance(value, Mapping):
        if key in value:
            yield value
        for inner in value.values():
            yield from _structures(inner, key)
    elif isinstance(value, list):
        for inner in value:
            yield from _structures(inner, key)


def _twice(ids: Sequence[Any]) -> list[Any]:
    return [id_ for id_, count in Counter(ids).items() if count > 1]
