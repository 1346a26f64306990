"""The job as a program, by spark-submit: HoodieDeltaStreamer's command line, signals, and kill -9 at every stage."""

import contextlib
import gzip
import json
import os
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import psutil
import pyarrow
import pytest

from local.look import by_spark
from local.look.lake import Lake as TableReader
from local.services.spark import JOB, spark_submit
from spark_jobs import streamer, table_job
from spark_jobs.errors import UndescribedError
from spark_jobs.runtime.retry import Backoff
from tests.cases import long
from tests.spark_jobs import class_archive
from tests.spark_jobs.conftest import CONF, SCHEMA, TOPIC, Event, as_lines, aws_environment, event, glue_table
from tests.spark_jobs.model import PLACEHOLDER
from tests.spark_jobs.options.test_options import DELTASTREAMER_LINE
from tests.spark_jobs.options.test_settings import DELTASTREAMER_PROPERTIES, decide

# Generous: other tests may share the two cores.
WAIT_S = 200


class Submitted:
    """One spark-submit process, its output in files."""

    def __init__(self, folder: Path, argv: Sequence[str], environment: Mapping[str, str]) -> None:
        # Spark's launcher sends what Python writes to standard error to standard output.
        self.output = folder / f"out{time.monotonic_ns()}"
        with self.output.open("w") as out:
            self.process = subprocess.Popen(
                argv, env=environment, stdout=out, stderr=subprocess.STDOUT, start_new_session=True, cwd=folder
            )

    def commits(self) -> list[dict[str, str]]:
        lines = [line for line in self.output.read_text().splitlines() if line.startswith("commit=")]
        return [dict(pair.split("=", 1) for pair in line.split(" ")) for line in lines]

    def wait_for(self, reached: Callable[[], object], what: str) -> None:
        deadline = time.monotonic() + WAIT_S
        while not reached():
            if self.process.poll() is not None or time.monotonic() > deadline:
                pytest.fail(f"no {what}: exit {self.process.poll()}, {self.output.read_text()[-2000:]}")
            time.sleep(0.005)

    def kill(self) -> None:
        """Kill -9 the JVM; the Python process must notice and end."""
        children = psutil.Process(self.process.pid).children(recursive=True)
        self.process.kill()
        self.process.wait()
        _, alive = psutil.wait_procs(children, timeout=30)
        assert alive == []

    def terminate(self, *signals: signal.Signals) -> int:
        for number in signals:
            self.process.send_signal(number)
            time.sleep(0.05)
        return self.process.wait(WAIT_S)

    def end(self) -> None:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()


class Job(Submitted):
    """The job on this machine."""

    def __init__(
        self,
        folder: Path,
        arguments: Sequence[str],
        glue_endpoint: str,
        *,
        s3_endpoint: str | None = None,
        program: Path = JOB,
        java_options: Sequence[str] = (),
    ) -> None:
        argv, environment = spark_submit(
            arguments,
            work_folder=folder / "work",
            log_file=folder / "spark.log",
            s3_endpoint=s3_endpoint,
            glue_endpoint=glue_endpoint,
            program=program,
            java_options=java_options,
        )
        super().__init__(folder, argv, environment | aws_environment(glue_endpoint))


class Place:
    """A folder with landing, lake and jobs."""

    def __init__(self, folder: Path, glue_endpoint: str, java_options: Sequence[str]) -> None:
        self.folder = folder
        self.glue_endpoint = glue_endpoint
        self.java_options = java_options
        self.landing = folder / "landing"
        self.table = folder / "lake" / "cdc_events"
        self.jobs: list[Job] = []
        self.offset = 0
        self.table_type = "COPY_ON_WRITE"

    def land(self, *events: Event | str) -> None:
        self.offset += len(events)
        path = self.landing / TOPIC / "0" / f"{self.offset - 1:012d}_1_2.json"
        path.parent.mkdir(parents=True, exist_ok=True)
        # As on S3, an object is there whole or not at all.
        part = self.landing / ".part"
        part.write_text(as_lines(events))
        part.rename(path)

    def start(self, *arguments: str) -> Job:
        given = arguments or self.arguments()
        job = Job(self.folder, given, self.glue_endpoint, java_options=self.java_options)
        self.jobs.append(job)
        return job

    def arguments(self) -> list[str]:
        return [
            *("--table-type", self.table_type, "--target-table", "datalake.cdc_events"),
            *("--target-base-path", str(self.table), "--props", str(CONF / "cdc_events.properties")),
            *("--hoodie-conf", f"hoodie.streamer.source.dfs.root={self.landing}"),
            *("--hoodie-conf", f"hoodie.streamer.schemaprovider.source.schema.file={SCHEMA}"),
            *("--hoodie-conf", "hoodie.streamer.poll.interval.seconds=0.2"),
            *("--enable-sync", "--min-sync-interval-seconds", "5", "--continuous"),
        ]

    def instants(self, suffix: str) -> set[str]:
        return {path.name for path in (self.table / ".hoodie").glob(f"[0-9]*.{suffix}")}

    def rows(self) -> dict[int, int]:
        found: pyarrow.Table = TableReader(base_uri=str(self.table)).rows(["order_id", "__lsn"])
        pairs = list(zip(found["order_id"].to_pylist(), found["__lsn"].to_pylist(), strict=True))
        assert len(dict(pairs)) == len(pairs)
        return dict(pairs)


