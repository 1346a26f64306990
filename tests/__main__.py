"""Runs the checks and reports what each took: `./lake dev test`, or some parts, such as `./lake dev test lint unit`.

`./lake dev test long` runs the tests marked `long`: they prove again, at length, what other tests prove once.

The checks, which need no downloads, run first. Then four parts run at a time, and each part's output is printed when it
ends. Results are counted from the JUnit file that each pytest run writes.
"""

import os
import subprocess
import sys
import time
import xml.etree.ElementTree as ElementTree
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
RESULTS = ROOT / "build" / "tests"
PROGRAMS = [
    "tests/spark_jobs/test_streamer.py",
    "tests/spark_jobs/test_multi_table_streamer.py",
    "tests/spark_jobs/sources/postgres/test_jobs.py",
]
# In a session of their own: one session for everything runs out of memory.
HISTORIES = [
    "tests/spark_jobs/sources/postgres",
    "tests/spark_jobs/test_histories.py",
    "tests/spark_jobs/test_redelivery.py",
]
LOCAL = ["tests/local"]
PLACES = ["tests/e2e/test_places.py"]
ANY_DATABASE = [
    f"tests/e2e/test_{name}.py"
    for name in ("altered_tables", "any_database", "failing_tables", "lost_tables", "odd_database")
]
# Folders with all tests of a marker: collecting the others to find them would take as long as several tests.
FOLDERS = {
    "synth": ["tests/local/setup", "tests/operate", "tests/stacks"],
    "e2e": ["tests/e2e"],
    "trino": ["tests/trino", "tests/spark_jobs/test_readers.py"],
    "yarn": ["tests/yarn"],
}
WITHOUT_MARKER = "not synth and not integration and not e2e and not trino and not yarn"


def _but(paths: list[str]) -> list[str]:
    return [f"--ignore={path}" for path in paths]


# The marker of a part's tests and their folders.
TESTED: dict[str, tuple[str, list[str]]] = {
    "orders": ("e2e", [*FOLDERS["e2e"], *_but([*PLACES, *ANY_DATABASE])]),
    "places": ("e2e", PLACES),
    "any_database": ("e2e", ANY_DATABASE),
    "spark": ("integration", ["tests/spark_jobs", *_but([*PROGRAMS, *HISTORIES])]),
    "histories": ("integration", [*HISTORIES, *_but(PROGRAMS)]),
    # Separate programs.
    "job": ("integration", PROGRAMS),
    "local": ("integration", LOCAL),
    "integration": ("integration", _but(["tests/spark_jobs", *LOCAL])),
    "synth": ("synth", FOLDERS["synth"]),
}


def _pytest(marked: str, *arguments: str) -> list[list[str]]:
    return [["pytest", "-q", "-m", marked, *arguments]]


# All tests of a platform: they are its chapters, and a long one starts from the state that earlier ones left.
LONG = {
    f"long_{part}": _pytest(marker if marker == "e2e" else f"{marker} and long", *arguments)
    for part, (marker, arguments) in TESTED.items()
}
PARTS: dict[str, list[list[str]]] = {
    "lint": [["ruff", "check", "."], ["ruff", "format", "--check", "."]],
    "types": [["mypy"]],
    "unit": _pytest(f"{WITHOUT_MARKER} and not long", "-n", "2"),
    **{part: _pytest(f"{marker} and not long", *arguments) for part, (marker, arguments) in TESTED.items()},
    **LONG,
    "trino": _pytest("trino", "-rP", *FOLDERS["trino"]),
    "yarn": _pytest("yarn", *FOLDERS["yarn"]),
}
CHECKS = ("lint", "types", "unit")
# Started in this order: after the checks the longest parts, which mostly wait for others, then the rest in the gaps.
# With two at a time, two cores are a fifth idle.
ORDER = [
    *CHECKS,
    "spark",
    "local",
    "histories",
    "integration",
    "orders",
    "job",
    "places",
    "any_database",
    "synth",
]
# Only by name: `./lake dev test trino` and `./lake dev test yarn` download what they need.
ASKED_FOR = ["trino", "yarn"]
AT_A_TIME = 4


