"""The alarm on costs: whom it tells, of what, and who may send it."""

import dataclasses

import pytest

from operate.review import find
from settings.load import load
from tests.stacks.conftest import Synthesized

pytestmark = pytest.mark.synth


def test_the_review_refuses_a_budget_below_the_costs(dev: Synthesized, monkeypatch: pytest.MonkeyPatch) -> None:
    # It reads what is in the templates, which have no budget to judge, and takes its time.
    monkeypatch.setattr("operate.review.findings._cfn_lint", lambda *_: iter(()))
    environment = load("dev")
    poor = environment.model_copy(update={"budget": environment.budget.model_copy(update={"monthly_usd": 100})})
    found = find(poor, dataclasses.replace(dev.synthesis, violations=()))
    [message] = [str(each) for each in found if each.rule == "budget-covers-costs" and each.level == "error"]
    assert "environments/dev.toml: budget.monthly_usd: 100 is less than the environment costs" in message
