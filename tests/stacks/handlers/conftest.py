import functools
from collections.abc import Callable, Iterator
from types import ModuleType
from typing import Any

import boto3
import pytest
from botocore import UNSIGNED
from botocore.config import Config
from moto import mock_aws

from stacks.handlers import connector_log, connector_plugin, framework, kafka_connect
from tests.stacks.handlers.deployment import Clock, Resource
from tests.stacks.handlers.kafkaconnect_backend import KafkaConnect

CREDENTIALS = {"aws_access_key_id": "none", "aws_secret_access_key": "none", "region_name": "ap-southeast-2"}
# A fault is a test's to repeat, not botocore's.
ONCE = Config(retries={"mode": "standard", "total_max_attempts": 1})


@functools.cache
def client(service: str) -> Any:
    """A boto3 client for all tests: making one takes longer than most of them."""
    # Signing takes a fifth of a call's time; only moto's S3 asks for it.
    unsigned = Config(signature_version=UNSIGNED) if service.startswith("kafka") else None
    return boto3.client(service, config=ONCE.merge(unsigned) if unsigned else ONCE, **CREDENTIALS)  # type: ignore[call-overload]


@pytest.fixture
def connect(monkeypatch: pytest.MonkeyPatch) -> Iterator[KafkaConnect]:
    """MSK Connect without anything in it."""
    backend, service = KafkaConnect(), client("kafkaconnect")
    monkeypatch.setattr(kafka_connect, "client", lambda: service)
    service.meta.events.register_first("before-send.kafkaconnect", backend.handle)
    yield backend
    service.meta.events.unregister("before-send.kafkaconnect", backend.handle)


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr(framework, "now", clock)
    return clock


@pytest.fixture
def aws(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """moto's S3 and CloudWatch Logs."""
    with mock_aws():
        monkeypatch.setattr(connector_plugin, "s3", lambda: client("s3"))
        monkeypatch.setattr(connector_log, "client", lambda: client("logs"))
        yield


@pytest.fixture
def resource(connect: KafkaConnect, clock: Clock) -> Callable[..., Resource]:
    """Make a custom resource of a handler."""

    def make(handler: ModuleType, **options: Any) -> Resource:
        return Resource(handler=handler, clock=clock, tick=connect.tick, **options)

    return make
