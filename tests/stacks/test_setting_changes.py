"""docs/reference/settings.md is true: each setting is changed alone, synthesized and compared."""

import re

import pytest

from operate.changes import page
from operate.changes.page import PAGE, Row, process, rows_as_said, synthesized
from operate.changes.values import changes
from settings.load import load

pytestmark = pytest.mark.synth
# Only these may change an export that another stack imports, which can't be deployed: the page says what to delete
# first.
DELETED_FIRST = {"availability_zones", "network.cidr", "connectors.platform"}


def shown(name: str) -> set[tuple[str, str, str]]:
    """The page's rows of an environment: setting, new value, effect."""
    found = set()
    for line in PAGE.read_text(encoding="utf-8").splitlines():
        if line.startswith("| `"):
            entries, _, effect = line.removeprefix("| ").removesuffix(" |").partition(" | ")
            for key, value, where in re.findall(r"`([^`]+)`: (.+?)(?: \((dev|prod)\))?(?:<br>|$)", entries):
                if where in ("", name):
                    found.add((key, value, effect))
    return found


def one_group(name: str, said: dict[tuple[str, str], str]) -> list[Row]:
    """The rows of the largest group of settings that one synthesis shows."""
    environment = load(name)
    group = max(page.groups(list(changes(environment)), said), key=len)
    return page._rows(group, synthesized(environment), said)


def test_the_page_says_what_the_settings_of_a_group_do() -> None:
    said = {(key, change): text for key, change, text in shown("dev")}
    with process() as pool:
        rows = pool.apply(one_group, ["dev", said])
    assert len(rows) >= 5
    assert {(row.key, row.change, row.text) for row in rows} <= shown("dev"), (
        "run `./lake dev generate setting-changes`"
    )


@pytest.mark.long
@pytest.mark.parametrize("name", ["dev", "prod"])
def test_the_page_has_each_settings_effect_and_no_other_setting_changes_an_import(name: str) -> None:
    said = {(key, change): text for key, change, text in shown(name)}
    with process() as pool:
        rows = pool.apply(rows_as_said, [name, said])
    assert {(row.key, row.change, row.text) for row in rows} == shown(name), "run `./lake dev generate setting-changes`"
    assert {row.key for row in rows if "another stack imports it" in row.text} == DELETED_FIRST
    assert {row.effect for row in rows if row.key == "streaming.brokers"} <= {"in place", "not accepted"}
