"""Pipelines on the local platform, captured and queried: services, topics, rights, job; nothing is started."""

import re
import shutil
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast
from unittest.mock import Mock

import pytest
from botocore.exceptions import EndpointConnectionError
from confluent_kafka import KafkaException
from psycopg2.errors import LockNotAvailable

from contract.errors import UserError
from db.source.replication import OUTBOX
from local.errors import PlatformError
from local.platform import job
from local.platform import pipeline as module
from local.platform.arriving import ENOUGH_S, MOVES_S
from local.platform.command import left_behind
from local.platform.connectors import Connectors, published
from local.platform.job import looked_file, multi_table_arguments, places, table_jobs
from local.platform.pipeline import LocalPipeline, QueriedPipeline
from local.platform.platform import CONNECTORS, Platform
from local.platform.record import PlatformOptions
from local.platform.services import DERIVED, HISTORY, PLACES, Services
from local.resnapshot.command import resnapshot_tables
from local.resnapshot.run import Wanted
from local.services.connect_api import ConnectApi
from local.services.kafka_rights import SINK
from local.services.processes import Processes
from local.services.source_database import Slot
from local.sink.settings import UnavailableError
from local.sink.values import line
from settings.load import PIPELINES, load_pipeline
from settings.pipeline import Pipeline
from spark_jobs.options import command_line, keys, properties
from spark_jobs.options.jdbc_settings import Detection, JdbcSettings, jdbc_settings
from spark_jobs.options.table_settings import check_hudis
from tests.events.recorders.types import TARGET
from tests.local.platform.built import moving, services


def connectors(folder: Path, pipeline: str) -> Connectors:
    return moving(services(folder, pipeline)).connectors


def test_the_orders_have_the_names_that_they_always_had(tmp_path: Path) -> None:
    [table] = services(tmp_path, "orders").tables
    assert table.topic.name == "demo.datalake.cdc_events"
    assert table.lake.base_uri == "s3://lake/cdc_events"
    assert table.landing_prefix == "cdc-events/demo.datalake.cdc_events/"
    orders = connectors(tmp_path, "orders")
    assert (orders.source.name, orders.sink.name) == ("orders-source", "orders-sink")
    assert orders.source.slot_name == "cdc_orders"
    configuration = orders.source_configuration
    assert configuration["table.include.list"] == "datalake.cdc_events"
    assert "message.key.columns" not in configuration
    assert configuration["heartbeat.action.query"] == "CALL datalake.outbox_beat()"
    assert published(load_pipeline("orders")) is OUTBOX


def test_one_connector_each_reads_and_lands_all_tables_with_rights_on_these_topics_alone(tmp_path: Path) -> None:
    tables = services(tmp_path, "northwind").tables
    for field in ("name", "lake_name", "landing_prefix"):
        assert len({getattr(table, field) for table in tables}) == 14
    orders = next(table for table in tables if table.name == "datalake.orders")
    assert (orders.topic.name, orders.lake_name) == ("northwind.datalake.orders", "northwind_orders")
    shop = connectors(tmp_path, "northwind")
    topics = {table.topic.name for table in tables}
    assert set(shop.source.topics) == set(shop.sink.topics) == topics
    read = {acl.name for acl in shop.rights if (acl.user, acl.kind, acl.operation) == (SINK, "topic", "READ")}
    assert read == topics
    assert {topic.name for topic in shop.topics} >= topics
    assert shop.source.signal_table == "cdc_northwind.signal"
    assert "cdc_northwind.heartbeat" in published(load_pipeline("northwind")).tables


def test_a_table_is_chosen_by_the_sources_name_and_by_the_lakes(tmp_path: Path) -> None:
    found = services(tmp_path, "pagila")
    assert found.chosen(["public.address"]) == found.chosen(["address"]) == found.chosen(["pagila_address"])
    assert [table.name for table in found.chosen(["city", "address"])] == ["public.address", "public.city"]
    assert len(found.chosen()) == 5
    with pytest.raises(UserError, match=r"'adress' .*table of pipeline pagila; most like it: public\.address, "):
        found.chosen(["adress"])


