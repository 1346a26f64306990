"""Each setting of each environment changed alone, synthesized, and compared: docs/setting-changes.md is true."""

import pytest

from operate.changes import together
from operate.changes.page import PAGE, Row, process, synthesized
from operate.changes.together import rows_as_said
from operate.changes.values import changes
from settings.load import load

pytestmark = pytest.mark.synth
# Nothing else may change what another stack imports: it could never be deployed. These are said to want a stack, or all
# of them, deleted first.
DELETED_FIRST = {"availability_zones", "network.cidr", "connectors.platform"}


def shown(name: str) -> set[tuple[str, str, str]]:
    """The page's rows of an environment: setting, change, what happens."""
    lines = [line for line in PAGE.read_text(encoding="utf-8").splitlines() if line.startswith("|")]
    column = [cell.strip() for cell in lines[0].split("|")].index(name)
    found = set()
    for line in lines[2:]:
        # What the page writes never has a bar between two blanks.
        cells = line.split(" | ")
        if line.startswith("| `") and cells[column - 1].strip():
            for change in cells[column - 1].split("; "):
                found.add((cells[0].removeprefix("| ").strip("`"), change.strip(), cells[-1].removesuffix(" |")))
    return found


def one_group(name: str, said: dict[tuple[str, str], str]) -> list[Row]:
    """The rows of the most settings that one synthesis shows."""
    environment = load(name)
    group = max(together.groups(list(changes(environment)), said), key=len)
    return together._rows(group, synthesized(environment), said)


def test_the_page_says_what_the_settings_of_a_group_do() -> None:
    said = {(key, change): text for key, change, text in shown("dev")}
    with process() as pool:
        rows = pool.apply(one_group, ["dev", said])
    assert len(rows) >= 5
    assert {(row.key, row.change, row.text) for row in rows} <= shown("dev"), "run `make setting-changes`"


@pytest.mark.long
@pytest.mark.parametrize("name", ["dev", "prod"])
def test_the_page_says_what_each_setting_does_and_none_changes_what_is_imported(name: str) -> None:
    said = {(key, change): text for key, change, text in shown(name)}
    with process() as pool:
        rows = pool.apply(rows_as_said, [name, said])
    assert {(row.key, row.change, row.text) for row in rows} == shown(name), "run `make setting-changes`"
    assert {row.key for row in rows if "another stack imports it" in row.text} == DELETED_FIRST
    assert {row.effect for row in rows if row.key == "streaming.brokers"} <= {"in place", "not accepted"}
