import os
import signal
import time

import psycopg2
import pytest

from cli import shared
from contract.errors import CANNOT, INTERRUPTED
from local.errors import PlatformError


@pytest.mark.parametrize(
    "error",
    [
        PlatformError("kafka isn't ready"),
        OSError("kafka isn't ready"),
        psycopg2.OperationalError("kafka isn't ready\n"),
    ],
)
def test_what_a_user_can_cause_is_one_line_and_exit_3(error: Exception, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended, shared.one_line_errors("up"):
        raise error
    assert ended.value.code == CANNOT
    assert capsys.readouterr().err == "up: kafka isn't ready\n"


def test_a_mistake_of_ours_keeps_its_traceback() -> None:
    with pytest.raises(ZeroDivisionError), shared.one_line_errors("up"):
        _ = 1 // 0


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_every_signal_that_ends_a_command_unwinds_it(number: int, capsys: pytest.CaptureFixture[str]) -> None:
    before = signal.getsignal(number)
    unwound = []

    def run() -> None:
        with shared.one_line_errors("up"):
            try:
                os.kill(os.getpid(), number)
                time.sleep(5)
            finally:
                unwound.append(number)

    with pytest.raises(SystemExit) as ended:
        run()
    assert (ended.value.code, unwound) == (INTERRUPTED, [number])
    assert capsys.readouterr().err == "up: interrupted\n"
    assert signal.getsignal(number) is before
