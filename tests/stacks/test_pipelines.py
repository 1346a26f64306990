"""Pipelines in one environment: their resources are separate, the gate passes, and no salt is in a template."""

import json
from itertools import pairwise
from pathlib import Path

import pytest

from contract.column_types.hashes import SALT_KEY
from plugins.source.source_connector import SALT_PROPERTY
from plugins.workers.connect_workers import EVERY_VALUE, HASHED_COLUMNS, IS_TRUNCATE, resources
from stacks.gate.template import plain_text, request_of
from stacks.lambda_assets import sql_hash
from tests.stacks.conftest import Synthesized
from tests.stacks.environments import SHOP, STREAMED, WIDE
from tests.stacks.monitoring.found import alarms
from tests.synthesis import found_in

pytestmark = pytest.mark.synth


# IAM user guide, "IAM and AWS STS quotas": a role's inline policies together, and a managed policy.
INLINE, MANAGED = 10_240, 6_144


def test_each_pipeline_has_connectors_topics_and_a_secret_of_its_own(many: Synthesized) -> None:
    names = many.connectors().keys()
    assert names == {f"dev-cdc-lake-{name}-{role}" for name in STREAMED for role in ("source", "sink")}
    asked = many.requests("connectors", "Custom::Topics").values()
    assert {request["group"] for request in asked} == {f"connect-{name}" for name in names if name.endswith("sink")}
    # Those on other servers have one of its owner's.
    secrets = {name.rstrip("0123456789ABCDEF") for name in many.resources("database", "AWS::SecretsManager::Secret")}
    assert {name for name in secrets if name.endswith("ConnectorSecret")} == {
        f"{name}ConnectorSecret" for name in ("", "Shop", "Wide", "Pagila", "Pagilaquery")
    }


def test_a_source_reads_its_own_secret_alone(many: Synthesized) -> None:
    for name in ("Wide", "Shop"):
        [resources] = many.resources_of("connectors", f"{name}SourceRole", "secretsmanager:GetSecretValue")
        assert len(resources) == 1


def test_no_policy_is_longer_than_iam_takes(many: Synthesized) -> None:
    for type_, limit in (("AWS::IAM::Policy", INLINE), ("AWS::IAM::ManagedPolicy", MANAGED)):
        for policy in many.everywhere(type_):
            assert len(json.dumps(policy["PolicyDocument"], separators=(",", ":"))) < limit, policy


def test_each_database_is_prepared_before_its_connectors_and_after_the_loader(many: Synthesized) -> None:
    prepared = many.resources("database", "Custom::PreparedPipeline")
    asked = {name: request_of(found) or {} for name, found in prepared.items()}
    assert {request["pipeline"] for request in asked.values()} == {"wide", "shop", "pagila"}
    for name, request in asked.items():
        assert request["slot"] == request["publication"] == request["role"] == f"cdc_{request['pipeline']}"
        assert request["database"] == {"pagila": "pagila"}.get(request["pipeline"], f"{request['pipeline']}db")
        assert "PreparedSource" in prepared[name]["DependsOn"]
        assert request["sqlHash"] == sql_hash("preparation")
    shop = next(request for request in asked.values() if request["pipeline"] == "shop")
    assert [table["name"] for table in shop["tables"]] == list(SHOP)
    parameters = {parameter["Name"] for parameter in many.properties("database", "AWS::SSM::Parameter")}
    assert {name for name in parameters if name.endswith("/generation")} == {
        f"/dev-cdc-lake/source/{between}generation" for between in ("", *(f"{name}/" for name in STREAMED[1:]))
    }


def test_one_step_keeps_what_shares_it_and_each_other_table_has_one(many: Synthesized) -> None:
    steps = many.steps()
    assert next(iter(steps)) == "tables"
    assert [name for name in steps if name.startswith("shop")] == ["shop_orders", "shop_items"]
    text = many.asset(dict(pairwise(steps["tables"]))["--props"]).read_text()
    tables = dict(line.split("=", 1) for line in text.splitlines())["hoodie.streamer.ingestion.tablesToBeIngested"]
    names = ["cdc_events", *(f"wide_{table}" for table in WIDE), "erp_people"]
    assert tables.split(",")[: len(names)] == [f"dev_datalake.{name}" for name in names]
    assert ("--target-table", "dev_datalake.shop_orders") in pairwise(steps["shop_orders"])
    # EMR API reference, HadoopJarStepConfig: the arguments' characters together.
    assert all(len(" ".join(arguments)) < 10_280 for arguments in steps.values())


def test_the_jobs_read_every_pipelines_landing(many: Synthesized) -> None:
    resources = set().union(*many.resources_of("processing", "RolesNodes", "s3:GetObject"))
    read = {each.partition("ap-southeast-2/")[2] for each in resources if "-landing-" in each}
    assert read == {"cdc-events/*", *(f"{name}/*" for name in STREAMED[1:])}


def test_few_tables_have_an_alarm_each_and_many_go_by_nines(many: Synthesized) -> None:
    found = alarms(many)
    ages = {name.removeprefix("commit-age-") for name in found if name.startswith("commit-age-")}
    assert {age for age in ages if not age.startswith(("pagila", "replica"))} == {
        *("cdc_events", "shop_orders", "shop_items", "wide-1", "wide-2", "crm_people", "erp_people")
    }
    queries = found["commit-age-wide-1"]["Metrics"]
    assert len([query for query in queries if "MetricStat" in query]) == 9
    [expression] = [query["Expression"] for query in queries if query["ReturnData"]]
    # A table without its job is the worst state of all.
    assert expression.count("FILL(") == 9
    assert found["connector-not-running-sink-shop"]["Threshold"] == 2
    assert {"nothing-landed", "nothing-landed-shop", "nothing-landed-wide-1", "nothing-landed-wide-2"} <= set(found)
    assert all(len([q for q in alarm.get("Metrics", []) if "MetricStat" in q]) <= 10 for alarm in found.values())


