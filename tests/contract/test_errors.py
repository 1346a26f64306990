import contextlib
import subprocess
import sys
from pathlib import Path

import pytest

from contract.errors import CANNOT, INTERRUPTED, UserError, naming, one_line_errors


def test_a_users_error_is_one_line_and_status_3(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended, one_line_errors("up"):
        raise UserError("no disk: free some")
    assert (ended.value.code, *capsys.readouterr()) == (CANNOT, "", "up: no disk: free some\n")


def test_a_librarys_error_is_shown_where_it_is_named(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit), one_line_errors("up", LookupError):
        raise LookupError
    assert capsys.readouterr().err == "up: LookupError\n"
    with pytest.raises(LookupError), one_line_errors("up"):
        raise LookupError


def test_what_the_system_refuses_is_shown(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit), one_line_errors("up"):
        open("/nowhere/at/all")  # noqa: PTH123, SIM115
    assert capsys.readouterr().err == "up: [Errno 2] No such file or directory: '/nowhere/at/all'\n"


def test_a_full_disk_is_named_with_the_file(capsys: pytest.CaptureFixture[str]) -> None:
    path = Path("/dev/full")
    for around, line in (
        (naming(path), "the disk at /dev is full, so /dev/full can't be written: make room, then try again"),
        (contextlib.nullcontext(), "a disk is full, `df` shows which: make room, then try again"),
    ):
        with pytest.raises(SystemExit), one_line_errors("up"), around:
            path.write_text("x")
        assert capsys.readouterr().err == f"up: {line}\n"


def test_ctrl_c_is_130(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended, one_line_errors("up", interrupted="nothing was done"):
        raise KeyboardInterrupt
    assert (ended.value.code, capsys.readouterr().err) == (INTERRUPTED, "up: nothing was done\n")


def test_a_reader_that_has_enough_is_no_error() -> None:
    script = (
        "from contract.errors import one_line_errors\n"
        "with one_line_errors('tail'):\n"
        "    while True: print('x' * 1000)\n"
    )
    program = subprocess.Popen(
        [sys.executable, "-c", script], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert program.stdout is not None
    assert program.stderr is not None
    program.stdout.readline()
    program.stdout.close()
    assert (program.wait(), program.stderr.read()) == (0, "")
    program.stderr.close()
