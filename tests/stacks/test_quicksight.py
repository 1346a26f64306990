"""QuickSight as code: who sees what, the role that it queries with, and a definition with valid references."""

import copy
import dataclasses
from collections.abc import Callable
from pathlib import Path
from typing import Any

import botocore.session
import pytest
from botocore.validate import ParamValidator

from analytics.dashboard import COLUMNS
from settings.environment import Environment
from settings.load import load
from stacks.gate import review
from stacks.gate.template import Finding
from tests.stacks.conftest import Synthesized, synthesized

ACCOUNT = "111111111111"
ANALYSTS = f"arn:aws:quicksight:us-east-1:{ACCOUNT}:group/default/analysts"
READER = f"arn:aws:iam::{ACCOUNT}:role/analyst"


def shown(**analytics: object) -> Environment:
    """The dev environment with a dashboard, and further settings of its analytics."""
    values = load("dev").model_dump(by_alias=True)
    values["analytics"] |= {"quicksight_principal": ANALYSTS, **analytics}
    return Environment.model_validate(values)


@pytest.fixture(scope="session")
def with_quicksight(tmp_path_factory: pytest.TempPathFactory) -> Synthesized:
    environment = shown(import_mode="SPICE", refresh="DAILY", lake_formation=True, lake_formation_readers=(READER,))
    return synthesized("dev", tmp_path_factory.mktemp("quicksight"), environment=environment)


STACK = "dev-cdc-lake-analytics"
QUICKSIGHT = "AWS::QuickSight::"
KINDS = ("Analysis", "Dashboard", "DataSet", "DataSource")


def one(environment: Synthesized, kind: str) -> dict[str, Any]:
    [found] = environment.resources("analytics", f"{QUICKSIGHT}{kind}").values()
    properties: dict[str, Any] = found["Properties"]
    return properties


def found_in(environment: Synthesized, change: Callable[[dict[str, Any]], Any] | None = None) -> list[Finding]:
    """The gate's findings on changed templates."""
    from operate.review.findings import facts

    templates = copy.deepcopy(environment.synthesis.templates)
    if change:
        change({each["Type"].rpartition("::")[2]: each for each in templates[STACK]["Resources"].values()})
    findings = review(templates, facts(shown()), environment.synthesis.accepted)
    return [finding for finding in findings if finding.level == "error"]


@pytest.mark.synth
def test_the_gate_cdk_nag_and_cfn_lint_find_nothing(with_quicksight: Synthesized) -> None:
    from operate.review.findings import find

    findings = find(shown(), with_quicksight.synthesis)
    assert [str(each) for each in findings if "./lake dev lock plugins" not in each.message] == []


@pytest.mark.synth
def test_quicksight_asks_by_a_role_of_its_own_with_the_rights_of_an_analyst(with_quicksight: Synthesized) -> None:
    source = one(with_quicksight, "DataSource")["DataSourceParameters"]["AthenaParameters"]
    [(name, role)] = with_quicksight.resources("analytics", "AWS::IAM::Role").items()
    assert source == {"RoleArn": {"Fn::GetAtt": [name, "Arn"]}, "WorkGroup": {"Ref": "Athena"}}
    trusted = [each["Principal"] for each in role["Properties"]["AssumeRolePolicyDocument"]["Statement"]]
    assert trusted == [{"Service": "quicksight.amazonaws.com"}]
    [own] = with_quicksight.resources("analytics", "AWS::IAM::Policy").values()
    [analysts] = [
        each
        for each in with_quicksight.resources("analytics", "AWS::IAM::ManagedPolicy").values()
        if each["Properties"]["ManagedPolicyName"] == "dev-cdc-lake-analyst"
    ]
    assert own["Properties"]["PolicyDocument"] == analysts["Properties"]["PolicyDocument"]


