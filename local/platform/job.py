"""The streaming job on this machine: one Spark application, for the pipeline's one table or for all of them."""

import contextlib
import json
import threading
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from contract.table_states import FAILING, LOADING, parse
from local.files import write_private
from local.platform.services import PLACES, Services
from local.services.aws import ENVIRONMENT
from local.services.processes import Command, Processes
from local.services.spark import JOB, MULTI_TABLE_JOB, spark_submit
from settings.job import JobPace, JobPlaces, derived_jobs, server, table_job
from settings.load import PIPELINES
from settings.pipeline import CapturedTableSettings, Pipeline
from spark_jobs.options import keys, submit
from spark_jobs.options.submit import TableJob

# The part of spark_submit's environment that the job needs, without the caller's AWS credentials.
JOB_VARIABLES = ("JAVA_HOME", "SPARK_", "PYSPARK_", "AWS_ENDPOINT_URL_", "AWS_EC2_METADATA_DISABLED")
# Maximum duration of a commit.
GRACE_S = 90
# Describes what the running job was started with.
STARTED = "started.json"
# Requests to read tables again, by lake table.
READ_AGAIN = "read-again.json"
# Requests cost nothing here, and a person waits for each change.
POLL = {keys.POLL_INTERVAL: "0.2"}
DERIVED_S = 5
# A driver's memory grows with its tables, beyond the first few.
MEMORY_MB, MEMORY_PER_TABLE_MB, FREE_TABLES, MOST_MEMORY_MB = 1024, 32, 4, 3072
_NAME = "job"
_BEGINNING = b"table="


def places(services: Services) -> JobPlaces:
    """Return where a platform's job reads and writes; from a database it reads rows or the types of new columns."""
    if services.pipeline.outbox is not None:
        return PLACES
    where = services.connector
    source = server(
        host=str(where["host"]),
        port=str(where["port"]),
        database=str(where["dbname"]),
        user=str(where["user"]),
        password={keys.JDBC_PASSWORD_FILE: str(services.connector_password_file)},
        sslmode=where.get("sslmode"),
        authority=where.get("sslrootcert"),
    )
    hashes = any(table.hash and table.first_load == "direct" for table in services.pipeline.tables)
    salt = {keys.FIRST_LOAD_SALT_FILE: str(services.salt_file)} if hashes else {}
    return replace(PLACES, source=source | salt)


def table_jobs(pipeline: Pipeline, where: JobPlaces, folder: Path) -> list[TableJob]:
    """Return the settings of the job in a folder for each table, derived tables last."""
    pace = JobPace(sync_interval_seconds=0, derived_seconds=DERIVED_S, configuration=POLL)
    requests = asked(folder)

    def captured(table: CapturedTableSettings) -> TableJob:
        job = table_job(pipeline, table, where, pace)
        looked = {keys.JDBC_LOOKED_FILE: str(looked_file(folder, job.table))} if pipeline.is_queried else {}
        again = {keys.READ_AGAIN: requests[job.table]} if job.table in requests else {}
        return replace(job, configuration={**job.configuration, **looked, **again})

    return [*map(captured, pipeline.tables), *derived_jobs(pipeline, where, pace)]


def ask(folder: Path, requests: Mapping[str, str]) -> None:
    """Record in the job's folder that it is to read lake tables again; each request counts once, also after a kill."""
    write_private(folder / READ_AGAIN, json.dumps({**asked(folder), **requests}, indent=1) + "\n")


def asked(folder: Path) -> dict[str, str]:
    """Return the newest request for each lake table that was to be read again."""
    with contextlib.suppress(FileNotFoundError, ValueError):
        return dict(json.loads((folder / READ_AGAIN).read_text(encoding="utf-8")))
    return {}


def looked_file(folder: Path, lake_table: str) -> Path:
    """Return the file where the job records how far it has read a table (spark_jobs/table_job.py)."""
    return folder.resolve() / "looked" / lake_table


