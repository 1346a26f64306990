"""The alarm on costs: whom it tells, of what, and who may send it."""

import dataclasses
from typing import Any

import pytest

from operate.review import find
from settings.load import load
from tests.stacks.conftest import Synthesized

pytestmark = pytest.mark.synth


@pytest.fixture(params=["dev", "prod", "sandbox"])
def environment(request: pytest.FixtureRequest) -> Synthesized:
    found: Synthesized = request.getfixturevalue(request.param)
    return found


def budget(environment: Synthesized) -> dict[str, Any]:
    [found] = environment.resources("monitoring", "AWS::Budgets::Budget").values()
    return dict(found["Properties"])


def test_the_amount_is_the_environments_for_all_that_has_its_tags(environment: Synthesized) -> None:
    settings = load(environment.synthesis.folder.name)
    found = budget(environment)["Budget"]
    assert (found["BudgetType"], found["TimeUnit"]) == ("COST", "MONTHLY")
    assert found["BudgetLimit"] == {"Amount": settings.budget.monthly_usd, "Unit": "USD"}
    wanted = {each["Tags"]["Key"]: each["Tags"]["Values"] for each in found["FilterExpression"]["And"]}
    assert wanted == {"environment": [settings.name], "system": ["cdc-lake"]}
    tagged = budget(environment)["ResourceTags"]
    assert {each["Key"]: [each["Value"]] for each in tagged} == wanted


def test_whoever_gets_the_alarms_is_told_of_what_has_been_spent_and_what_is_in_sight(environment: Synthesized) -> None:
    [topic] = environment.resources("monitoring", "AWS::SNS::Topic")
    told = budget(environment)["NotificationsWithSubscribers"]
    assert [
        (each["Notification"]["NotificationType"], each["Notification"]["Threshold"])
        for each in told
        if each["Notification"]["ThresholdType"] == "PERCENTAGE"
    ] == [("ACTUAL", 80), ("ACTUAL", 100), ("FORECASTED", 100)]
    assert all(
        each["Subscribers"] == [{"SubscriptionType": "SNS", "Address": {"Ref": topic}}]
        and each["Notification"]["ComparisonOperator"] == "GREATER_THAN"
        for each in told
    )


def test_other_notifications_make_another_budget_that_meets_no_name_of_its_own(environment: Synthesized) -> None:
    assert "BudgetName" not in budget(environment)["Budget"]


def test_budgets_of_this_account_alone_may_send_and_use_the_topics_key(environment: Synthesized) -> None:
    account = load(environment.synthesis.folder.name).account
    found = {}
    for type_, key in (("AWS::SNS::TopicPolicy", "PolicyDocument"), ("AWS::KMS::Key", "KeyPolicy")):
        [resource] = environment.resources("monitoring", type_).values()
        for statement in resource["Properties"][key]["Statement"]:
            if statement["Principal"] == {"Service": "budgets.amazonaws.com"}:
                found[type_] = statement["Action"]
                assert statement["Condition"]["StringEquals"] == {"aws:SourceAccount": account}
                assert statement["Condition"]["ArnLike"] == {"aws:SourceArn": f"arn:aws:budgets::{account}:*"}
    assert found == {
        "AWS::SNS::TopicPolicy": "sns:Publish",
        "AWS::KMS::Key": ["kms:Decrypt", "kms:GenerateDataKey*"],
    }


def test_the_review_refuses_a_budget_below_the_costs(dev: Synthesized, monkeypatch: pytest.MonkeyPatch) -> None:
    # It reads what is in the templates, which have no budget to judge, and takes its time.
    monkeypatch.setattr("operate.review.findings._cfn_lint", lambda *_: iter(()))
    environment = load("dev")
    poor = environment.model_copy(update={"budget": environment.budget.model_copy(update={"monthly_usd": 100})})
    found = find(poor, dataclasses.replace(dev.synthesis, violations=()))
    [message] = [str(each) for each in found if each.rule == "budget-covers-costs" and each.level == "error"]
    assert "environments/dev.toml: budget.monthly_usd: 100 is less than the environment costs" in message
