"""Runs all benchmarks, each in a process of its own, and writes what they found: `./lake dev bench all`.

Figures go into performance.json, and docs/performance.md is made from it. Both are written after each benchmark, so an
interrupted run keeps what it has.
"""

import datetime as dt
import json
import os
import platform
import re
import subprocess
import sys
import tempfile
import time
from functools import cache
from pathlib import Path
from typing import Annotated, Any

import psutil
import typer

from bench.performance.page import BENCHES, Bench, render
from bench.results import RECORD, check_names
from contract.errors import NO
from spark_jobs.runtime.archive import ROOT

DOCS, SHORT = ROOT / "docs", ROOT / "build" / "bench"
NAME = "performance"
# How long to see whether others keep the cores busy.
LOOK_S = 2.0


def main(
    *,
    only: Annotated[list[str] | None, typer.Option(help="Repeat these; the others keep their figures.")] = None,
    short: Annotated[bool, typer.Option("--short", help="Tiny sizes, to try the command.")] = False,
    folder: Annotated[
        Path | None, typer.Option(help="Both files' folder.", show_default="docs, or build/bench")
    ] = None,
) -> None:
    """Run all benchmarks (hours), or some, and write their page; exit 1 if one fails or misses its goal."""
    check_names("--only", only or (), BENCHES)
    folder = folder or (SHORT if short else DOCS)
    folder.mkdir(parents=True, exist_ok=True)
    found: dict[str, Any] = {"machine": machine(), "benches": {}}
    if only and (file := folder / f"{NAME}.json").is_file():
        # Each says on which machine it ran.
        found |= json.loads(file.read_text(encoding="utf-8"))
    status = 0
    for name, bench in BENCHES.items():
        words = bench.short if short else bench.words
        if words is None or (only and name not in only):
            continue
        found["benches"][name] = run(words)
        status = status or found["benches"][name]["status"]
        write(found, folder)
    raise typer.Exit(NO if status else 0)


def machine() -> dict[str, Any]:
    """Return what figures depend on: the processor, its cores, memory in GB, the kernel without its build's name."""
    lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    model = next((line.partition(":")[2].strip() for line in lines if line.startswith("model name")), "unknown")
    kernel = platform.release().partition("-")[0]
    gigabytes = round(psutil.virtual_memory().total / 2**30)
    return {"cpu": model, "cores": os.cpu_count(), "memory_gb": gigabytes, "kernel": kernel}


def run(words: str) -> dict[str, Any]:
    """Run a benchmark, show its output, and return its tables with all that one needs to judge them."""
    bench, said, busy = Bench(words), "", psutil.cpu_percent(interval=LOOK_S)
    print(f"\n$ {bench.command}", flush=True)
    began = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="bench-all-") as name:
        record = Path(name) / "tables.jsonl"
        variables = os.environ | {RECORD: str(record), "PYTHONUNBUFFERED": "1"}
        command = [sys.executable, "-m", "cli", "dev", "bench", *words.split()]
        how: dict[str, Any] = {"cwd": ROOT, "env": variables, "stdout": subprocess.PIPE, "stderr": subprocess.STDOUT}
        with subprocess.Popen(command, text=True, **how) as process:
            for line in process.stdout or ():
                print(line, end="", flush=True)
                said = line.strip() or said
        lines = record.read_text(encoding="utf-8").splitlines() if record.exists() else []
    tables = [json.loads(line) for line in lines]
    return {
        "command": bench.command,
        "date": dt.datetime.now(dt.UTC).date().isoformat(),
        "commit": _commit(),
        "machine": machine(),
        "seconds": round(time.monotonic() - began),
        "busy_percent": round(busy),
        "status": process.returncode,
        "said": said if process.returncode else "",
        "tables": {table.pop("name"): table for table in tables},
    }


@cache
def _commit() -> str:
    """Return the commit, with a + if the checkout has changes; both files are written afterwards."""
    asked = ["git", "describe", "--always", "--exclude", "*", "--dirty=+"]
    done = subprocess.run(asked, cwd=ROOT, capture_output=True, text=True, check=False)
    return done.stdout.strip() or "unknown"


def write(found: dict[str, Any], folder: Path) -> None:
    """Write both files; the page is as its figures say."""
    lines = json.dumps(found, indent=1, ensure_ascii=False)
    # A table's row is a line.
    rows = re.sub(r"\n {6}\]", "]", re.sub(r"\n {7,}", " ", lines))
    (folder / f"{NAME}.json").write_text(f"{rows}\n", encoding="utf-8")
    (folder / f"{NAME}.md").write_text(render(found), encoding="utf-8")
