"""The parts of `python -m tests` miss no test, and no CPU."""

import sys
from pathlib import Path

import pytest

from tests import __main__
from tests.__main__ import ASKED_FOR, CHECKS, FOLDERS, LONG, ORDER, PARTS, ROOT, Result, run_command

TESTS = Path(__file__).parent


@pytest.mark.parametrize("marker", FOLDERS)
def test_a_part_looks_into_all_folders_of_its_marker(marker: str) -> None:
    word = f"pytest.mark.{marker}"
    marked = [path for path in TESTS.rglob("*.py") if word in path.read_text(encoding="utf-8")]
    folders = [ROOT / folder for folder in FOLDERS[marker]]
    assert marked
    assert [path for path in marked if not any(path.is_relative_to(folder) for folder in folders)] == []


def test_checks_come_before_anything_is_downloaded(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    ran: list[str] = []

    def run(part: str) -> Result:
        ran.append(part)
        return Result(part=part)

    monkeypatch.setattr(__main__, "_run", run)
    monkeypatch.setattr(__main__, "RESULTS", tmp_path)
    assert __main__.main([], lambda: ran.append("download")) == 0
    checks, others = ran[: len(CHECKS)], ran[len(CHECKS) :]
    assert sorted(checks) == sorted(CHECKS)
    assert others[0] == "download"
    assert sorted(others[1:]) == sorted({*ORDER} - {*CHECKS})
    ran.clear()
    assert __main__.main(["unit"], lambda: ran.append("download")) == 0
    assert ran == ["unit"]


def test_ci_runs_the_command_of_the_readme() -> None:
    assert (ROOT / ".ci" / "run").read_text(encoding="utf-8").splitlines()[-1] == "exec make test"


def test_every_part_is_run_or_has_to_be_asked_for() -> None:
    assert sorted([*ORDER, *LONG, *ASKED_FOR]) == sorted(PARTS)


@pytest.mark.skipif(sys.platform != "linux", reason="orphans are handed over on Linux alone")
def test_what_an_orphan_took_counts_too() -> None:
    spin = "import time; [None for _ in iter(lambda: time.process_time() < 0.2, False)]"
    leave = f"import subprocess, sys; print(subprocess.Popen([sys.executable, '-c', {spin!r}], stdout=2).pid)"
    wait = (
        "import os, subprocess, sys, time;"
        f"left = subprocess.check_output([sys.executable, '-c', {leave!r}], text=True).strip();"
        "[time.sleep(0.1) for _ in iter(lambda: os.path.exists('/proc/' + left), False)]; sys.exit(3)"
    )
    exit_code, _, cpu_seconds = run_command([sys.executable, "-c", wait])
    assert exit_code == 3
    assert cpu_seconds > 0.2
