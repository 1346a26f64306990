"""Athena for analysts: where results go, what a query may read, who may ask, and what is there to ask."""

from typing import Any

import pytest

from analytics import landed_table, quarantine_table
from settings.load import load
from tests.stacks.conftest import Synthesized
from tests.stacks.many import WIDE

pytestmark = pytest.mark.synth


@pytest.fixture(params=["dev", "prod"])
def environment(request: pytest.FixtureRequest) -> Synthesized:
    found: Synthesized = request.getfixturevalue(request.param)
    return found


def configuration(environment: Synthesized) -> dict[str, Any]:
    [group] = environment.resources("analytics", "AWS::Athena::WorkGroup").values()
    found: dict[str, Any] = group["Properties"]["WorkGroupConfiguration"]
    return found


def policy_of(environment: Synthesized, name: str = "analyst") -> dict[str, Any]:
    """The properties of a policy by the end of its name."""
    [found] = [
        each["Properties"]
        for each in environment.resources("analytics", "AWS::IAM::ManagedPolicy").values()
        if each["Properties"]["ManagedPolicyName"].endswith(f"-{name}")
    ]
    return dict(found)


def declared(environment: Synthesized, name: str) -> dict[str, Any]:
    """A Glue table by its name."""
    [found] = [
        each["Properties"]
        for each in environment.resources("analytics", "AWS::Glue::Table").values()
        if each["Properties"]["TableInput"]["Name"] == name
    ]
    return dict(found)


def statements(environment: Synthesized) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = policy_of(environment)["PolicyDocument"]["Statement"]
    return found


def allowed(environment: Synthesized, action: str) -> set[str]:
    """The resources, as text, on which the analysts' policy allows an action."""
    found = set()
    for statement in statements(environment):
        actions, resources = statement["Action"], statement["Resource"]
        if action in (actions if isinstance(actions, list) else [actions]):
            found |= {str(each) for each in (resources if isinstance(resources, list) else [resources])}
    return found


def test_no_client_chooses_where_results_go_or_how_they_are_encrypted(environment: Synthesized) -> None:
    settings = load(environment.synthesis.folder.name)
    found = configuration(environment)
    assert found["EnforceWorkGroupConfiguration"] is True
    assert found["ResultConfiguration"] == {
        "OutputLocation": f"s3://{settings.bucket_name('results')}/athena/",
        "ExpectedBucketOwner": settings.account,
        "EncryptionConfiguration": {"EncryptionOption": "SSE_S3"},
    }


def test_a_query_has_a_limit_an_engine_that_reads_hudi_and_metrics(environment: Synthesized) -> None:
    settings = load(environment.synthesis.folder.name)
    found = configuration(environment)
    assert found["BytesScannedCutoffPerQuery"] == settings.analytics.scan_limit_mb * 1024 * 1024
    assert found["EngineVersion"] == {"SelectedEngineVersion": "Athena engine version 3"}
    assert found["PublishCloudWatchMetricsEnabled"] is True


def test_results_expire_and_are_in_a_bucket_of_their_own(environment: Synthesized) -> None:
    settings = load(environment.synthesis.folder.name)
    [bucket] = [
        each["Properties"]
        for each in environment.resources("lake", "AWS::S3::Bucket").values()
        if each["Properties"]["BucketName"] == settings.bucket_name("results")
    ]
    [rule] = [each for each in bucket["LifecycleConfiguration"]["Rules"] if each["Id"] == "results"]
    assert (rule["ExpirationInDays"], "Prefix" in rule) == (settings.analytics.result_expiry_days, False)
    assert rule["NoncurrentVersionExpiration"] == {"NoncurrentDays": 1}


def test_peoples_queries_stay_in_production(dev: Synthesized, prod: Synthesized) -> None:
    for environment, policy in ((dev, "Delete"), (prod, "RetainExceptOnCreate")):
        [group] = environment.resources("analytics", "AWS::Athena::WorkGroup").values()
        assert group["DeletionPolicy"] == policy


def test_the_named_queries_are_on_the_environments_tables(environment: Synthesized) -> None:
    settings = load(environment.synthesis.folder.name)
    found = environment.resources("analytics", "AWS::Athena::NamedQuery").values()
    queries = {each["Properties"]["Name"]: each["Properties"] for each in found}
    assert set(queries) == {
        f"{settings.prefix}-{name}"
        for name in ("order_items", "latest_orders", "changed_since", "history", "quarantine")
    }
    for query in queries.values():
        assert query["Database"] == settings.lake.database
        assert f'"{settings.lake.database}"."' in query["QueryString"]
    changed = queries[f"{settings.prefix}-changed_since"]
    assert "_hoodie_commit_time > ?" in changed["QueryString"]
    assert "Deletes don't show" in changed["Description"]


