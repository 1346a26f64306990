"""In-memory services for the handlers, and the time that they share."""

from collections.abc import Iterator
from types import SimpleNamespace

import pytest
from moto import mock_aws
from moto.core.models import MockAWS

from stacks.handlers import connector, framework, journal, kubernetes_connector, kubernetes_objects
from tests.stacks.handlers.clients import of_config
from tests.stacks.handlers.cloudformation import Clock, Stack, World
from tests.stacks.handlers.emr_step.cluster import Cluster, Emr
from tests.stacks.handlers.journal_store import MemoryStore
from tests.stacks.handlers.kubernetes.cluster import FakeCluster
from tests.stacks.handlers.msk_connect.requests import connector_request
from tests.stacks.handlers.msk_connect.service import KafkaConnect


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr(framework, "now", clock)
    monkeypatch.setattr(framework, "sleep", clock.sleep)
    return clock


@pytest.fixture
def records(monkeypatch: pytest.MonkeyPatch) -> MemoryStore:
    """The records of requests; test_journal.py checks them against S3's behavior."""
    kept = MemoryStore()
    monkeypatch.setattr(journal, "store", lambda: kept)
    return kept


@pytest.fixture
def clients(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The tests' clients in place of the handlers' own, which they keep."""
    monkeypatch.setattr(framework, "boto3", SimpleNamespace(client=of_config))
    framework.client.cache_clear()
    yield
    framework.client.cache_clear()


@pytest.fixture
def world(clock: Clock, records: MemoryStore, clients: None) -> World:  # noqa: ARG001
    """CloudFormation and CDK's waiters; service fixtures advance with its time."""
    return World(clock)


@pytest.fixture
def connect(world: World) -> Iterator[KafkaConnect]:
    """An empty MSK Connect."""
    backend = KafkaConnect(world.clock)
    world.tick = backend.tick
    with backend.answering():
        yield backend


@pytest.fixture(scope="module")
def moto_services() -> Iterator[MockAWS]:
    """moto, started once for a module's tests: that takes longer than a test."""
    with mock_aws() as services:
        yield services


@pytest.fixture
def aws(connect: KafkaConnect, moto_services: MockAWS) -> None:  # noqa: ARG001
    """moto's empty S3 and CloudWatch Logs; its patches come after those of `connect`."""
    moto_services.reset()


@pytest.fixture
def emr(world: World) -> Iterator[Cluster]:
    """An EMR cluster without a step."""
    cluster = Cluster(Emr(world.clock))
    world.tick = cluster.tick
    with cluster.account.answering():
        yield cluster


@pytest.fixture
def eks(world: World, monkeypatch: pytest.MonkeyPatch) -> FakeCluster:
    """An empty Kubernetes cluster."""
    cluster = FakeCluster()
    world.tick = cluster.tick
    for module in (kubernetes_connector, kubernetes_objects):
        monkeypatch.setattr(module, "Kubernetes", lambda _cluster: cluster)
    return cluster


@pytest.fixture
def source(world: World, connect: KafkaConnect) -> Stack:
    """A connector that isn't deployed yet; everything it refers to exists."""
    return Stack(world, connector, wanted=connector_request(connect))


@pytest.fixture
def stack(source: Stack, connect: KafkaConnect) -> Stack:
    """The same with operations that take minutes."""
    connect.ticks_needed = 4
    return source
