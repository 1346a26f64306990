"""Measures the streaming job against HoodieStreamer and a plain script: `./lake dev bench job` (bench/README.md).

Each runs in turn, in a JVM of its own on the same cores: first on events of the outbox table, then on changes of its
rows. On another table the job and HoodieStreamer commit one small object after another. All tables must be alike.
"""

import json
import math
import resource
import statistics
import subprocess
import tempfile
import time
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import partial
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import typer
from rich.console import Console
from rich.table import Table

from bench import hoodie_streamer
from bench.job import TIMEOUT_S, spark_session, started
from bench.order_events import first, later
from contract import lake, source
from contract.events import DELETE, OPERATION
from local.errors import PlatformError
from local.services.spark import JOB, spark_submit
from local.setup import jars
from spark_jobs.decoding import schema
from spark_jobs.decoding.schema import IS_DELETED, Column, Encoding
from spark_jobs.options import command_line, properties, settings, submit
from spark_jobs.options.table_settings import TableSettings
from spark_jobs.runtime.archive import ROOT

SCHEMA_FILE = ROOT / "pipelines" / "orders" / "cdc_events.avsc"
OBJECT_EVENTS = 10_000
# Before the small commits that are measured: events of the table, and commits, since a JVM is slow at first.
FIRST, WARM = 1000, 10
_SHOWN = 500


class Way(StrEnum):
    """The job, and what could run in its place."""

    JOB = "job"
    PLAIN = "plain"
    STREAMER = "streamer"
    OWN = "streamer-own"


TITLES = {
    Way.JOB: "job",
    Way.PLAIN: "plain script",
    Way.STREAMER: "HoodieStreamer, our settings",
    Way.OWN: "HoodieStreamer, its own",
}


class Cost(NamedTuple):
    """Seconds of a run, from start to end; or of commits: CPU of one, and from each object to its commit."""

    cpu: float
    wall: Sequence[float]


def main(
    *,
    events: Annotated[int, typer.Option(min=1, help="Events of the first run, a fifth of them updates.")] = 100_000,
    changes: Annotated[int, typer.Option(min=1, help="Changes of the second, a tenth of them deletes.")] = 1000,
    commits: Annotated[int, typer.Option(min=0, help="Small commits, one after another.")] = 50,
    size: Annotated[int, typer.Option(min=1, help="Changes of each of them.")] = 20,
    rounds: Annotated[int, typer.Option(min=1, help="Runs of each.")] = 5,
    way: Annotated[list[Way], typer.Option(help="What runs; HoodieStreamer is a download of 273 MB.")] = [*Way],  # noqa: B006
) -> None:
    """Print CPU and wall seconds of each, and the job's share; exit 1 if the tables differ."""
    steps = {f"{events:,} events": list(first(events)), f"{changes:,} changes on top": list(later(changes, events))}
    objects = [list(first(FIRST)), *_parts(list(later(size * (WARM + commits), FIRST)), size)]
    costs: defaultdict[tuple[str, Way], list[Cost]] = defaultdict(list)
    with tempfile.TemporaryDirectory(prefix="bench-job-") as name:
        ways = [one for one in Way if one in way]
        home = _home(Path(name), ways)
        alike = True
        for number in range(rounds):
            # Each is the first in some round.
            turns = [*ways[number % len(ways) :], *ways[: number % len(ways)]]
            place = Place(Path(name) / f"runs-{number}", home)
            for at, (step, lines) in enumerate(steps.items()):
                landing = place.land(str(at), lines)
                for one in turns:
                    costs[step, one].append(place.run(one, landing))
            alike &= place.are_alike(turns)
            # The script can't go on.
            turns = [one for one in turns if one != Way.PLAIN and commits]
            place = Place(Path(name) / f"commits-{number}", home)
            for one in turns:
                costs[f"{commits} commits of {size}", one].append(place.commit(one, objects))
            alike &= not turns or place.are_alike(turns)
    Console(width=100).print(shown(costs))
    raise typer.Exit(0 if alike else 1)


def _home(folder: Path, ways: Sequence[Way]) -> Path:
    home = folder / "spark"
    if {Way.STREAMER, Way.OWN} & {*ways}:
        jars.fetch([hoodie_streamer.JARS])
        hoodie_streamer.install(home)
    return home


