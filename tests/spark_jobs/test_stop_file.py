"""The stop file, and that a real job hears of it and publishes its metrics."""

import os
import threading
from collections.abc import Callable
from typing import Any

import boto3
import pytest
from py4j.protocol import Py4JNetworkError

from spark_jobs.options import keys
from spark_jobs.runtime.stopping import StopFile
from tests.spark_jobs.conftest import aws_environment, event
from tests.spark_jobs.test_streamer import Place, java_options, place

__all__ = ["java_options", "place"]


class Watched:
    """A stop file on a clock of its own; `answer` says whether it is there."""

    def __init__(self, answer: Callable[[], bool]) -> None:
        self.seconds = 0.0
        self.looks = 0
        self.stop = threading.Event()
        self.log: list[str] = []
        self.answer = answer
        self.file = StopFile(
            "s3://b/stop", exists=self.exists, stop=self.stop, log=self.log.append, clock=lambda: self.seconds
        )

    def exists(self, path: str) -> bool:
        assert path == "s3://b/stop"
        self.looks += 1
        return self.answer()


def test_a_stop_file_stops_the_job_and_is_looked_for_every_ten_seconds() -> None:
    there = False
    watched = Watched(lambda: there)
    for watched.seconds in range(31):
        watched.file.look()
    assert watched.looks == 4
    assert not watched.stop.is_set()
    there = True
    watched.seconds = 40
    watched.file.look()
    assert watched.stop.is_set()
    assert watched.log == ["stopped by s3://b/stop"]


def test_a_look_that_fails_is_logged_once_and_stops_nothing() -> None:
    def refused() -> bool:
        raise OSError("403\nForbidden")

    watched = Watched(refused)
    for watched.seconds in range(0, 60, 10):
        watched.file.look()
    assert watched.log == ["stop file s3://b/stop can't be looked for: OSError: 403"]
    watched.answer = lambda: True
    watched.seconds = 60
    watched.file.look()
    assert watched.stop.is_set()


def test_a_jvm_that_is_gone_ends_the_job() -> None:
    def gone() -> bool:
        raise Py4JNetworkError("gone")

    with pytest.raises(Py4JNetworkError):
        Watched(gone).file.look()


@pytest.mark.integration
def test_a_real_job_ends_by_its_stop_file_and_publishes(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(os.environ, "AWS_ENDPOINT_URL_CLOUDWATCH", place.glue_endpoint)
    stop = place.folder / "stop" / "dev-cdc-lake-cdc_events"
    place.land(*(event(number, 100 + number, "c") for number in range(1, 20)))
    own = {keys.STOP_FILE: stop, keys.METRICS_NAMESPACE: place.folder.name}
    job = place.start(*place.arguments(), *(f"--hoodie-conf={name}={value}" for name, value in own.items()))
    job.wait_for(lambda: place.instants("inflight"), "commit in flight")
    stop.parent.mkdir()
    stop.touch()
    assert job.process.wait(120) == 0
    assert len(job.commits()) == 1
    assert len(place.rows()) == 19
    assert f"stopped by {stop}" in job.output.read_text()
    assert published_events(place) == 19


def published_events(place: Place) -> float:
    """The sum of Events that moto has got, by its list of metrics and their statistics."""
    environment = aws_environment(place.glue_endpoint)
    client = boto3.client(
        "cloudwatch",
        endpoint_url=place.glue_endpoint,
        region_name=environment["AWS_REGION"],
        aws_access_key_id=environment["AWS_ACCESS_KEY_ID"],
        aws_secret_access_key=environment["AWS_SECRET_ACCESS_KEY"],
    )
    query: Any = {
        "Id": "events",
        "MetricStat": {
            "Metric": {
                "Namespace": place.folder.name,
                "MetricName": "Events",
                "Dimensions": [{"Name": "table", "Value": "datalake.cdc_events"}],
            },
            "Period": 86_400,
            "Stat": "Sum",
        },
    }
    answer = client.get_metric_data(
        MetricDataQueries=[query], StartTime="2020-01-01T00:00:00Z", EndTime="2100-01-01T00:00:00Z"
    )
    return sum(answer["MetricDataResults"][0]["Values"])
