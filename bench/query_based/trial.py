"""One trial: a random load, polls by last_update alongside the job, and each resulting lake."""

import contextlib
import json
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psycopg2
import pyarrow

from bench.query_based.load import COLUMNS, CREATE, TABLE, Load
from bench.query_based.polls import WAYS, Poll
from bench.running_job import RunningJob
from contract.events import QUERIED_TYPES, READ_MS
from local.look.lake import Lake, LakeError
from spark_jobs.options import keys, submit

# Longer than any poll's delay and the job's full scan interval.
QUIET_S = 8
_ROOT = Path(__file__).resolve().parents[2]
AVRO: Mapping[str, Any] = {
    "address_id": "int",
    "address": "string",
    "district": "string",
    "last_update": {"type": "string", "connect.name": "io.debezium.time.ZonedTimestamp"},
}


@dataclass(frozen=True)
class Outcome:
    """Compared with the source: rows that a lake lacks or has in an older version, extra rows, and versions seen."""

    name: str
    missing: int
    stale: int
    extra: int
    seen: int

    @property
    def is_equal(self) -> bool:
        """Whether the lake equals the source."""
        return not (self.missing or self.stale or self.extra)


@dataclass(frozen=True)
class Trial:
    """A trial's results: rows in the source at its end, committed versions, and each way's outcome."""

    rows: int
    versions: int
    outcomes: Sequence[Outcome]


def prepare(parameters: Mapping[str, Any], password_file: Path) -> None:
    """Create the table, and the file with the password for the job."""
    password_file.write_text(str(parameters["password"]))
    with contextlib.closing(psycopg2.connect(**parameters)) as connection, connection, connection.cursor() as cursor:
        cursor.execute(CREATE)


def job_arguments(
    parameters: Mapping[str, Any], folder: Path, *, sweep_seconds: float, columns: Mapping[str, Any] = AVRO
) -> list[str]:
    """Return the arguments of a job that keeps the table in `folder`/lake; `columns` have Avro's types."""
    fields = [{"name": name, "type": ["null", kind]} for name, kind in {**columns, **QUERIED_TYPES}.items()]
    avro = folder / "address.avsc"
    avro.write_text(json.dumps({"type": "record", "name": "address", "fields": fields}))
    p = parameters
    job = submit.TableJob(
        landing=None,
        table_path=str(folder / "lake"),
        database="lake",
        table="address",
        schema_file=str(avro),
        properties_file=str(_ROOT / "spark_jobs" / "conf" / "lean.properties"),
        ordering_field=READ_MS,
        sync_interval_seconds=0,
        configuration={
            keys.RECORD_KEY: "address_id",
            keys.KEY_GENERATOR: "org.apache.hudi.keygen.NonpartitionedKeyGenerator",
            keys.JDBC_URL: f"jdbc:postgresql://{p['host']}:{p['port']}/{p['dbname']}",
            keys.JDBC_USER: str(p["user"]),
            keys.JDBC_PASSWORD_FILE: str(folder / "password"),
            keys.JDBC_TABLE: TABLE,
            keys.JDBC_SWEEP: str(sweep_seconds),
            # The load deletes a good share of 700 rows.
            keys.JDBC_DELETES_PERCENT: "50",
            keys.POLL_INTERVAL: "0.2",
        },
    )
    return submit.job_arguments(job)


def run(parameters: Mapping[str, Any], folder: Path, job: RunningJob, load: Load, *, poll_seconds: float) -> Trial:
    """Run a load alongside a job that has made its first commit, until everything is polled and quiet."""
    polls = [Poll(parameters, way, poll_seconds) for way in WAYS]
    with _polling(polls):
        time.sleep(2 * poll_seconds)
        # Existing rows aren't versions of the load's.
        before = [*(len(poll.seen) for poll in polls), job.upserts()]
        load.run()
        time.sleep(QUIET_S + 2 * poll_seconds)
        source = source_rows(parameters)
        job.wait(lambda: _is_equal(folder, source), "equal lake")
    lakes = [(poll.way.name, poll.rows, len(poll.seen)) for poll in polls]
    lakes.append(("this project's JdbcSource", lake_rows(folder), job.upserts()))
    outcomes = [
        compare(name, source, lake, seen - already) for (name, lake, seen), already in zip(lakes, before, strict=True)
    ]
    return Trial(rows=len(source), versions=load.versions, outcomes=outcomes)


def compare(name: str, source: Mapping[int, Any], lake: Mapping[int, Any], seen: int) -> Outcome:
    common = source.keys() & lake.keys()
    return Outcome(
        name,
        missing=len(source.keys() - lake.keys()),
        stale=sum(source[key] != lake[key] for key in common),
        extra=len(lake.keys() - source.keys()),
        seen=seen,
    )


def source_rows(parameters: Mapping[str, Any]) -> dict[int, tuple[Any, ...]]:
    with contextlib.closing(psycopg2.connect(**parameters)) as connection, connection.cursor() as cursor:
        cursor.execute(f"SELECT {', '.join(COLUMNS)} FROM {TABLE}")  # noqa: S608
        return {row[0]: row for row in cursor.fetchall()}


def lake_rows(folder: Path) -> dict[int, tuple[Any, ...]]:
    found: pyarrow.Table = Lake(base_uri=str(folder / "lake")).rows(list(COLUMNS))
    return {row["address_id"]: tuple(row[name] for name in COLUMNS) for row in found.to_pylist()}


def _is_equal(folder: Path, source: Mapping[int, Any]) -> bool:
    try:
        return lake_rows(folder) == source
    except LakeError:  # a commit is being written
        return False


@contextlib.contextmanager
def _polling(polls: Sequence[Poll]) -> Iterator[None]:
    threads = [threading.Thread(target=poll.run, daemon=True) for poll in polls]
    for thread in threads:
        thread.start()
    try:
        yield
    finally:
        for poll in polls:
            poll.end()
        for thread in threads:
            thread.join(10)
