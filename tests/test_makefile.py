"""`make` without the Python packages, or with a partial installation: the real recipe with empty locks."""

import os
import shutil
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tests.test_docs import ROOT, TARGETS

READY = ".venv/.ready"
# The Python that is beneath this environment.
PYTHON = Path(sys.executable).resolve()


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """A folder with the Makefile, and locks that name no package."""
    shutil.copy(ROOT / "Makefile", tmp_path)
    for lock in ("requirements-build.txt", "requirements.txt", "requirements-dev.txt"):
        (tmp_path / lock).touch()
    return tmp_path


def make_environment(
    checkout: Path, *, python: Path = PYTHON, **environment: str
) -> "subprocess.CompletedProcess[str]":
    # Of `make test`, which may have started this.
    inherited = {name: value for name, value in os.environ.items() if not name.startswith("MAKE")}
    return subprocess.run(
        ["make", READY, f"PYTHON={python}"],
        cwd=checkout,
        env={**inherited, "PIP_NO_INDEX": "1", **environment},
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )


# Notes its calls, and makes an environment with a copy of itself.
FAKE_PYTHON = """#!/bin/sh
echo "$*" >> calls
case "$*" in *" venv "*) rm -rf .venv && mkdir -p .venv/bin && cp "$0" .venv/bin/python ;; esac
"""


def test_only_an_incomplete_environment_is_made_again(checkout: Path) -> None:
    (checkout / "python").write_text(FAKE_PYTHON)
    (checkout / "python").chmod(0o755)
    (checkout / ".venv" / "left").mkdir(parents=True)  # the state after Ctrl-C
    later = time.time() + 10
    for made_again in (True, False):
        done = make_environment(checkout, python=checkout / "python")
        assert (done.returncode, (checkout / READY).is_file()) == (0, True), done.stderr
        assert "Installing the locked Python packages" in done.stdout
        calls = (checkout / "calls").read_text().splitlines()
        assert ("-m venv --clear .venv" in calls) is made_again
        assert len([call for call in calls if call.startswith("-m pip install")]) == 2
        (checkout / "calls").unlink()
        os.utime(checkout / "requirements.txt", (later, later))
    assert not (checkout / ".venv" / "left").exists()


@pytest.mark.skipif(shutil.which("flock") is None, reason="flock is missing")
def test_of_two_calls_at_once_one_makes_the_environment(checkout: Path) -> None:
    (checkout / "python").write_text(FAKE_PYTHON + "sleep 0.2\n")
    (checkout / "python").chmod(0o755)
    with ThreadPoolExecutor(2) as pool:
        both = list(pool.map(lambda _: make_environment(checkout, python=checkout / "python"), range(2)))
    assert [done.returncode for done in both] == [0, 0]
    assert (checkout / "calls").read_text().splitlines().count("-m venv --clear .venv") == 1


def test_a_python_without_its_venv_package_is_one_line_each_time(checkout: Path) -> None:
    shadow = checkout / "shadow"
    shadow.mkdir()
    (shadow / "ensurepip.py").write_text("raise ModuleNotFoundError\n")  # Debian's without python3.11-venv
    for _ in range(2):
        done = make_environment(checkout, PYTHONPATH=str(shadow))
        reason, _, end = done.stderr.partition("\n")
        assert "can't make an environment: install its venv package" in reason
        assert end.startswith("make: *** ")
        assert len(end.splitlines()) == 1
        assert done.returncode


def test_help_prints_all_targets() -> None:
    shown = subprocess.run(["make", "help"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    assert {line.split()[1] for line in shown.splitlines() if line.startswith("  make ")} == TARGETS


def test_a_shells_variables_steer_no_target(checkout: Path) -> None:
    (checkout / READY).parent.mkdir()
    (checkout / READY).touch()
    plain, odd = (
        subprocess.run(
            ["make", "-n", "check", "format", "demo-query"],
            cwd=checkout, env={**os.environ, **shell}, capture_output=True, text=True, check=True,
        ).stdout
        for shell in ({}, dict.fromkeys(("ENV", "FROM", "TABLE", "VENV", "BIN", "COMPILE"), "odd"))
    )  # fmt: skip
    assert plain == odd
