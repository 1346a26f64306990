"""Tables that are queried, by spark-submit: kill -9 around the commit, many tables, and a database that goes away."""

import json
import signal
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow
import pytest

from contract.events import QUERIED_TYPES, READ_MS
from local.look.lake import Lake as TableReader
from local.look.lake import LakeError
from local.services.postgres import ConnectionParameters, temporary_postgres
from local.services.spark import MULTI_TABLE_JOB
from spark_jobs.options import keys, submit
from tests.cases import long
from tests.conftest import ask, execute
from tests.spark_jobs.conftest import CONF
from tests.spark_jobs.test_streamer import Job, java_options

__all__ = ["java_options"]

pytestmark = pytest.mark.integration

FIELDS = {"id": "int", "value": "string"}
SECRET = "hush-hush-hush"


@dataclass
class Place:
    """A folder with lake and jobs, and a database with tables of id and value."""

    folder: Path
    parameters: ConnectionParameters
    glue_endpoint: str
    java_options: Sequence[str]
    jobs: list[Job] = field(default_factory=list)

    def create(self, *names: str) -> None:
        for name in names:
            execute(self.parameters, f"CREATE TABLE {name} (id int PRIMARY KEY, value text)")
            execute(self.parameters, f"INSERT INTO {name} SELECT i, 'first' FROM generate_series(1, 50) AS i")

    def table(self, name: str) -> submit.TableJob:
        avro = self.folder / "table.avsc"
        fields = [{"name": name, "type": ["null", kind]} for name, kind in {**FIELDS, **QUERIED_TYPES}.items()]
        avro.write_text(json.dumps({"type": "record", "name": "row", "fields": fields}))
        password = self.folder / "password"
        password.write_text(SECRET + "\n")
        p = self.parameters
        return submit.TableJob(
            landing=None,
            table_path=str(self.folder / "lake" / name),
            database="lake",
            table=name,
            schema_file=str(avro),
            properties_file=str(CONF / "lean.properties"),
            ordering_field=READ_MS,
            sync_interval_seconds=0,
            configuration={
                keys.RECORD_KEY: "id",
                keys.KEY_GENERATOR: "org.apache.hudi.keygen.NonpartitionedKeyGenerator",
                keys.JDBC_URL: f"jdbc:postgresql://{p['host']}:{p['port']}/{p['dbname']}",
                keys.JDBC_USER: "hushed",
                keys.JDBC_PASSWORD_FILE: str(password),
                keys.JDBC_TABLE: name,
                keys.JDBC_SWEEP: "0",
            },
        )

    def start(self, name: str, *further: str) -> Job:
        """Start a job of one table that goes on."""
        own = ["--hoodie-conf", f"{keys.POLL_INTERVAL}=0.1", "--retry-interval-seconds", "1"]
        arguments = [a for a in submit.job_arguments(self.table(name)) if a != "--enable-sync"]
        return self._started([*arguments, *own, *further])

    def start_all(self, *names: str) -> Job:
        files = {}
        for table in map(self.table, names):
            path = self.folder / f"{table.table}.properties"
            path.write_text(submit.table_properties(table))
            files[table.name] = str(path)
        listed = self.folder / "list.properties"
        listed.write_text(submit.list_properties(files, {keys.POLL_INTERVAL: "0.1"}))
        arguments = submit.multi_table_arguments(
            properties_file=str(listed),
            config_folder=str(self.folder),
            base_path_prefix=str(self.folder / "lake"),
            queried=True,
        )
        return self._started([a for a in arguments if a != "--enable-sync"], program=MULTI_TABLE_JOB)

    def is_equal(self, name: str) -> bool:
        """Whether the lake has what the source has; not while a commit is half written, by a job that was killed."""
        try:
            found: pyarrow.Table = TableReader(base_uri=str(self.folder / "lake" / name)).rows(list(FIELDS))
        except LakeError:
            return False
        lake = sorted((row["id"], row["value"]) for row in found.to_pylist())
        source = ask(self.parameters, f"SELECT json_agg(json_build_array(id, value) ORDER BY id) FROM {name}")
        return lake == [tuple(row) for row in source or []]

    def instants(self, name: str, suffix: str) -> set[str]:
        return {path.name for path in (self.folder / "lake" / name / ".hoodie").glob(f"[0-9]*.{suffix}")}

    def _started(self, arguments: Sequence[str], **program: Any) -> Job:
        job = Job(self.folder, arguments, self.glue_endpoint, java_options=self.java_options, **program)
        self.jobs.append(job)
        return job


@pytest.fixture
def place(
    tmp_path: Path, database: ConnectionParameters, glue_endpoint: str, java_options: list[str]
) -> Iterator[Place]:
    for statement in role(SECRET):
        execute(database, statement)
    place = Place(tmp_path, database, glue_endpoint, java_options)
    yield place
    for job in place.jobs:
        job.end()