@pytest.fixture(scope="session")
def java_options(tmp_path_factory: pytest.TempPathFactory, glue_endpoint: str) -> list[str]:
    """What a job's JVM starts faster by: the archive of its classes, made first where none fits."""
    archive = class_archive.archive()
    if archive.is_file() or not class_archive.can_be_made():
        return class_archive.flags()
    archive.parent.mkdir(parents=True, exist_ok=True)
    for former in archive.parent.glob("*.jsa"):
        former.unlink()
    part = archive.with_suffix(f".{os.getpid()}")
    place = Place(tmp_path_factory.mktemp("classes"), glue_endpoint, class_archive.making_flags(part))
    place.land(event(1, 1, "c"))
    job = place.start(*(argument for argument in place.arguments() if argument != "--continuous"))
    try:
        assert job.process.wait(WAIT_S) == 0
    finally:
        job.end()
    part.rename(archive)
    return class_archive.flags()


@pytest.fixture
def place(tmp_path: Path, glue_endpoint: str, java_options: list[str]) -> Iterator[Place]:
    place = Place(tmp_path, glue_endpoint, java_options)
    yield place
    for job in place.jobs:
        job.end()


@pytest.mark.integration
def test_deltastreamers_command_line_and_properties(place: Place) -> None:
    for order_id, customer in [(1, "A"), (2, "B"), (3, "[missing]")]:
        folder = place.landing / f"customer_id={customer}" / f"order_id={order_id}"
        folder.mkdir(parents=True)
        fields: dict[str, Any] = {"customer_id": customer if order_id < 3 else None}
        (folder / f"demo(0_{order_id:012d}).json").write_text(as_lines([event(order_id, order_id, "c", **fields)]))
    text = DELTASTREAMER_PROPERTIES.replace("s3://data-lake-demo-cevo/hudi/config/schema.avsc", str(SCHEMA))
    text = text.replace("s3://data-lake-demo-cevo/cdc-events/", f"file://{place.landing}/")
    properties = place.folder / "cdc_events_deltastreamer_s3.properties"
    properties.write_text(text)
    changed = {DELTASTREAMER_LINE[5]: str(properties), DELTASTREAMER_LINE[9]: f"{place.table}/"}
    job = place.start(*[changed.get(argument, argument) for argument in DELTASTREAMER_LINE])
    job.wait_for(job.commits, "commit")
    [commit] = job.commits()
    assert (commit["files"], commit["events"], commit["upserts"], commit["quarantined"]) == ("3", "3", "3", "0")
    assert job.terminate(signal.SIGTERM) == 0
    assert (place.table / "customer_id=A" / "order_id=1").is_dir()
    assert "hoodie.datasource.hive_sync.jdbcurl is not used" in job.output.read_text()
    assert glue_table(place.glue_endpoint)["partitions"] == [
        ("A", "1"),
        ("B", "2"),
        ("__HIVE_DEFAULT_PARTITION__", "3"),
    ]


@pytest.mark.integration
@pytest.mark.parametrize("table_type", ["COPY_ON_WRITE", long("MERGE_ON_READ")])
def test_kills_and_signals_at_every_stage(place: Place, table_type: str) -> None:
    place.table_type = table_type
    completed = "commit" if table_type == "COPY_ON_WRITE" else "deltacommit"
    place.land(*(event(number, 100 + number, "c") for number in range(1, 50)))

    job = place.start()
    job.wait_for(lambda: place.instants("inflight"), "commit in flight")
    job.kill()

    job = place.start()
    job.wait_for(lambda: place.instants(completed), "commit")
    job.kill()  # before any sync, and perhaps before the whole commit is on the disk

    # The quarantine is written before the commit: killed between the two, both must be there once in the end.
    place.land(event(1, 200), "{broken", event(2, 201, "d"))
    quarantine = place.folder / "lake" / "_quarantine" / "cdc_events"
    job = place.start()
    job.wait_for(lambda: list(quarantine.rglob("0*.json")), "quarantined line")
    job.kill()

    job = place.start()
    job.wait_for(job.commits, "commit")
    [commit] = job.commits()
    # 52 when the first commit wasn't whole on the disk: then it never happened, and its 49 events came again.
    assert commit["events"] in ("3", "52")
    assert (commit["quarantined"], commit["missing_offsets"]) == ("1", "0")
    [path] = [path for path in quarantine.rglob("*.json") if not path.name.startswith(".")]
    assert [json.loads(line)["text"] for line in path.read_text().splitlines()] == ["{broken"]

    # A signal in the middle of a commit: it is finished, a second one changes nothing, and the catalogue is synced.
    place.land(event(3, 300), event(2, 150), event(4, 310, products=PLACEHOLDER), event(5, 320, "d"))
    known = place.instants("inflight")
    job.wait_for(lambda: place.instants("inflight") - known, "commit in flight")
    assert job.terminate(signal.SIGTERM, signal.SIGTERM, signal.SIGINT) == 0
    assert [commit["quarantined"] for commit in job.commits()] == ["1", "0"]
    expected = {number: 100 + number for number in (3, 4, *range(6, 50))} | {1: 200, 3: 300, 4: 310}
    assert place.rows() == expected
    assert by_spark.difference(TableReader(base_uri=str(place.table)), table_type) is None
    assert glue_table(place.glue_endpoint)["Name"] == "cdc_events"
    assert "Traceback" not in job.output.read_text()


