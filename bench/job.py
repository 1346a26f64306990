"""Runs the streaming job with spark-submit, as EMR does, against an S3 that counts its requests, and watches it.

Also starts Spark in this process, where a benchmark measures or fills something without the job.
"""

import hashlib
import os
import re
import resource
import shlex
import subprocess
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import Any, NamedTuple

import psutil
import psycopg2
from pyspark.sql import SparkSession

from local.errors import PlatformError
from local.services.aws import S3
from local.services.processes import Command, Processes
from local.services.spark import JOB, job_settings, spark_submit
from local.setup.java import java_home
from local.setup.ports import choose
from spark_jobs.runtime import session

# S3 counts LIST as a GET but charges it as a PUT; deletes are free.
VERBS = ("LIST", "PUT", "HEAD", "GET", "DELETE")
_REQUEST = re.compile(r"\{(?P<verb>[A-Z]+)@\w+ http://[^/]+(?P<path>/[^\s?]*)(?P<query>\?\S*)? HTTP")
_LOGBACK = """<configuration>
  <appender name="requests" class="ch.qos.logback.core.FileAppender">
    <file>{log}</file><encoder><pattern>%msg%n</pattern></encoder>
  </appender>
  <logger name="org.gaul.s3proxy.S3ProxyHandler" level="DEBUG" additivity="false">
    <appender-ref ref="requests"/>
  </logger>
  <root level="OFF"/>
</configuration>
"""


class Request(NamedTuple):
    """One request: its verb, of VERBS, and the path with the query, `/bucket/key?…`."""

    verb: str
    target: str


class CountedS3(S3):
    """S3Proxy with a log of its requests."""

    def __init__(self, folder: Path, *, port: int) -> None:
        super().__init__(folder, port=port)
        self.objects = folder / "objects"
        self.log = folder / "requests.log"
        self._read = 0

    def prepare(self) -> Command:
        """Write the configuration, including the log's, and return S3Proxy's command."""
        command = super().prepare()
        (self.log.parent / "logback.xml").write_text(_LOGBACK.format(log=self.log))
        return command

    def taken(self) -> list[Request]:
        """Return the requests since the last call."""
        with self.log.open() as file:
            file.seek(self._read)
            text = file.read()
            self._read = file.tell()
        return list(requests_of(text))


@contextmanager
def counted_s3(folder: Path) -> Iterator[CountedS3]:
    """Run an S3 with two empty buckets, `landing` and `lake`, until the block ends; `folder` holds all its files."""
    processes = Processes(folder, folder / "logs")
    (folder / "s3").mkdir()
    s3 = CountedS3(folder / "s3", port=choose(["s3"], earlier={})["s3"])
    try:
        processes.start(s3.name, s3.prepare())
        processes.wait_until(s3.name, s3.ready, timeout_s=60)
        s3.create_buckets(["landing", "lake"])
        yield s3
    finally:
        processes.stop(s3.name, grace_s=10)


def lay(path: Path, text: str, *, on_s3: bool = True) -> None:
    """Write an object where S3Proxy keeps it, with the hash that it would have: it is there when it is whole.

    A request for each of many objects would take longer than what is measured.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    whole, content = path.with_name(".whole"), text.encode()
    whole.write_bytes(content)
    if on_s3:
        os.setxattr(whole, "user.user.content-md5", hashlib.md5(content, usedforsecurity=False).digest())
    whole.rename(path)


def requests_of(text: str) -> Iterator[Request]:
    for found in _REQUEST.finditer(text):
        verb, query = found["verb"], found["query"] or ""
        if verb == "GET" and re.search(r"[?&](list-type|prefix|delimiter)=", query):
            verb = "LIST"
        if verb == "POST":
            verb = "DELETE" if query.startswith("?delete") else "PUT"
        yield Request(verb, found["path"] + query)


def by_verb(requests: list[Request]) -> dict[str, int]:
    """Count requests by verb, in the order of VERBS."""
    counted = Counter(request.verb for request in requests)
    return {verb: counted[verb] for verb in VERBS}


TIMEOUT_S = 600
END_S = 60
LOOK_S = 0.5
_SHOWN = 300


class RunningJob:
    """The job's processes, and the lines that it has written to `output`."""

    def __init__(self, process: "subprocess.Popen[bytes]", output: Path) -> None:
        self._process = process
        self._output = output

    def reports(self) -> list[dict[str, str]]:
        """Return each commit's line as key → value (spark_jobs/runtime/metrics.py; `table` where there are many)."""
        text = self._output.read_text()
        # The last line may be incomplete.
        lines = [one for one in text[: text.rfind("\n") + 1].splitlines() if one.startswith("commit=")]
        return [dict(pair.split("=", 1) for pair in one.split()) for one in lines]

    def commits(self) -> int:
        return len(self.reports())

    def total(self, figure: str) -> int:
        """Return the sum of all commits' `events` or `upserts`."""
        return sum(int(report[figure]) for report in self.reports())

    def wait_for_commits(self, count: int) -> None:
        self.wait(lambda: self.commits() >= count, f"{count} commits")

    def wait(self, reached: Callable[[], bool], what: str, *, look_s: float = 0.05, timeout_s: float = 0) -> None:
        """Wait until `reached`. Raises PlatformError if the job ends before, or after `timeout_s`, else TIMEOUT_S."""
        limit = timeout_s or TIMEOUT_S
        deadline = time.monotonic() + limit
        while not reached():
            if self._process.poll() is not None:
                raise PlatformError(f"the job has ended before {what}: {self._last_words()}")
            if time.monotonic() > deadline:
                raise PlatformError(f"no {what} within {limit} s: {self._last_words()}")
            time.sleep(look_s)

    def run_to_its_end(self, what: str) -> float:
        """Return the MB at most, looking four times a second. Raises PlatformError if it fails or takes TIMEOUT_S."""
        deadline, most = time.monotonic() + TIMEOUT_S, 0.0
        while self._process.poll() is None:
            if time.monotonic() > deadline:
                raise PlatformError(f"{what} hasn't ended within {TIMEOUT_S} s")
            with suppress(PlatformError):
                most = max(most, self.megabytes())
            with suppress(subprocess.TimeoutExpired):
                self._process.wait(0.25)
        if self._process.returncode:
            raise PlatformError(f"{what} has ended with {self._process.returncode}: {self._last_words()}")
        return most

    def megabytes(self) -> float:
        """Return the memory of all its processes (PSS): a process just forked shares all of the JVM's."""
        return self._sum(lambda process: process.memory_full_info().pss) / 2**20

    def cpu_seconds(self) -> float:
        return self._sum(lambda process: sum(process.cpu_times()[:2]))

    def _sum(self, value: Callable[[psutil.Process], float]) -> float:
        total = 0.0
        for process in self._processes():
            # Python's workers may end during the count.
            with suppress(psutil.NoSuchProcess, psutil.ZombieProcess):
                total += value(process)
        return total

    def _processes(self) -> list[psutil.Process]:
        try:
            return _with_children(self._process.pid)
        except psutil.NoSuchProcess:
            raise PlatformError(f"the job has ended: {self._last_words()}") from None

    def _last_words(self) -> str:
        text = " ".join(self._output.read_text(errors="replace").split())
        # A JVM's error comes before where it was.
        error = re.search(r"[\w.]*(Error|Exception)\b", text)
        return text[error.start() :][:_SHOWN] if error else text[-_SHOWN:]


