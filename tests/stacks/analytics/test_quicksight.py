"""QuickSight as code: who sees what, the role that it queries with, and a definition with valid references."""

import dataclasses
from typing import Any

import botocore.session
import pytest
from botocore.validate import ParamValidator

from analytics.dashboard import COLUMNS
from settings.environment import Environment
from tests.stacks.conftest import Synthesized, stack_alone
from tests.stacks.environments import ANALYSTS, READER
from tests.stacks.gate.changed import Changed

pytestmark = pytest.mark.synth
GRANTS, POLICY = "AWS::LakeFormation::PrincipalPermissions", "AWS::IAM::ManagedPolicy"
QUICKSIGHT = "AWS::QuickSight::"
KINDS = ("Analysis", "Dashboard", "DataSet", "DataSource")


def one(environment: Synthesized, kind: str) -> dict[str, Any]:
    [found] = environment.properties("analytics", f"{QUICKSIGHT}{kind}")
    return found


def analytics_alone(environment: Environment, type_: str, **changes: object) -> dict[str, Any]:
    """The resources of a type in the analytics' stack, by logical id, its settings changed."""
    import stacks.node  # noqa: F401  before aws_cdk
    from stacks.analytics.stack import AnalyticsStack
    from stacks.lake import LakeStack

    own = environment.model_copy(update={"analytics": environment.analytics.model_copy(update=changes)})
    found = stack_alone(own, lambda app: AnalyticsStack(app, own, LakeStack(app, own)))
    return {id_: each for id_, each in found.items() if each["Type"] == f"AWS::{type_}"}


def test_quicksight_asks_by_a_role_of_its_own_with_the_rights_of_an_analyst(many: Synthesized) -> None:
    source = one(many, "DataSource")["DataSourceParameters"]["AthenaParameters"]
    [(name, role)] = many.resources("analytics", "AWS::IAM::Role").items()
    assert source == {"RoleArn": {"Fn::GetAtt": [name, "Arn"]}, "WorkGroup": {"Ref": "Athena"}}
    trusted = [each["Principal"] for each in role["Properties"]["AssumeRolePolicyDocument"]["Statement"]]
    assert trusted == [{"Service": "quicksight.amazonaws.com"}]
    [own] = many.properties("analytics", "AWS::IAM::Policy")
    policies = {each["ManagedPolicyName"]: each for each in many.properties("analytics", POLICY)}
    assert own["PolicyDocument"] == policies["dev-cdc-lake-analyst"]["PolicyDocument"]


def test_the_data_set_is_the_order_items_query_with_its_columns(many: Synthesized) -> None:
    data_set = one(many, "DataSet")
    assert "LogicalTableMap" not in data_set
    [table] = [each["CustomSql"] for each in data_set["PhysicalTableMap"].values()]
    queries = {each["Name"]: each["QueryString"] for each in many.properties("analytics", "AWS::Athena::NamedQuery")}
    assert table["SqlQuery"] == queries["dev-cdc-lake-order_items"]
    assert {each["Name"]: each["Type"] for each in table["Columns"]} == COLUMNS


def test_analysis_and_dashboard_are_the_same_charts_of_the_data_set(many: Synthesized) -> None:
    analysis, dashboard = one(many, "Analysis"), one(many, "Dashboard")
    assert analysis["Definition"] == dashboard["Definition"]
    [declared] = dashboard["Definition"]["DataSetIdentifierDeclarations"]
    [name] = many.resources("analytics", f"{QUICKSIGHT}DataSet")
    assert declared["DataSetArn"] == {"Fn::GetAtt": [name, "Arn"]}


def test_everything_is_the_principals_and_has_the_environments_tags(many: Synthesized) -> None:
    for kind in KINDS:
        properties = one(many, kind)
        assert [each["Principal"] for each in properties["Permissions"]] == [ANALYSTS]
        assert {"Key": "environment", "Value": "dev"} in properties["Tags"]
        assert properties["Name"].startswith("dev-cdc-lake ")


def test_spice_is_refreshed_and_a_direct_query_is_not(many: Synthesized, dev: Synthesized) -> None:
    assert one(many, "DataSet")["ImportMode"] == "SPICE"
    schedule = one(many, "RefreshSchedule")
    assert schedule["DataSetId"] == one(many, "DataSet")["DataSetId"]
    assert schedule["Schedule"]["ScheduleFrequency"]["Interval"] == "DAILY"
    [data_set] = analytics_alone(dev.settings, "QuickSight::DataSet", quicksight_principal=ANALYSTS).values()
    assert data_set["Properties"]["ImportMode"] == "DIRECT_QUERY"
    assert analytics_alone(dev.settings, "QuickSight::RefreshSchedule", quicksight_principal=ANALYSTS) == {}
    assert dev.everywhere(GRANTS) == []


