"""An environment's pipelines: older files' settings, clashes, misfits, and databases outside the stacks."""

import shutil

import pytest

from contract import rds_ca
from contract.sizes import MCU_HEAP_BYTES
from plugins.source.source_connector import source_connector
from settings import aws_offers
from settings.connectors import ROOT_CERTIFICATE, root_certificate, sink_settings, source_settings
from settings.environment import Environment
from tests.settings.pipelines import Project
from tests.stacks.environments import CRM, ERP


@pytest.fixture
def project(project: Project) -> Project:
    project.write("shop", ["orders", "items"])
    return project


@pytest.fixture
def both(project: Project) -> Environment:
    return project.add("shop").load()


def test_a_new_pipeline_is_its_name(both: Environment) -> None:
    _, shop = both.pipelines
    source, sink = source_settings(both, shop), sink_settings(both, shop)
    assert (source.name, source.topics) == ("dev-cdc-lake-shop-source", ("shop.public.orders", "shop.public.items"))
    assert (source.topic_prefix, source.slot_name, source.publication_name) == ("shop", "cdc_shop", "cdc_shop")
    assert source.database_user == "cdc_shop"
    assert (sink.name, sink.prefix, sink.topics) == ("dev-cdc-lake-shop-sink", "shop", source.topics)


def test_a_problem_of_a_pipelines_own_file_is_said_of_that_file(project: Project) -> None:
    project.write("bad", ["a"], table="colour = 1")
    project.add("bad")
    assert project.refusal().startswith("pipelines/bad.toml: tables[0].colour: unknown key")


OUTSIDE = (
    "[pipelines.database]",
    'host = "shop.abcdefghij.eu-west-1.rds.amazonaws.com"',
    'secret = "arn:aws:secretsmanager:ap-southeast-2:111111111111:secret:shop-AbCdEf"',
    'cidrs = ["10.1.2.3/32"]',
)
DOTTED = '[[tables]]\nschema = "public"\ntable = "fresh.items"\nhow = "log"\nkey = ["id"]\nlake_table = "items2"\n'


@pytest.mark.parametrize(
    ("lines", "more", "said"),
    [
        ((), "", ""),
        (OUTSIDE, "", ""),
        ((*OUTSIDE, 'sslmode = "verify-ca"'), "", "pipelines[1].database.sslmode: the job verifies a server in full"),
        ((), DOTTED, ""),
        (("[pipelines.job]", "executors = 9"), "", "the executors of 2 applications ask for"),
        (
            ("[pipelines.tables.fresh_items]", "executors = 1"),
            "",
            "which one_step = true doesn't make: set job.executors",
        ),
    ],
)
def test_a_pipeline_whose_first_rows_are_read_directly_has_an_application_that_connects(
    project: Project, lines: tuple[str, ...], more: str, said: str
) -> None:
    project.change("processing", "core_instances = 2")
    project.write("fresh", ["items"], table='first_load = "direct"')
    path = project.pipelines / "fresh.toml"
    path.write_text(path.read_text() + more)
    shutil.copy(path.with_suffix("") / "items.avsc", path.with_suffix("") / "items2.avsc")
    project.add("fresh", *lines)
    if said:
        assert said in project.refusal()
    else:
        assert [pipeline.name for pipeline in project.load().job_connects] == ["fresh"]


@pytest.mark.parametrize("kcql", [(), ("[pipelines.sink]", 'kcql = "INSERT"')], ids=["no statement", "a statement"])
def test_what_is_wrong_with_the_source_isnt_said_of_the_sink(project: Project, kcql: tuple[str, ...]) -> None:
    project.write("second", ["t" * 60])
    project.add("second", f"topic_prefix = '{'p' * 190}'", *kcql)
    said = project.refusal()
    assert f"environments/dev.toml: pipelines[1]: tables: the topic {'p' * 190}.public." in said
    assert "sink" not in said


@pytest.mark.parametrize(
    ("number", "lines", "said"),
    [
        (18, [], "19 pipelines are as many replication slots, and the cluster has 20 (max_replication_slots), of"),
        (25, [], "26 pipelines have 104 plugins while a deployment replaces them, and an account has 100"),
        (6, ["[pipelines.sink]", "workers = 10"], "they ask for 68 workers, and an account has 60 in a region"),
    ],
)
def test_more_than_a_quota_is_refused(project: Project, number: int, lines: list[str], said: str) -> None:
    for each in range(number):
        project.write(f"p{each}", ["a"])
        project.add(f"p{each}", *lines)
    assert f"pipelines: {said}" in project.refusal()


