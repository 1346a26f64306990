"""A pipeline on the local platform: topics, rights, landing, job and lake of each of its tables."""

import shutil
from collections.abc import Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from db.source.replication import OUTBOX
from local.errors import LostChangesError, PlatformError
from local.platform import job
from local.platform.connectors import Connectors, published
from local.platform.job import multi_table_arguments, table_jobs
from local.platform.pipeline import LocalPipeline
from local.services.connect_api import ConnectApi
from settings.load import PIPELINES, load_pipeline
from tests.local.platform.built import moving, services


def connectors(folder: Path, pipeline: str) -> Connectors:
    return moving(services(folder, pipeline)).connectors


def test_the_orders_have_the_names_that_they_always_had(tmp_path: Path) -> None:
    [table] = services(tmp_path, "orders").tables
    assert table.topic.name == "demo.datalake.cdc_events"
    assert table.lake.base_uri == "s3://lake/cdc_events"
    assert table.landing_prefix == "cdc-events/demo.datalake.cdc_events/"
    orders = connectors(tmp_path, "orders")
    assert (orders.source.name, orders.sink.name, orders.source.slot_name) == (
        "orders-source",
        "orders-sink",
        "cdc_orders",
    )
    configuration = orders.source_configuration
    assert configuration["table.include.list"] == "datalake.cdc_events"
    assert "message.key.columns" not in configuration
    assert configuration["heartbeat.action.query"] == "CALL datalake.outbox_beat()"
    assert published(load_pipeline("orders")) is OUTBOX


def test_each_table_of_a_pipeline_has_topic_lake_table_and_landing_of_its_own(tmp_path: Path) -> None:
    tables = services(tmp_path, "northwind").tables
    assert len(tables) == 14
    for field in ("name", "lake_name", "landing_prefix"):
        assert len({getattr(table, field) for table in tables}) == 14
    orders = next(table for table in tables if table.name == "datalake.orders")
    assert (orders.topic.name, orders.lake_name) == ("northwind.datalake.orders", "northwind_orders")


def test_one_connector_each_reads_and_lands_all_tables_with_rights_on_these_topics_alone(tmp_path: Path) -> None:
    shop = connectors(tmp_path, "northwind")
    topics = set(shop.source.topics)
    assert len(topics) == 14
    assert set(shop.sink.topics) == topics
    read = {
        acl.name for acl in shop.rights if (acl.user, acl.kind, acl.operation) == ("sink-connector", "topic", "READ")
    }
    assert read == topics
    assert {topic.name for topic in shop.topics} >= topics
    assert shop.source.signal_table == "cdc_northwind.signal"
    assert "cdc_northwind.heartbeat" in published(load_pipeline("northwind")).tables


def test_a_table_is_chosen_by_the_sources_name_and_by_the_lakes(tmp_path: Path) -> None:
    found = services(tmp_path, "pagila")
    assert found.chosen(["public.address"]) == found.chosen(["address"]) == found.chosen(["pagila_address"])
    assert [table.name for table in found.chosen(["city", "address"])] == ["public.address", "public.city"]
    assert len(found.chosen()) == 5
    with pytest.raises(PlatformError, match=r"'adress' .*table of pipeline pagila; most like it: public\.address, "):
        found.chosen(["adress"])


def test_the_job_of_many_tables_reads_a_file_per_table_and_none_of_an_earlier_start(tmp_path: Path) -> None:
    (tmp_path / "former.properties").touch()
    pipeline = load_pipeline("pagila")
    arguments = multi_table_arguments(pipeline, tmp_path)
    assert sorted(path.stem for path in tmp_path.glob("*.properties")) == sorted(pipeline.lake_tables)
    assert pipeline.lake_tables[-1] == "pagila_customer_addresses"
    assert str(tmp_path / "tables.list") in arguments
    text = (tmp_path / "pagila_rental.properties").read_text().replace("\\", "")
    assert "s3a://landing/cdc-events/pagila.public.rental" in text
    assert "hoodie.datasource.write.recordkey.field=rental_id" in text
    assert table_jobs(pipeline)[0].table_path == "s3a://lake/pagila_address"


def test_a_job_is_started_anew_for_another_table_or_schema_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pipeline = load_pipeline("pagila")
    described = job._description(pipeline)
    assert job._description(load_pipeline("pagila")) == described
    assert job._description(pipeline.model_copy(update={"tables": pipeline.tables[1:]})) != described
    shutil.copytree(PIPELINES / "pagila", tmp_path / "pagila")
    monkeypatch.setattr(job, "PIPELINES", tmp_path)
    assert job._description(pipeline) == described
    (tmp_path / "pagila" / "rental.avsc").write_text("{}")
    assert job._description(pipeline) != described


class FakeWorker:
    """Stands in for ConnectApi: connectors that have failed until they are restarted."""

    def __init__(self, failed: set[str]) -> None:
        self.failed = failed
        self.configured: list[str] = []

    def failure(self, name: str) -> str | None:
        return "S3 answered 503" if name in self.failed else None

    def put_connector(self, name: str, _config: Mapping[str, str]) -> None:
        self.configured.append(name)

    def restart_failed(self, name: str) -> None:
        assert self.configured[-1] == name
        self.failed.discard(name)


@pytest.mark.parametrize("failed", [True, False])
def test_up_starts_the_real_sink_again_when_it_had_failed(tmp_path: Path, *, failed: bool) -> None:
    """An unchanged configuration restarts no failed task."""
    found = services(tmp_path, lenses=tmp_path / "release.zip")
    worker = FakeWorker({"orders-sink"} if failed else set())
    found.connect.api = cast(Any, worker)
    moving(found).connectors.start_sink()
    assert worker.configured == ["orders-sink"]
    assert worker.failed == set()


def test_a_log_behind_what_was_read_from_it_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    state = SimpleNamespace(position=100, database="shop", has_slot=True, problems=[])
    found = services(tmp_path)
    monkeypatch.setattr(found.database, "replication", lambda *_: state)
    monkeypatch.setattr(LocalPipeline, "former_topic_problem", lambda _: None)
    for lsn, told in ((100, False), (101, True)):
        monkeypatch.setattr(ConnectApi, "stored_offsets", lambda *_, lsn=lsn: [{"lsn": lsn}])
        lost = moving(found).lost_changes()
        assert (lost is not None and "the log of shop is behind what was read from it" in lost) is told


def test_what_is_lost_is_told_before_a_connector_changes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its failure to take another list of tables would hide the cause."""
    monkeypatch.setattr(LocalPipeline, "lost_changes", lambda _: "the slot is gone")
    pipeline, started = moving(services(tmp_path)), list[bool]()
    monkeypatch.setattr(pipeline.connectors, "start_source", lambda: started.append(True))
    with pytest.raises(LostChangesError, match="the slot is gone"):
        pipeline.start_source()
    assert not started