@pytest.mark.long
@pytest.mark.integration
def test_of_two_jobs_that_start_together_one_is_refused_and_the_table_is_whole(place: Place) -> None:
    place.land(*(event(number, 100 + number, "c") for number in range(1, 50)))
    jobs = [place.start(), place.start()]
    refused: list[Job] = []
    deadline = time.monotonic() + WAIT_S
    while not refused and time.monotonic() < deadline:
        refused = [job for job in jobs if job.process.poll() is not None]
        time.sleep(0.1)
    [second] = refused
    [first] = set(jobs) - {second}
    assert second.process.returncode == 1
    [line] = [line for line in second.output.read_text().splitlines() if line.startswith("error: ")]
    assert f"{place.table} is being written by another job (process " in line
    first.wait_for(first.commits, "commit")
    # Killed, it doesn't hold up the next one.
    first.kill()
    place.land(event(1, 200))
    third = place.start()
    third.wait_for(third.commits, "commit")
    assert third.terminate(signal.SIGTERM) == 0
    assert "waiting to see" not in third.output.read_text()
    assert place.rows() == {number: 100 + number for number in range(2, 50)} | {1: 200}


@pytest.mark.long
@pytest.mark.integration
def test_a_signal_while_it_waits_for_the_claim_ends_it_with_0(place: Place) -> None:
    held = place.folder / "lake" / "_claims" / "cdc_events" / "000000000001.json"
    held.parent.mkdir(parents=True)
    held.write_text('{"job": "process 1 on another machine"}')
    job = place.start(*place.arguments(), "--max-retry-count", "0")
    job.wait_for(lambda: "waiting to see whether the job before" in job.output.read_text(), "wait")
    assert job.terminate(signal.SIGTERM) == 0
    assert "InterruptedError" not in job.output.read_text()


@pytest.mark.long
@pytest.mark.integration
def test_long_lines_do_not_end_a_jvm_of_one_gigabyte(place: Place) -> None:
    def around(first: int, megabytes: int) -> list[Event | str]:
        """A long line, and events before and behind it."""
        long = as_lines([event(first, 2, "c", products="x" * megabytes * 1_000_000)]).rstrip("\n")
        return [event(first, 1, "c"), long, event(first + 1, 3, "c")]

    place.land(*around(1, 150))
    # Decompressed it comes whole, and is cut at once.
    with gzip.open(place.landing / TOPIC / "0" / "packed.json.gz", "wt", compresslevel=1) as packed:
        packed.write(as_lines(around(3, 100)))
    job = place.start(*(argument for argument in place.arguments() if argument != "--continuous"))
    assert job.process.wait(WAIT_S) == 0, job.output.read_text()[-2000:]
    assert place.rows() == {1: 1, 2: 3, 3: 1, 4: 3}
    assert [commit["quarantined"] for commit in job.commits()] == ["2"]


def test_a_users_mistake_is_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    assert streamer.main(["--continous"]) == 1
    printed = capsys.readouterr()
    assert printed.out == ""
    assert printed.err == "error: --continous: unknown option; did you mean --continuous?\n"


def test_a_table_that_waits_for_a_columns_type_goes_on_once_its_schema_file_has_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    once, _ = decide()
    seen: list[str] = []

    def run(_spark: object, _decided: object, columns: list[str], _around: object) -> None:
        seen.extend(columns)
        if columns != ["with it"]:
            raise UndescribedError("its type isn't known")

    again = iter(["without it", "with it"])
    monkeypatch.setattr(table_job, "run", run)
    monkeypatch.setattr(table_job, "columns_of", lambda *_: [next(again)])
    monkeypatch.setattr(streamer, "watched", lambda *_, **__: contextlib.nullcontext())
    monkeypatch.setattr(Backoff, "wait", lambda *_: None)
    spark: Any = None
    without: Any = ["without it"]
    streamer.run(spark, replace(once, continuous=True), without, threading.Event())
    assert seen == ["without it", "without it", "with it"]
    with pytest.raises(UndescribedError):
        streamer.run(spark, once, without, threading.Event())


@pytest.mark.long
@pytest.mark.integration
def test_a_wrong_setting_ends_the_program_with_one_line(place: Place) -> None:
    job = place.start(*place.arguments(), "--hoodie-conf", "hoodie.streamer.quarantine.limit=5")
    assert job.process.wait(WAIT_S) == 1
    lines = job.output.read_text().splitlines()
    known = "hoodie.streamer.quarantine.path"
    assert lines == [f"error: hoodie.streamer.quarantine.limit: unknown property; did you mean {known}?"]
