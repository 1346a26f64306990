"""Measures the streaming job against HoodieStreamer and a plain script: `./lake dev bench job` (bench/README.md).

Each runs in turn, in a JVM of its own on the same cores: first on events of a table, then on changes of its rows. On
another table the job and HoodieStreamer commit one small object after another, and once on an S3 that counts requests.
All tables must be alike.
"""

import itertools
import json
import statistics
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from enum import StrEnum
from functools import cached_property, partial
from pathlib import Path
from typing import Annotated, NamedTuple

import typer

from bench import cases, hoodie_streamer, results
from bench.cases import CASES, Case
from bench.job import CountedS3, Request, children_cpu_s, counted_s3, lay, spark_session, started
from local.errors import PlatformError
from local.services.spark import JOB, spark_submit

OBJECT_EVENTS = 10_000
# Before the small commits that are measured: events of the table, and commits, since a JVM is slow at first.
FIRST, WARM = 1000, 10
HEADS = ("step", "program", "CPU s", "s", "s, p95", "MB at most", "requests", "CPU, job / it")


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
    """A run's seconds from start to end, or those of each commit; CPU of a run or commit; MB; S3 requests a commit."""

    cpu: float
    wall: Sequence[float]
    megabytes: float
    requests: float | None = None


Costs = dict[tuple[str, Way], list[Cost]]


def main(
    *,
    case: Annotated[list[str], typer.Option(help="A table.")] = [*CASES],  # noqa: B006
    events: Annotated[int, typer.Option(min=0, help="Events of the first run, a fifth updates; 0: the case's.")] = 0,
    changes: Annotated[int, typer.Option(min=0, help="Changes of the second, a tenth deletes; 0: the case's.")] = 0,
    commits: Annotated[int, typer.Option(min=0, help="Small commits, one after another.")] = 50,
    size: Annotated[int, typer.Option(min=1, help="Changes of each of them.")] = 20,
    counted: Annotated[int, typer.Option(min=0, help="Commits on S3, whose requests are counted.")] = 10,
    rounds: Annotated[int, typer.Option(min=1, help="Runs of each.")] = 5,
    way: Annotated[list[Way], typer.Option(help="What runs; HoodieStreamer is a download of 273 MB.")] = [*Way],  # noqa: B006
) -> None:
    """Print CPU and wall seconds, memory and requests of each, and the job's share; exit 1 if the tables differ."""
    results.check_names("--case", case, CASES)
    alike = True
    with tempfile.TemporaryDirectory(prefix="bench-job-") as name:
        ways = [one for one in Way if one in way]
        home = Path(name) / "spark"
        if {Way.STREAMER, Way.OWN} & {*ways}:
            hoodie_streamer.install(home)
        for title in case:
            given = CASES[title]
            given = replace(given, events=events or given.events, changes=changes or given.changes)
            trial = Trial(Path(name) / title, home, given, ways)
            for number in range(rounds):
                alike &= trial.round(number, commits, size, counted)
                results.show(title, f"{title}, {number + 1} rounds", HEADS, shown(trial.costs, trial.failed))
    raise typer.Exit(0 if alike else 1)


def shown(costs: Mapping[tuple[str, Way], Sequence[Cost]], failed: Mapping[Way, str]) -> Iterator[list[results.Value]]:
    """Yield a row for each step and program, with all rounds; of small commits also the 95th percentile."""
    for (step, way), runs in costs.items():
        jobs = [run.cpu for run in costs.get((step, Way.JOB), ())]
        cpu, seconds = [run.cpu for run in runs], [one for run in runs for one in run.wall]
        late = results.p95(seconds) if len(seconds) > len(cpu) else None
        megabytes = max(run.megabytes for run in runs)
        requests = [run.requests for run in runs if run.requests is not None]
        ratio = statistics.median(jobs) / statistics.median(cpu) if jobs else None
        yield [step, TITLES[way], cpu, seconds, late, round(megabytes), requests or None, ratio]
    for way, message in failed.items():
        yield ["failed", TITLES[way], message, *[None] * (len(HEADS) - 3)]


