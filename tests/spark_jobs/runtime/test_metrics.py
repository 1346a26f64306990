"""Metrics on moto's CloudWatch: the published figures, idle times, and outages of CloudWatch."""

import threading
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any
from unittest.mock import DEFAULT, Mock

import boto3
import pytest
from moto import mock_aws

from spark_jobs.runtime import metrics
from spark_jobs.runtime.metrics import Metrics, metrics_for
from tests.spark_jobs.test_loop import REPORT
from tests.waiting import PATIENCE_S, Clock

NAMESPACE, TABLE = "dev-cdc-lake", "datalake.cdc_events"


@pytest.fixture
def cloudwatch(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.setenv(name, "none")
    monkeypatch.setenv("AWS_DEFAULT_REGION", "ap-southeast-2")
    with mock_aws():
        yield boto3.client("cloudwatch")


def published(client: Any, name: str, namespace: str = NAMESPACE) -> dict[str, float] | None:
    """The statistics of a metric over the last hour; None when it has no data."""
    now = datetime.now(UTC)
    answer = client.get_metric_statistics(
        Namespace=namespace,
        MetricName=name,
        Dimensions=[{"Name": "table", "Value": TABLE}],
        StartTime=now - timedelta(hours=1),
        EndTime=now + timedelta(hours=1),
        Period=7200,
        Statistics=["SampleCount", "Sum", "Maximum"],
    )
    return next((dict(point) for point in answer["Datapoints"]), None)


def sums(client: Any, *names: str) -> list[float | None]:
    points = [published(client, name) for name in names]
    return [point["Sum"] if point else None for point in points]


def make(client: Any, clock: Clock, log: list[str] | None = None) -> Metrics:
    return Metrics(client, namespace=NAMESPACE, table=TABLE, log=(log if log is not None else []).append, clock=clock)


def test_a_minute_without_commits_says_so_and_failed_attempts_are_counted(cloudwatch: Any) -> None:
    made = make(cloudwatch, Clock())
    made.publish()
    names = ("Commits", "Events", "Quarantined", "CommitAgeSeconds", "FailedAttempts")
    assert sums(cloudwatch, *names) == [0, 0, 0, 0, 0]
    assert sums(cloudwatch, "CommitSeconds", "LagSeconds") == [None, None]
    made.failed()
    made.failed()
    made.publish()
    made.publish()
    assert sums(cloudwatch, "FailedAttempts") == [2]


@pytest.mark.parametrize("name", metrics.STATES)
def test_a_state_is_told_of_tables_that_have_it_alone_and_holds(cloudwatch: Any, name: str) -> None:
    made = make(cloudwatch, Clock())
    for states, total in (({}, None), ({name: 0}, 0), ({name: 1}, 1), ({}, 2)):
        made.set_states(states)
        made.publish()
        assert sums(cloudwatch, name) == [total]
    made.publish()
    assert sums(cloudwatch, name) == [3]


def test_commits_are_published_with_all_that_their_lines_say(cloudwatch: Any) -> None:
    made = make(cloudwatch, Clock())
    made.committed(REPORT)
    made.committed(replace(REPORT, events=7, quarantined=1, lag_seconds=None))
    made.publish()
    assert sums(cloudwatch, "Commits", "Events", "Upserts", "Deletes") == [2, 840, 1656, 2]
    assert sums(cloudwatch, "Quarantined", "MissingOffsets", "LateFiles") == [3, 0, 0]
    # A commit without a lag (no time in its events) doesn't count as a lag of 0.
    assert sums(cloudwatch, "CommitSeconds", "LagSeconds") == [pytest.approx(4.69), pytest.approx(1.26)]


@pytest.mark.parametrize(("news", "age"), [("commit", 305), ("look", 5)])
def test_the_age_grows_until_the_table_is_known_to_be_up_to_date(cloudwatch: Any, news: str, age: int) -> None:
    """A commit has what had landed when it began."""
    clock = Clock()
    made = make(cloudwatch, clock)
    clock.now += 600
    made.publish()
    assert sums(cloudwatch, "CommitAgeSeconds") == [600]
    if news == "commit":
        made.committed(replace(REPORT, seconds=300))
    else:
        made.idle()
    clock.now += 5
    made.publish()
    assert sums(cloudwatch, "CommitAgeSeconds") == [600 + age]


def test_an_outage_loses_no_figures_and_is_logged_once(cloudwatch: Any) -> None:
    log, client = list[str](), Mock(wraps=cloudwatch)
    client.put_metric_data.side_effect = [*[ConnectionError("refused\nand more")] * 3, DEFAULT, DEFAULT]
    made = make(client, Clock(), log)
    made.committed(REPORT)
    for _ in range(3):
        made.publish()
    made.committed(REPORT)
    made.publish()
    made.publish()
    assert sums(cloudwatch, "Commits", "Events") == [2, 1666]
    assert log == [
        "metrics can't be published, tried again each minute: ConnectionError: refused",
        "metrics are published again, after 3 failures",
    ]


def test_the_thread_publishes_at_once_and_at_the_end_what_came_during_a_publication(
    cloudwatch: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(metrics, "INTERVAL_S", 3600)
    first = threading.Event()

    def wait_for_the_end(**_given: object) -> object:
        first.set()
        made._ended.wait(PATIENCE_S)
        return DEFAULT

    client = Mock(wraps=cloudwatch)
    client.put_metric_data.side_effect = wait_for_the_end
    made = make(client, Clock())
    made.start()
    assert first.wait(PATIENCE_S)
    made.committed(REPORT)
    made.finish()
    assert sums(cloudwatch, "Events") == [833]


def test_a_cloudwatch_that_never_answers_does_not_keep_the_job(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(metrics, "FINISH_S", 0.05)
    asked, released = threading.Event(), threading.Event()

    def hang(**_given: object) -> None:
        asked.set()
        released.wait(PATIENCE_S)

    made = make(Mock(**{"put_metric_data.side_effect": hang}), Clock())
    made.start()
    assert asked.wait(PATIENCE_S)
    made.committed(REPORT)
    made.finish()
    assert made._thread.is_alive()
    released.set()
    made._thread.join(PATIENCE_S)


def test_calls_are_bounded_without_a_namespace_there_are_none_and_without_a_region_a_line(
    cloudwatch: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert cloudwatch is not None
    log: list[str] = []
    assert metrics_for(None, TABLE, log.append) is None
    made = metrics_for(NAMESPACE, TABLE, log.append)
    assert made is not None
    assert log == []
    config = made._client.meta.config
    longest = config.retries["total_max_attempts"] * (config.connect_timeout + config.read_timeout)
    assert longest < metrics.FINISH_S
    monkeypatch.delenv("AWS_DEFAULT_REGION")
    monkeypatch.setenv("AWS_CONFIG_FILE", "none")
    monkeypatch.setattr(boto3, "DEFAULT_SESSION", None)
    assert metrics_for(NAMESPACE, TABLE, log.append) is None
    assert log == ["no metrics are published: NoRegionError: You must specify a region."]