def test_a_truncate_is_ignored_with_an_alarm_where_a_pipeline_says_so(many: Synthesized) -> None:
    found = {name for name in alarms(many) if name.startswith("ignored-truncate")}
    assert found == {"ignored-truncate-shop_items", "ignored-truncate-shop_orders"}
    # One of our classes handles its event in the connector; the outbox's plugin lacks that class.
    plugins = many.requests("connectors", "Custom::Plugin").values()
    ours = resources(IS_TRUNCATE).items()
    given = [plugin["name"] for plugin in plugins if ours <= plugin.get("resources", {}).items()]
    sources = {plugin["name"] for plugin in plugins if plugin["name"].endswith("-source")}
    assert set(given) == sources - {"dev-cdc-lake-orders-source"} != set()


def test_what_lands_is_counted_and_expires_by_pipeline(many: Synthesized) -> None:
    [landing] = [bucket for bucket in many.properties("lake", "AWS::S3::Bucket") if "MetricsConfigurations" in bucket]
    filters = {entry["Id"]: entry["Prefix"] for entry in landing["MetricsConfigurations"]}
    others = {f"landed-{name}": f"{name}/" for name in STREAMED[1:]}
    assert filters == {"landed": "cdc-events/", **others}
    expiring = {rule["Prefix"] for rule in landing["LifecycleConfiguration"]["Rules"] if "ExpirationInDays" in rule}
    assert expiring == set(filters.values())


def test_the_first_pipelines_resources_are_those_of_an_environment_without_others(
    many: Synthesized, dev: Synthesized
) -> None:
    for stack, type_ in (
        ("connectors", "Custom::Connector"),
        ("connectors", "Custom::Plugin"),
        ("connectors", "Custom::Topics"),
        ("connectors", "AWS::KafkaConnect::WorkerConfiguration"),
        ("database", "AWS::SecretsManager::Secret"),
        ("database", "Custom::PreparedSource"),
        ("monitoring", "AWS::CloudWatch::Alarm"),
    ):
        alone, together = dev.resources(stack, type_), many.resources(stack, type_)
        assert alone.keys() <= together.keys()
        for name, resource in alone.items():
            assert together[name] == resource


@pytest.mark.parametrize("action", ["DeleteConnector", "DeleteCustomPlugin"])
def test_rights_to_delete_do_not_go_with_a_pipeline(many: Synthesized, dev: Synthesized, action: str) -> None:
    """CloudFormation updates or rolls back a policy first, then deletes what only the other template has."""
    before, after = (each.resources_of("connectors", "Providers", f"kafkaconnect:{action}") for each in (many, dev))
    assert before == after != []


def test_the_gate_passes(many: Synthesized) -> None:
    assert [each for each in found_in(many.settings, many.synthesis) if each.startswith("error")] == []


def test_no_stack_has_more_resources_than_cloudformation_takes(many: Synthesized) -> None:
    for stack, template in many.by_role.items():
        assert len(template["Resources"]) < 500, stack
        size = Path(many.synthesis.folder / f"dev-cdc-lake-{stack}.template.json").stat().st_size
        assert size < 1_000_000


def test_a_pipeline_that_hashes_has_a_generated_salt_and_no_other_has(many: Synthesized) -> None:
    secrets = many.resources("database", "AWS::SecretsManager::Secret")
    salts = {name: secret for name, secret in secrets.items() if "HashSalt" in name}
    [(name, salt)] = salts.items()
    assert name.startswith("ErpHashSalt")
    generated = salt["Properties"]["GenerateSecretString"]
    assert generated["GenerateStringKey"] == SALT_KEY
    # The format that HashedColumns.java accepts: 16 to 128 letters and digits.
    assert 16 <= generated["PasswordLength"] <= 128
    assert generated["ExcludePunctuation"] is True
    assert "SecretString" not in salt["Properties"]


def test_its_connector_takes_it_by_reference(many: Synthesized) -> None:
    found = many.resources("connectors", "Custom::Connector").values()
    texts = [plain_text(resource["Properties"]["Request"]) for resource in found]
    [erp] = [text for text in texts if '"connectorName":"dev-cdc-lake-erp-source"' in text]
    assert f'"{SALT_PROPERTY}":"${{secretsmanager:' in erp
    assert f":{SALT_KEY}}}" in erp
    others = [text for text in texts if text is not erp]
    assert not [text for text in others if SALT_PROPERTY in text]


def test_the_classes_are_in_each_plugin_of_ordinary_tables(many: Synthesized) -> None:
    """Also where nothing is hashed yet: a plugin is updated before the configuration that names its class."""
    ours = resources(EVERY_VALUE, HASHED_COLUMNS).items()
    plugins = many.requests("connectors", "Custom::Plugin")
    found = {name.partition("Plugin")[0]: request.get("resources", {}) for name, request in plugins.items()}
    having = {name for name, resources in found.items() if ours <= resources.items()}
    assert having == {f"{name.capitalize()}Source" for name in STREAMED[1:]}
