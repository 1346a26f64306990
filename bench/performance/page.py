"""Writes docs/performance.md from what the benchmarks recorded; what isn't recorded, the page says in its place."""

import re
import statistics
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from bench.results import Value, number, text
from settings.environment_pipeline import Job

TEMPLATES = Path(__file__).parent
# How busy the cores of a quiet machine may be with other things.
QUIET_PERCENT = 10
RATES = (10_000, 100_000)
# sync_interval_seconds' default.
ROUND_S = Job.model_fields["sync_interval_seconds"].default


COMMAND = "./lake dev bench"
_TINY = "--events 30 --changes 10 --commits 0 --counted 0 --rounds 1 --way job --way plain"


class Bench(NamedTuple):
    """The words after `./lake dev bench`; `short`: the words for a tiny size, or None if a short run leaves it out."""

    words: str
    short: str | None = None

    @property
    def command(self) -> str:
        return f"{COMMAND} {self.words}"


# What `./lake dev bench all` runs.
BENCHES = {
    "copy-on-write": Bench("job --case copy-on-write"),
    # Both in one: the other cases differ from it in what the job's own tests cover.
    "merge-on-read": Bench("job --case merge-on-read", f"job --case merge-on-read {_TINY}"),
    "30-columns": Bench("job --case 30-columns --commits 10"),
    "100-partitions": Bench("job --case 100-partitions --commits 10"),
    "first-load": Bench("first-load --rows 1000000 --runs 5"),
    "query": Bench("query --seeds 5 --rows 1000000"),
    "freshness": Bench("freshness"),
    "requests": Bench("requests"),
    "growth": Bench("requests --commits 500 --parts 5 --layout default"),
    "landed": Bench("requests --commits 20 --parts 1 --layout default --landed 100000"),
    "tables": Bench("tables"),
    "reconcile": Bench("reconcile"),
    "outbox": Bench("outbox --rounds 5", "outbox --transactions 20 --clients 2 --rounds 1"),
    "costs": Bench("costs", "costs"),
}
CASES = ("copy-on-write", "merge-on-read", "30-columns", "100-partitions")