@dataclass
class Trial:
    """A case's runs by all ways, and what they cost; a way other than the job that fails is left out from then on."""

    folder: Path
    home: Path
    case: Case
    ways: list[Way]
    costs: Costs = field(default_factory=lambda: defaultdict(list))
    failed: dict[Way, str] = field(default_factory=dict)

    @cached_property
    def _landed(self) -> dict[str, Path]:
        case, landing = self.case, self.folder / "landing"
        return {
            f"{case.events:,} events": land(landing / "0", case.first(case.events)),
            f"{case.changes:,} changes on top": land(landing / "1", case.later(case.changes, case.events)),
        }

    def round(self, number: int, commits: int, size: int, counted: int) -> bool:
        """Run a round; tell whether all tables were alike. Raises PlatformError if the job fails."""
        # Each is the first in some round.
        ways = [one for one in self.ways if one not in self.failed]
        turns = [*ways[number % max(len(ways), 1) :], *ways[: number % max(len(ways), 1)]]
        with self._place("runs") as place:
            for (step, folder), way in itertools.product(self._landed.items(), turns):
                self._note(step, way, partial(place.run, way, folder))
            alike = self._are_alike(place, turns)
        # The script can't go on.
        turns = [one for one in turns if one != Way.PLAIN]
        if commits:
            with self._place("commits") as place:
                alike &= self._commit(place, turns, commits, size)
        if counted and not number:
            with self._place("s3") as place, counted_s3(place.folder) as s3:
                alike &= self._commit(replace(place, s3=s3), turns, counted, size)
        return alike

    @contextmanager
    def _place(self, name: str) -> "Iterator[Place]":
        """Have a folder until the block ends: the tables of all rounds together may be larger than the disk."""
        with tempfile.TemporaryDirectory(prefix=f"{name}-", dir=_new(self.folder)) as folder:
            yield Place(Path(folder), self.home, self.case)

    def _commit(self, place: "Place", turns: Sequence[Way], commits: int, size: int) -> bool:
        changes = cases.parts(self.case.later(size * (WARM + commits), FIRST), size)
        objects = [list(self.case.first(FIRST)), *changes]
        for way in turns:
            step = f"{commits} commits of {size}{' on S3' if place.s3 else ''}"
            self._note(step, way, partial(place.commit, way, objects))
        return self._are_alike(place, turns)

    def _are_alike(self, place: "Place", turns: Sequence[Way]) -> bool:
        left = [one for one in turns if one not in self.failed]
        return not left or place.are_alike(left)

    def _note(self, step: str, way: Way, run: Callable[[], Cost]) -> None:
        if way in self.failed:
            return
        try:
            cost = run()
        except PlatformError as error:
            if way == Way.JOB:
                raise
            self.failed[way] = f"{step}: {error}"
            print(f"left out: {TITLES[way]}: {self.failed[way]}", flush=True)
        else:
            self.costs[step, way].append(cost)


def land(folder: Path, lines: Iterator[str]) -> Path:
    """Land many events; return their folder."""
    for number, part in enumerate(cases.parts(lines, OBJECT_EVENTS)):
        _land(folder, part, OBJECT_EVENTS * number)
    return folder