def role(password: str) -> list[str]:
    """A role that may read all tables, by this password."""
    return [
        "DO $$ BEGIN CREATE ROLE hushed LOGIN; EXCEPTION WHEN duplicate_object THEN NULL; END $$",
        f"ALTER ROLE hushed PASSWORD '{password}'",
        "GRANT pg_read_all_data TO hushed",
    ]


@pytest.mark.parametrize("killed", [("in",), long(("before", "in", "after"))])
def test_a_job_that_is_killed_before_in_and_after_a_commit_loses_nothing(place: Place, killed: Sequence[str]) -> None:
    place.create("address")
    stages: dict[str, Callable[[], object]] = {
        "before": lambda: "all rows are read" in place.jobs[-1].output.read_text(),  # nothing is written yet
        "in": lambda: place.instants("address", "commit.requested") | place.instants("address", "inflight"),
        "after": lambda: place.instants("address", "commit"),
    }
    for number, stage in enumerate(killed):
        job = place.start("address")
        job.wait_for(stages[stage], f"stage {stage}")
        job.kill()
        change(place, number)
    job = place.start("address")
    job.wait_for(lambda: place.instants("address", "commit") and place.is_equal("address"), "equal table")
    before = len(place.instants("address", "commit"))
    change(place, 9)
    job.wait_for(lambda: len(place.instants("address", "commit")) > before and place.is_equal("address"), "change")
    assert job.terminate(signal.SIGTERM) == 0
    assert "Traceback" not in job.output.read_text()
    written = [path for path in place.folder.rglob("*") if path.is_file() and path.name != "password"]
    assert [str(path) for path in written if SECRET.encode() in path.read_bytes()] == []


@pytest.mark.long
def test_a_first_load_that_is_killed_amid_its_parts_loses_and_doubles_nothing(place: Place) -> None:
    place.create("address")
    execute(place.parameters, "INSERT INTO address SELECT i, 'many' FROM generate_series(2001, 14000) AS i")

    def stage(committed: int) -> bool:
        """Whether so many parts are there, and the next one is being written."""
        done = {name.partition(".")[0] for name in place.instants("address", "commit")}
        begun = {name.partition(".")[0] for name in place.instants("address", "inflight")}
        return len(done) >= committed and bool(begun - done)

    for number in range(3):
        job = place.start("address", "--source-limit", "3000")
        job.wait_for(partial(stage, number), f"stage {number}")
        job.kill()
        change(place, number)
    job = place.start("address", "--source-limit", "3000")
    job.wait_for(lambda: len(place.instants("address", "commit")) > 4 and place.is_equal("address"), "equal table")
    assert job.terminate(signal.SIGTERM) == 0
    assert "Traceback" not in job.output.read_text()


def change(place: Place, number: int) -> None:
    for statement in (
        f"UPDATE address SET value = 'change {number}' WHERE id % 7 = {number}",
        f"DELETE FROM address WHERE id = {40 + number}",
        f"INSERT INTO address VALUES ({1000 + number}, 'new')",
    ):
        execute(place.parameters, statement)


@pytest.mark.long
def test_many_tables_share_two_connections(place: Place) -> None:
    names = [f"t{number}" for number in range(6)]
    place.create(*names)
    job = place.start_all(*names)
    job.wait_for(lambda: all(place.instants(name, "commit") for name in names), "commit of each")
    execute(place.parameters, "UPDATE t3 SET value = 'new' WHERE id < 5")
    execute(place.parameters, "DELETE FROM t5 WHERE id = 5")
    job.wait_for(lambda: all(map(place.is_equal, names)), "equal tables")
    held = ask(place.parameters, "SELECT count(*) FROM pg_stat_activity WHERE usename = 'hushed'")
    assert 1 <= held <= 2
    assert job.terminate(signal.SIGTERM) == 0
    assert "its tables look by 2 connections at most" in job.output.read_text()


@pytest.mark.long
def test_a_database_that_is_gone_is_waited_for(place: Place, tmp_path: Path) -> None:
    folder = tmp_path / "own"
    folder.mkdir()
    with temporary_postgres(folder) as server:
        place.parameters = server.connection_parameters()
        for statement in role(SECRET):
            execute(place.parameters, statement)
        place.create("address")
        job = place.start("address")
        job.wait_for(lambda: place.instants("address", "commit"), "commit")
        execute(
            place.parameters,
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = 'hushed'",
        )
        execute(place.parameters, "ALTER ROLE hushed CONNECTION LIMIT 0")
        job.wait_for(lambda: "too many connections for role" in job.output.read_text(), "line of the outage")
        execute(place.parameters, "UPDATE address SET value = 'new' WHERE id = 1")
        execute(place.parameters, "ALTER ROLE hushed CONNECTION LIMIT -1")
        job.wait_for(lambda: place.is_equal("address"), "equal table")
        assert job.terminate(signal.SIGTERM) == 0
        assert "works again, after" in job.output.read_text()
