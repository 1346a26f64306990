"""Settings are synthesized together if they touch different stacks, and never so that one hides another."""

from typing import Any

import pytest

from operate.changes import page
from operate.changes.page import groups, new_value, rows_as_said, stacks_of
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


def templates(environment: Environment) -> dict[str, Any]:
    """Two stacks with one setting each, and a third that the page doesn't list."""

    def stack(value: object) -> dict[str, Any]:
        return {"Resources": {"Policy": {"Type": "AWS::IAM::Policy", "Properties": {"PolicyName": str(value)}}}}

    days = environment.lake.log_expiry_days
    return {"vpn": stack(environment.vpn.instance_type), "lake": stack(days), "streaming": stack(days)}


def test_a_page_that_is_wrong_about_one_of_a_group_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[Environment] = []

    def synthesized(environment: Environment) -> dict[str, Any]:
        made.append(environment)
        return templates(environment)

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
