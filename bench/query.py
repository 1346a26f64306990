"""Compares ways to query a database under a random load, and times scans of a large table.

`./lake dev bench query`: a separate server and job for each trial; --rows also times scans.
"""

import statistics
import tempfile
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import typer
from pyspark.sql import SparkSession
from rich.console import Console
from rich.table import Table

from bench import query_trial as trial
from bench.job import execute, running, spark_session
from bench.query_trial import Load
from local.services.postgres import ConnectionParameters, temporary_postgres
from spark_jobs.options.jdbc_settings import Detection, JdbcSettings, Password, Server
from spark_jobs.sources.postgres import detection
from spark_jobs.sources.postgres.access import Database, Look
from spark_jobs.sources.postgres.control import IDENTITIES, OLDEST, Control, read_control, table_columns
from spark_jobs.sources.postgres.detection import Mark
from spark_jobs.sources.postgres.event_sql import sent
from spark_jobs.sources.postgres.relation import ALL, Relation, stamped_since, written_since


def main(
    *,
    seconds: Annotated[float, typer.Option(min=5, help="How long each load lasts.")] = 60,
    seeds: Annotated[int, typer.Option(min=0, help="How many trials.")] = 1,
    poll: Annotated[float, typer.Option(min=0.1, help="Seconds between two polls.")] = 1,
    rows: Annotated[int, typer.Option(min=0, help="Rows of a table whose looks are timed; 0: none.")] = 0,
) -> None:
    """Run trials; exit 1 if the job's lake differs from the source in one of them."""
    console = Console(width=110)
    equal = True
    with tempfile.TemporaryDirectory(prefix="bench-query-") as name:
        for seed in range(1, seeds + 1):
            found = _trial(Path(name) / str(seed), Load({}, seconds=seconds, seed=seed), poll)
            console.print(_table(seed, found))
            equal &= found.outcomes[-1].is_equal
        if rows:
            for line in _speeds(Path(name) / "speeds", rows):
                console.print(line)
    raise typer.Exit(0 if equal else 1)


def _trial(folder: Path, load: Load, poll_seconds: float) -> trial.Trial:
    folder.mkdir()
    with temporary_postgres(folder / "source", settings={"fsync": "off"}) as server:
        load.parameters = server.connection_parameters()
        trial.prepare(load.parameters, folder / "password")
        arguments = trial.job_arguments(load.parameters, folder, sweep_seconds=poll_seconds)
        with running(arguments, folder=folder) as job:
            job.wait_for_commits(1)
            return trial.run(load.parameters, folder, job, load, poll_seconds=poll_seconds)


def _table(seed: int, found: trial.Trial) -> Table:
    title = f"seed {seed}: {found.versions:,} versions, {found.rows} rows at the end"
    table = Table("way", "missing", "stale", "extra", "versions never seen", title=title)
    for outcome in found.outcomes:
        unseen = max(1 - outcome.seen / max(found.versions, 1), 0)
        table.add_row(outcome.name, str(outcome.missing), str(outcome.stale), str(outcome.extra), f"{unseen:.0%}")
    return table


_TIMES = 25
# Uncounted runs first: a job that has run for minutes has compiled code and prepared statements.
_WARMING = 25
# A JVM's default, also on EMR; JVMs on this machine are otherwise tuned to start quickly.
_COMPILING = ["-XX:TieredStopAtLevel=4"]
# Time until the job is idle after its first load.
_SETTLED_S = 15
_DELETES = 3
_COLUMNS = {**trial.AVRO, "address2": "string", "city_id": "int", "postal_code": "string", "phone": "string"}
_CREATE = """
CREATE TABLE address (
    address_id integer PRIMARY KEY,
    address text NOT NULL,
    address2 text,
    district text,
    city_id integer,
    postal_code text,
    phone text,
    last_update timestamptz NOT NULL
);
INSERT INTO address SELECT i, 'Street ' || i, NULL, 'District ' || i % 700, i % 600, i::text, md5(i::text),
    '2022-02-15 10:45:30+00' FROM generate_series(1, {rows}) AS i;
CREATE INDEX ON address (last_update);
"""


