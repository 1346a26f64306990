"""The parts of `python -m tests` miss no test, and no CPU."""

import sys
from pathlib import Path

import pytest

from tests.__main__ import ASKED_FOR, FOLDERS, LONG, ORDER, PARTS, ROOT, run_command

TESTS = Path(__file__).parent


@pytest.mark.parametrize("marker", FOLDERS)
def test_a_part_looks_into_all_folders_of_its_marker(marker: str) -> None:
    word = f"pytest.mark.{marker}"
    marked = [path for path in TESTS.rglob("*.py") if word in path.read_text(encoding="utf-8")]
    folders = [ROOT / folder for folder in FOLDERS[marker]]
    assert marked
    assert [path for path in marked if not any(path.is_relative_to(folder) for folder in folders)] == []


def test_ci_checks_before_it_brings_jars_and_ends_with_all_tests() -> None:
    script = (ROOT / ".ci" / "run").read_text(encoding="utf-8")
    assert [line for line in script.splitlines() if " make " in f" {line} " and line[0] != "#"] == [
        "make check",
        "exec make test",
    ]


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
