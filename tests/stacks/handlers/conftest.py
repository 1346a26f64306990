from collections.abc import Callable, Iterator
from types import ModuleType
from typing import Any

import pytest
from moto import mock_aws
from moto.core.models import MockAWS

from stacks.handlers import connector, connector_log, framework, journal, kafka_connect, plugin_archive
from tests.stacks.handlers.clients import client
from tests.stacks.handlers.connector_requests import connector_request
from tests.stacks.handlers.deployment import Clock, Resource
from tests.stacks.handlers.histories import World
from tests.stacks.handlers.journal_store import MemoryStore
from tests.stacks.handlers.kafkaconnect_backend import KafkaConnect


@pytest.fixture
def connect(monkeypatch: pytest.MonkeyPatch) -> Iterator[KafkaConnect]:
    """MSK Connect without anything in it."""
    backend, service = KafkaConnect(), client("kafkaconnect")
    monkeypatch.setattr(kafka_connect, "client", lambda: service)
    monkeypatch.setattr(connector_log, "client", _no_log)
    service.meta.events.register_first("before-send.kafkaconnect", backend.handle)
    yield backend
    service.meta.events.unregister("before-send.kafkaconnect", backend.handle)


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr(framework, "now", clock)
    monkeypatch.setattr(framework, "sleep", clock.sleep)
    return clock


@pytest.fixture(scope="module")
def moto_services() -> Iterator[MockAWS]:
    """moto, started once for a module's tests: that takes longer than a test."""
    with mock_aws() as services:
        yield services


@pytest.fixture
def aws(connect: KafkaConnect, moto_services: MockAWS, monkeypatch: pytest.MonkeyPatch) -> None:  # noqa: ARG001
    """moto's S3 and CloudWatch Logs without anything in them; its patches come after those of `connect`."""
    moto_services.reset()
    monkeypatch.setattr(plugin_archive, "s3", lambda: client("s3"))
    monkeypatch.setattr(connector_log, "client", lambda: client("logs"))


@pytest.fixture
def records(monkeypatch: pytest.MonkeyPatch) -> MemoryStore:
    """What requests have written down; test_journal.py holds it to what S3 does."""
    kept = MemoryStore()
    monkeypatch.setattr(journal, "store", lambda: kept)
    return kept


@pytest.fixture
def world(connect: KafkaConnect, clock: Clock, records: MemoryStore) -> World:  # noqa: ARG001
    """CloudFormation and CDK's waiters around MSK Connect."""
    connect.clock = clock
    return World(clock, connect.tick)


@pytest.fixture
def resource(connect: KafkaConnect, clock: Clock, records: MemoryStore) -> Callable[..., Resource]:  # noqa: ARG001
    """Make a custom resource of a handler."""

    def make(handler: ModuleType, **options: Any) -> Resource:
        return Resource(handler=handler, clock=clock, tick=connect.tick, **options)

    return make


@pytest.fixture
def wanted(connect: KafkaConnect) -> dict[str, Any]:
    """A connector's request, with the plugin and the worker configuration that it names."""
    return connector_request(connect)


@pytest.fixture
def source(resource: Callable[..., Resource]) -> Resource:
    """A connector that isn't deployed yet."""
    return resource(connector)


def _no_log() -> None:
    raise AssertionError("a connector failed, and the test has no log for it: use the fixture `aws`")