@dataclass(kw_only=True)
class Result:
    """A part's result: exit status, seconds of wall clock and CPU, pytest's counts (0 without pytest)."""

    part: str
    ok: bool = True
    seconds: float = 0.0
    cpu_seconds: float = 0.0
    passed: int = 0
    failed: int = 0
    skipped: int = 0


def main(arguments: list[str], prepare: Callable[[], object] = lambda: None) -> int:
    """Run the named parts, or all that aren't long; return 0 if all succeeded. `prepare` is called after the checks."""
    if "long" in arguments:
        arguments = [*(argument for argument in arguments if argument != "long"), *LONG]
    if unknown := [part for part in arguments if part not in PARTS]:
        print(f"tests: no such part: {', '.join(unknown)}; there are {', '.join([*PARTS, 'long'])}", file=sys.stderr)
        return 2
    RESULTS.mkdir(parents=True, exist_ok=True)
    started = time.monotonic()
    chosen = [part for part in [*ORDER, *LONG, *ASKED_FOR] if part in arguments] if arguments else ORDER
    results = _run_all(part for part in chosen if part in CHECKS)
    if others := [part for part in chosen if part not in CHECKS]:
        waited = time.monotonic()
        prepare()
        started += time.monotonic() - waited
        results += _run_all(others)
    print("\npart          seconds  CPU s  passed  failed  skipped")
    for result in results:
        counts = f"{result.passed:7d} {result.failed:7d} {result.skipped:8d}" if result.passed or result.failed else ""
        seconds = f"{result.seconds:8.1f} {result.cpu_seconds:6.1f}"
        print(f"{result.part:12s} {seconds} {counts}{'' if result.ok else '  FAILED'}")
    print(f"all          {time.monotonic() - started:8.1f} {sum(result.cpu_seconds for result in results):6.1f}")
    failed = sum(max(result.failed, 0 if result.ok else 1) for result in results)
    print(f"{sum(result.passed for result in results)} passed, {failed} failed")
    return 1 if failed else 0


def _run_all(parts: Iterable[str]) -> list[Result]:
    with ThreadPoolExecutor(AT_A_TIME) as pool:
        return list(pool.map(_run, parts))


def _run(part: str) -> Result:
    started = time.monotonic()
    print(f"{part} …", flush=True)
    report = RESULTS / f"{part}.xml"
    report.unlink(missing_ok=True)
    result = Result(part=part)
    for command in PARTS[part]:
        report_to = [f"--junit-xml={report}"] if command[0] == "pytest" else []
        returncode, output, cpu_seconds = run_command([sys.executable, "-m", *command, *report_to])
        print(f"\n== {part}: {' '.join(command)}\n{output}", end="", flush=True)
        result.ok = returncode == 0 and result.ok
        result.cpu_seconds += cpu_seconds
    result.seconds = time.monotonic() - started
    return _counted(result, report)


def run_command(argv: list[str]) -> tuple[int, str, float]:
    """Return exit code, output, and the CPU seconds of the process and its children."""
    # The parts start hundreds of Pythons, each of which would compile all modules again.
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    counted = [sys.executable, "-m", "tests.counted", *argv]
    with subprocess.Popen(
        counted, cwd=ROOT, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    ) as process:
        assert process.stdout is not None
        output = process.stdout.read()
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    return process.returncode, output, usage.ru_utime + usage.ru_stime


def _counted(result: Result, report: Path) -> Result:
    """Add the counts of pytest's JUnit report, if the part has one."""
    if report.is_file():
        suite = next(ElementTree.parse(report).iter("testsuite"))
        tests, failures, errors, skipped = (
            int(suite.get(key, "0")) for key in ("tests", "failures", "errors", "skipped")
        )
        result.failed, result.skipped = failures + errors, skipped
        result.passed = tests - failures - errors - skipped
    return result


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
