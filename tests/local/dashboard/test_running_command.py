"""Finds the command that works on a platform, from the lock's file and the processes."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from local.dashboard.files import running_command

# A process with such a command's arguments: prints a line once it has them, and runs until its input ends.
PROGRAM = "import sys; print(flush=True); sys.stdin.read()"


@pytest.mark.parametrize(
    ("arguments", "command"),
    [
        (("-m", "cli", "up", "--folder", "x"), "up"),
        (("-m", "cli", "down"), "down"),
        (("-m", "cli", "status"), None),
        (("-m", "cli"), None),
        (("up",), None),
    ],
)
def test_the_command_is_that_of_the_process_that_took_the_lock(
    tmp_path: Path, arguments: tuple[str, ...], command: str | None
) -> None:
    lock = tmp_path / "lock"
    argv = [sys.executable, "-c", PROGRAM, *arguments]
    with subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdout
        process.stdout.readline()
        lock.write_text(f"{process.pid}\n")
        assert running_command(lock) == command
    assert running_command(lock) is None


def test_no_lock_and_a_lock_of_nobodys_are_none(tmp_path: Path) -> None:
    assert running_command(tmp_path / "lock") is None
    (tmp_path / "lock").write_text("")
    assert running_command(tmp_path / "lock") is None
    (tmp_path / "lock").write_text(f"{os.getpid()}\n")
    assert running_command(tmp_path / "lock") is None