def multi_table_arguments(jobs: Sequence[TableJob], folder: Path, *, queried: bool) -> list[str]:
    """Write the tables' properties files into a folder, and return the options of the job that maintains them."""
    folder.mkdir(parents=True, exist_ok=True)
    for former in folder.glob("*.properties"):
        former.unlink()
    files: dict[str, str] = {}
    for job in jobs:
        path = folder / f"{job.table}.properties"
        write_private(path, submit.table_properties(job))
        files[job.name] = str(path)
    listed = folder / "tables.list"
    write_private(listed, submit.list_properties(files, {}))
    return submit.multi_table_arguments(
        properties_file=str(listed),
        config_folder=str(folder),
        base_path_prefix=PLACES.lake,
        queried=queried,
    )


def start_job(services: Services, processes: Processes, folder: Path, *, once: Sequence[str] = ()) -> None:
    """Start the streaming job in a folder; stop it first when it runs with other tables or schemas.

    `once`: options for this start alone; with them, a running job is stopped, too.
    """
    pipeline, started = services.pipeline, folder / STARTED
    jobs = table_jobs(pipeline, places(services), folder)
    described = _description(pipeline, jobs)
    if processes.main("job") is not None:
        if not once and started.exists() and started.read_text(encoding="utf-8") == described:
            return
        processes.stop("job", grace_s=GRACE_S)
    several = len(jobs) > 1
    options = (
        multi_table_arguments(jobs, folder / "tables", queried=pipeline.is_queried)
        if several
        else submit.job_arguments(jobs[0])
    )
    argv, environment = spark_submit(
        [*options, *once],
        work_folder=folder,
        log_file=processes.log_file("spark"),
        s3_endpoint=services.s3.endpoint,
        glue_endpoint=services.aws.endpoint,
        driver_memory=_memory(len(jobs)),
        program=MULTI_TABLE_JOB if several else JOB,
    )
    write_private(started, described)
    processes.start("job", Command(argv=argv, folder=folder, environment=_kept(environment) | ENVIRONMENT))


def _description(pipeline: Pipeline, jobs: Sequence[TableJob]) -> str:
    """Return everything whose change requires a restart of the job: tables, their properties, schemas.

    The job reads its files only when it starts.
    """
    schemas = {table.lake_table: (PIPELINES / pipeline.schema_file(table)).read_text() for table in pipeline.tables}
    properties = {job.table: submit.table_properties(job) for job in jobs}
    return json.dumps({"properties": properties, "schemas": schemas}, indent=1) + "\n"


def _kept(environment: Mapping[str, str]) -> dict[str, str]:
    return {name: value for name, value in environment.items() if name.startswith(JOB_VARIABLES)}


def _memory(tables: int) -> str:
    return f"{min(MEMORY_MB + MEMORY_PER_TABLE_MB * max(0, tables - FREE_TABLES), MOST_MEMORY_MB)}m"


@dataclass(frozen=True, kw_only=True)
class TableState:
    """A table's last state. `detail`: why its last attempt failed, while the job retries, or how far its load is."""

    state: str
    detail: str | None = None

    @property
    def fails(self) -> bool:
        return self.state == FAILING


def loading(states: Iterable[tuple[str, TableState | None]]) -> list[str]:
    """Return a line for each table whose first rows are being read; those that are further come first."""
    found = [f"{name}: {state.detail}" for name, state in states if state and state.state == LOADING]
    return sorted(found, key=lambda line: " rows " not in line)


class TableStates:
    """Follows the running job's log from its start; reads only new lines."""

    def __init__(self, processes: Processes) -> None:
        self._processes = processes
        self._job: tuple[int, int] | None = None
        self._position = 0
        self._states: dict[str, TableState] = {}
        self._reading = threading.Lock()

    def read(self) -> dict[str, TableState]:
        """Return the tables' states, by `database.table`; none without a job."""
        with self._reading:
            main, start = self._processes.main(_NAME), self._processes.log_start(_NAME)
            job = None if main is None or start is None else (main.pid, start)
            if job != self._job:
                # A new run: states from the previous one no longer count.
                self._job, self._position, self._states = job, start or 0, {}
            if job is None:
                return {}
            with contextlib.suppress(FileNotFoundError), self._processes.log_file(_NAME).open("rb") as log:
                log.seek(self._position)
                for line in log:
                    if not line.endswith(b"\n"):
                        break  # an incomplete line: the next call reads it
                    self._position += len(line)
                    if line.startswith(_BEGINNING) and (found := parse(line.decode(errors="replace").rstrip())):
                        table, state, detail = found
                        self._states[table] = TableState(state=state, detail=detail)
            return dict(self._states)