def test_the_job_of_many_tables_reads_a_file_per_table_and_none_of_an_earlier_start(tmp_path: Path) -> None:
    (tmp_path / "former.properties").touch()
    pipeline = load_pipeline("pagila")
    jobs = table_jobs(pipeline, PLACES, tmp_path)
    arguments = multi_table_arguments(jobs, tmp_path, queried=False)
    assert sorted(path.stem for path in tmp_path.glob("*.properties")) == sorted(pipeline.lake_tables)
    assert pipeline.lake_tables[-1] == "pagila_customer_addresses"
    assert str(tmp_path / "tables.list") in arguments
    text = (tmp_path / "pagila_rental.properties").read_text().replace("\\", "")
    assert "s3a://landing/cdc-events/pagila.public.rental" in text
    assert "hoodie.datasource.write.recordkey.field=rental_id" in text
    assert jobs[0].table_path == "s3a://lake/pagila_address"


def test_a_job_starts_again_for_another_table_or_schema_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def described(pipeline: Pipeline) -> str:
        return job._description(pipeline, table_jobs(pipeline, PLACES, tmp_path))

    pipeline = load_pipeline("pagila")
    before = described(pipeline)
    assert described(load_pipeline("pagila")) == before
    assert described(pipeline.model_copy(update={"tables": pipeline.tables[1:]})) != before
    shutil.copytree(PIPELINES / "pagila", tmp_path / "pagila")
    monkeypatch.setattr(job, "PIPELINES", tmp_path)
    assert described(pipeline) == before
    (tmp_path / "pagila" / "rental.avsc").write_text("{}")
    assert described(pipeline) != before


@pytest.mark.parametrize(
    ("known", "in_lake", "copy", "kept"),
    [
        ({}, False, None, r"[\w-]{32}"),
        ({"hashed.salt.secret": "${file:salt}"}, True, "of-old", "of-old"),
        ({"hashed.salt.secret": "${file:salt}"}, True, None, None),
        # Nothing was hashed so far.
        ({"topic.prefix": "pagila"}, True, None, r"[\w-]{32}"),
        ({}, True, None, None),
    ],
)
def test_a_lost_salt_is_the_workers_copy_and_never_another_one(
    tmp_path: Path, known: dict[str, str], copy: str | None, kept: str | None, *, in_lake: bool
) -> None:
    found = services(tmp_path, "pagila")
    first = found.tables[0]
    found.tables = (replace(first, entry=first.entry.model_copy(update={"hash": ("address",)})),)
    found.connect.api = cast(Any, SimpleNamespace(configuration=lambda _name: known))
    if copy:
        found.connect.secret_reference("salt", "salt", copy)
    if in_lake:
        (tmp_path / "s3" / "objects" / "lake" / first.lake_name).mkdir(parents=True)
    connectors = moving(found).connectors
    assert connectors.lost_salt == connectors.salt_file
    connectors.provide_salt()
    if kept is None:
        with pytest.raises(PlatformError, match=r"/salt, the salt of hashed columns, is lost, and another one would"):
            _ = connectors.salt
    else:
        assert re.fullmatch(kept, connectors.salt)


@pytest.mark.parametrize(("failure", "asked"), [(None, []), ("S3 answered 503", ["restart_failed"])])
def test_up_starts_the_real_sink_again_if_it_had_failed(tmp_path: Path, failure: str | None, asked: list[str]) -> None:
    """An unchanged configuration restarts no failed task."""
    found = services(tmp_path, lenses=tmp_path / "release.zip")
    worker = found.connect.api = Mock(**{"failure.return_value": failure})
    moving(found).connectors.start_sink()
    assert [name for name, *_ in worker.method_calls] == ["failure", "put_connector", *asked]
    assert {call.args[0] for call in worker.method_calls} == {"orders-sink"}


NAME = "pagilaquery"