@pytest.mark.synth
def test_the_data_set_is_the_order_items_query_with_its_columns(with_quicksight: Synthesized) -> None:
    data_set = one(with_quicksight, "DataSet")
    assert "LogicalTableMap" not in data_set
    [table] = [each["CustomSql"] for each in data_set["PhysicalTableMap"].values()]
    queries = with_quicksight.resources("analytics", "AWS::Athena::NamedQuery").values()
    [named] = [each["Properties"] for each in queries if each["Properties"]["Name"].endswith("-order_items")]
    assert table["SqlQuery"] == named["QueryString"]
    assert {each["Name"]: each["Type"] for each in table["Columns"]} == COLUMNS


@pytest.mark.synth
def test_analysis_and_dashboard_are_the_same_charts_of_the_data_set(with_quicksight: Synthesized) -> None:
    analysis, dashboard = one(with_quicksight, "Analysis"), one(with_quicksight, "Dashboard")
    assert analysis["Definition"] == dashboard["Definition"]
    [declared] = dashboard["Definition"]["DataSetIdentifierDeclarations"]
    [name] = with_quicksight.resources("analytics", f"{QUICKSIGHT}DataSet")
    assert declared["DataSetArn"] == {"Fn::GetAtt": [name, "Arn"]}


@pytest.mark.synth
def test_everything_is_the_principals_and_has_the_environments_tags(with_quicksight: Synthesized) -> None:
    for kind in KINDS:
        properties = one(with_quicksight, kind)
        assert [each["Principal"] for each in properties["Permissions"]] == [ANALYSTS]
        assert {"Key": "environment", "Value": "dev"} in properties["Tags"]
        assert properties["Name"].startswith("dev-cdc-lake ")


@pytest.mark.synth
def test_spice_is_refreshed_and_a_direct_query_is_not(with_quicksight: Synthesized, tmp_path: Path) -> None:
    assert one(with_quicksight, "DataSet")["ImportMode"] == "SPICE"
    schedule = one(with_quicksight, "RefreshSchedule")
    assert schedule["DataSetId"] == one(with_quicksight, "DataSet")["DataSetId"]
    assert schedule["Schedule"]["ScheduleFrequency"]["Interval"] == "DAILY"
    direct = synthesized("dev", tmp_path, environment=shown())
    assert one(direct, "DataSet")["ImportMode"] == "DIRECT_QUERY"
    assert direct.resources("analytics", f"{QUICKSIGHT}RefreshSchedule") == {}
    for stack in ("analytics", "processing"):
        assert direct.resources(stack, "AWS::LakeFormation::PrincipalPermissions") == {}


@pytest.mark.synth
def test_lake_formation_lets_the_readers_and_quicksights_role_read(with_quicksight: Synthesized) -> None:
    grants = with_quicksight.resources("analytics", "AWS::LakeFormation::PrincipalPermissions").values()
    found = {
        (str(each["Properties"]["Principal"]["DataLakePrincipalIdentifier"]), *each["Properties"]["Permissions"])
        for each in grants
    }
    [role] = with_quicksight.resources("analytics", "AWS::IAM::Role")
    role_arn = str({"Fn::GetAtt": [role, "Arn"]})
    assert found == {(who, *what) for who in (READER, role_arn) for what in (("DESCRIBE",), ("DESCRIBE", "SELECT"))}
    assert all(each["Properties"]["PermissionsWithGrantOption"] == [] for each in grants)


@pytest.mark.synth
def test_lake_formation_lets_the_jobs_make_and_keep_tables_before_they_start(with_quicksight: Synthesized) -> None:
    grants = with_quicksight.resources("processing", "AWS::LakeFormation::PrincipalPermissions")
    [profile] = with_quicksight.resources("processing", "AWS::IAM::InstanceProfile").values()
    [nodes] = (each["Ref"] for each in profile["Properties"]["Roles"])
    found = [each["Properties"] for each in grants.values()]
    assert {str(each["Principal"]["DataLakePrincipalIdentifier"]) for each in found} == {
        str({"Fn::GetAtt": [nodes, "Arn"]})
    }
    assert sorted(each["Permissions"] for each in found) == [["ALL"], ["CREATE_TABLE", "DESCRIBE"]]
    assert all(each["PermissionsWithGrantOption"] == [] for each in found)
    [steps] = with_quicksight.resources("processing", "Custom::EmrStep").values()
    assert set(grants) <= set(steps["DependsOn"])


