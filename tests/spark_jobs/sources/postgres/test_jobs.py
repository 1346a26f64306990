"""Queried tables through spark-submit: changes, many tables, and a database outage."""

import signal
from dataclasses import dataclass
from pathlib import Path

import pytest

from contract.events import QUERIED_TYPES, READ_MS
from local.look.lake import LakeError
from local.services.postgres import ConnectionParameters, temporary_postgres
from spark_jobs.options import keys, submit
from tests.conftest import ask, execute
from tests.spark_jobs.events import CONF, avro
from tests.spark_jobs.programs import Job, JobRun
from tests.spark_jobs.sources.postgres.conftest import url_of
from tests.waiting import PATIENCE_S

pytestmark = pytest.mark.integration

FIELDS = {"id": "int", "value": "string"}
SECRET = "hush-hush-hush"
ROLE = f"""DO $$ BEGIN CREATE ROLE hushed LOGIN; EXCEPTION WHEN duplicate_object THEN NULL; END $$;
    ALTER ROLE hushed PASSWORD '{SECRET}'; GRANT pg_read_all_data TO hushed"""


@dataclass
class QueriedTables:
    """Tables of id and value in a database, and the jobs that query them."""

    run: JobRun
    parameters: ConnectionParameters

    def create(self, *names: str) -> None:
        for name in names:
            execute(self.parameters, f"CREATE TABLE {name} (id int PRIMARY KEY, value text)")
            execute(self.parameters, f"INSERT INTO {name} SELECT i, 'first' FROM generate_series(1, 50) AS i")

    def table(self, name: str) -> submit.TableJob:
        schema_file = self.run.folder / "table.avsc"
        schema_file.write_text(avro({**FIELDS, **QUERIED_TYPES}))
        password = self.run.folder / "password"
        password.write_text(SECRET + "\n")
        return self.run.table(
            name,
            landing=None,
            schema_file=str(schema_file),
            properties_file=str(CONF / "lean.properties"),
            ordering_field=READ_MS,
            configuration={
                keys.RECORD_KEY: "id",
                keys.KEY_GENERATOR: "org.apache.hudi.keygen.NonpartitionedKeyGenerator",
                keys.JDBC_URL: url_of(self.parameters),
                keys.JDBC_USER: "hushed",
                keys.JDBC_PASSWORD_FILE: str(password),
                keys.JDBC_TABLE: name,
                keys.JDBC_SWEEP: "0",
            },
        )

    def start(self, name: str) -> Job:
        """Start a continuous job of one table."""
        return self.run.start(self.table(name), "--retry-interval-seconds", "1", without=["--enable-sync"])

    def is_equal(self, name: str) -> bool:
        """Whether the lake equals the source; not while a commit is half written, by a job that was killed."""
        try:
            found = self.run.read(list(FIELDS), name)
        except LakeError:
            return False
        lake = sorted((row["id"], row["value"]) for row in found)
        source = ask(self.parameters, f"SELECT json_agg(json_build_array(id, value) ORDER BY id) FROM {name}")
        return lake == [tuple(row) for row in source or []]


@pytest.fixture
def tables(job_run: JobRun, database: ConnectionParameters) -> QueriedTables:
    execute(database, ROLE)
    return QueriedTables(job_run, database)


def test_a_job_brings_what_changes_and_writes_the_password_nowhere(tables: QueriedTables) -> None:
    """Kills: tests/spark_jobs/test_kills.py and test_multi_table_streamer.py."""
    tables.create("address")
    job = tables.start("address")
    job.wait_for(lambda: tables.run.instants("commit", "address"), "commit")
    for statement in (
        "UPDATE address SET value = 'changed' WHERE id % 7 = 0",
        "DELETE FROM address WHERE id = 40",
        "INSERT INTO address VALUES (1000, 'new')",
    ):
        execute(tables.parameters, statement)
    job.wait_for(lambda: tables.is_equal("address"), "equal table")
    assert job.terminate(signal.SIGTERM) == 0
    assert "Traceback" not in job.text()
    written = [path for path in tables.run.folder.rglob("*") if path.is_file() and path.name != "password"]
    assert [str(path) for path in written if SECRET.encode() in path.read_bytes()] == []


@pytest.mark.long
def test_many_tables_share_two_connections_and_a_stop_file(tables: QueriedTables) -> None:
    names = [f"t{number}" for number in range(6)]
    tables.create(*names)
    job = tables.run.start_all([tables.table(name) for name in names], queried=True)
    job.wait_for(lambda: all(tables.run.instants("commit", name) for name in names), "commit of each")
    execute(tables.parameters, "UPDATE t3 SET value = 'new' WHERE id < 5")
    execute(tables.parameters, "DELETE FROM t5 WHERE id = 5")
    job.wait_for(lambda: all(map(tables.is_equal, names)), "equal tables")
    held = ask(tables.parameters, "SELECT count(*) FROM pg_stat_activity WHERE usename = 'hushed'")
    assert 1 <= held <= 2
    stop = tables.run.folder / "stop"
    stop.touch()
    assert job.process.wait(PATIENCE_S) == 0
    assert "its tables share 2 connections at most" in job.text()
    assert f"stopped by {stop}" in job.text()


@pytest.mark.long
def test_a_database_that_is_gone_is_waited_for(tables: QueriedTables, tmp_path: Path) -> None:
    folder = tmp_path / "own"
    folder.mkdir()
    with temporary_postgres(folder) as server:
        tables.parameters = server.connection_parameters()
        execute(tables.parameters, ROLE)
        tables.create("address")
        job = tables.start("address")
        job.wait_for(lambda: tables.run.instants("commit", "address"), "commit")
        execute(tables.parameters, "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = 'hushed'")
        execute(tables.parameters, "ALTER ROLE hushed CONNECTION LIMIT 0")
        job.wait_for(lambda: "too many connections for role" in job.text(), "line of the outage")
        execute(tables.parameters, "UPDATE address SET value = 'new' WHERE id = 1")
        execute(tables.parameters, "ALTER ROLE hushed CONNECTION LIMIT -1")
        job.wait_for(lambda: tables.is_equal("address"), "equal table")
        assert job.terminate(signal.SIGTERM) == 0
        assert "works again, after" in job.text()