def test_lake_formation_lets_the_readers_and_quicksights_role_read(many: Synthesized) -> None:
    grants = many.properties("analytics", GRANTS)
    found = {(str(each["Principal"]["DataLakePrincipalIdentifier"]), *each["Permissions"]) for each in grants}
    [role] = many.resources("analytics", "AWS::IAM::Role")
    role_arn = str({"Fn::GetAtt": [role, "Arn"]})
    assert found == {(who, *what) for who in (READER, role_arn) for what in (("DESCRIBE",), ("DESCRIBE", "SELECT"))}
    assert all(each["PermissionsWithGrantOption"] == [] for each in grants)


def test_a_reader_who_comes_first_changes_no_other_grant(many: Synthesized) -> None:
    """A grant that became its neighbour's would be revoked with it, after the neighbour's new one was made."""
    kind, new = GRANTS.removeprefix("AWS::"), "arn:aws:iam::111111111111:user/new"
    after = analytics_alone(many.settings, kind, lake_formation_readers=(new, READER))
    before = analytics_alone(many.settings, kind)
    assert len(before) == 4
    assert {id_: after.get(id_) for id_ in before} == before


def test_lake_formation_lets_the_jobs_make_and_keep_tables_before_they_start(many: Synthesized) -> None:
    grants = many.resources("processing", GRANTS)
    [profile] = many.properties("processing", "AWS::IAM::InstanceProfile")
    [nodes] = (str({"Fn::GetAtt": [each["Ref"], "Arn"]}) for each in profile["Roles"])
    found = [each["Properties"] for each in grants.values()]
    assert {str(each["Principal"]["DataLakePrincipalIdentifier"]) for each in found} == {nodes}
    assert sorted(each["Permissions"] for each in found) == [["ALL"], ["CREATE_TABLE", "DESCRIBE"]]
    assert all(each["PermissionsWithGrantOption"] == [] for each in found)
    [steps] = many.resources("processing", "Custom::EmrStep").values()
    assert set(grants) <= set(steps["DependsOn"])


def test_the_review_says_who_is_granted_what(many: Synthesized) -> None:
    from operate.review.material import Material
    from operate.review.page import page
    from operate.review.render import render
    from operate.review.roles import let_in

    found = {(who, where): actions for who, actions, where, *_ in let_in(Material(many.settings, many.synthesis))}
    by_kind = {str(where).rpartition("/")[2]: actions for (who, where), actions in found.items() if "group" in who}
    assert by_kind.pop("Analysis") == (
        "QuickSight: reads, changes, deletes, query analysis, update analysis permissions, restore analysis",
    )
    assert by_kind == {
        "Dashboard": ("QuickSight: reads, query dashboard",),
        "DataSet": ("QuickSight: reads, pass data set",),
        "DataSource": ("QuickSight: reads, pass data source",),
    }
    assert {who for who, where in found if "QuickSight/" in where} == {"QuickSight's group analysts"}
    by_lake_formation = {place: actions for place, actions in found.items() if actions[0].startswith("Lake Formation")}
    database = many.settings.lake.database
    assert by_lake_formation == {
        ("iam role/analyst", f"database {database}"): ("Lake Formation: describe",),
        ("iam role/analyst", f"every table of {database}"): ("Lake Formation: describe, select",),
        ("analytics/QuickSightRole", f"database {database}"): ("Lake Formation: describe",),
        ("analytics/QuickSightRole", f"every table of {database}"): ("Lake Formation: describe, select",),
        ("processing/Roles/Nodes", f"database {database}"): ("Lake Formation: create table, describe",),
        ("processing/Roles/Nodes", f"every table of {database}"): ("Lake Formation: all",),
    }
    text = render(page(many.settings, many.synthesis, []), "md")
    assert "QuickSight's group analysts" in text
    assert ":group/default/analysts" not in text


def test_the_review_names_a_user_of_another_namespace_and_what_may_be_handed_on(many: Synthesized) -> None:
    from operate.review.material import Material
    from operate.review.roles import let_in

    changed = Changed(many)
    user = "arn:aws:quicksight:us-east-1:111111111111:user/partners/bob"
    changed.set("analytics", f"{QUICKSIGHT}Dashboard", "Permissions/0/Principal", user)
    changed.set("analytics", GRANTS, "PermissionsWithGrantOption", ["SELECT"])
    synthesis = dataclasses.replace(many.synthesis, templates=changed.templates)
    found = let_in(Material(many.settings, synthesis))
    of_bob = [row[2] for row in found if row[0] == "QuickSight's user bob in partners"]
    assert of_bob == ["analytics/QuickSight/Dashboard"]
    handed_on = [row[2] for row in found if row[1][0].endswith("grant select")]
    assert handed_on == [f"database {many.settings.lake.database}"]


@pytest.mark.parametrize("kind", KINDS)
def test_what_is_handed_over_has_the_shape_of_quicksights_api(many: Synthesized, kind: str) -> None:
    model = botocore.session.get_session().get_service_model("quicksight")
    properties = literal(one(many, kind))
    expected = model.operation_model(f"Create{kind}").input_shape
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