def render(found: dict[str, Any]) -> str:
    """Return the page."""
    environment = Environment(
        loader=FileSystemLoader(TEMPLATES),
        autoescape=False,  # noqa: S701  (Markdown, from our own figures)
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    written = environment.get_template("page.md.j2").render(page=Page(found))
    return re.sub(r"\n{3,}", "\n\n", written).rstrip() + "\n"


class Page:
    """The page's tables and the figures in its sentences, from what is recorded."""

    def __init__(self, found: dict[str, Any]) -> None:
        self._benches: dict[str, Any] = found["benches"]
        self.machine = _machine(found["machine"])

    def table(self, bench: str, name: str, *columns: str) -> str:
        """Return a table, all columns or the named ones, or say why there is none. The last has the command."""
        recorded = self._recorded(bench, name)
        if recorded is None:
            return self._missing(bench)
        heads = recorded["heads"]
        kept = [heads.index(column) for column in columns] or [*range(len(heads))]
        rows = [[row[at] for at in kept] for row in recorded["rows"]]
        table, is_last = _markdown([heads[at] for at in kept], rows), [*self._benches[bench]["tables"]][-1] == name
        return f"{table}\n\n{self.origin(bench)}" if is_last else table

    def origin(self, *benches: str) -> str:
        """Say which commands repeat it, when they ran, and what they complained about."""
        lines = []
        for ran in (self._benches[bench] for bench in benches if bench in self._benches):
            ended = f"; ended with {ran['status']}: {ran['said']}" if ran["status"] and ran["tables"] else ""
            busy = f"; cores {ran['busy_percent']} % busy before" if (ran["busy_percent"] or 0) > QUIET_PERCENT else ""
            machine = _machine(ran["machine"])
            elsewhere = f"; on {machine}" if machine != self.machine else ""
            lines.append(f"`{ran['command']}`, {ran['date']}, {ran['commit']}{elsewhere}{busy}{ended}  ")
        return "\n".join(lines)

    def programs(self) -> str:
        """Return the comparison of all cases: a line for each program, and what is missing."""
        heads = ("table", "program", "events", "changes", "a commit", "s", "p95 s", "MB", "requests")
        rows = [row for case in CASES for row in self._programs(case)]
        missing = [self._missing(case) for case in CASES if self._recorded(case, case) is None]
        parts = [_markdown(heads, rows)] if rows else []
        return "\n\n".join([*parts, *missing, self.origin(*CASES)]).rstrip()

    def _programs(self, case: str) -> Iterable[list[Value]]:
        for program, steps in self._steps(case).items():
            if "failed" in steps:
                yield [case, program, steps["failed"][2], *[None] * 6]
                continue
            first, changes, commit, counted = (steps.get(kind, [None] * 8) for kind in _KINDS)
            megabytes = max((median(row[5]) for row in steps.values() if row[5] is not None), default=None)
            seconds = None if commit[3] is None else median(commit[3])
            yield [case, program, first[2], changes[2], commit[2], seconds, commit[4], megabytes, counted[6]]

    def _steps(self, case: str) -> dict[str, dict[str, list[Value]]]:
        """Return a case's rows (bench.against_others.HEADS) by program and kind of step."""
        found: dict[str, dict[str, list[Value]]] = {}
        for row in (self._recorded(case, case) or {"rows": ()})["rows"]:
            words = row[0].split()
            kind = "counted" if row[0].endswith(" on S3") else words[min(1, len(words) - 1)]
            found.setdefault(row[1], {})[kind] = row
        return found

    def lead(self) -> dict[str, float] | None:
        """Return the shares of CPU that settings save HoodieStreamer on the events, and that the job then adds."""
        programs = self._steps(CASES[0])
        names = ("job", "HoodieStreamer, our settings", "HoodieStreamer, its own")
        if not all("events" in programs.get(name, ()) for name in names):
            return None
        job, ours, own = (median(programs[name]["events"][2]) for name in names)
        return {"settings": 1 - ours / own, "code": job / ours - 1}

    def limits(self) -> list[list[Value]]:
        """Return, for each part that is measured, what one does a second, and how many a rate needs."""
        return [
            [what, round(capacity), *(round(rate / capacity, 1) for rate in RATES), setting]
            for what, capacity, setting in self._capacities()
        ]

    def _capacities(self) -> Iterable[tuple[str, float, str]]:
        if order := self._row("outbox", "outbox", "new order", "ours"):
            yield "database with the outbox", median(order[2]), "a larger instance, or no outbox"
        if loaded := self._row("first-load", "first-load", "connector"):
            yield "connector, broker, sink and job", median(loaded[5]), "`mcu_per_worker`, more pipelines"
        if seconds := self._a_row():
            yield "core of the job", 1 / seconds, "`executors`"

    def _a_row(self) -> float | None:
        """Return the s of CPU of an event more in a large batch of the job."""
        steps = self._steps(CASES[0]).get("job", {})
        if not steps.keys() >= {*_KINDS[:2]}:
            return None
        first, changes = (steps[kind] for kind in _KINDS[:2])
        many, few = (int(str(row[0]).split()[0].replace(",", "")) for row in (first, changes))
        dear, cheap = median(first[2]), median(changes[2])
        return (dear - cheap) / (many - few) if many > few and dear > cheap else None

    @property
    def is_of_one_machine(self) -> bool:
        """Tell whether the parts of `limits` were measured on one machine, so that they compare."""
        ran = [self._benches[name] for name in ("outbox", "first-load", CASES[0]) if name in self._benches]
        return len({_machine(each["machine"]) for each in ran}) == 1

    def small(self) -> dict[str, float] | None:
        """Return how many tables a core keeps that all change all the time, and how many idle ones fit into a GB."""
        commit = self._steps(CASES[0]).get("job", {}).get("commits")
        idle = self._row("tables", "tables", "each more")
        if not commit or not idle:
            return None
        return {"busy": ROUND_S / median(commit[2]), "idle": 1024 / median(idle[1])}

    def _row(self, bench: str, name: str, *begins: str) -> list[Value] | None:
        rows = (self._recorded(bench, name) or {"rows": ()})["rows"]
        return next((row for row in rows if tuple(row[: len(begins)]) == begins), None)

    def _recorded(self, bench: str, name: str) -> dict[str, Any] | None:
        tables: dict[str, Any] = self._benches.get(bench, {}).get("tables", {})
        return tables.get(name)

    def _missing(self, bench: str) -> str:
        if ran := self._benches.get(bench):
            return f"No figures: `{ran['command']}` ended with {ran['status']} on {ran['date']}: {ran['said']}"
        return f"Not measured: `{BENCHES[bench].command}`."


def _machine(of: dict[str, Any]) -> str:
    return f"{of['cpu']}, {of['cores']} cores, {of['memory_gb']} GB, Linux {of['kernel']}"


_KINDS = ("events", "changes", "commits", "counted")


def median(value: Value) -> float:
    """Return a cell's number."""
    if isinstance(value, int | float):
        return float(value)
    if not isinstance(value, Sequence) or isinstance(value, str):
        raise TypeError(f"no number: {value!r}")
    return statistics.median(value)


def cell(value: Value) -> str:
    """Write a cell; ± is half of the distance from the least to the most."""
    if value is None or isinstance(value, str | int | float) or len(value) == 1:
        return text(value)
    middle = statistics.median(value)
    return f"{number(middle, middle)}±{number((max(value) - min(value)) / 2, middle)}"


def _markdown(heads: Sequence[str], rows: Iterable[Sequence[Value]]) -> str:
    """Write a table, without blanks around its cells."""
    lines = [heads, ["---"] * len(heads), *([cell(value).replace("|", "\\|") for value in row] for row in rows)]
    return "\n".join(f"|{'|'.join(line)}|" for line in lines)
