"""The benchmarks' job: its commits are counted, it fails with one line, and it always ends."""

import subprocess
import sys
import time
from contextlib import nullcontext
from pathlib import Path

import psutil
import pytest
from typer.testing import CliRunner

from bench import job as running_job
from bench import tables
from bench.job import RunningJob
from cli.__main__ import app
from local.errors import PlatformError
from local.setup import jars


def started(folder: Path, program: str) -> RunningJob:
    output = folder / "job.out"
    with output.open("wb") as out:
        process = subprocess.Popen([sys.executable, "-u", "-c", program], stdout=out, stderr=subprocess.STDOUT)
    return RunningJob(process, output)


def ended(job: RunningJob) -> None:
    running_job._end(job._process)
    assert job._process.poll() is not None


def test_only_lines_of_commits_count(tmp_path: Path) -> None:
    job = started(
        tmp_path,
        "sum(range(10**7)); print('commit=1 a=2'); print('no commit=2'); print('commit=3');"
        " print('commit=4 half', end='', flush=True); import time; time.sleep(60)",
    )
    job.wait_for_commits(2)
    assert job.reports() == [{"commit": "1", "a": "2"}, {"commit": "3"}]
    assert job.megabytes() > 1
    assert job.cpu_seconds() > 0
    ended(job)


def test_a_worker_that_ends_while_one_counts_uses_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    job, worker = started(tmp_path, "import time; time.sleep(60)"), subprocess.Popen([sys.executable, "-c", ""])
    gone, there = psutil.Process(worker.pid), psutil.Process(job._process.pid)
    worker.wait()
    monkeypatch.setattr(job, "_processes", lambda: [gone, there])
    assert job.megabytes() > 1
    assert job.cpu_seconds() >= 0
    ended(job)


def test_a_job_that_breaks_or_hangs_is_one_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    job = started(tmp_path, "print('Traceback:\\n  line 1\\nValueError: so much'); raise SystemExit(1)")
    with pytest.raises(PlatformError, match=r"^the job has ended before 1 commits: .*ValueError: so much$"):
        job.wait_for_commits(1)
    with pytest.raises(PlatformError, match=r"^the job has ended: "):
        job.megabytes()
    monkeypatch.setattr(running_job, "TIMEOUT_S", 0.3)
    job = started(tmp_path, "import time; time.sleep(60)")
    with pytest.raises(PlatformError, match=r"^no 1 commits within 0.3 s"):
        job.wait_for_commits(1)
    ended(job)


def test_a_job_that_ignores_the_signal_is_killed_with_its_children(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(running_job, "END_S", 0.5)
    program = (
        "import signal, subprocess, sys, time; signal.signal(signal.SIGTERM, signal.SIG_IGN);"
        " child = subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(60)']);"
        " print(child.pid); time.sleep(60)"
    )
    job = started(tmp_path, program)
    job.wait(lambda: (tmp_path / "job.out").read_text().endswith("\n"), "child")
    child = psutil.Process(int((tmp_path / "job.out").read_text()))
    began = time.monotonic()
    ended(job)
    assert time.monotonic() - began < 30
    assert not child.is_running() or child.status() == psutil.STATUS_ZOMBIE


@pytest.mark.parametrize(("slow", "status"), [(1, 0), (2, 1)])
def test_changes_that_wait_too_long_during_loads_fail_the_benchmark(
    monkeypatch: pytest.MonkeyPatch, slow: int, status: int
) -> None:
    waits = [1.0] * (21 - slow) + [5.1] * slow
    monkeypatch.setattr(tables, "crowd", lambda *_given: nullcontext((None, None)))
    monkeypatch.setattr(tables, "_at_once", lambda *_given: [2.0, 3.0, 4.0])
    monkeypatch.setattr(tables, "_loaded", lambda *_given, first, **_more: (40.0 if first else 30.0, 16, waits))
    monkeypatch.setattr(jars, "fetch", lambda _names: None)
    result = CliRunner().invoke(app, ["dev", "bench", "crowded", "--events", "1000"])
    assert result.exit_code == status
    rows = [[cell.strip() for cell in line.split("│")[1:-1]] for line in result.output.splitlines()]
    at_once, alone, during = (row[1:] for row in rows if row)
    assert at_once == ["3.00", "4.00", "4.00", ""]
    assert alone == ["", "", "", "30.0"]
    assert during == ["1.00", f"{waits[19]:.2f}", "5.10", "40.0"]
    assert f"p95 of changes during loads {waits[19]:.1f} s (limit 5): {('met', 'missed')[status]}" in result.output
