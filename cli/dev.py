"""`./lake dev`: tests, benchmarks, generated files and locks."""

import os
import subprocess
import sys
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from random import SystemRandom
from typing import Annotated

import typer

from cli import prepare
from cli.shared import Commands

app = Commands("Develop this project.")
# The files with random tests, whose names begin so.
RANDOM = "test_any_"
RANDOM_TESTS = (
    "tests/stacks/handlers/test_life_cycles.py",
    "tests/spark_jobs/test_histories.py",
    "tests/spark_jobs/test_redelivery.py",
    "tests/spark_jobs/test_kills.py",
    "tests/spark_jobs/sources/postgres/test_histories.py",
)

JARS, WHEELS = (prepare.jars,), (prepare.wheels,)
ALL = (prepare.jars, prepare.wheels, prepare.browser)
Program = tuple[str, str, str, tuple[Callable[[], None], ...]]
# Group → its help, and its programs: a name, what it does, its module, and what has to be there first.
PROGRAMS: dict[str, tuple[str, tuple[Program, ...]]] = {
    "bench": (
        "Measure something.",
        (
            ("all", "Everything, and docs/performance.md from it.", "bench.performance.command", JARS),
            ("outbox", "The outbox against no, audit and row triggers, with pgbench.", "bench.outbox.command", JARS),
            ("job", "The job's CPU against HoodieStreamer's and a plain script's.", "bench.against_others", JARS),
            ("freshness", "How old changes are when the lake shows them.", "bench.freshness", JARS),
            ("requests", "What a small commit takes: requests to S3, time, CPU.", "bench.s3_requests", JARS),
            ("query", "What polls by a timestamp lose; how long full scans take.", "bench.query", JARS),
            ("reconcile", "Seconds and memory of a large comparison.", "bench.reconcile", JARS),
            ("tables", "What many tables in one application cost.", "bench.tables", JARS),
            ("first-load", "A first load both ways, from `up` to an equal comparison.", "bench.first_load", JARS),
            ("crowded", "How long a change waits while other tables load.", "bench.tables:crowded", JARS),
            ("costs", "USD a month by changes a second, here and elsewhere.", "bench.performance.costs", WHEELS),
            ("synth", "Synthesis against importing CDK and an empty app.", "bench.synth", WHEELS),
        ),
    ),
    "generate": (
        "Write a file that is made from another.",
        (
            ("schema", "The Avro schema of the outbox's events.", "local.tools.schema", JARS),
            ("worker-classes", "Our classes on Connect's workers, compiled.", "local.tools.worker_classes", JARS),
            ("types", "docs/reference/types.md.", "capture.type_page", ()),
            ("pictures", "The documents' pictures, from a platform and a review.", "tests.browser.pictures", ALL),
            ("certificates", "RDS's roots, from npm's package.", "local.tools.certificates", (prepare.node_modules,)),
            ("events", "tests/events/: what Debezium sends of the outbox.", "tests.events.recorders.events", JARS),
            ("typed-events", "tests/events/every_type.jsonl.", "tests.events.recorders.types", JARS),
        ),
    ),
    "lock": (
        "Resolve what we depend on, and write hashes.",
        (
            ("python", "requirements*.txt, as `make lock` does.", "cli.prepare:lock_python", ()),
            ("jars", "local/setup/jars.lock.", "local.setup.jars:lock", ()),
            ("plugins", "plugins/releases/versions.toml: the releases' sizes and hashes.", "plugins.releases.lock", ()),
        ),
    ),
}


@app.command("test")
def run_tests(
    parts: Annotated[
        list[str] | None,
        typer.Argument(
            help="Parts of the suite; also long, faults, fuzz, trino, yarn and kubernetes, which it leaves out."
        ),
    ] = None,
    *,
    runs: Annotated[int, typer.Option(min=1, help="fuzz: histories of each case.")] = 10,
    seed: Annotated[int, typer.Option(help="fuzz, faults: repeats them.", show_default="random")] = 0,
    only: Annotated[str, typer.Option(help="fuzz: tests named so; faults: a pattern for `pipeline: name`.")] = "",
    folder: Annotated[
        Path | None, typer.Option(help="faults: the platforms' folder; a disk of less than 8 GiB is filled, too.")
    ] = None,
) -> None:
    """Run all tests, or some parts, and print what each took.

    Examples: ./lake dev test; ./lake dev test lint unit; ./lake dev test fuzz --runs 20 --only delivery
    """
    alone = {
        "fuzz": lambda: _fuzz(runs, seed, only),
        "faults": lambda: int(import_module("tests.e2e.fault_runs").main(seed, only, folder)),
        # Its API server is built the first time, which needs Go.
        "kubernetes": lambda: int(import_module("tests.kubernetes.command").main()),
    }
    names = parts or []
    if "long" in names:
        names.append("faults")
    if "trino" in names:
        prepare.jars("trino")
        import_module("tests.trino.install").install()
    if "yarn" in names:
        prepare.jars("yarn")
    rest = [name for name in names if name not in alone]
    status = import_module("tests.__main__").main(rest, _prepare_all) if rest or not names else 0
    for name in (name for name in names if name in alone):
        status = alone[name]() or status
    raise typer.Exit(status)


def _prepare_all() -> None:
    for prepare_some in ALL:
        prepare_some()


def _fuzz(runs: int, seed: int, only: str) -> int:
    """Random histories of the job, of queried tables and of custom resources, and kills of the job, against models."""
    prepare.jars()
    seed = seed or SystemRandom().randrange(1, 1_000_000)
    print(f"seed {seed}", flush=True)
    named = f"{RANDOM} and ({only})" if only else RANDOM
    command = [sys.executable, "-m", "pytest", "-q", "--timeout=0", "-k", named, *RANDOM_TESTS]
    variables = os.environ | {"FUZZ_RUNS": str(runs), "FUZZ_SEED": str(seed)}
    return subprocess.run(command, cwd=prepare.ROOT, env=variables, check=False).returncode


def _add(group: Commands, program: Program) -> None:
    name, summary, place, needs = program

    @group.command(name, help=summary, context_settings={"ignore_unknown_options": True, "help_option_names": []})
    def run(context: typer.Context, arguments: Annotated[list[str] | None, typer.Argument()] = None) -> None:
        module, _, function = place.partition(":")
        # The module declares its own options, so import it only when it runs.
        it = Commands(summary, add_completion=False)
        it.command(name, help=summary)(getattr(import_module(module), function or "main"))
        if "--help" not in (arguments or ()):
            for need in needs:
                need()
        it(args=arguments or [], prog_name=context.command_path)


for title, (help_, programs) in PROGRAMS.items():
    of_them = Commands(help_)
    for one in programs:
        _add(of_them, one)
    app.add_typer(of_them, name=title)