def _speeds(folder: Path, rows: int) -> Iterator[str]:
    folder.mkdir(parents=True, exist_ok=True)
    with temporary_postgres(folder, settings={"fsync": "off", "max_wal_size": "4GB"}) as server:
        parameters = server.connection_parameters()
        execute(parameters, _CREATE.format(rows=rows))
        execute(parameters, "VACUUM ANALYZE address")
        with spark_session(folder) as spark:
            yield from _looks(spark, parameters, rows)
        yield from _job(folder, parameters, rows)


def _looks(spark: SparkSession, parameters: ConnectionParameters, rows: int) -> Iterator[str]:
    settings = _settings(parameters)
    database = Database(spark, settings.server, log=lambda _line: None)
    look = database.look()
    columns = sent(table_columns(look, settings.schema, settings.table))
    control = read_control(look, settings, IDENTITIES[0])
    look.close()
    relation = Relation(settings=settings, columns=columns, key=columns[:1], is_unique=True)
    now = int(time.time() * 1e6)

    def timed(name: str, ask: Callable[[Look], Any], first: str | None = None) -> str:
        seconds = [_once(database, settings, ask, first) for _ in range(_WARMING + _TIMES)][_WARMING:]
        return f"{name}: {statistics.median(seconds) * 1000:.1f} ms, at best {min(seconds) * 1000:.1f} ms"

    stamped, written = stamped_since("last_update", now), written_since(control.horizon)
    yield f"{rows:,} rows"
    yield timed("poll by the column, no change", lambda look: relation.seen(look, stamped), OLDEST)
    yield timed("sweep by xmin, no change", lambda look: relation.counted(look, written))
    execute(parameters, "UPDATE address SET address = address || '!', last_update = now() WHERE address_id <= 1000")
    yield timed("poll by the column, 1,000 changed", lambda look: relation.seen(look, stamped), OLDEST)
    changed = partial(detection.changes, relation=relation, control=control, before=_mark(control))
    yield timed("sweep by xmin, 1,000 changed", changed)
    yield timed("count alone", lambda look: relation.counted(look, ALL))
    yield timed("digests of all rows", relation.digests)
    yield timed("bounds of four parts", lambda look: relation.parts(look, ALL, None, most=rows))


def _once(database: Database, settings: JdbcSettings, ask: Callable[[Look], Any], first: str | None) -> float:
    began = time.monotonic()
    look = database.look(first)
    read_control(look, settings, IDENTITIES[0])
    ask(look)
    look.close()
    return time.monotonic() - began


def _job(folder: Path, parameters: ConnectionParameters, rows: int) -> Iterator[str]:
    """Yield lines on the real job: its first load, in parts, and how long it takes to find deletes."""
    (folder / "password").write_text(parameters["password"])
    arguments = trial.job_arguments(parameters, folder, sweep_seconds=1, columns=_COLUMNS)
    arguments += ["--source-limit", str(max(rows // 4, 1))]
    began = time.monotonic()
    with running(arguments, folder=folder, java_options=_COMPILING) as job:
        peaks: list[float] = []

        def loaded() -> bool:
            peaks.append(job.megabytes())
            return job.upserts() >= rows

        job.wait(loaded, "first load")
        yield f"first load in 4 parts, the job's start included: {time.monotonic() - began:.0f} s"
        yield f"memory of all its processes at most: {max(peaks):,.0f} MB"
        deletes = []
        for remainder in range(_DELETES):
            time.sleep(_SETTLED_S)
            before, began = job.commits(), time.monotonic()
            execute(parameters, f"DELETE FROM address WHERE address_id % 20000 = {remainder + 1}")  # noqa: S608
            job.wait_for_commits(before + 1)
            deletes.append(time.monotonic() - began)
        shown = ", ".join(f"{seconds:.1f}" for seconds in deletes)
        yield f"{rows // 20_000} deletes in the lake after {statistics.median(deletes):.1f} s (of {shown})"


def _mark(control: Control) -> Mark:
    return Mark(system=control.system, shape=control.shape, horizon=control.horizon, members=control.members, low=None)


def _settings(parameters: ConnectionParameters) -> JdbcSettings:
    server = Server(
        url="jdbc:postgresql://{host}:{port}/{dbname}".format_map(parameters),
        user=parameters["user"],
        password=Password(given=parameters["password"]),
        connections=1,
        extra=(),
    )
    return JdbcSettings(server=server, schema="public", table="address", detection=Detection.AUTO, column="last_update")
