"""One trial: a random load, polls by last_update alongside the job, and each resulting lake.

The load has short transactions, a few long ones, and all that a poll doesn't expect; each poll keeps the lake that it
would create.
"""

# ruff: noqa: S608  # put together from the expressions that stand here

import contextlib
import datetime as dt
import json
import random
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import psycopg2
import pyarrow

from bench.job import RunningJob, execute
from contract.events import QUERIED_TYPES, READ_MS
from local.look.lake import Lake, LakeError
from spark_jobs.options import keys, submit

TABLE = "public.address"
COLUMNS = ("address_id", "address", "district", "last_update")
# Pagila's table with its trigger; all rows have the same last_update, as in the dump.
CREATE = """
CREATE TABLE address (
    address_id integer PRIMARY KEY,
    address text NOT NULL,
    district text,
    last_update timestamptz NOT NULL DEFAULT now()
);
CREATE FUNCTION last_updated() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF NEW.last_update = OLD.last_update THEN NEW.last_update = now(); END IF;
    RETURN NEW;
END $$;
CREATE SEQUENCE version;
INSERT INTO address SELECT i, 'Street ' || i, 'District ' || i % 7, '2022-02-15 10:45:30+00'
    FROM generate_series(1, 603) AS i;
CREATE TRIGGER last_updated BEFORE UPDATE ON address FOR EACH ROW EXECUTE FUNCTION last_updated();
"""
# A row that no other writer is changing: a long transaction must not hold up the others.
_ANY = (
    "(SELECT address_id FROM address WHERE address_id >= %(from)s ORDER BY address_id LIMIT 1 FOR UPDATE SKIP LOCKED)"
)
_UPDATE = f"UPDATE address SET address = 'v' || nextval('version') WHERE address_id = {_ANY}"
_CHANGES = (
    (70, _UPDATE),
    (12, "INSERT INTO address SELECT nextval('version') + 10000, 'v' || currval('version'), 'new'"),
    (
        4,
        "INSERT INTO address SELECT nextval('version') + 10000, 'v' || currval('version'), 'old stamp',"
        " now() - interval '1 day'",
    ),
    (8, f"DELETE FROM address WHERE address_id = {_ANY}"),
    (3, f"UPDATE address SET address_id = nextval('version') + 10000 WHERE address_id = {_ANY}"),
    (
        3,
        "UPDATE address SET address = 'v' || nextval('version'), last_update = last_update - interval '1 hour'"
        f" WHERE address_id = {_ANY}",
    ),
)
_PAUSE_S = 0.05
_WRITERS = 8
# The share of long transactions and their duration; they end with the load.
_LONG_SHARE = 0.03
_LONG_S = (1.0, 20.0)


@dataclass
class Load:
    """Connections that change rows for `seconds`."""

    parameters: Mapping[str, Any]
    seconds: float = 60
    seed: int = 1
    # Committed row versions: inserted or updated rows.
    versions: int = 0

    def run(self) -> None:
        """Change rows until the time is up and the last transaction has ended."""
        until = time.monotonic() + self.seconds
        with ThreadPoolExecutor(_WRITERS) as pool:
            self.versions += sum(pool.map(lambda number: self._write(number, until), range(_WRITERS)))

    def _write(self, number: int, until: float) -> int:
        chance, written = random.Random(f"{self.seed} {number}"), 0  # noqa: S311  (no secret)
        with contextlib.closing(psycopg2.connect(**self.parameters)) as connection:
            while time.monotonic() < until:
                with connection, connection.cursor() as cursor:
                    written += self._transaction(cursor, chance, until)
                time.sleep(chance.uniform(0, 2 * _PAUSE_S))
        return written

    def _transaction(self, cursor: Any, chance: random.Random, until: float) -> int:
        long = chance.random() < _LONG_SHARE
        written = 0
        for step in range(chance.randint(1, 4)):
            if step:
                cursor.execute("SAVEPOINT step")
            weights, statements = zip(*_CHANGES, strict=True)
            [statement] = chance.choices(statements, weights)
            cursor.execute(statement, {"from": chance.randint(1, 700)})
            written += 0 if statement.startswith("DELETE") else cursor.rowcount
            if long and not step:
                time.sleep(min(chance.uniform(*_LONG_S), max(until - time.monotonic(), 0) + 1))
        return int(written)


Row = tuple[Any, ...]
_FIRST = dt.datetime(1970, 1, 1, tzinfo=dt.UTC)


# Way → its condition on last_update; `%(last)s` is the newest value seen.
WAYS = {
    "mode=timestamp": "last_update > %(last)s AND last_update < now()",
    "… delay of 5 s": "last_update > %(last)s AND last_update < now() - interval '5 s'",
    "overlap of 5 s": "last_update >= %(last)s::timestamptz - interval '5 s'",
}


