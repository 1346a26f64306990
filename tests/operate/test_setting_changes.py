"""docs/reference/settings.md is true; settings are synthesized together only where none hides another."""

import re
from typing import Any

import pytest

from operate.changes import page
from operate.changes.page import PAGE, Row, groups, new_value, process, rows_as_said, stacks_of, synthesized
from operate.changes.values import Change, changes
from settings.environment import Environment
from settings.load import load

DEV = load("dev")
IN_PLACE = "**in place** {}: Thing."


def chosen(*keys: str) -> list[Change]:
    found = {change.key: change for change in changes(DEV)}
    return [found[key] for key in keys]


def said(changes_: list[Change], *texts: str) -> dict[tuple[str, str], str]:
    return {(change.key, new_value(change)): text for change, text in zip(changes_, texts, strict=True)}


def test_the_stacks_of_a_row_are_read() -> None:
    text = "**gone** lake: IAM Role; **in place** connectors: Logs LogGroup (x); database: A, 2 x B. More: do this."
    assert stacks_of(text) == {"lake", "connectors", "database"}
    assert stacks_of("nothing.") == set()


def test_those_that_touch_one_stack_are_apart_and_others_together() -> None:
    wanted = chosen("vpn.instance_type", "vpn.users", "lake.log_expiry_days", "monitoring.slot_lag_mb")
    texts = said(wanted, *(IN_PLACE.format(stack) for stack in ("vpn", "vpn", "lake", "monitoring")))
    assert [{change.key for change in group} for group in groups(wanted, texts)] == [
        {"vpn.instance_type", "lake.log_expiry_days", "monitoring.slot_lag_mb"},
        {"vpn.users"},
    ]


def test_what_is_refused_or_not_on_the_page_is_alone() -> None:
    wanted = chosen("vpn.instance_type", "lake.log_expiry_days", "database.name")
    texts = said(wanted, IN_PLACE.format("vpn"), "", "**refused** database: RDS DBCluster. Make another.")
    assert sorted(len(group) for group in groups(wanted, texts)) == [1, 1, 1]


def test_what_is_looked_at_in_another_environment_is_alone() -> None:
    wanted = chosen("vpn.instance_type", "lake.log_expiry_days", "analytics.refresh")
    texts = said(wanted, *(IN_PLACE.format(stack) for stack in ("vpn", "lake", "analytics")))
    assert sorted([change.key for change in group] for group in groups(wanted, texts)) == [
        ["analytics.refresh"],
        ["vpn.instance_type", "lake.log_expiry_days"],
    ]


def two_stacks(environment: Environment) -> dict[str, Any]:
    """Two stacks with one setting each, and a third that the page doesn't list."""

    def stack(value: object) -> dict[str, Any]:
        return {"Resources": {"Policy": {"Type": "AWS::IAM::Policy", "Properties": {"PolicyName": str(value)}}}}

    days = environment.lake.log_expiry_days
    return {"vpn": stack(environment.vpn.instance_type), "lake": stack(days), "streaming": stack(days)}


def test_a_page_that_is_wrong_about_one_of_a_group_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[Environment] = []

    def synthesized(environment: Environment) -> dict[str, Any]:
        made.append(environment)
        return two_stacks(environment)

    wanted = chosen("vpn.instance_type", "lake.log_expiry_days")
    monkeypatch.setattr(page, "changes", lambda _environment: wanted)
    monkeypatch.setattr(page, "synthesized", synthesized)
    texts = said(wanted, "**in place** vpn: IAM Policy.", "**in place** lake: IAM Policy.")
    found = {row.key: row.text for row in rows_as_said("dev", texts)}
    assert found == {
        "vpn.instance_type": "**in place** vpn: IAM Policy.",
        "lake.log_expiry_days": "**in place** lake: IAM Policy; streaming: IAM Policy.",
    }
    # Before, both at once, and then each alone, because the third stack belongs to neither.
    assert len(made) == 4


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


@pytest.mark.synth
def test_the_page_says_what_the_settings_of_a_group_do() -> None:
    said = {(key, change): text for key, change, text in shown("dev")}
    with process() as pool:
        rows = pool.apply(one_group, ["dev", said])
    assert len(rows) >= 5
    assert {(row.key, row.change, row.text) for row in rows} <= shown("dev"), (
        "run `./lake dev generate setting-changes`"
    )


@pytest.mark.synth
@pytest.mark.long
@pytest.mark.parametrize("name", ["dev", "prod"])
def test_the_page_has_each_settings_effect_and_no_other_setting_changes_an_import(name: str) -> None:
    said = {(key, change): text for key, change, text in shown(name)}
    with process() as pool:
        rows = pool.apply(rows_as_said, [name, said])
    assert {(row.key, row.change, row.text) for row in rows} == shown(name), "run `./lake dev generate setting-changes`"
    assert {row.key for row in rows if "another stack imports it" in row.text} == DELETED_FIRST
    assert {row.effect for row in rows if row.key == "streaming.brokers"} <= {"in place", "not accepted"}
