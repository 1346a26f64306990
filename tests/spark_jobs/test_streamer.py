"""The job through spark-submit: HoodieDeltaStreamer's command line, a stop file and an outage of S3."""

import contextlib
import gzip
import itertools
import os
import signal
import threading
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import boto3
import pytest

from spark_jobs import streamer, table_job
from spark_jobs.errors import JobError, UndescribedError
from spark_jobs.options import keys
from spark_jobs.runtime import archive
from spark_jobs.runtime.retry import Backoff
from tests.spark_jobs.events import AWS, SCHEMA, TOPIC, Event, as_lines, event, glue_table
from tests.spark_jobs.options.test_options import DELTASTREAMER_LINE
from tests.spark_jobs.options.test_settings import DELTASTREAMER_PROPERTIES, decide
from tests.spark_jobs.programs import TABLE, JobRun, Storage
from tests.spark_jobs.runtime.test_metrics import published
from tests.waiting import PATIENCE_S


@pytest.mark.integration
@pytest.mark.usefixtures("empty_glue")
def test_deltastreamers_command_line_and_properties_and_a_stop_file(
    job_run: JobRun, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(os.environ, "AWS_ENDPOINT_URL_CLOUDWATCH", job_run.glue_endpoint)
    for order_id, customer in [(1, "A"), (2, "B"), (3, "[missing]")]:
        folder = job_run.landing() / f"customer_id={customer}" / f"order_id={order_id}"
        folder.mkdir(parents=True)
        fields: dict[str, Any] = {"customer_id": customer if order_id < 3 else None}
        (folder / f"demo(0_{order_id:012d}).json").write_text(as_lines([event(order_id, order_id, "c", **fields)]))
    text = DELTASTREAMER_PROPERTIES.replace("s3://data-lake-demo-cevo/hudi/config/schema.avsc", str(SCHEMA))
    text = text.replace("s3://data-lake-demo-cevo/cdc-events/", f"file://{job_run.landing()}/")
    stop = job_run.folder / "stop" / "dev-cdc-lake-cdc_events"
    own = f"{keys.STOP_FILE}={stop}\n{keys.METRICS_NAMESPACE}={job_run.folder.name}\n"
    properties = job_run.folder / "cdc_events_deltastreamer_s3.properties"
    properties.write_text(f"{text}\n{own}")
    changed = {DELTASTREAMER_LINE[5]: str(properties), DELTASTREAMER_LINE[9]: f"{job_run.path()}/"}
    job = job_run.submit([changed.get(argument, argument) for argument in DELTASTREAMER_LINE])
    # A stop file in the middle of a commit: it is finished, published, and the catalog is synced.
    job.wait_for(lambda: job_run.instants("inflight"), "commit in flight")
    stop.parent.mkdir()
    stop.touch()
    assert job.process.wait(PATIENCE_S) == 0
    assert f"stopped by {stop}" in job.text()
    [commit] = job.commits()
    assert (commit["files"], commit["events"], commit["upserts"], commit["quarantined"]) == ("3", "3", "3", "0")
    assert published_events(job_run) == 3
    assert (job_run.path() / "customer_id=A" / "order_id=1").is_dir()
    assert "hoodie.datasource.hive_sync.jdbcurl is not used" in job.text()
    assert glue_table(job_run.glue_endpoint)["partitions"] == [
        ("A", "1"),
        ("B", "2"),
        ("__HIVE_DEFAULT_PARTITION__", "3"),
    ]
    assert "Traceback" not in job.text()


@pytest.mark.long
@pytest.mark.integration
def test_long_lines_do_not_end_a_jvm_of_one_gigabyte(job_run: JobRun) -> None:
    def around(first: int, megabytes: int) -> list[Event | str]:
        long = as_lines([event(first, 2, "c", products="x" * megabytes * 1_000_000)]).rstrip("\n")
        return [event(first, 1, "c"), long, event(first + 1, 3, "c")]

    job_run.land(*around(1, 150))
    # Decompressed, it arrives whole, and is cut immediately.
    with gzip.open(job_run.landing() / "0" / "packed.json.gz", "wt", compresslevel=1) as packed:
        packed.write(as_lines(around(3, 100)))
    job = job_run.start(without=["--continuous"])
    assert job.process.wait(PATIENCE_S) == 0, job.text()[-2000:]
    assert job_run.lsns() == {1: 1, 2: 3, 3: 1, 4: 3}
    assert [commit["quarantined"] for commit in job.commits()] == ["2"]


@pytest.mark.parametrize(
    ("unpacks", "line"),
    [
        (Mock(return_value=None), "--continous: unknown option; did you mean --continuous?"),
        (Mock(side_effect=OSError(28, "No space left on device")), "OSError: [Errno 28] No space left on device"),
        (Mock(side_effect=JobError("a name\nwith two lines")), "a name with two lines"),
    ],
)
def test_a_mistake_or_a_full_disk_is_one_line(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], unpacks: Mock, line: str
) -> None:
    monkeypatch.setattr(archive, "use_shipped", unpacks)
    assert streamer.main(["--continous"]) == 1
    assert capsys.readouterr() == ("", f"error: {line}\n")


