import contextlib
from pathlib import Path

import pytest

from contract.errors import CANNOT, INTERRUPTED, UserError, naming, one_line_errors


@pytest.mark.parametrize(
    ("error", "status", "line"),
    [
        (UserError("no table \x1b[2J: free some"), CANNOT, "no table \\x1b[2J: free some"),
        (UserError(), CANNOT, "UserError"),
        (FileNotFoundError(2, "No such file", "/nowhere"), CANNOT, "[Errno 2] No such file: '/nowhere'"),
        (KeyboardInterrupt(), INTERRUPTED, "nothing was done"),
    ],
)
def test_an_error_is_one_line_and_a_status(
    capsys: pytest.CaptureFixture[str], error: BaseException, status: int, line: str
) -> None:
    with pytest.raises(SystemExit) as ended, one_line_errors("up", interrupted="nothing was done"):
        raise error
    assert (ended.value.code, *capsys.readouterr()) == (status, "", f"up: {line}\n")


def test_a_full_disk_is_named_with_the_file(capsys: pytest.CaptureFixture[str]) -> None:
    path = Path("/dev/full")
    for around, line in (
        (naming(path), "the disk at /dev is full, so /dev/full can't be written: make room, then try again"),
        (contextlib.nullcontext(), "a disk is full, `df` shows which: make room, then try again"),
    ):
        with pytest.raises(SystemExit), one_line_errors("up"), around:
            path.write_text("x")
        assert capsys.readouterr().err == f"up: {line}\n"
