from collections.abc import Callable
from typing import Any

import pytest

from stacks.handlers import kafka_connect, worker_configuration
from tests.stacks.handlers.clients import client
from tests.stacks.handlers.deployment import DeploymentError, Resource, failing
from tests.stacks.handlers.kafkaconnect_backend import LOST, KafkaConnect

BASE = "dev-cdc-lake-worker"
PROPERTIES = {"value.converter": "Json", "key.converter": "Json", "offset.storage.topic": "offsets"}
Make = Callable[..., Resource]


@pytest.fixture
def worker(resource: Make) -> Resource:
    return resource(worker_configuration)


def request(**properties: str) -> dict[str, Any]:
    return {"name": BASE, "properties": {**PROPERTIES, **properties}, "tags": {"a": "b"}}


def test_it_is_made_as_a_properties_file(connect: KafkaConnect, worker: Resource) -> None:
    data = worker.create(request())
    (made,) = connect.worker_configurations.values()
    assert data == {"Name": made["name"], "Arn": made["workerConfigurationArn"], "Revision": 1}
    assert worker.physical_id == made["name"]
    assert made["name"].startswith(f"{BASE}-")
    assert worker_configuration.content(data["Arn"]) == (
        "key.converter=Json\noffset.storage.topic=offsets\nvalue.converter=Json\n"
    )


def test_changed_properties_are_a_new_one_and_the_old_one_is_removed(connect: KafkaConnect, worker: Resource) -> None:
    old = worker.create(request())
    new = worker.update(request(a="b"))
    assert new["Arn"] != old["Arn"]
    assert worker.attempts == [old["Name"]]
    assert list(connect.worker_configurations) == [new["Arn"]]


def test_the_order_of_properties_does_not_matter(connect: KafkaConnect, worker: Resource) -> None:
    old = worker.create(request())
    assert worker.update({**request(), "properties": dict(reversed(PROPERTIES.items()))}) == old
    assert connect.called("CreateWorkerConfiguration", "DeleteWorkerConfiguration") == ["CreateWorkerConfiguration"]


@pytest.mark.parametrize("value", ["a\nb", "a\\b", 5])
def test_a_value_that_a_properties_file_would_read_otherwise_is_refused(worker: Resource, value: Any) -> None:
    reason = failing(worker, request(key=value))
    assert reason == "Request: properties: key must be one line of text without a backslash"


def test_a_delivery_that_comes_twice_makes_one(connect: KafkaConnect, worker: Resource) -> None:
    worker.create(request())
    worker.create(request())
    assert len(connect.worker_configurations) == 1


def test_a_strangers_is_left_alone(connect: KafkaConnect, worker: Resource, resource: Make) -> None:
    worker.create(request())
    second = resource(worker_configuration, logical_id="Second")
    assert "isn't this resource's" in failing(second, request())
    second.physical_id, second.properties = worker.physical_id, worker.properties
    second.delete()
    assert len(connect.worker_configurations) == 1


def test_a_stranger_who_is_quicker_keeps_the_name(
    connect: KafkaConnect, worker: Resource, resource: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    worker.create(request())
    # The look before the creation doesn't see it yet.
    monkeypatch.setattr(kafka_connect.Immutable, "is_there", lambda *_: False)
    second = resource(worker_configuration, logical_id="Second")
    assert "isn't this resource's" in failing(second, request())
    assert len(connect.worker_configurations) == 1


def test_a_name_that_only_begins_like_it_is_another(connect: KafkaConnect, worker: Resource) -> None:
    old = worker.create(request())
    worker.delete()
    client("kafkaconnect").create_worker_configuration(name=f"{old['Name']}-2", propertiesFileContent="")
    assert worker.create(request())["Name"] == old["Name"]
    worker.delete()
    assert [each["name"] for each in connect.worker_configurations.values()] == [f"{old['Name']}-2"]


@pytest.mark.parametrize("fault", ["TooManyRequestsException", LOST])
@pytest.mark.parametrize(
    "operation", ["CreateWorkerConfiguration", "DescribeWorkerConfiguration", "DeleteWorkerConfiguration"]
)
def test_a_busy_service_is_asked_again(connect: KafkaConnect, worker: Resource, operation: str, fault: str) -> None:
    connect.faults[operation] = [fault]
    worker.create(request())
    worker.delete()
    assert connect.worker_configurations == {}


def test_deleted_twice_is_deleted_once(connect: KafkaConnect, worker: Resource) -> None:
    worker.create(request())
    worker.delete()
    worker.delete()
    assert connect.called("DeleteWorkerConfiguration") == ["DeleteWorkerConfiguration"]


def test_what_aws_refuses_is_its_reason(connect: KafkaConnect, worker: Resource) -> None:
    worker.create(request())
    connect.faults["DeleteWorkerConfiguration"] = ["ForbiddenException"]
    with pytest.raises(DeploymentError, match="DeleteWorkerConfiguration: ForbiddenException"):
        worker.delete()