@dataclass(frozen=True)
class Place:
    """A folder with a table of each way, or the S3 that has them; `home` is HoodieStreamer's Spark."""

    folder: Path
    home: Path
    case: Case
    s3: CountedS3 | None = None

    def run(self, way: Way, landing: Path) -> Cost:
        """Run one on what is landed. Raises PlatformError if it fails."""
        argv, environment = self._command(way, str(landing))
        before, began = children_cpu_s(), time.monotonic()
        with started(argv, environment, folder=self.folder / f"{way}-work") as running:
            megabytes = running.run_to_its_end(TITLES[way])
        return Cost(children_cpu_s() - before, [time.monotonic() - began], megabytes)

    def commit(self, way: Way, objects: Sequence[Sequence[str]]) -> Cost:
        """Land each object after the last one's commit. Raises PlatformError if one isn't committed."""
        landing, timeline = self._files("landing", way), self._files("lake", way) / ".hoodie"
        (landing / "0").mkdir(parents=True)
        argv, environment = self._command(way, self._uri("landing", way), continuous=True)
        seconds, end, newest, peaks = list[float](), 0, "", list[float]()
        with started(argv, environment, folder=self.folder / f"{way}-work") as running:
            for number, lines in enumerate(objects):
                if number == 1 + WARM:
                    cpu, _ = running.cpu_seconds(), self._taken()
                if self.s3:  # S3's times are whole seconds: HoodieStreamer never reads another object of its last one.
                    time.sleep(1.05 - time.time() % 1)  # the kernel's time of a file is up to 10 ms late
                _land(landing, lines, end, on_s3=self.s3 is not None)
                end, began = end + len(lines), time.monotonic()
                look = partial(self._is_newer, timeline, newest)
                running.wait(look, f"commit {number + 1}", look_s=0.005)
                seconds.append(time.monotonic() - began)
                peaks.append(running.megabytes())
                newest = self._newest(timeline)
            cpu, counted = running.cpu_seconds() - cpu, self._taken()
        measured = seconds[1 + WARM :]
        requests = len(counted) / len(measured) if self.s3 else None
        return Cost(cpu / len(measured), measured, max(peaks), requests)

    def are_alike(self, ways: Sequence[Way]) -> bool:
        """Compare all tables with the first one, row by row, and print what was found."""
        with spark_session(self.folder / "spark") as spark:
            frames = [spark.read.format("hudi").load(str(self._files("lake", way))) for way in ways]
            columns = [name for frame in frames[:1] for name in frame.columns if not name.startswith("_hoodie_")]
            rows = [frame.select(columns) for frame in frames]
            counts = [frame.count() for frame in rows]
            differing = [rows[0].exceptAll(frame).count() for frame in rows]
        found = zip(ways, counts, differing, strict=True)
        told = "; ".join(f"{TITLES[way]} {count:,}, {other:,} differ" for way, count, other in found)
        print(f"rows: {told}", flush=True)
        return len({*counts}) <= 1 and all(counts) and not any(differing)

    def _files(self, bucket: str, way: Way) -> Path:
        """Return where a bucket's files of one way are: S3Proxy keeps each object as the file with its content."""
        return (self.s3.objects if self.s3 else self.folder) / bucket / way

    def _uri(self, bucket: str, way: Way) -> str:
        return f"s3a://{bucket}/{way}" if self.s3 else str(self._files(bucket, way))

    def _taken(self) -> list[Request]:
        """Return the requests for the table since the last call, without the looks into the landing zone."""
        found = self.s3.taken() if self.s3 else []
        return [one for one in found if one.target.startswith("/lake")]

    def _newest(self, timeline: Path) -> str:
        return max((path.name for path in timeline.glob(f"*{self.case.completed}")), default="")

    def _is_newer(self, timeline: Path, last: str) -> bool:
        return self._newest(timeline) > last

    def _command(self, way: Way, landing: str, *, continuous: bool = False) -> tuple[list[str], dict[str, str]]:
        work, case = _new(self.folder / f"{way}-work"), self.case
        schema_file = work / "source.avsc"
        schema_file.write_text(case.schema)
        given = cases.arguments(case, landing, self._uri("lake", way), schema_file)
        mode = ["--continuous"] if continuous else []
        endpoint = self.s3.endpoint if self.s3 else None
        if way in (Way.STREAMER, Way.OWN):
            target, own = work / "target.avsc", way == Way.OWN
            target.write_text(hoodie_streamer.target_schema(case.schema))
            options, columns = cases.table_of(given).write_options, cases.columns_of(case)
            theirs = hoodie_streamer.arguments(given, options, columns, target, own=own)
            return hoodie_streamer.command([*theirs, *mode], self.home, work, own=own, s3_endpoint=endpoint)
        program, told = JOB, [*given, *mode]
        if way == Way.PLAIN:
            program, file = cases.PLAIN, work / "plain.json"
            file.write_text(json.dumps(cases.plain(case, cases.table_of(given), landing)))
            told = [str(file)]
        return spark_submit(told, work_folder=work, log_file=work / "spark.log", program=program, s3_endpoint=endpoint)


def _new(folder: Path) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def _land(landing: Path, lines: Sequence[str], first: int, *, on_s3: bool = False) -> None:
    """Write an object, whose name has the last event's number."""
    text = "".join(f"{line}\n" for line in lines)
    lay(landing / "0" / f"{first + len(lines) - 1:012d}_1_2.json", text, on_s3=on_s3)
