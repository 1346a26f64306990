"""Compares ways to query a database under a random load, and times scans of a large table.

`./lake dev bench query`: a separate server and job for each trial; --rows also times scans.
"""

import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import typer
from pyspark.sql import SparkSession

from bench import hoodie_streamer, results
from bench import query_trial as trial
from bench.cases import table_of
from bench.job import RunningJob, execute, running, spark_session, started
from bench.query_trial import Load, Outcome
from local.services.postgres import ConnectionParameters, temporary_postgres
from spark_jobs.options.jdbc_settings import Detection, JdbcSettings, Password, Server
from spark_jobs.sources.postgres import detection
from spark_jobs.sources.postgres.access import Database, Look
from spark_jobs.sources.postgres.control import IDENTITIES, OLDEST, read_control, table_columns
from spark_jobs.sources.postgres.detection import Mark
from spark_jobs.sources.postgres.event_sql import sent
from spark_jobs.sources.postgres.relation import ALL, Relation, stamped_since, written_since

STREAMER = "HoodieStreamer and its JdbcSource"
LOSSES = ("way", "missing", "stale", "too many", "versions never seen")
LOOKS = ("look", "ms")
LOADS = ("way", "first load, s", "its CPU s", "MB at most", "1,000 changes, s", "deletes, s")


def main(
    *,
    seconds: Annotated[float, typer.Option(min=5, help="How long each load lasts.")] = 60,
    seeds: Annotated[int, typer.Option(min=0, help="How many trials.")] = 1,
    poll: Annotated[float, typer.Option(min=1, help="Seconds between two polls.")] = 1,
    rows: Annotated[int, typer.Option(min=0, help="Rows of a table whose looks and loads are timed; 0: none.")] = 0,
    streamer: Annotated[bool, typer.Option(help="With HoodieStreamer, a download of 273 MB.")] = True,
) -> None:
    """Run trials; exit 1 if the job's lake differs from the source in one of them."""
    with tempfile.TemporaryDirectory(prefix="bench-query-") as name:
        home = hoodie_streamer.install(Path(name) / "spark") if streamer else None
        loads = [Load({}, seconds=seconds, seed=seed) for seed in range(1, seeds + 1)]
        trials = [_trial(Path(name) / f"trial-{load.seed}", load, poll, home) for load in loads]
        if trials:
            title = f"compared with the source after {seconds:g} s of random load, {seeds} seeds"
            results.show("losses", title, LOSSES, _losses(trials, [load.versions for load in loads]))
        if rows:
            _speeds(Path(name) / "speeds", rows, poll, home)
    raise typer.Exit(0 if all(outcomes[-1].is_equal for outcomes in trials) else 1)


def _trial(folder: Path, load: Load, poll_seconds: float, home: Path | None) -> list[Outcome]:
    other = folder / "streamer"
    other.mkdir(parents=True)
    with temporary_postgres(folder / "source", settings={"fsync": "off"}) as server, ExitStack() as stack:
        load.parameters = server.connection_parameters()
        trial.prepare(load.parameters, folder / "password")
        arguments = trial.job_arguments(load.parameters, folder, sweep_seconds=poll_seconds)
        if home:
            stack.enter_context(_streamer(other, home, arguments, poll_seconds))
        job = stack.enter_context(running(arguments, folder=folder))
        job.wait_for_commits(1)
        others = {STREAMER: other} if home else {}
        job.wait(lambda: all(_commits(place) for place in others.values()), "first commit of HoodieStreamer")
        return trial.run(folder, job, load, poll_seconds=poll_seconds, others=others)


@contextmanager
def _streamer(
    folder: Path, home: Path, of_job: Sequence[str], poll_seconds: float, java_options: Sequence[str] = ()
) -> Iterator[RunningJob]:
    """Run HoodieStreamer with its own JdbcSource on the table of a job with these arguments, in a lake of its own."""
    folder.mkdir(exist_ok=True)
    at = of_job.index("--target-base-path") + 1
    of_job = [*of_job[:at], str(folder / "lake"), *of_job[at + 1 :]]
    options = table_of(of_job).write_options
    polling = hoodie_streamer.polling(of_job, options, "last_update", poll_seconds)
    argv, environment = hoodie_streamer.command(polling, home, folder, own=False, java_options=java_options)
    with started(argv, environment, folder=folder) as running_streamer:
        yield running_streamer


def _commits(folder: Path) -> int:
    return len([*(folder / "lake" / ".hoodie").glob("*.commit")])


def _losses(trials: Sequence[Sequence[Outcome]], versions: Sequence[int]) -> Iterator[list[results.Value]]:
    """Yield a row for each way, with all trials; `versions` were committed in each."""
    for runs in zip(*trials, strict=True):
        figures = [[getattr(one, name) for one in runs] for name in ("missing", "stale", "extra")]
        counted = [(one.seen, all_) for one, all_ in zip(runs, versions, strict=True) if one.seen is not None]
        seen = [max(1 - seen / max(all_, 1), 0) for seen, all_ in counted]
        yield [runs[0].name, *figures, seen or None]


_TIMES = 25
# Uncounted runs first: a job that has run for minutes has compiled code and prepared statements.
_WARMING = 25
# A JVM's default, also on EMR; JVMs on this machine are otherwise tuned to start quickly.
_COMPILING = ["-XX:TieredStopAtLevel=4"]
# Time until the job is idle after its first load.
_SETTLED_S = 15
_REPEATED = 3
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


