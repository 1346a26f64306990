"""A cluster, whose answers are checked against botocore's model, and the step's custom resource."""

import json
import time
from collections.abc import Iterator
from typing import Any

import pytest
from botocore.validate import ParamValidator
from moto import mock_aws

from stacks.handlers import emr_step, emr_steps, framework
from tests.stacks.handlers.clients import CREDENTIALS, client
from tests.stacks.handlers.deployment import Clock, Resource
from tests.stacks.handlers.emr_step.cluster import BUCKET, Cluster
from tests.stacks.handlers.journal_store import MemoryStore

FAILED = {"Reason": "Unknown Error.", "Message": "exit code 1", "LogFile": "s3://logs/emr/steps/stderr.gz"}


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    # moto's S3 has the real time.
    clock = Clock(time.time())
    monkeypatch.setattr(framework, "now", clock)
    return clock


@pytest.fixture
def cluster(clock: Clock, records: MemoryStore, monkeypatch: pytest.MonkeyPatch) -> Iterator[Cluster]:  # noqa: ARG001
    monkeypatch.setattr(emr_steps, "client", lambda service, _config=None: client(service))
    events = client("emr").meta.events
    with mock_aws():
        client("s3").create_bucket(
            Bucket=BUCKET, CreateBucketConfiguration={"LocationConstraint": CREDENTIALS["region_name"]}
        )
        cluster = Cluster(clock)

        def cancel(params: Any, model: Any, **_: Any) -> tuple[Any, dict[str, Any]]:
            answer = cluster.cancel(json_of(params))
            report = ParamValidator().validate(answer, model.output_shape)
            assert not report.has_errors(), report.generate_report()
            return type("Response", (), {"status_code": 200}), answer

        def explain(parsed: dict[str, Any], model: Any, **_: Any) -> None:
            for step in parsed["Steps"]:
                if step["Status"]["State"] == "FAILED":
                    step["Status"]["FailureDetails"] = FAILED
            shape = model.output_shape.members["Steps"].member.members["Status"].members["FailureDetails"]
            assert not ParamValidator().validate(FAILED, shape).has_errors()

        events.register("before-call.emr.CancelSteps", cancel)
        events.register("after-call.emr.ListSteps", explain)
        yield cluster
        events.unregister("before-call.emr.CancelSteps", cancel)
        events.unregister("after-call.emr.ListSteps", explain)


def json_of(request: dict[str, Any]) -> dict[str, Any]:
    body: dict[str, Any] = json.loads(request["body"])
    return body


@pytest.fixture
def resource(cluster: Cluster, clock: Clock) -> Resource:
    return Resource(handler=emr_step, clock=clock, tick=cluster.tick)
