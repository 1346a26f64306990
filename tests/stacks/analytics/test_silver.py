"""Where Pagila is captured: its queries, the table of its snapshots, and who may add to it."""

import pytest

from analytics.silver_table import CUSTOMER_ADDRESSES
from settings.environment import Environment
from settings.load import load
from tests.settings.pipelines import add_to, copied_pipelines
from tests.stacks.conftest import Synthesized, synthesized
from tests.stacks.settings import change, copied

pytestmark = pytest.mark.synth


@pytest.fixture(scope="module")
def environment(tmp_path_factory: pytest.TempPathFactory) -> Environment:
    folder = tmp_path_factory.mktemp("pagila")
    environments, pipelines = copied(folder), copied_pipelines(folder)
    add_to(environments, "pagila")
    change(environments, "dev", "processing", "core_instances = 4")
    change(environments, "dev", "budget", "monthly_usd = 3000")
    return load("dev", environments, pipelines)


@pytest.fixture(scope="module")
def pagila(environment: Environment, tmp_path_factory: pytest.TempPathFactory) -> Synthesized:
    return synthesized("dev", tmp_path_factory.mktemp("cdk.out"), environment=environment)


def test_pagilas_queries_are_there_and_only_there(pagila: Synthesized, dev: Synthesized) -> None:
    queries = {each["Name"]: each for each in pagila.properties("analytics", "AWS::Athena::NamedQuery")}
    names = {"addresses", "customer_addresses", "latest_addresses", "snapshot_customer_addresses"}
    assert {f"dev-cdc-lake-{name}" for name in names} <= set(queries)
    assert '"dev_datalake"."pagila_city" AS c' in queries["dev-cdc-lake-addresses"]["QueryString"]
    of_dev = dev.resources("analytics", "AWS::Athena::NamedQuery").values()
    assert not {f"dev-cdc-lake-{name}" for name in names} & {each["Properties"]["Name"] for each in of_dev}


def test_snapshots_go_to_a_declared_table(pagila: Synthesized) -> None:
    tables = {
        each["Properties"]["TableInput"]["Name"]: each["Properties"]["TableInput"]
        for each in pagila.resources("analytics", "AWS::Glue::Table").values()
    }
    given = tables[CUSTOMER_ADDRESSES.name]
    storage = given["StorageDescriptor"]
    assert [(each["Name"], each["Type"]) for each in storage["Columns"]] == list(CUSTOMER_ADDRESSES.columns)
    lake = load("dev").bucket_name("lake")
    assert storage["Location"] == f"s3://{lake}/_silver/{CUSTOMER_ADDRESSES.name}"
    assert given["Parameters"]["parquet.compression"] == "SNAPPY"
    assert not [each for stack in pagila.by_role.values() for each in stack.find_resources("AWS::Glue::Crawler")]


def test_adding_to_it_is_a_right_of_its_own_that_deletes_nothing(pagila: Synthesized) -> None:
    policies = {each["ManagedPolicyName"]: each for each in pagila.properties("analytics", "AWS::IAM::ManagedPolicy")}
    assert {"dev-cdc-lake-analyst", "dev-cdc-lake-snapshot-writer"} <= set(policies)
    writer = policies["dev-cdc-lake-snapshot-writer"]
    assert not {"Roles", "Users", "Groups"} & set(writer)
    [statement] = writer["PolicyDocument"]["Statement"]
    assert set(statement["Action"]) == {"s3:AbortMultipartUpload", "s3:ListMultipartUploadParts", "s3:PutObject"}
    assert f"-lake-lake-111111111111-ap-southeast-2/_silver/{CUSTOMER_ADDRESSES.name}/*" in str(statement["Resource"])
    assert "_silver" not in str(policies["dev-cdc-lake-analyst"])


def test_the_review_finds_nothing_in_it(environment: Environment, pagila: Synthesized) -> None:
    from operate.review.findings import find

    findings = find(environment, pagila.synthesis)
    assert [str(each) for each in findings if "./lake dev lock plugins" not in each.message] == []