def _speeds(folder: Path, rows: int, poll_seconds: float, home: Path | None) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    with temporary_postgres(folder, settings={"fsync": "off", "max_wal_size": "4GB"}) as server:
        parameters = server.connection_parameters()
        execute(parameters, _CREATE.format(rows=rows))
        execute(parameters, "VACUUM ANALYZE address")
        with spark_session(folder) as spark:
            looks = [*_looks(spark, parameters, rows)]
        results.show("looks", f"ms of a look at {rows:,} rows, {_TIMES} times", LOOKS, looks)
        (folder / "password").write_text(parameters["password"])
        arguments = trial.job_arguments(parameters, folder, sweep_seconds=poll_seconds, columns=_COLUMNS)
        arguments += ["--source-limit", str(max(rows // 4, 1))]
        given = rows, parameters, arguments
        ways = [_loaded("this project's JdbcSource, in 4 parts", folder, *given, None, poll_seconds)]
        if home:
            ways.append(_loaded(STREAMER, folder / "streamer", *given, home, poll_seconds))
    results.show("loads", f"{rows:,} rows, the start included, and {rows // 20_000} deletes", LOADS, ways)


def _looks(spark: SparkSession, parameters: ConnectionParameters, rows: int) -> Iterator[tuple[str, list[float]]]:
    settings = _settings(parameters)
    database = Database(spark, settings.server, log=lambda _line: None)
    look = database.look()
    columns = sent(table_columns(look, settings.schema, settings.table))
    control = read_control(look, settings, IDENTITIES[0])
    look.close()
    relation = Relation(settings=settings, columns=columns, key=columns[:1], is_unique=True)
    now = int(time.time() * 1e6)

    def timed(name: str, ask: Callable[[Look], Any], first: str | None = None) -> tuple[str, list[float]]:
        seconds = [_once(database, settings, ask, first) for _ in range(_WARMING + _TIMES)][_WARMING:]
        return name, [one * 1000 for one in seconds]

    stamped, written = stamped_since("last_update", now), written_since(control.horizon)
    yield timed("poll: no change", lambda look: relation.seen(look, stamped), OLDEST)
    yield timed("sweep: no change", lambda look: relation.counted(look, written))
    execute(parameters, "UPDATE address SET address = address || '!', last_update = now() WHERE address_id <= 1000")
    yield timed("poll: 1,000 changed", lambda look: relation.seen(look, stamped), OLDEST)
    before = Mark(
        system=control.system, shape=control.shape, horizon=control.horizon, members=control.members, low=None
    )
    changed = partial(detection.changes, relation=relation, control=control, before=before)
    yield timed("sweep: 1,000 changed", changed)
    yield timed("count", lambda look: relation.counted(look, ALL))
    yield timed("digests", relation.digests)
    yield timed("bounds of 4 parts", lambda look: relation.parts(look, ALL, None, most=rows))


def _once(database: Database, settings: JdbcSettings, ask: Callable[[Look], Any], first: str | None) -> float:
    began = time.monotonic()
    look = database.look(first)
    read_control(look, settings, IDENTITIES[0])
    ask(look)
    look.close()
    return time.monotonic() - began


def _loaded(
    way: str,
    folder: Path,
    rows: int,
    parameters: ConnectionParameters,
    of_job: Sequence[str],
    home: Path | None,
    poll_seconds: float,
) -> list[results.Value]:
    """Return what a first load takes, then 1,000 changes, and deletes, which HoodieStreamer never finds."""
    began = time.monotonic()
    ours = running(of_job, folder=folder, java_options=_COMPILING)
    with _streamer(folder, home, of_job, poll_seconds, _COMPILING) if home else ours as job:
        peaks: list[float] = []

        def loaded() -> bool:
            peaks.append(job.megabytes())
            return bool(_commits(folder)) if home else job.total("upserts") >= rows

        job.wait(loaded, "first load")
        figures = [time.monotonic() - began, job.cpu_seconds(), round(max(peaks))]
        changed = "UPDATE address SET address = address || '!', last_update = now() WHERE address_id <= 1000"
        changes = [_until_commit(folder, job, parameters, changed) for _ in range(_REPEATED)]
        gone = "DELETE FROM address WHERE address_id % 20000 = {}"
        deletes = (
            [] if home else [_until_commit(folder, job, parameters, gone.format(at + 1)) for at in range(_REPEATED)]
        )
    return [way, *figures, changes, deletes or "never"]


def _until_commit(folder: Path, job: RunningJob, parameters: ConnectionParameters, statement: str) -> float:
    time.sleep(_SETTLED_S)
    before, began = _commits(folder), time.monotonic()
    execute(parameters, statement)
    job.wait(lambda: _commits(folder) > before, "commit")
    return time.monotonic() - began


def _settings(parameters: ConnectionParameters) -> JdbcSettings:
    server = Server(
        url="jdbc:postgresql://{host}:{port}/{dbname}".format_map(parameters),
        user=parameters["user"],
        password=Password(given=parameters["password"]),
        connections=1,
        extra=(),
    )
    return JdbcSettings(server=server, schema="public", table="address", detection=Detection.AUTO, column="last_update")
