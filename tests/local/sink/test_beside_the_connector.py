"""The same inputs through the stand-in and, when LENSES_PLUGIN names its release, through the real connector.

`LENSES_PLUGIN=path/to/release .venv/bin/pytest tests/local/sink/test_beside_the_connector.py` repeats the table of
docs/decisions/0040; without it, its rows for the stand-in.
"""

import contextlib
import json
import os
import time
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType
from typing import Any

import pytest

from local.services.connect import Connect
from local.services.kafka import ADMIN
from local.setup.ports import choose
from local.sink.consumer import GroupConsumer
from local.sink.settings import Held
from local.sink.task import SinkTask
from plugins.releases.versions import load_versions
from plugins.sink.sink_connector import sink_connector
from tests.local.sink.beside import CONNECTOR, OUTAGES, REFUSED, RUNS, SETTINGS, STAND_IN, VALUES, Setting, Value
from tests.local.sink.harness import BUCKET, ROOT, FaultyS3, Pipeline, RunningTask, Services
from tests.waiting import wait_until

pytestmark = pytest.mark.integration
RELEASE = "LENSES_PLUGIN"
OUTAGE_S = 15
WORKER_S = 300
# How long to watch a connector that accepts a configuration.
WATCHED_S = 5


class StandIn:
    """local.sink."""

    name = STAND_IN

    def __init__(self) -> None:
        self._held: list[Held] = []
        self._running: RunningTask | None = None

    def start(self, pipeline: Pipeline) -> None:
        member = GroupConsumer(pipeline.services.kafka.client(), pipeline.settings)
        self._running = RunningTask(SinkTask(pipeline.settings, member, pipeline.store(), None, tell=self._tell))

    def _tell(self, held: Iterable[Held]) -> None:
        self._held = list(held)

    def failure(self) -> str | None:
        if self._running is not None and self._running.error is not None:
            return str(self._running.error)
        return next((record.reason for record in self._held), None)

    def stop(self) -> None:
        if self._running is not None and self._running.error is None:
            self._running.stop()


class Connector:
    """The real one on a Connect worker."""

    name = CONNECTOR

    def __init__(self, worker: Connect, login: Mapping[str, str]) -> None:
        self._api = worker.api
        self._login = worker.acting_as(ADMIN, login)
        self._connector: str | None = None

    def start(self, pipeline: Pipeline, changes: Mapping[str, str] = MappingProxyType({})) -> None:
        self._connector = pipeline.sink.name
        self._api.put_connector(self._connector, {**sink_connector(pipeline.sink), **self._login, **changes})

    def failure(self) -> str | None:
        return self._api.failure(self._connector or "")

    def restart(self) -> None:
        self._api.restart_failed(self._connector or "")
        wait_until(lambda: self.failure() is None, "the task runs again")

    def stop(self) -> None:
        if self._connector is not None:
            self._api.delete_connector(self._connector)


@pytest.fixture(scope="module")
def worker(services: Services) -> Iterator[Connect]:
    release = os.environ.get(RELEASE)
    if not release:
        pytest.skip(f"{RELEASE} doesn't name the real connector's release")
    port = choose(["connect"], earlier={})["connect"]
    servers, login = services.kafka.bootstrap_servers, services.kafka.users.java_login(ADMIN)
    worker = Connect(
        services.folder / "connect", port=port, bootstrap_servers=servers, lenses=Path(release), login=login
    )
    worker.install_plugins()
    command = worker.prepare()
    services.processes.start("connect", replace(command, environment={**command.environment, "LC_ALL": "C"}))
    try:
        services.processes.wait_until("connect", worker.ready, timeout_s=WORKER_S)
        yield worker
    finally:
        services.processes.stop("connect", grace_s=30)


@pytest.fixture
def connector(worker: Connect, services: Services) -> Iterator[Connector]:
    connector = Connector(worker, services.kafka.users.java_login(ADMIN))
    yield connector
    connector.stop()


@pytest.fixture(params=[STAND_IN, CONNECTOR])
def sink(request: pytest.FixtureRequest) -> Iterator[StandIn | Connector]:
    if request.param == CONNECTOR:
        yield request.getfixturevalue("connector")
        return
    sink = StandIn()
    yield sink
    sink.stop()