def shown(costs: Mapping[tuple[str, Way], Sequence[Cost]]) -> Table:
    """Show medians with the least and the most of all rounds; of small commits also the 95th percentile."""
    table = Table("median (least-most)", "CPU s", "s", "s, p95", "CPU, job / it")
    for step in dict.fromkeys(step for step, _ in costs):
        table.add_row(f"[bold]{step}")
        jobs = [run.cpu for run in costs.get((step, Way.JOB), ())]
        for way in (way for way in Way if (step, way) in costs):
            cpu = [run.cpu for run in costs[step, way]]
            seconds = sorted(one for run in costs[step, way] for one in run.wall)
            late = f"{seconds[math.ceil(len(seconds) * 0.95) - 1]:.2f}" if len(seconds) > len(cpu) else ""
            ratio = f"{statistics.median(jobs) / statistics.median(cpu):.2f}" if jobs else ""
            table.add_row(TITLES[way], _spread(cpu), _spread(seconds), late, ratio)
        table.add_section()
    return table


def _spread(values: Sequence[float]) -> str:
    digits = 2 if statistics.median(values) < 5 else 1
    return f"{statistics.median(values):.{digits}f} ({min(values):.{digits}f}-{max(values):.{digits}f})"


def _parts(lines: Sequence[str], size: int) -> Iterator[Sequence[str]]:
    return (lines[start : start + size] for start in range(0, len(lines), size))


@dataclass(frozen=True)
class Place:
    """A folder of landed events and a table of each way; `home` is HoodieStreamer's Spark."""

    folder: Path
    home: Path

    def land(self, name: str, lines: Sequence[str]) -> Path:
        """Land many events; return their folder."""
        landing = self.folder / "landing" / name
        for number, part in enumerate(_parts(lines, OBJECT_EVENTS)):
            _land(landing, part, OBJECT_EVENTS * number)
        return landing

    def run(self, way: Way, landing: Path) -> Cost:
        """Run one on what is landed. Raises PlatformError if it fails."""
        argv, environment = self._command(way, landing)
        before, began = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
        how: dict[str, Any] = {"capture_output": True, "text": True, "timeout": TIMEOUT_S}
        try:
            ended = subprocess.run(argv, env=environment, cwd=self.folder, check=False, **how)
        except subprocess.TimeoutExpired:
            raise PlatformError(f"{TITLES[way]} hasn't ended within {TIMEOUT_S} s") from None
        wall, used = time.monotonic() - began, resource.getrusage(resource.RUSAGE_CHILDREN)
        if ended.returncode:
            said = " ".join(ended.stderr.split())[:_SHOWN]
            raise PlatformError(f"{TITLES[way]} has ended with {ended.returncode}: {said}")
        return Cost(used.ru_utime + used.ru_stime - before.ru_utime - before.ru_stime, [wall])

    def commit(self, way: Way, objects: Sequence[Sequence[str]]) -> Cost:
        """Land each object after the last one's commit. Raises PlatformError if one isn't committed."""
        landing, timeline = self.folder / "landing" / way, self.folder / way / ".hoodie"
        (landing / "0").mkdir(parents=True)
        argv, environment = self._command(way, landing, continuous=True)
        seconds, end, newest = list[float](), 0, ""
        with started(argv, environment, folder=self.folder / f"{way}-work") as running:
            for number, lines in enumerate(objects):
                if number == 1 + WARM:
                    cpu = running.cpu_seconds()
                _land(landing, lines, end)
                end, began = end + len(lines), time.monotonic()
                running.wait(partial(_is_newer, timeline, newest), f"commit {number + 1}", look_s=0.005)
                seconds.append(time.monotonic() - began)
                newest = _newest(timeline)
            cpu = running.cpu_seconds() - cpu
        measured = seconds[1 + WARM :]
        return Cost(cpu / len(measured), measured)

    def are_alike(self, ways: Sequence[Way]) -> bool:
        """Compare all tables with the first one, row by row, and print what was found."""
        with spark_session(self.folder / "spark") as spark:
            frames = [spark.read.format("hudi").load(str(self.folder / way)) for way in ways]
            columns = [name for frame in frames[:1] for name in frame.columns if not name.startswith("_hoodie_")]
            rows = [frame.select(columns) for frame in frames]
            counts = [frame.count() for frame in rows]
            differing = [rows[0].exceptAll(frame).count() for frame in rows]
        found = zip(ways, counts, differing, strict=True)
        told = "; ".join(f"{TITLES[way]} {count:,}, {other:,} differ" for way, count, other in found)
        print(f"rows: {told}", flush=True)
        return len({*counts}) <= 1 and all(counts) and not any(differing)

    def _command(self, way: Way, landing: Path, *, continuous: bool = False) -> tuple[list[str], dict[str, str]]:
        given, work = _arguments(landing, self.folder / way), _new(self.folder / f"{way}-work")
        mode = ["--continuous"] if continuous else []
        if way in (Way.STREAMER, Way.OWN):
            target, own = work / "target.avsc", way == Way.OWN
            target.write_text(hoodie_streamer.target_schema(SCHEMA_FILE.read_text()))
            theirs = hoodie_streamer.arguments(given, _table(given).write_options, _columns(), target, own=own)
            return hoodie_streamer.command([*theirs, *mode], home=self.home, folder=work, own=own)
        program, told = JOB, [*given, *mode]
        if way == Way.PLAIN:
            program = ROOT / "bench" / "plain_upsert.py"
            told = [json.dumps(_plain(_table(given), landing, self.folder / way))]
        return spark_submit(told, work_folder=work, log_file=work / "spark.log", program=program)