@contextmanager
def running(
    arguments: Sequence[str],
    *,
    folder: Path,
    s3: CountedS3 | None = None,
    program: Path = JOB,
    java_options: Sequence[str] = (),
) -> Iterator[RunningJob]:
    """Run the job, or another `program` of it, until the block ends; it writes to `folder`, and syncs no catalogue."""
    argv, environment = spark_submit(
        [argument for argument in arguments if argument != "--enable-sync"],
        work_folder=folder / "job",
        log_file=folder / "logs" / "spark.log",
        s3_endpoint=s3.endpoint if s3 else None,
        program=program,
        java_options=java_options,
    )
    with started(argv, environment, folder=folder) as running_job:
        yield running_job


@contextmanager
def started(argv: Sequence[str], environment: Mapping[str, str], *, folder: Path) -> Iterator[RunningJob]:
    """Run a command of spark-submit until the block ends; its output is in `folder`."""
    output = folder / "job.out"
    with output.open("wb") as out:
        process = subprocess.Popen(argv, env=environment, cwd=folder, stdout=out, stderr=subprocess.STDOUT)
    try:
        yield RunningJob(process, output)
    finally:
        _end(process)


def _with_children(pid: int) -> list[psutil.Process]:
    process = psutil.Process(pid)
    return [process, *process.children(recursive=True)]


def _end(process: "subprocess.Popen[bytes]") -> None:
    """Ask the job to end, and kill what doesn't: a benchmark must end whatever the job does."""
    try:
        processes = _with_children(process.pid)
    except psutil.NoSuchProcess:
        return
    process.terminate()
    _, alive = psutil.wait_procs(processes, timeout=END_S)
    for one in alive:
        one.kill()
    psutil.wait_procs(alive, timeout=END_S)
    process.wait()


@contextmanager
def spark_session(scratch: Path) -> Iterator[SparkSession]:
    """Start a session with the job's settings and more memory; it ends with the block."""
    given = [f"--conf={key}={value}" for key, value in job_settings(scratch, (), "4g").items()]
    os.environ |= {
        "JAVA_HOME": str(java_home()),
        "PYSPARK_SUBMIT_ARGS": shlex.join([*given, "pyspark-shell"]),
        "SPARK_LOCAL_IP": "127.0.0.1",
    }
    spark = session.start("bench", None)
    spark.sparkContext.setLogLevel("OFF")
    try:
        yield spark
    finally:
        spark.stop()


def execute(parameters: Mapping[str, Any], statement: str) -> None:
    """Run one statement outside a transaction block."""
    with closing(psycopg2.connect(**parameters)) as connection:
        connection.autocommit = True
        with connection.cursor() as cursor:
            cursor.execute(statement)


@contextmanager
def watched(look: Callable[[], None]) -> Iterator[None]:
    """Call `look` twice a second while the block runs."""
    ended = threading.Event()

    def watch() -> None:
        while not ended.wait(LOOK_S):
            look()

    thread = threading.Thread(target=watch, daemon=True)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join(10)


def children_cpu_s() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime
