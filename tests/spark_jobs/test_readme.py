"""The page of the job lists every option and property with its real default, and nothing else."""

import re

import pytest

from spark_jobs import keys, multi_table_options, options
from spark_jobs.number import Number
from tests.spark_jobs.conftest import ROOT
from tests.spark_jobs.test_loop import REPORT

PAGE = (ROOT / "docs" / "reference" / "streaming-job.md").read_text()


def table(heading: str) -> dict[str, list[str]]:
    """The rows of a section's tables: the names in a row's first cell → its other cells."""
    section = PAGE.split(f"\n## {heading}\n")[1].split("\n## ")[0]
    rows = [line.strip("| ").split(" | ") for line in section.splitlines() if line.startswith("| `")]
    return {name: cells[1:] for cells in rows for name in re.findall(r"`([^`]+)`", cells[0])}


def number_cell(number: Number) -> str:
    """A number's default, and its bounds."""
    return f"{'none' if number.default is None else f'`{number.default}`'}, {number}"


def test_every_option_is_listed_with_its_default() -> None:
    listed = table("Options")
    actions = {name: action for action in options.build_parser()._actions for name in action.option_strings}
    for name in ("--help", "-h"):
        del actions[name]
    assert set(listed) == set(actions)
    for name, action in actions.items():
        cell = listed[name][0]
        if name in options.REQUIRED:
            assert cell == "needed", name
        elif name in options.NUMBERS:
            assert cell == number_cell(options.NUMBERS[name]), name
        elif isinstance(action.default, str | int) and not isinstance(action.default, bool):
            assert cell == f"`{action.default}`", name
        elif action.default is False:
            assert cell in ("off", "on"), name


@pytest.mark.parametrize("name", sorted(keys.STREAMER_PROPERTIES))
def test_every_property_is_listed_with_its_default(name: str) -> None:
    known, cells = keys.STREAMER_PROPERTIES[name], table("Properties")[name]
    if name in keys.NUMBERS:
        assert cells[0] == number_cell(keys.NUMBERS[name])
    elif known.default is not None and " " not in known.default:
        assert cells[0] == f"`{known.default}`"
    assert cells[1].startswith("own: ") is known.own


def test_no_other_property_is_listed() -> None:
    assert set(table("Properties")) == set(keys.STREAMER_PROPERTIES)


def test_what_many_tables_take_besides_is_listed() -> None:
    listed = table("Many tables")
    one = {name for action in options.build_parser()._actions for name in action.option_strings}
    many = {name for action in multi_table_options.build_parser()._actions for name in action.option_strings}
    assert one - many == {"--target-base-path"}
    needed = {name for name, cells in listed.items() if cells[0] == "needed" and name.startswith("--")}
    assert needed == set(multi_table_options.REQUIRED)
    assert set(listed) == (many - one) | needed | {"--target-table"} | set(keys.MULTI_TABLE_PROPERTIES)


@pytest.mark.parametrize("name", sorted(keys.MULTI_TABLE_PROPERTIES))
def test_a_property_of_many_tables_is_listed_with_its_default(name: str) -> None:
    known, cells = keys.MULTI_TABLE_PROPERTIES[name], table("Many tables")[name]
    expected = number_cell(keys.NUMBERS[name]) if name in keys.NUMBERS else known.default or cells[0]
    assert cells[0].strip("`") == expected.strip("`")
    assert cells[1].startswith("own: ") is known.own


def test_the_line_of_a_commit_is_the_real_one() -> None:
    assert REPORT.line() in PAGE.splitlines()