@pytest.mark.synth
def test_the_review_says_who_is_granted_what(with_quicksight: Synthesized) -> None:
    from operate.review.page import page
    from operate.review.render import render

    shown_to_people = page(shown(), with_quicksight.synthesis, [])
    found = {(each.who, each.where): each.actions for each in shown_to_people.let_in}
    in_quicksight = {place[1].rpartition("/")[2]: actions for place, actions in found.items() if "group" in place[0]}
    assert in_quicksight.pop("Analysis") == (
        "QuickSight: reads, changes, deletes, query analysis, update analysis permissions, restore analysis",
    )
    assert in_quicksight == {
        "Dashboard": ("QuickSight: reads, query dashboard",),
        "DataSet": ("QuickSight: reads, pass data set",),
        "DataSource": ("QuickSight: reads, pass data source",),
    }
    assert {who for who, where in found if "QuickSight/" in where} == {"QuickSight's group analysts"}
    by_lake_formation = {place: actions for place, actions in found.items() if actions[0].startswith("Lake Formation")}
    database = shown().lake.database
    assert by_lake_formation == {
        ("iam role/analyst", f"database {database}"): ("Lake Formation: describe",),
        ("iam role/analyst", f"every table of {database}"): ("Lake Formation: describe, select",),
        ("analytics/QuickSightRole", f"database {database}"): ("Lake Formation: describe",),
        ("analytics/QuickSightRole", f"every table of {database}"): ("Lake Formation: describe, select",),
        ("processing/Roles/Nodes", f"database {database}"): ("Lake Formation: create table, describe",),
        ("processing/Roles/Nodes", f"every table of {database}"): ("Lake Formation: all",),
    }
    text = render(shown_to_people, "md")
    assert "QuickSight's group analysts" in text
    assert ":group/default/analysts" not in text


@pytest.mark.synth
def test_the_review_names_a_user_of_another_namespace_and_what_may_be_handed_on(with_quicksight: Synthesized) -> None:
    from operate.review.page import page

    templates = copy.deepcopy(with_quicksight.synthesis.templates)
    resources = {each["Type"].rpartition("::")[2]: each for each in templates[STACK]["Resources"].values()}
    user = f"arn:aws:quicksight:us-east-1:{ACCOUNT}:user/partners/bob"
    resources["Dashboard"]["Properties"]["Permissions"][0]["Principal"] = user
    grant(resources)["PermissionsWithGrantOption"] = ["SELECT"]
    changed = dataclasses.replace(with_quicksight.synthesis, templates=templates)
    found = page(shown(), changed, []).let_in
    assert [each.where for each in found if each.who == "QuickSight's user bob in partners"] == [
        "analytics/QuickSight/Dashboard"
    ]
    assert [each.actions[-1] for each in found if each.actions[-1].startswith("may")] == ["may grant others: select"]


# CloudFormation's names of what QuickSight's API takes under others.
OPERATIONS = {kind: f"Create{kind}" for kind in KINDS}


@pytest.mark.synth
@pytest.mark.parametrize("kind", KINDS)
def test_what_is_handed_over_has_the_shape_of_quicksights_api(with_quicksight: Synthesized, kind: str) -> None:
    model = botocore.session.get_session().get_service_model("quicksight")
    properties = literal(one(with_quicksight, kind))
    expected = model.operation_model(OPERATIONS[kind]).input_shape
    assert expected is not None
    report = ParamValidator().validate(properties, expected)
    assert not report.has_errors(), report.generate_report()