def _new(folder: Path) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def _land(landing: Path, lines: Sequence[str], first: int) -> None:
    """Write an object, as S3 does: it is there when it is whole. Its name has the last event's number."""
    whole = _new(landing / "0") / ".whole"
    whole.write_text("".join(f"{line}\n" for line in lines))
    whole.rename(whole.with_name(f"{first + len(lines) - 1:012d}_1_2.json"))


def _newest(timeline: Path) -> str:
    return max((path.name for path in timeline.glob("*.commit")), default="")


def _is_newer(timeline: Path, last: str) -> bool:
    return _newest(timeline) > last


def _arguments(landing: Path, table: Path) -> list[str]:
    job = submit.TableJob(
        landing=str(landing),
        table_path=str(table),
        database=lake.DATABASE,
        table=source.OUTBOX_TABLE,
        schema_file=str(SCHEMA_FILE),
        properties_file=str(ROOT / "spark_jobs" / "conf" / "cdc_events.properties"),
        # As HoodieStreamer: no pause after a commit.
        sync_interval_seconds=0,
    )
    return [one for one in submit.job_arguments(job) if one not in ("--enable-sync", "--continuous")]


def _table(arguments: Sequence[str]) -> TableSettings:
    given = command_line.parse(arguments)
    pairs = properties.load(str(given.props), lambda path: Path(path).read_text())
    every = properties.combine(pairs, properties.parse_overrides(given.hoodie_conf))
    return settings.decide(given, every, lambda _line: None).table


def _plain(table: TableSettings, landing: Path, path: Path) -> dict[str, Any]:
    columns = schema.parse(SCHEMA_FILE.read_text(), str(SCHEMA_FILE))
    return {
        "schema": ", ".join(f"`{column.source}` {column.wire.simpleString()}" for column in columns),
        "columns": _columns(),
        "ordering": table.ordering_field,
        "landing": str(landing / "*"),
        "options": dict(table.write_options)
        | {
            "hoodie.table.name": table.name,
            "hoodie.datasource.write.operation": "upsert",
            "hoodie.datasource.write.precombine.field": table.ordering_field,
            "hoodie.datasource.write.payload.class": "org.apache.hudi.common.model.DefaultHoodieRecordPayload",
            "hoodie.combine.before.upsert": "false",
        },
        "table": str(path),
    }


def _columns() -> list[str]:
    """Return the SQL of each column of the table."""
    columns = schema.parse(SCHEMA_FILE.read_text(), str(SCHEMA_FILE))
    return [*map(_stored, columns), f"{OPERATION} = '{DELETE}' AS {IS_DELETED}"]


def _stored(column: Column) -> str:
    convert = {Encoding.DAYS: "date_from_unix_date({})", Encoding.ISO_TIMESTAMP: "CAST({} AS timestamp)"}
    return f"{convert.get(column.encoding, '{}').format(column.name)} AS {column.name}"
