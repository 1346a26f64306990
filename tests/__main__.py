"""Runs the checks and says what each took: `python -m tests [lint] [types] [unit] [synth] [integration] [spark] [e2e]`.

Two parts run at a time, as there are two cores: two threads take the parts in their order, long ones first. Each one's
output is printed when it ends. Results are counted from the JUnit file that each pytest run writes.
"""

import subprocess
import sys
import time
import xml.etree.ElementTree as ElementTree
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
RESULTS = ROOT / "build" / "tests"
PARTS: dict[str, list[list[str]]] = {
    "lint": [["ruff", "check", "."], ["ruff", "format", "--check", "."]],
    "types": [["mypy"]],
    "unit": [["pytest", "-q", "-m", "not synth and not integration and not e2e"]],
    "synth": [["pytest", "-q", "-m", "synth"]],
    "integration": [["pytest", "-q", "-m", "integration", "--ignore=tests/spark_jobs"]],
    "spark": [["pytest", "-q", "-m", "integration", "tests/spark_jobs"]],
    "e2e": [["pytest", "-q", "-m", "e2e"]],
}
# In this order; the parts of one group side by side.
GROUPS = [["lint"], ["types"], ["unit"], ["integration", "spark"], ["e2e"]]


@dataclass(kw_only=True)
class Result:
    """What one part did: exit status 0 or not, seconds, and pytest's counts (0 for lint and types)."""

    part: str
    ok: bool
    seconds: float
    passed: int = 0
    failed: int = 0
    skipped: int = 0


def main(arguments: list[str]) -> int:
    """Run the parts that were named, or all; return 0 when every one succeeded."""
    if unknown := [part for part in arguments if part not in PARTS]:
        print(f"tests: no such part: {', '.join(unknown)}; there are {', '.join(PARTS)}", file=sys.stderr)
        return 2
    RESULTS.mkdir(parents=True, exist_ok=True)
    started = time.monotonic()
    results: list[Result] = []
    for group in GROUPS:
        parts = [part for part in group if part in arguments or not arguments]
        with ThreadPoolExecutor(max_workers=len(group)) as pool:
            results += pool.map(_run, parts)
    print("\npart          seconds  passed  failed  skipped")
    for result in results:
        counts = f"{result.passed:7d} {result.failed:7d} {result.skipped:8d}" if result.passed or result.failed else ""
        print(f"{result.part:12s} {result.seconds:8.1f} {counts}{'' if result.ok else '  FAILED'}")
    print(f"all          {time.monotonic() - started:8.1f}")
    failed = sum(max(result.failed, 0 if result.ok else 1) for result in results)
    print(f"{sum(result.passed for result in results)} passed, {failed} failed")
    return 1 if failed else 0


def _run(part: str) -> Result:
    started = time.monotonic()
    print(f"{part} …", flush=True)
    report = RESULTS / f"{part}.xml"
    report.unlink(missing_ok=True)
    ok = True
    for command in PARTS[part]:
        extra = [f"--junit-xml={report}"] if command[0] == "pytest" else []
        done = subprocess.run(
            [sys.executable, "-m", *command, *extra],
            cwd=ROOT,
            check=False,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        print(f"\n== {part}: {' '.join(command)}\n{done.stdout}", end="", flush=True)
        ok = done.returncode == 0 and ok
    return _counted(Result(part=part, ok=ok, seconds=time.monotonic() - started), report)


def _counted(result: Result, report: Path) -> Result:
    """Add the counts of pytest's JUnit report, where the part has one."""
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