def literal(value: Any) -> Any:
    """Substitute CloudFormation's references with text, which all of them are here."""
    if isinstance(value, dict):
        if len(value) == 1 and next(iter(value)) in ("Fn::GetAtt", "Fn::Join", "Ref"):
            return "arn:aws:iam::111111111111:role/later"
        return {key: literal(inner) for key, inner in value.items()}
    return [literal(inner) for inner in value] if isinstance(value, list) else value


def definition(resources: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = resources["Dashboard"]["Properties"]["Definition"]
    return found


def athena(resources: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = resources["WorkGroup"]["Properties"]["WorkGroupConfiguration"]
    return found


def permission(resources: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = resources["Dashboard"]["Properties"]["Permissions"][0]
    return found


def grant(resources: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = resources["PrincipalPermissions"]["Properties"]
    return found


MUTATIONS: dict[str, tuple[str, Callable[[dict[str, Any]], Any]]] = {
    "a data set of somebody else's": (
        "dashboard-sound",
        lambda r: definition(r)["DataSetIdentifierDeclarations"][0].update(
            DataSetArn="arn:aws:quicksight:x:y:dataset/z"
        ),
    ),
    "an IAM role as the principal": ("dashboard-sound", lambda r: permission(r).update(Principal=READER)),
    "an action of another kind": (
        "dashboard-sound",
        lambda r: permission(r)["Actions"].append("quicksight:QueryAnalysis"),
    ),
    "shared by link": (
        "dashboard-sound",
        lambda r: r["Dashboard"]["Properties"].update(LinkSharingConfiguration={"x": 1}),
    ),
    "asks as the account": (
        "dashboard-sound",
        lambda r: r["DataSource"]["Properties"]["DataSourceParameters"]["AthenaParameters"].pop("RoleArn"),
    ),
    "with a password": ("dashboard-sound", lambda r: r["DataSource"]["Properties"].update(Credentials={"x": 1})),
    "results where clients say": ("data-closed", lambda r: athena(r).update(EnforceWorkGroupConfiguration=False)),
    "results in plain text": ("data-closed", lambda r: athena(r)["ResultConfiguration"].pop("EncryptionConfiguration")),
    "results in another account": (
        "data-closed",
        lambda r: athena(r)["ResultConfiguration"].update(ExpectedBucketOwner="999999999999"),
    ),
    "queries without a limit": ("data-closed", lambda r: athena(r).pop("BytesScannedCutoffPerQuery")),
    "readers that write": ("rights-of-readers", lambda r: grant(r)["Permissions"].append("INSERT")),
    "readers that keep tables": ("rights-of-readers", lambda r: grant(r)["Permissions"].append("ALL")),
    "readers that grant": ("rights-of-readers", lambda r: grant(r).update(PermissionsWithGrantOption=["SELECT"])),
    "a reader of another account": (
        "rights-of-readers",
        lambda r: grant(r)["Principal"].update(DataLakePrincipalIdentifier="999999999999"),
    ),
    "a policy with more": (
        "rights-accepted",
        lambda r: r["ManagedPolicy"]["Properties"]["PolicyDocument"]["Statement"].append(
            {"Effect": "Allow", "Action": "s3:DeleteObject", "Resource": "arn:aws:s3:::x/*"}
        ),
    ),
    "a policy that somebody has": ("rights-of-roles", lambda r: r["ManagedPolicy"]["Properties"].update(Users=["eve"])),
}


@pytest.mark.synth
def test_the_gate_takes_it_as_it_is(with_quicksight: Synthesized) -> None:
    assert found_in(with_quicksight) == []


@pytest.mark.synth
@pytest.mark.parametrize("name", MUTATIONS)
def test_the_gate_refuses(with_quicksight: Synthesized, name: str) -> None:
    rule, change = MUTATIONS[name]
    assert rule in {finding.rule for finding in found_in(with_quicksight, change)}, name