@pytest.mark.parametrize(
    ("continuous", "outcomes", "raised"),
    [
        (True, [ConnectionRefusedError(), TimeoutError(), "settings"], None),
        (False, [ConnectionRefusedError(), "settings"], ConnectionRefusedError),
        (True, [JobError("no such file"), "settings"], JobError),
        (True, [ValueError("unexpected"), "settings"], ValueError),
    ],
)
def test_outages_alone_are_waited_for_at_the_start_and_only_in_continuous_mode(
    monkeypatch: pytest.MonkeyPatch, continuous: bool, outcomes: list[Any], raised: type[Exception] | None
) -> None:
    given, stop = replace(decide()[0].options, continuous=continuous), threading.Event()
    monkeypatch.setattr(Backoff, "wait", lambda *_: None)
    read = Mock(side_effect=outcomes)
    with pytest.raises(raised) if raised else contextlib.nullcontext():
        assert streamer.when_readable(read, given, stop) == "settings"
    stop.set()
    assert streamer.when_readable(read, given, stop) is None


def test_a_continuous_job_waits_out_outages_and_columns_without_a_type(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    once, _ = decide()
    continuous = replace(once, options=replace(once.options, continuous=True))
    undescribed, outage = UndescribedError("its type isn't known"), TimeoutError("S3 is away")
    monkeypatch.setattr(Backoff, "wait", lambda *_: None)
    spark: Any = None
    for decided, outcomes, reasons in (
        (continuous, [undescribed, outage, None], ["its type isn't known", "TimeoutError: S3 is away"]),
        (continuous, [JobError("no such file")], ["no such file"]),
        (once, [undescribed], ["its type isn't known"]),
        (once, [outage], ["TimeoutError: S3 is away"]),
    ):
        monkeypatch.setattr(table_job, "run", Mock(side_effect=outcomes))
        raised = type(outcomes[-1]) if outcomes[-1] else None
        with pytest.raises(raised) if raised else contextlib.nullcontext():
            streamer.run(spark, decided, threading.Event())
        states = ["starting", *(f"failing reason={reason}" for reason in reasons), "ended"]
        assert capsys.readouterr().out.splitlines() == [f"table=datalake.t state={state}" for state in states]

    stop = threading.Event()

    def cancelled(*_: object) -> None:
        stop.set()
        raise OSError("cancelled")

    monkeypatch.setattr(table_job, "run", cancelled)
    streamer.run(spark, once, stop)
    assert capsys.readouterr().out == "table=datalake.t state=starting\ntable=datalake.t state=stopped\n"


def published_events(job_run: JobRun) -> float | None:
    client = boto3.client("cloudwatch", endpoint_url=job_run.glue_endpoint, **AWS)
    found = published(client, "Events", job_run.folder.name)
    return found["Sum"] if found else None


@pytest.fixture
def storage(tmp_path: Path) -> Iterator[Storage]:
    storage = Storage(tmp_path / "s3")
    yield storage
    storage.stop()


@pytest.mark.long
@pytest.mark.integration
def test_a_job_waits_for_s3_at_its_start_and_at_work(job_run: JobRun, storage: Storage) -> None:
    storage.start()
    storage.s3.create_buckets(["landing", "lake"])
    client = storage.s3.client()
    client.put_object(Bucket="lake", Key="conf/schema.avsc", Body=SCHEMA.read_bytes())

    def land(offset: int) -> None:
        body = as_lines([event(offset, 100 + offset, "c")]).encode()
        client.put_object(Bucket="landing", Key=f"cdc/{TOPIC}/0/{offset:012d}_1_2.json", Body=body)

    land(0)
    storage.stop()
    table = job_run.table(
        landing="s3a://landing/cdc", table_path="s3a://lake/t", schema_file="s3a://lake/conf/schema.avsc"
    )
    # No attempt may be counted, and none may be late.
    soon = ("--max-retry-count", "0", "--retry-interval-seconds", "1")
    job = job_run.start(table, *soon, without=["--enable-sync"], s3_endpoint=storage.s3.endpoint)
    job.wait_for(lambda: "attempt 1 failed" in job.text(), "failed attempt at the start")
    time.sleep(3)
    storage.start()
    job.wait_for(job.commits, "commit")
    known = len(job.text())
    storage.stop()
    job.wait_for(lambda: "attempt 1 failed" in job.text()[known:], "failed attempt at work")
    time.sleep(3)
    storage.start()
    land(1)
    job.wait_for(lambda: len(job.commits()) == 2, "commit after the outage")
    assert job.terminate(signal.SIGTERM) == 0
    assert [commit["events"] for commit in job.commits()] == ["1", "1"]
    assert job.text().count("works again, after ") == 2
    states = [state for state, _ in itertools.groupby(job.states(TABLE))]
    assert states == ["starting", "failing", "running", "failing", "running", "stopped"]
    assert "Traceback" not in job.text()
