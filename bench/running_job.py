"""Runs the streaming job with spark-submit, as EMR does, against an S3 that counts its requests, and watches it."""

import subprocess
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

import psutil

from bench.s3_requests.server import CountedS3
from local.errors import PlatformError
from local.services.spark import JOB, spark_submit

TIMEOUT_S = 600
END_S = 60
_LOOK_S = 0.05
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

    def upserts(self) -> int:
        """Return the number of rows written by them."""
        return sum(int(report["upserts"]) for report in self.reports())

    def wait_for_commits(self, count: int) -> None:
        self.wait(lambda: self.commits() >= count, f"{count} commits")

    def wait(self, reached: Callable[[], bool], what: str) -> None:
        """Wait until `reached`. Raises PlatformError if the job ends before, or after TIMEOUT_S."""
        deadline = time.monotonic() + TIMEOUT_S
        while not reached():
            if self._process.poll() is not None:
                raise PlatformError(f"the job has ended before {what}: {self._last_words()}")
            if time.monotonic() > deadline:
                raise PlatformError(f"no {what} within {TIMEOUT_S} s: {self._last_words()}")
            time.sleep(_LOOK_S)

    def megabytes(self) -> float:
        """Return the resident memory of all its processes."""
        return self._sum(lambda process: process.memory_info().rss) / 2**20

    def cpu_seconds(self) -> float:
        """Return the CPU time of all its processes."""
        return self._sum(lambda process: sum(process.cpu_times()[:2]))

    def _sum(self, value: Callable[[psutil.Process], float]) -> float:
        total = 0.0
        for process in self._processes():
            # Python's workers may end during the count.
            with suppress(psutil.NoSuchProcess):
                total += value(process)
        return total

    def _processes(self) -> list[psutil.Process]:
        try:
            process = psutil.Process(self._process.pid)
            return [process, *process.children(recursive=True)]
        except psutil.NoSuchProcess:
            raise PlatformError(f"the job has ended: {self._last_words()}") from None

    def _last_words(self) -> str:
        return " ".join(self._output.read_text(errors="replace").split())[-_SHOWN:]


@contextmanager
def running(arguments: Sequence[str], *, folder: Path, s3: CountedS3, program: Path = JOB) -> Iterator[RunningJob]:
    """Run the job, or another `program` of it, until the block ends; it writes to `folder`."""
    with running_on(arguments, folder=folder, s3_endpoint=s3.endpoint, program=program) as job:
        yield job


@contextmanager
def running_on(
    arguments: Sequence[str],
    *,
    folder: Path,
    s3_endpoint: str | None = None,
    program: Path = JOB,
    java_options: Sequence[str] = (),
) -> Iterator[RunningJob]:
    """Run the job with an S3 at an endpoint, or none, and further `java_options`; no catalogue is synced."""
    argv, environment = spark_submit(
        [argument for argument in arguments if argument != "--enable-sync"],
        work_folder=folder / "job",
        log_file=folder / "logs" / "spark.log",
        s3_endpoint=s3_endpoint,
        program=program,
        java_options=java_options,
    )
    output = folder / "job.out"
    with output.open("wb") as out:
        process = subprocess.Popen(argv, env=environment, cwd=folder, stdout=out, stderr=subprocess.STDOUT)
    try:
        yield RunningJob(process, output)
    finally:
        _end(process)


def _end(process: "subprocess.Popen[bytes]") -> None:
    """Ask the job to end, and kill what doesn't: a benchmark must end whatever the job does."""
    try:
        processes = [psutil.Process(process.pid), *psutil.Process(process.pid).children(recursive=True)]
    except psutil.NoSuchProcess:
        return
    process.terminate()
    _, alive = psutil.wait_procs(processes, timeout=END_S)
    for one in alive:
        one.kill()
    psutil.wait_procs(alive, timeout=END_S)
    process.wait()