@pytest.fixture
def queried_services(tmp_path: Path) -> Services:
    return services(tmp_path, NAME)


def test_nothing_of_kafka_is_started(tmp_path: Path, queried_services: Services) -> None:
    platform = Platform(tmp_path, PlatformOptions(pipeline=NAME, supervised=True))
    assert platform._wanted_services() == {"supervisor", "job", "s3", "moto", "postgres"}
    assert set(queried_services.listening) == {"postgres", "s3", "moto"}
    assert {*CONNECTORS} <= Platform(tmp_path, PlatformOptions(pipeline="pagila"))._wanted_services()


def test_a_table_that_cant_be_read_is_left_to_the_job(
    queried_services: Services, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, second, *_ = queried_services.tables
    answers = {first.name: Mock(side_effect=LockNotAvailable("locked")), second.name: Mock(return_value=False)}
    monkeypatch.setattr(module, "connect", Mock())
    monkeypatch.setattr(module, "has_rows", lambda _connection, entry: answers.get(entry.name, lambda: True)())
    pipeline = QueriedPipeline(queried_services, Processes(tmp_path, tmp_path))
    assert pipeline.awaited() == [table for table in queried_services.tables if table != second]


def test_derived_tables_say_how_they_are_made(queried_services: Services) -> None:
    kinds = {"pagilaquery_country_addresses": DERIVED, "pagilaquery_city_history": HISTORY}
    assert {table.name: table.kind for table in queried_services.derived} == kinds


def test_the_job_logs_in_as_the_pipelines_role_by_a_file(queried_services: Services) -> None:
    source = places(queried_services).source
    assert source[keys.JDBC_URL] == "jdbc:postgresql://127.0.0.1:20000/pagila"
    assert source[keys.JDBC_USER] == "cdc_connector"
    assert Path(source[keys.JDBC_PASSWORD_FILE]).read_text().strip() == queried_services.connector["password"]
    assert queried_services.connector["password"] not in str(source)


def test_the_job_understands_what_it_is_told(queried_services: Services, tmp_path: Path) -> None:
    jobs = table_jobs(queried_services.pipeline, places(queried_services), tmp_path)
    arguments = multi_table_arguments(jobs, tmp_path / "tables", queried=True)
    assert command_line.parse_many(arguments).shared.source_class.endswith("JdbcSource")
    found: dict[str, JdbcSettings] = {}
    warned: list[str] = []
    captured = {queried_services.pipeline.lake_table(table) for table in queried_services.pipeline.tables}
    for file in (tmp_path / "tables").glob("*.properties"):
        if file.stem not in captured:
            continue
        pairs = properties.load(str(file), lambda path: Path(path).read_text())
        base = ["--table-type", "COPY_ON_WRITE", "--source-class", "JdbcSource"]
        given = command_line.parse(
            [*base, "--target-base-path", "s3a://lake/x", "--target-table", f"datalake.{file.stem}"]
        )
        combined = properties.combine(pairs, [])
        check_hudis(combined, warned.append)
        found[file.stem] = jdbc_settings(given, combined)
    assert warned == []
    assert {source.name for source in found.values()} >= {"public.address", "public.city", "public.country"}
    assert found["pagilaquery_address_place"].detection is Detection.HASH
    assert "JOIN public.country" in str(found["pagilaquery_address_place"].query)
    # A comparison reads here how far the job has read.
    assert found["pagilaquery_city"].looked_file == str(looked_file(tmp_path, "pagilaquery_city"))


def test_a_queried_platform_leaves_nothing_behind_and_says_what_it_has_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Platform, "services", property(lambda _self: type("S", (), {"pipeline": load_pipeline(NAME)})))
    platform = Platform(tmp_path, PlatformOptions(pipeline=NAME))
    assert left_behind(platform) == "everything is stopped; nothing of the pipeline is left in None"
    monkeypatch.setattr(Platform, "running", lambda _self: {"postgres"})
    with pytest.raises(PlatformError, match="pipeline pagilaquery is queried, so it has no kafka, connect"):
        platform.require("postgres", "kafka", "connect")
    with pytest.raises(PlatformError, match=r"pipeline pagilaquery is queried: `\./lake reconcile --repair`"):
        resnapshot_tables(platform, (), Wanted())


def test_no_number_leaves_the_source_that_the_sink_would_change() -> None:
    """Events with each type's smallest and largest values, as Debezium sends them (tests/events/every_type.sql)."""
    for event in TARGET.read_bytes().splitlines():
        assert line(event) == event + b"\n"


def test_a_log_behind_what_was_read_from_it_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    state = SimpleNamespace(position=100, database="shop", has_slot=True, problems=[])
    found = services(tmp_path)
    monkeypatch.setattr(found.database, "replication", lambda *_: state)
    monkeypatch.setattr(LocalPipeline, "former_topic_problem", lambda _: None)
    for lsn, told in ((100, False), (101, True)):
        monkeypatch.setattr(ConnectApi, "stored_offsets", lambda *_, lsn=lsn: [{"lsn": lsn}])
        lost = moving(found).lost_changes()
        assert (lost is not None and "the log of shop is behind what was read from it" in lost) is told


def test_a_bucket_that_doesnt_answer_yet_says_nothing_of_losses(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = services(tmp_path)
    state = SimpleNamespace(position=0, has_slot=True, problems=[])
    monkeypatch.setattr(found.database, "replication", lambda *_: state)
    monkeypatch.setattr(found.kafka, "topic_ids", lambda names: dict.fromkeys(names, "1"))
    monkeypatch.setattr(found.kafka, "committed_offsets", Mock(side_effect=KafkaException("it just starts")))
    monkeypatch.setattr(ConnectApi, "stored_offsets", lambda *_: [])
    s3 = Mock(
        **{"get_object.side_effect": EndpointConnectionError(endpoint_url="s3"), "exceptions.NoSuchKey": KeyError}
    )
    monkeypatch.setattr(found.s3, "client", lambda: s3)
    pipeline = moving(found)
    with pytest.raises(UnavailableError, match="Could not connect"):
        pipeline.lost_changes()
    pipeline._check_nothing_is_lost()


def test_a_snapshot_is_there_once_the_slot_has_caught_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found = services(tmp_path, "pagila")
    slots = [Slot(active=bool(active), behind_bytes=behind) for active, behind in ((0, -9), (1, -9), (1, 8), (1, 0))]
    monkeypatch.setattr(found.database, "slot", Mock(side_effect=[None, *slots]))
    monkeypatch.setattr(found.database, "wal_position", lambda: "0/9")
    delivered = moving(found)._delivery()
    assert [delivered() for _ in range(5)] == [False, False, False, False, True]


@pytest.mark.parametrize(("ends", "over"), [((5, 9), True), ((5, 5), False)])
def test_a_long_snapshot_is_left_to_itself_while_its_events_come(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, ends: tuple[int, ...], over: bool
) -> None:
    found = moving(services(tmp_path, "pagila"))
    monkeypatch.setattr(found, "topic_ends", Mock(side_effect=[{"t": end} for end in ends]))
    clock = iter([0.0, ENOUGH_S - MOVES_S - 1, ENOUGH_S - MOVES_S, ENOUGH_S])
    monkeypatch.setattr("local.platform.pipeline.time", SimpleNamespace(monotonic=lambda: next(clock)))
    check = found._or_coming(lambda: False)
    assert [check() for _ in range(3)] == [False, False, over]


def test_what_is_lost_is_told_before_a_connector_changes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its failure to take another list of tables would hide the cause."""
    monkeypatch.setattr(LocalPipeline, "lost_changes", lambda _: "the slot is gone")
    pipeline, started = moving(services(tmp_path)), list[bool]()
    monkeypatch.setattr(pipeline.connectors, "start_source", lambda: started.append(True))
    with pytest.raises(PlatformError, match="the slot is gone"):
        pipeline.start_source()
    assert not started