@dataclass
class Poll:
    """Polls in one way, every `seconds`, until stopped; `rows` is the lake by key, `seen` its row versions."""

    parameters: Mapping[str, Any]
    way: str
    seconds: float = 1
    rows: dict[int, Row] = field(default_factory=dict)
    seen: set[Row] = field(default_factory=set)
    ended: threading.Event = field(default_factory=threading.Event)

    def run(self) -> None:
        """Poll until stopped, and then until two polls find nothing new."""
        last = _FIRST
        with contextlib.closing(psycopg2.connect(**self.parameters)) as connection:
            connection.autocommit = True
            while not self.ended.wait(self.seconds):
                last = self._once(connection, last)

    def _once(self, connection: Any, last: dt.datetime) -> dt.datetime:
        with connection.cursor() as cursor:
            cursor.execute(
                f"SELECT {', '.join(COLUMNS)} FROM {TABLE} WHERE {WAYS[self.way]} ORDER BY last_update", {"last": last}
            )
            for row in cursor.fetchall():
                # The lake keeps the row with the highest last_update, its ordering field.
                if row[0] not in self.rows or row[3] >= self.rows[row[0]][3]:
                    self.rows[row[0]] = row
                self.seen.add(row)
                last = max(last, row[3])
        return last


# Longer than any poll's delay and the job's full scan interval.
QUIET_S = 8
_ROOT = Path(__file__).resolve().parents[1]
AVRO: Mapping[str, Any] = {
    "address_id": "int",
    "address": "string",
    "district": "string",
    "last_update": {"type": "string", "connect.name": "io.debezium.time.ZonedTimestamp"},
}


@dataclass(frozen=True)
class Outcome:
    """Compared with the source: rows that a lake lacks or has in an older version, extra rows, and versions seen.

    `seen` None: not counted.
    """

    name: str
    missing: int
    stale: int
    extra: int
    seen: int | None

    @property
    def is_equal(self) -> bool:
        return not (self.missing or self.stale or self.extra)


def prepare(parameters: Mapping[str, Any], password_file: Path) -> None:
    password_file.write_text(str(parameters["password"]))
    execute(parameters, CREATE)


def job_arguments(
    parameters: Mapping[str, Any], folder: Path, *, sweep_seconds: float, columns: Mapping[str, Any] = AVRO
) -> list[str]:
    """Return the arguments of a job that keeps the table in `folder`/lake; `columns` have Avro's types."""
    fields = [{"name": name, "type": ["null", kind]} for name, kind in {**columns, **QUERIED_TYPES}.items()]
    avro = folder / "address.avsc"
    avro.write_text(json.dumps({"type": "record", "name": "address", "fields": fields}))
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
            keys.JDBC_URL: "jdbc:postgresql://{host}:{port}/{dbname}".format_map(parameters),
            keys.JDBC_USER: str(parameters["user"]),
            keys.JDBC_PASSWORD_FILE: str(folder / "password"),
            keys.JDBC_TABLE: TABLE,
            keys.JDBC_SWEEP: str(sweep_seconds),
            # The load deletes a good share of 700 rows.
            keys.JDBC_DELETES_PERCENT: "50",
            keys.POLL_INTERVAL: "0.2",
        },
    )
    return submit.job_arguments(job)


def run(
    folder: Path,
    job: RunningJob,
    load: Load,
    *,
    poll_seconds: float,
    others: Mapping[str, Path] | None = None,
) -> list[Outcome]:
    """Run a load alongside a job that has made its first commit, until everything is polled and quiet.

    Return the ways' outcomes, the job's last. `others`: folders, with a `lake`, of other programs that keep the table.
    """
    polls = [Poll(load.parameters, way, poll_seconds) for way in WAYS]
    with _polling(polls):
        time.sleep(2 * poll_seconds)
        # Existing rows aren't versions of the load's.
        before = [*(len(poll.seen) for poll in polls), job.total("upserts")]
        load.run()
        time.sleep(QUIET_S + 2 * poll_seconds)
        source = source_rows(load.parameters)
        job.wait(lambda: _is_equal(folder, source), "equal lake")
    lakes = [(poll.way, poll.rows, len(poll.seen)) for poll in polls]
    lakes.append(("this project's JdbcSource", lake_rows(folder), job.total("upserts")))
    outcomes = [compare(name, source, lake_rows(place), None) for name, place in (others or {}).items()]
    return outcomes + [
        compare(name, source, lake, seen - already) for (name, lake, seen), already in zip(lakes, before, strict=True)
    ]


def compare(name: str, source: Mapping[int, Any], lake: Mapping[int, Any], seen: int | None) -> Outcome:
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
        cursor.execute(f"SELECT {', '.join(COLUMNS)} FROM {TABLE}")
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
    with ThreadPoolExecutor(len(polls)) as pool:
        running = [pool.submit(poll.run) for poll in polls]
        try:
            yield
        finally:
            for poll in polls:
                poll.ended.set()
        for future in running:
            future.result()
