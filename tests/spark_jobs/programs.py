"""The job's programs through spark-submit: one table's, and many tables', with their working folder."""

import contextlib
import hashlib
import os
import re
import signal
import subprocess
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import psutil
import pyarrow
import pytest

from local.look.lake import Lake as TableReader
from local.services.aws import S3
from local.services.processes import Processes
from local.services.spark import MULTI_TABLE_JOB, spark_submit
from local.setup.jars import JARS_LOCK, jar_folder
from local.setup.java import java_home
from local.setup.ports import choose
from spark_jobs.options import keys, submit
from tests.spark_jobs.events import CONF, ROOT, SCHEMA, Event, as_lines, aws_environment, event
from tests.waiting import PATIENCE_S

TABLE = "cdc_events"


class Submitted:
    """One spark-submit process, its output in files."""

    def __init__(self, folder: Path, argv: Sequence[str], environment: Mapping[str, str]) -> None:
        # Spark's launcher sends Python's standard error to standard output.
        self.output = folder / f"out{time.monotonic_ns()}"
        with self.output.open("w") as out:
            self.process = subprocess.Popen(
                argv, env=environment, stdout=out, stderr=subprocess.STDOUT, start_new_session=True, cwd=folder
            )

    def text(self) -> str:
        return self.output.read_text()

    def commits(self, table: str | None = None) -> list[dict[str, str]]:
        lines = [line for line in self.text().splitlines() if line.startswith("commit=")]
        commits = [dict(pair.split("=", 1) for pair in line.split(" ")) for line in lines]
        return [commit for commit in commits if table is None or commit["table"] == f"datalake.{table}"]

    def states(self, table: str) -> list[str]:
        return re.findall(rf"^table=datalake\.{table} state=(\w+)", self.text(), re.MULTILINE)

    def wait_for(self, reached: Callable[[], object], what: str) -> None:
        deadline = time.monotonic() + PATIENCE_S
        while True:
            asked = time.monotonic()
            if reached():
                return
            if self.process.poll() is not None or asked > deadline:
                pytest.fail(f"no {what}: exit {self.process.poll()}, {self.text()[-2000:]}")
            # A stage may be short, but slow checks take the job's CPU.
            time.sleep(max(0.005, 4 * (time.monotonic() - asked)))

    def kill(self) -> None:
        """Kill -9 the JVM; the Python process must notice and end."""
        children = psutil.Process(self.process.pid).children(recursive=True)
        self.process.kill()
        self.process.wait()
        _, alive = psutil.wait_procs(children, timeout=PATIENCE_S)
        assert alive == []

    def terminate(self, *signals: signal.Signals) -> int:
        for number in signals:
            self.process.send_signal(number)
            time.sleep(0.05)
        return self.process.wait(PATIENCE_S)

    def end(self) -> None:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()


class Job(Submitted):
    """The job on this machine; `how` are spark_submit's further parameters."""

    def __init__(self, folder: Path, arguments: Sequence[str], glue_endpoint: str, **how: Any) -> None:
        argv, environment = spark_submit(
            arguments, work_folder=folder / "work", log_file=folder / "spark.log", glue_endpoint=glue_endpoint, **how
        )
        super().__init__(folder, argv, environment | aws_environment(glue_endpoint))