def landed(pipeline: Pipeline) -> list[object]:
    return [json.loads(line) for line in pipeline.landed()]


def test_what_both_take_is_landed_alike(sink: StandIn | Connector, services: Services) -> None:
    rows = [row for row in VALUES if row.landed[STAND_IN] != REFUSED]
    pipeline = Pipeline(services)
    pipeline.send([*(row.value for row in rows), b'{"last": true}'])
    sink.start(pipeline)
    wait_until(lambda: landed(pipeline)[-1:] == [{"last": True}] or sink.failure() is not None, "all is landed")
    assert sink.failure() is None
    assert landed(pipeline) == [*(event for row in rows for event in row.landed[sink.name]), {"last": True}]


@pytest.mark.parametrize("row", [row for row in VALUES if row.landed[STAND_IN] == REFUSED], ids=lambda row: row.name)
def test_what_the_connector_would_change_or_refuse_isnt_landed_by_the_stand_in(
    sink: StandIn | Connector, services: Services, row: Value
) -> None:
    pipeline = Pipeline(services)
    pipeline.send([row.value])
    sink.start(pipeline)
    if (expected := row.landed[sink.name]) == REFUSED:
        wait_until(lambda: sink.failure() is not None, "it has failed")
        assert landed(pipeline) == []
    else:
        wait_until(lambda: landed(pipeline) == expected, "the connector has changed it")


@pytest.mark.parametrize("row", SETTINGS, ids=lambda row: row.name)
def test_the_connector_takes_a_configuration_that_loses_events(
    connector: Connector, services: Services, row: Setting
) -> None:
    """The stand-in refuses it: see test_settings."""
    pipeline = Pipeline(services)
    connector.start(pipeline, row.changed(f"{BUCKET}:{pipeline.sink.prefix}", pipeline.topic))
    if row.connector == RUNS:
        time.sleep(WATCHED_S)
        assert connector.failure() is None
    else:
        wait_until(lambda: connector.failure() is not None, "the task has failed at its start")


@contextlib.contextmanager
def outage_of_s3(
    sink: StandIn | Connector, services: Services, **settings: Any
) -> Iterator[tuple[Pipeline, list[bytes]]]:
    """Land the first half of some events, send the others during an outage, and restart a connector that has failed."""
    s3 = FaultyS3(services.s3.endpoint)
    try:
        pipeline = Pipeline(services, endpoint=s3.endpoint, flush_count=10, **settings)
        events = [json.dumps({"k": number % 5, "n": number}).encode() for number in range(100)]
        sink.start(pipeline)
        pipeline.send(events[:50])
        wait_until(lambda: len(pipeline.landed()) == 50, "the first half is landed")
        with s3.outage():
            pipeline.send(events[50:])
            time.sleep(OUTAGE_S)
        if isinstance(sink, Connector):
            wait_until(lambda: sink.failure() is not None, "the outage has failed it")
            sink.restart()
        assert s3.refused
        yield pipeline, events
    finally:
        sink.stop()
        s3.close()


def test_an_outage_of_s3_loses_nothing(sink: StandIn | Connector, services: Services) -> None:
    with outage_of_s3(sink, services) as (pipeline, events):
        wait_until(lambda: len(pipeline.landed()) >= 100, "the rest is landed")
        assert sorted(landed(pipeline), key=str) == sorted((json.loads(event) for event in events), key=str)


def test_after_an_outage_the_connector_cant_resume_in_folders(connector: Connector, services: Services) -> None:
    with outage_of_s3(connector, services, partition_by=("k",)):
        wait_until(lambda: "resume" in (connector.failure() or ""), "it can't resume in this layout")


def test_the_table_in_the_decision_has_every_row_and_the_version() -> None:
    [page] = (ROOT / "docs" / "decisions").glob("0040-*.md")
    text = page.read_text()
    cells = [line.split("|")[1].replace("`", "") for line in text.splitlines() if line.startswith("|")]
    rows = {name.strip() for cell in cells for name in cell.split(";")}
    assert {row.name for row in VALUES} | {row.name for row in SETTINGS} | set(OUTAGES) <= rows
    assert load_versions().lenses_s3.version in text