def test_what_was_set_aside_is_a_table_of_the_captured_ones(environment: Synthesized) -> None:
    settings = load(environment.synthesis.folder.name)
    table = declared(environment, quarantine_table.NAME)
    given = table["TableInput"]
    assert table["DatabaseName"] == settings.lake.database
    assert given["StorageDescriptor"]["Location"] == f"s3://{settings.bucket_name('lake')}/_quarantine"
    assert given["Parameters"]["projection.lake_table.values"] == "cdc_events"


def test_analysts_have_the_rights_that_people_miss(environment: Synthesized) -> None:
    settings = load(environment.synthesis.folder.name)
    results = f"arn:aws:s3:::{settings.bucket_name('results')}"
    for action in ("glue:GetPartition", "glue:GetPartitions", "glue:GetTable"):
        assert any(resource.endswith("/*'") or "/*" in resource for resource in allowed(environment, action)), action
    assert any(settings.prefix in resource for resource in allowed(environment, "athena:GetWorkGroup"))
    assert {resource.rpartition("s3:::")[2].strip("'}]") for resource in allowed(environment, "s3:PutObject")} == {
        f"{settings.bucket_name('results')}/athena/*"
    }
    assert any(results.rpartition(":")[2] in resource for resource in allowed(environment, "s3:GetBucketLocation"))


def test_analysts_change_no_table_and_nobody_has_the_policy_yet(environment: Synthesized) -> None:
    assert not {"Roles", "Users", "Groups"} & set(policy_of(environment))
    for action in ("s3:DeleteObject", "glue:UpdateTable", "glue:DeleteTable", "athena:UpdateWorkGroup"):
        assert allowed(environment, action) == set()
    assert not any("-lake-lake-" in resource for resource in allowed(environment, "s3:PutObject"))


def test_without_a_principal_there_is_nothing_in_quicksight_or_lake_formation(environment: Synthesized) -> None:
    resources = environment["analytics"].to_json()["Resources"].values()
    types = {resource["Type"].split("::")[1] for resource in resources}
    assert types == {"Athena", "Glue", "IAM"}
    assert allowed(environment, "lakeformation:GetDataAccess") == set()


def test_each_pipelines_tables_can_be_asked_what_has_changed(many: Synthesized) -> None:
    tables = {"cdc_events", *(f"wide_{each}" for each in WIDE), "shop_orders", "shop_items", "crm_people", "erp_people"}
    queries = many.resources("analytics", "AWS::Athena::NamedQuery").values()
    asked = {each["Properties"]["Name"].partition("-changed_since")[2] for each in queries} - {""}
    assert asked == {f"_{each}" for each in tables - {"cdc_events"}}
    parameters = declared(many, quarantine_table.NAME)["TableInput"]["Parameters"]
    assert set(parameters["projection.lake_table.values"].split(",")) == tables


def test_what_has_landed_is_a_table_whose_history_is_asked_by_each_tables_key_and_topic(many: Synthesized) -> None:
    settings = load("dev")
    given = declared(many, landed_table.NAME)["TableInput"]
    landing = f"s3://{settings.bucket_name('landing')}"
    assert given["Parameters"]["storage.location.template"] == f"{landing}/${{landing_prefix}}/${{topic}}"
    prefixes = given["Parameters"]["projection.landing_prefix.values"].split(",")
    assert prefixes == ["cdc-events", "crm", "erp", "shop", "wide"]
    topics = given["Parameters"]["projection.topic.values"].split(",")
    outbox = f"{settings.pipelines[0].prefix}.datalake.cdc_events"
    assert {outbox, "shop.public.orders"} <= set(topics)
    queries = {
        each["Properties"]["Name"].removeprefix("dev-cdc-lake-"): each["Properties"]["QueryString"]
        for each in many.resources("analytics", "AWS::Athena::NamedQuery").values()
    }
    assert f"e.topic = '{outbox}'" in queries["history"]
    assert "e.topic = 'shop.public.orders'" in queries["history_shop_orders"]
    assert """json_extract_scalar(e.event, '$["id"]') AS row_key""" in queries["history_shop_orders"]


def test_events_are_read_by_a_right_of_their_own_since_they_show_what_was_deleted(environment: Synthesized) -> None:
    reader = policy_of(environment, "history-reader")
    assert not {"Roles", "Users", "Groups"} & set(reader)
    actions = {action for each in reader["PolicyDocument"]["Statement"] for action in _listed(each["Action"])}
    assert actions == {"s3:GetBucketLocation", "s3:GetObject", "s3:ListBucket"}
    assert "-landing-" not in str(policy_of(environment))


def _listed(actions: str | list[str]) -> list[str]:
    return [actions] if isinstance(actions, str) else actions
