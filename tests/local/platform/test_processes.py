import os
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import psutil
import pytest

from local.errors import CancelledError, PlatformError
from local.services import processes as module
from local.services.processes import Command, Processes, StopRules
from tests.waiting import PATIENCE_S, gone

SLEEP = "import time; print('ready', flush=True); time.sleep(60)"
STUBBORN = "import signal; signal.signal(signal.SIGTERM, signal.SIG_IGN); " + SLEEP
# A parent with a child, both of the service.
FAMILY = f"import subprocess, sys; subprocess.Popen([sys.executable, '-c', {SLEEP!r}]); {SLEEP}"


@pytest.fixture
def processes(tmp_path: Path) -> Iterator[Processes]:
    result = Processes(tmp_path, tmp_path / "logs")
    yield result
    for name in result.find():
        result.stop(name, grace_s=0)


def start(processes: Processes, program: str, name: str = "kafka", lines: int = 1) -> psutil.Process:
    """Start a Python program and wait until it has written this many lines."""
    processes.start(name, Command(argv=[sys.executable, "-c", program], folder=processes.folder))
    processes.wait_until(
        name, lambda: processes.log_file(name).read_text().count("ready") >= lines, timeout_s=PATIENCE_S
    )
    main = processes.main(name)
    assert main is not None
    return main


def test_another_object_finds_the_process_and_stops_it(processes: Processes) -> None:
    started = start(processes, SLEEP)
    later = Processes(processes.folder, processes.logs)
    assert not later.is_known_to_run("kafka")
    assert later.main("kafka") == started
    assert later.is_known_to_run("kafka")
    later.stop("kafka", grace_s=5)
    assert gone(started)
    assert not later.is_known_to_run("kafka")
    assert later.main("kafka") is None
    later.stop("kafka", grace_s=5)  # nothing to do


def test_another_object_finds_where_the_log_of_this_run_begins(processes: Processes) -> None:
    start(processes, SLEEP)
    assert processes.log_start("kafka") == 0
    processes.stop("kafka", grace_s=0)
    assert processes.log_start("kafka") is None
    start(processes, SLEEP, lines=2)
    assert Processes(processes.folder, processes.logs).log_start("kafka") == len("ready\n")


def test_a_service_is_found_as_soon_as_it_is_started(processes: Processes, monkeypatch: pytest.MonkeyPatch) -> None:
    real, asked = psutil.Process.environ, Counter[int]()

    # The kernel shows a new program's environment a moment late: of 1,500 queried at once, 189 had none yet.
    def late(process: psutil.Process) -> dict[str, str]:
        asked[process.pid] += 1
        return real(process) if asked[process.pid] > 3 else {}

    monkeypatch.setattr(psutil.Process, "environ", late)
    processes.start("kafka", Command(argv=["sleep", "60"], folder=processes.folder))
    assert Processes(processes.folder, processes.logs).main("kafka") == processes.main("kafka")


def test_neither_another_folders_stop_nor_ctrl_c_reaches_the_service(processes: Processes, tmp_path: Path) -> None:
    started = start(processes, SLEEP)
    other = Processes(tmp_path / "other", tmp_path / "logs")
    other.stop("kafka", grace_s=0)
    assert other.find() == {}
    assert started.is_running()
    assert os.getsid(started.pid) == started.pid != os.getsid(0)


@pytest.mark.parametrize(("program", "lines", "grace_s"), [(STUBBORN, 1, 0.2), (FAMILY, 2, 5)])
def test_what_ignores_sigterm_is_killed_and_descendants_are_stopped(
    processes: Processes, program: str, lines: int, grace_s: float
) -> None:
    started = start(processes, program, lines=lines)
    family = [started, *started.children()]
    processes.stop("kafka", grace_s=grace_s)
    assert all(map(gone, family))
    assert len(family) == lines


def test_a_dead_services_leftovers_do_not_count_as_the_service(processes: Processes) -> None:
    started = start(processes, FAMILY, lines=2)
    (child,) = started.children()
    started.kill()
    while processes.main("kafka") is not None:
        time.sleep(0.01)
    assert child.is_running()
    start(processes, SLEEP, lines=3)
    assert gone(child)


def test_a_service_that_runs_is_not_started_again(processes: Processes) -> None:
    sleeper: Any = Mock(ready=lambda: "ready" in processes.log_file("kafka").read_text())
    sleeper.name = "kafka"
    sleeper.prepare.return_value = Command(argv=[sys.executable, "-c", SLEEP], folder=processes.folder)
    for _ in range(2):
        processes.run(sleeper)
    sleeper.prepare.assert_called_once()