def test_more_partitions_than_the_brokers_can_have_are_refused(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two replicas each: 15 of the topics, 50 of Kafka's own, and 31 of each connector."""
    monkeypatch.setitem(aws_offers.MSK_PARTITIONS_PER_BROKER, "kafka.m5.large", 188)
    project.write("wide", [f"t{number}" for number in range(10)])
    said = project.add("wide").refusal()
    assert "environments/dev.toml: streaming.broker_type: 15 topics make 378 partitions with their replicas" in said
    assert "and 2 kafka.m5.large take 376: set a larger type or more brokers" in said


def test_without_a_pipeline_that_shares_it_there_is_no_common_application(project: Project) -> None:
    project.add("shop", "[pipelines.job]", "one_step = false", "executors = 3")
    project.change("pipelines.job", "one_step = false")
    assert "the executors of 3 applications ask for" in project.refusal()


def test_drivers_fit_on_the_primary_node_together(project: Project) -> None:
    project.change("processing", "core_instances = 9")
    # With the overhead, and the driver of `orders`: all that the node has.
    project.add("shop", "[pipelines.job]", "one_step = false", 'driver_memory = "4452m"')
    assert project.load().processing.core_instances == 9
    path = project.environments / "dev.toml"
    path.write_text(path.read_text().replace("4452m", "6g"))
    assert "processing.primary_instance_type: the drivers of 3 applications ask for" in project.refusal()


@pytest.mark.parametrize(
    ("tasks", "workers", "most"), [(1, 1, 1), (4, 1, 4), (1, 2, 1), (4, 2, 4), (4, 3, 2), (5, 3, 3)]
)
def test_a_workers_heap_is_enough_for_the_tasks_of_one_that_is_lost(
    project: Project, tasks: int, workers: int, most: int
) -> None:
    project.add("shop", "[pipelines.sink]", f"tasks = {tasks}", f"workers = {workers}")
    environment = project.load()
    assert sink_settings(environment, environment.pipelines[1]).heap_bytes == MCU_HEAP_BYTES // most


def test_a_tables_own_sizes_win_over_its_pipelines(project: Project) -> None:
    project.add(
        "shop",
        "[pipelines.job]",
        "sync_interval_seconds = 30",
        'configuration = { "hoodie.clean.max.commits" = "20" }',
        "[pipelines.tables.shop_items]",
        "sync_interval_seconds = 0",
        'configuration = { "hoodie.parquet.max.file.size" = "1000000" }',
    )
    _, shop = project.load().pipelines
    orders, items = (shop.sizes(table) for table in shop.captured.tables)
    assert (orders.sync_interval_seconds, items.sync_interval_seconds) == (30, 0)
    assert items.configuration == {"hoodie.clean.max.commits": "20", "hoodie.parquet.max.file.size": "1000000"}


def test_production_orders_changes_by_the_log_alone(project: Project) -> None:
    path = project.pipelines / "orders.toml"
    path.write_text(path.read_text() + 'ordering = "__source_ts_ms"\n')
    assert "pipelines[0]: datalake.cdc_events is ordered by __source_ts_ms" in project.refusal("prod")
    assert project.load().pipelines[0].captured.tables[0].ordering == "__source_ts_ms"


def test_a_schema_of_another_table_than_the_outbox_is_refused(project: Project) -> None:
    schema = project.pipelines / "orders" / "cdc_events.avsc"
    schema.write_text(schema.read_text().replace('"datalake"', '"shop"'))
    assert "pipelines/orders/cdc_events.avsc describes shop.cdc_events" in project.refusal()


@pytest.fixture
def outside(project: Project) -> Project:
    """With the files of two pipelines of outside databases."""
    for name in ("crm", "erp"):
        project.write(name, ["people"])
    return project


def test_a_connector_is_told_of_another_server_and_its_authority(outside: Project) -> None:
    environment = outside.add("crm", *CRM, 'name = "My-Shop"').add("erp", *ERP).load()
    orders, crm, erp = environment.pipelines
    configuration = source_connector(source_settings(environment, crm))
    server = {"hostname": "crm.example.internal", "port": "5433", "sslmode": "verify-full", "dbname": "My-Shop"}
    assert {name: configuration[f"database.{name}"] for name in server} == server
    assert configuration["driver.sslfactoryarg"] == f"classpath:{ROOT_CERTIFICATE}"
    # A server of RDS is known by its own region's authority; the environment's own cluster stays what it is.
    regions = {"crm": "eu-central-1", "erp": "eu-west-1", "orders": environment.region}
    for pipeline in environment.pipelines:
        expected = {ROOT_CERTIFICATE: rds_ca.root(regions[pipeline.name])}
        assert root_certificate(environment, pipeline) == expected
    assert source_settings(environment, erp).database_name == erp.as_deployed.source.database == "erp_live"
    assert source_settings(environment, orders).database_port == 5432


def test_a_region_whose_authority_is_unknown_is_refused(outside: Project) -> None:
    lines = [line.replace("eu-west-1", "mars-1") for line in ERP]
    told = outside.add("erp", *lines).refusal()
    assert "pipelines[1].database.host: rds-ca.pem has no root certificate" in told


def test_production_asks_who_answers(outside: Project) -> None:
    outside.add("crm", *(line for line in CRM if not line.startswith("certificate")), 'sslmode = "require"')
    environment = outside.load()
    assert source_settings(environment, environment.pipelines[1]).database_root_certificate is None
    outside.change("", "production = true")
    assert "database.sslmode: encrypts, but doesn't ask who answers: set \"ver" in outside.refusal()


def test_slots_and_names_are_a_servers_own(outside: Project) -> None:
    """The cluster's slots are counted without them, and two servers may have a slot of the same name."""
    outside.write("second", ["events"], source='slot = "cdc_orders"')
    outside.add("second", *CRM)
    for number in range(aws_offers.AURORA_REPLICATION_SLOTS - aws_offers.RESERVED_SLOTS - 1):
        outside.write(f"p{number}", ["a"])
        outside.add(f"p{number}")
    orders, second, *others = outside.load().pipelines
    assert orders.connector_role == second.connector_role == "cdc_connector"
    assert len(others) == aws_offers.AURORA_REPLICATION_SLOTS - aws_offers.RESERVED_SLOTS - 1


def test_two_pipelines_of_one_outside_server_share_no_slot(outside: Project) -> None:
    outside.write("second", ["events"], source='slot = "cdc_crm"')
    outside.add("crm", *CRM)
    told = outside.add("second", *CRM).refusal()
    assert "the replication slot cdc_crm at crm.example.internal:5433 is that of pipeline crm, too" in told