@dataclass
class JobRun:
    """A folder with landed files, settings and a lake, and the jobs started there."""

    folder: Path
    glue_endpoint: str
    java_options: Sequence[str]
    jobs: list[Job] = field(default_factory=list)
    offsets: Counter[str] = field(default_factory=Counter)

    def landing(self, table: str = TABLE) -> Path:
        return self.folder / "landing" / table

    def path(self, table: str = TABLE) -> Path:
        return self.folder / "lake" / table

    def land(self, *lines: Event | str, table: str = TABLE) -> None:
        self.offsets[table] += len(lines)
        path = self.landing(table) / "0" / f"{self.offsets[table] - 1:012d}_1_2.json"
        path.parent.mkdir(parents=True, exist_ok=True)
        # As on S3, an object exists whole or not at all.
        part = path.with_name(".part")
        part.write_text(as_lines(lines))
        part.rename(path)

    def table(self, name: str = TABLE, **changes: Any) -> submit.TableJob:
        own = {
            "landing": str(self.landing(name)),
            "table_path": str(self.path(name)),
            "database": "datalake",
            "schema_file": str(SCHEMA),
            "properties_file": str(CONF / "cdc_events.properties"),
        }
        return submit.TableJob(table=name, **(own | changes))

    def arguments(self, table: submit.TableJob, *further: str, without: Sequence[str] = ()) -> list[str]:
        poll = ("--hoodie-conf", f"{keys.POLL_INTERVAL}=0.2")
        return [each for each in (*submit.job_arguments(table), *poll, *further) if each not in without]

    def start(
        self, table: submit.TableJob | None = None, *further: str, without: Sequence[str] = (), **program: Any
    ) -> Job:
        """Start a table's own job, with further arguments, and `without` some default ones."""
        return self.submit(self.arguments(table or self.table(), *further, without=without), **program)

    def start_all(
        self, tables: Sequence[submit.TableJob], *, queried: bool = False, without: Sequence[str] = ()
    ) -> Job:
        """Start one application for the tables, without catalog sync."""
        conf = self.folder / "conf"
        conf.mkdir(exist_ok=True)
        files = {table.name: conf / f"{table.table}.properties" for table in tables}
        for table in tables:
            files[table.name].write_text(submit.table_properties(table))
        listed = conf / "list.properties"
        common = {keys.POLL_INTERVAL: "0.2", keys.STOP_FILE: str(self.folder / "stop")}
        listed.write_text(submit.list_properties({name: str(path) for name, path in files.items()}, common))
        arguments = submit.multi_table_arguments(
            properties_file=str(listed),
            config_folder=str(conf),
            base_path_prefix=str(self.folder / "lake"),
            queried=queried,
        )
        unwanted = {"--enable-sync", *without}
        return self.submit([each for each in arguments if each not in unwanted], program=MULTI_TABLE_JOB)

    def submit(self, arguments: Sequence[str], **program: Any) -> Job:
        job = Job(self.folder, arguments, self.glue_endpoint, java_options=self.java_options, **program)
        self.jobs.append(job)
        return job

    def instants(self, suffix: str, table: str = TABLE) -> set[str]:
        return {path.name for path in (self.path(table) / ".hoodie").glob(f"[0-9]*.{suffix}")}

    def read(self, columns: Sequence[str], table: str = TABLE) -> list[dict[str, Any]]:
        reader = TableReader(base_uri=str(self.path(table)))
        if not reader.exists():
            return []
        found: pyarrow.Table = reader.rows(list(columns))
        rows: list[dict[str, Any]] = found.to_pylist()
        return rows

    def lsns(self, table: str = TABLE) -> dict[int, int]:
        rows = self.read(["order_id", "__lsn"], table)
        found = {row["order_id"]: row["__lsn"] for row in rows}
        assert len(found) == len(rows), "a key is in the table twice"
        return found

    def quarantine_files(self, table: str = TABLE) -> list[Path]:
        folder = self.folder / "lake" / "_quarantine" / table
        return [path for path in folder.rglob("*.json") if not path.name.startswith(".")]

    def end(self) -> None:
        for job in self.jobs:
            job.end()


class Storage:
    """An S3 endpoint that can be stopped and started."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir()
        self.s3 = S3(folder, port=choose(["s3"], earlier={})["s3"])
        self.processes = Processes(folder, folder / "logs")

    def start(self) -> None:
        self.processes.start("s3", self.s3.prepare())
        self.processes.wait_until("s3", self.s3.ready, timeout_s=PATIENCE_S)

    def stop(self) -> None:
        self.processes.stop("s3", grace_s=10)


# Java would warn on standard output, where the job's lines are.
_QUIET = "-Xlog:cds*=off"


def class_archive() -> Path:
    """Return the path of the archive of the job's classes for this Java, its jars and packages; it may not exist yet.

    Of the 8 s of CPU before a job's first commit Java spends 3 on finding 20,000 classes in jars. The archive (Java's
    class data sharing) stores them in the JVM's own form; Java ignores it if a jar differs from the archived one.
    """
    fitting = [java_home(), jar_folder("spark").resolve(), java_home().joinpath("release").read_text()]
    fitting += [path.read_text() for path in (JARS_LOCK, ROOT / "requirements.txt")]
    return ROOT / "build" / "classes" / f"{hashlib.sha256(repr(fitting).encode()).hexdigest()[:16]}.jsa"


def class_archive_flags() -> list[str]:
    """Return the flags of a JVM that uses the archive; none without an archive."""
    return [f"-XX:SharedArchiveFile={class_archive()}", _QUIET] if class_archive().is_file() else []


def make_class_archive(folder: Path, glue_endpoint: str) -> None:
    """Create the archive, if none fits and this Java has that of its own classes, which every other one builds on."""
    archive = class_archive()
    if archive.is_file() or not java_home().joinpath("lib", "server", "classes.jsa").is_file():
        return
    archive.parent.mkdir(parents=True, exist_ok=True)
    for former in archive.parent.glob("*.jsa"):
        former.unlink()
    part = archive.with_suffix(f".{os.getpid()}")
    run = JobRun(folder, glue_endpoint, [f"-XX:ArchiveClassesAtExit={part}", _QUIET])
    run.land(event(1, 1, "c"))
    job = run.start(without=["--continuous"])
    try:
        assert job.process.wait(PATIENCE_S) == 0
    finally:
        job.end()
    part.rename(archive)