# Its child leads its own session, as PostgreSQL's do.
OF_ITS_OWN = (
    f"import subprocess, sys; subprocess.Popen([sys.executable, '-c', {SLEEP!r}], start_new_session=True); {SLEEP}"
)


@pytest.mark.parametrize("last", [signal.SIGINT, signal.SIGQUIT])
def test_a_service_with_its_own_ways_is_found_by_its_pid_and_stopped_by_its_signals(
    tmp_path: Path, last: signal.Signals
) -> None:
    # Its starter left no marks in its environment.
    program = OF_ITS_OWN if last is signal.SIGINT else STUBBORN.replace("SIGTERM", "SIGINT").replace(SLEEP, OF_ITS_OWN)
    main = subprocess.Popen([sys.executable, "-c", program], start_new_session=True, stderr=subprocess.DEVNULL)
    pid, signals = (lambda: main.pid if main.poll() is None else None), (signal.SIGINT, signal.SIGQUIT)
    processes = Processes(tmp_path, tmp_path / "logs", {"postgres": StopRules(pid=pid, stop_signals=signals)})
    while len(found := processes.find()["postgres"]) < 2:
        time.sleep(0.01)
    leader, child = found
    assert processes.main("postgres") == leader == psutil.Process(main.pid)
    # Long enough for a signal to end it on a busy machine: otherwise it would be killed.
    processes.stop("postgres", grace_s=1 if last is signal.SIGQUIT else 10)
    assert main.wait() == -last
    assert gone(child)
    assert processes.find() == {}


def test_an_early_death_shows_the_end_of_the_log(processes: Processes) -> None:
    processes.logs.mkdir()
    processes.log_file("kafka").write_text("an earlier run's words\n")
    program = "raise SystemExit('first\\nno data folder\\n\\tat java.lang.Thread.run(Thread.java)')"
    processes.start("kafka", Command(argv=[sys.executable, "-c", program], folder=processes.folder))
    with pytest.raises(PlatformError) as error:
        processes.wait_until("kafka", lambda: False, timeout_s=PATIENCE_S)
    line, *log = str(error.value).splitlines()
    assert line == f"kafka has ended; the end of {processes.log_file('kafka')}:"
    assert log == ["    first", "    no data folder"]


def test_what_never_gets_ready_and_a_cancelled_start_are_given_up(processes: Processes) -> None:
    start(processes, SLEEP)
    with pytest.raises(PlatformError, match=r"kafka isn't ready after 0 s: see .*kafka\.log"):
        processes.wait_until("kafka", lambda: False, timeout_s=0.1)
    processes.cancelled.set()
    with pytest.raises(CancelledError):
        processes.wait_until("kafka", lambda: False, timeout_s=PATIENCE_S)
    with pytest.raises(CancelledError):
        processes.start("moto", Command(argv=["true"], folder=processes.folder))


def test_a_program_that_is_not_there_is_one_line(processes: Processes) -> None:
    with pytest.raises(PlatformError, match=r"kafka can't be started: .*no-such-java"):
        processes.start("kafka", Command(argv=["/no-such-java"], folder=processes.folder))


def test_the_callers_environment_stays_out(processes: Processes, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "theirs")
    monkeypatch.setenv("JAVA_TOOL_OPTIONS", "-Xmx1t")
    monkeypatch.setenv("LANG", "C")
    monkeypatch.setenv("LC_ALL", "C")
    started = start(processes, SLEEP)
    assert {"AWS_SECRET_ACCESS_KEY", "JAVA_TOOL_OPTIONS", "LANG"}.isdisjoint(started.environ())
    assert started.environ()["LC_ALL"] == "C.UTF-8"


def test_a_log_that_has_grown_large_is_rotated(processes: Processes, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "ROTATE_BYTES", 10)
    processes.logs.mkdir()
    processes.log_file("kafka").write_text("an earlier run's words\n")
    start(processes, SLEEP)
    assert processes.log_file("kafka").read_text() == "ready\n"
    assert (processes.logs / "kafka.log.1").read_text() == "an earlier run's words\n"


def test_a_process_outlives_its_starters_kill(tmp_path: Path) -> None:
    program = (
        "import os, signal, sys; from pathlib import Path; from local.services.processes import *\n"
        "p = Processes(Path(sys.argv[1]), Path(sys.argv[1]) / 'logs')\n"
        "p.start('kafka', Command(argv=['sleep', '60'], folder=p.folder)); os.kill(os.getpid(), signal.SIGKILL)"
    )
    killed = subprocess.run([sys.executable, "-c", program, str(tmp_path)], check=False)
    assert killed.returncode == -signal.SIGKILL
    later = Processes(tmp_path, tmp_path / "logs")
    assert later.main("kafka") is not None
    later.stop("kafka", grace_s=5)
    assert later.find() == {}
