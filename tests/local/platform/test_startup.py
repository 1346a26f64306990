"""Steps of a start, a platform's files and lock; messages for one that is down."""

import contextlib
import json
import os
import shlex
import shutil
import signal
import stat
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import pytest
from typer.testing import CliRunner

from cli.__main__ import app
from contract.errors import CANNOT
from contract.states import Word
from local.comparison import reconcile as command
from local.errors import CancelledError, LockedError, PlatformError
from local.files import create_password
from local.look.lake import LakeError
from local.platform.command import endpoint_lines, find_platform, left_behind
from local.platform.platform import Platform
from local.platform.record import PORTS, Lock, PlatformOptions, Record, RecordFile, password_files, passwords
from local.platform.startup import SUPERVISOR, Startup, Step, StepState, silent, uninterrupted
from local.problem import Problem
from local.services.processes import Command, Processes
from local.services.source_database import OutsideDatabase
from local.state import services as services_module
from local.state.collect import Collector, PipelineState
from local.state.services import SETS_PASSWORD
from local.state.word import State
from tests.waiting import PATIENCE_S


def test_up_ends_with_a_command_for_psql_and_a_repair_that_hasnt_ended(folder: Path) -> None:
    (folder / "state.json").unlink()
    platform = Platform(folder.rename(folder.with_name("my lake")), PlatformOptions(pipeline="pagila"))
    platform.record.write(platform.options, RECORD["ports"], frozenset())
    said = list(endpoint_lines(platform))
    _, password, psql, *login = shlex.split(said[0])
    assert password == f"PGPASSFILE={platform.record.password_file}"
    assert Path(psql).is_file()
    assert " ".join(login) == "-h 127.0.0.1 -p 20000 -U postgres pagila"
    platform.unfinished.begin(["Sales.Orders 2.0"])
    [line] = [line for line in endpoint_lines(platform) if line not in said]
    assert line.endswith("run `./lake resnapshot -p pagila -t 'Sales.Orders 2.0'`")


def test_a_step_runs_after_those_that_it_needs_and_alongside_the_others() -> None:
    log, together = list[Step](), threading.Barrier(2, timeout=PATIENCE_S)
    with Startup(threading.Event(), log.append).finished() as startup:
        first = startup.run("first", lambda: f"{together.wait() is not None}")
        startup.run("alongside", lambda: f"{together.wait() is not None}")

        def note() -> str:
            startup.noted("after")("7 of 9")
            return "done"

        startup.run("after", note, after=[first])
    order = [(step.name, step.state) for step in log]
    assert order.index(("first", StepState.DONE)) < order.index(("after", StepState.STARTED))
    assert [step.note for step in log if step.name == "after"] == ["", "7 of 9", "done"]


@pytest.mark.parametrize("alone", [False, True])
def test_the_first_failure_is_raised_and_the_rest_gives_up_unless_the_step_fails_alone(*, alone: bool) -> None:
    cancelled, log, ended = threading.Event(), list[Step](), threading.Event()

    def fail() -> None:
        raise PlatformError("kafka has ended")

    def load() -> None:
        assert alone or ended.wait(PATIENCE_S)
        if ended.is_set():
            raise PlatformError("the connection broke")

    def start() -> None:
        with Startup(cancelled, log.append, ended.set).finished() as startup:
            startup.run("load", load)
            broken = startup.run("kafka", fail, alone=alone)

            def wait() -> str:
                if broken.exception() and not alone and cancelled.wait(PATIENCE_S):
                    raise CancelledError("given up")
                return "runs"

            startup.run("connect", wait)
            startup.run("source", lambda: pytest.fail("must not start"), after=[broken])

    with pytest.raises(PlatformError, match="kafka has ended"):
        start()
    assert cancelled.is_set() is not alone
    said = [(step.name, step.state, step.note) for step in log if step.state is not StepState.STARTED]
    done = [("load", StepState.DONE, ""), ("connect", StepState.DONE, "runs")] if alone else []
    assert sorted(said) == sorted([("kafka", StepState.FAILED, ""), *done])
    assert "source" not in {step.name for step in log}


def test_an_interrupt_ends_the_waiting_steps() -> None:
    cancelled = threading.Event()
    started = time.monotonic()

    def interrupt() -> None:
        os.kill(os.getpid(), signal.SIGINT)
        cancelled.wait(PATIENCE_S)

    with pytest.raises(KeyboardInterrupt), Startup(cancelled, silent).finished() as startup:
        startup.run("postgres", interrupt)
    assert cancelled.is_set()
    assert time.monotonic() - started < PATIENCE_S


def test_tidying_up_is_not_interrupted() -> None:
    before = signal.getsignal(signal.SIGINT)
    with uninterrupted():
        os.kill(os.getpid(), signal.SIGINT)
        os.kill(os.getpid(), signal.SIGTERM)
        time.sleep(0.05)
    assert signal.getsignal(signal.SIGINT) is before


def created(path: Path) -> str:
    create_password(path)
    return path.read_text().strip()


def test_passwords_are_made_once_and_reading_makes_none(tmp_path: Path) -> None:
    folder = tmp_path / "secrets"
    assert (passwords(folder).superuser, passwords(folder).connector) == ("", "")
    assert not folder.exists()
    folder.mkdir(mode=0o700)
    (folder / "superuser").touch()
    (folder / "connector").touch(mode=0o600)
    (folder / "connector").write_bytes(b"\xff" * 99)
    assert passwords(folder).connector == ""
    files = password_files(folder)
    with ThreadPoolExecutor(8) as pool:
        seen = set(pool.map(created, [path for path in files for _ in range(8)]))
    made = passwords(folder)
    assert sorted(seen) == sorted([made.superuser, made.connector, *made.kafka.passwords.values()])
    assert {len(word) for word in seen} == {32}
    assert stat.S_IMODE((folder / "kafka").stat().st_mode) == 0o700
    assert {stat.S_IMODE(path.stat().st_mode) for path in files[1:]} == {0o600}
    for path in files:
        create_password(path)
    assert passwords(folder) == made


def test_a_lost_password_is_one_line_and_looking_writes_nothing(tmp_path: Path) -> None:
    outside = OutsideDatabase(host="127.0.0.1", port=1, dbname="shop", sslmode="prefer")
    theirs = Platform(tmp_path / "theirs", PlatformOptions(pipeline="pagilaquery", outside=outside))
    assert theirs.lost_passwords() == []
    platform = Platform(tmp_path, PlatformOptions())
    platform.record.write(platform.options, RECORD["ports"], frozenset({"job"}))
    before = sorted(tmp_path.rglob("*"))
    with pytest.raises(PlatformError, match=r"the password in .*/superuser is lost: `\./lake up` sets a new one"):
        _ = platform.source
    with pytest.raises(PlatformError, match="is lost"):
        platform.revive("sink")
    found = [str(problem) for problem in Collector(platform).look().problems]
    assert f"password connector is lost: nothing is in {tmp_path}/secrets/connector; {SETS_PASSWORD}" in found
    assert sorted(tmp_path.rglob("*")) == before


def test_another_command_is_refused_until_the_lock_is_free(tmp_path: Path) -> None:
    first, second = Lock(tmp_path / "lock"), Lock(tmp_path / "lock")
    refused = rf"another command \(pid {os.getpid()}\) is at work on {tmp_path}"
    with first.held(), first.held(), pytest.raises(LockedError, match=refused), second.held():  # reentrant
        pass
    with second.held():
        pass


RECORD: dict[str, Any] = {"ports": {name: 20_000 + number for number, name in enumerate(PORTS)}, "services": []}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """The folder of a platform that was up and is down."""
    for path in password_files(tmp_path / "secrets"):
        create_password(path)
    (tmp_path / "secrets" / "pgpass").write_text("127.0.0.1:20000:*:postgres:x\n")
    (tmp_path / "state.json").write_text(json.dumps(RECORD))
    return tmp_path


@pytest.fixture
def running(monkeypatch: pytest.MonkeyPatch) -> set[str]:
    """The services that run, as far as Platform can see; a test adds some."""
    names: set[str] = set()
    monkeypatch.setattr(Platform, "running", lambda _self: set(names))
    monkeypatch.setattr(Platform, "pid", lambda _self, name: 1 if name in names else None)
    monkeypatch.setattr(services_module, "unusable_services", lambda _platform, _names: (set(), {}))
    return names


@pytest.fixture
def table(monkeypatch: pytest.MonkeyPatch) -> Mock:
    """The lake's table, without a commit."""
    table = Mock(base_uri="s3://lake/cdc_events", **{"exists.return_value": False})
    monkeypatch.setattr(Platform, "lake", table)
    return table


def reconcile(folder: Path) -> tuple[int, str, str]:
    result = CliRunner().invoke(app, ["reconcile", "--folder", str(folder)])
    return result.exit_code, result.stdout, result.stderr


def expect(folder: Path, *services: str) -> None:
    """Record that these services were started."""
    (folder / "state.json").write_text(json.dumps({**RECORD, "services": list(services)}))


UP = "`./lake up --folder {folder}`"
DOWN = f"the platform in {{folder}} is down: {UP} starts it"


@pytest.mark.parametrize(
    ("runs", "hangs", "line"),
    [
        (set(), set(), DOWN),
        ({SUPERVISOR}, set(), DOWN),
        ({"kafka", "postgres", SUPERVISOR}, set(), f"s3 must run for that: {UP} starts what is dead (see {{log}})"),
        ({"postgres", "s3"}, {"s3"}, "s3 doesn't respond (stopped or hung): see {log}"),
        ({"postgres", "s3"}, set(), f"postgres refuses the login: no: {SETS_PASSWORD.replace('`./lake up`', UP)}"),
    ],
)
def test_reconcile_names_in_one_line_what_it_misses(
    folder: Path, running: set[str], monkeypatch: pytest.MonkeyPatch, runs: set[str], hangs: set[str], line: str
) -> None:
    running |= runs
    refuses = {"postgres": "no"} if "refuses" in line else {}
    monkeypatch.setattr(services_module, "unusable_services", lambda _platform, names: (names & hangs, refuses))
    said = line.format(folder=folder, log=folder / "logs" / "s3.log")
    assert reconcile(folder) == (CANNOT, "", f"reconcile: {said}\n")


def test_without_job_and_commit_reconcile_says_so_at_once(folder: Path, running: set[str], table: Mock) -> None:
    running |= {"postgres", "s3"}
    status, _, shown = reconcile(folder)
    up = UP.format(folder=folder)
    line = f"reconcile: s3://lake/cdc_events has no commit, and the job doesn't run: {up} starts it\n"
    assert (status, shown) == (CANNOT, line)
    table.exists.assert_called_once()


@pytest.mark.usefixtures("table")
def test_a_job_that_the_supervisor_brings_back_is_waited_for(
    folder: Path, running: set[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    expect(folder, "postgres", "s3", "job", SUPERVISOR)
    running |= {"postgres", "s3", SUPERVISOR}

    def compare(*_: Any, **__: Any) -> bool:
        raise LakeError("asked")

    monkeypatch.setattr(command, "reconcile_platform", compare)
    assert reconcile(folder) == (CANNOT, "", "reconcile: asked\n")


def test_a_difference_comes_with_what_may_explain_it(
    folder: Path, running: set[str], table: Mock, monkeypatch: pytest.MonkeyPatch
) -> None:
    expect(folder, "postgres", "s3", "sink")
    running |= {"postgres", "s3"}
    table.exists.return_value = True
    monkeypatch.setattr(command, "reconcile_platform", lambda *_, **__: False)
    wrong = Problem(part="sink", what="is dead")
    said = PipelineState(state=State(word=Word.FAILING, reason=""), problems=(wrong,))
    monkeypatch.setattr(Collector, "look", lambda _self: said)
    status, shown, _ = reconcile(folder)
    assert status == 1
    assert shown.splitlines()[-2:] == ["sink is dead", "job wasn't started; `./lake up` starts it"]


@pytest.mark.parametrize(
    "content",
    [
        *("", "{", "[]", "\0\0", "[" * 100_000, '{"ports": {}}', '{"ports": 1, "services": []}'),
        *('{"ports": {"a": "b"}, "services": []}', '{"ports": {"kafka": 99999999}, "services": []}'),
    ],
)
def test_a_corrupt_record_is_named_with_what_to_do(folder: Path, content: str) -> None:
    (folder / "state.json").write_text(content)
    assert RecordFile(folder).read() == Record(ports={}, services=frozenset(), unreadable=True)
    for question in (lambda platform: Collector(platform).look(), lambda platform: platform.services):
        with pytest.raises(PlatformError) as said:
            question(Platform(folder))
        assert str(said.value) == (
            f"{folder / 'state.json'} is corrupt, so the platform's ports are unknown: `./lake up` rewrites it and"
            " starts everything at new ports; the data stays"
        )


def test_a_platform_that_was_stopped_with_a_corrupt_record_is_still_one(folder: Path) -> None:
    (folder / "state.json").write_text("{")
    Platform(folder).down()
    with pytest.raises(PlatformError, match=r"no ports are recorded for .*: `\./lake up` gives it new ones"):
        Collector(Platform(folder)).look()


@pytest.mark.parametrize(
    ("record", "left"),
    [
        (None, None),
        ("{", None),
        ('{"ports": {}, "services": []}', None),
        ('{"ports": {}, "services": ["kafka"], "pipeline": "mine"}', "mine"),
    ],
)
def test_down_leaves_a_folder_to_the_pipeline_whose_it_is(
    tmp_path: Path, running: set[str], record: str | None, left: str | None
) -> None:
    path = tmp_path / "state.json"
    if record is not None:
        path.write_text(record)
    running |= {"kafka"}
    find_platform(tmp_path, "mine").down()
    assert path.exists() is (record is not None)
    assert RecordFile(tmp_path).read() == Record(ports={}, services=frozenset(), pipeline=left)
    other = pytest.raises(PlatformError, match="is pipeline mine's, not other's") if left else contextlib.nullcontext()
    with other:
        find_platform(tmp_path, "other")


def test_a_wrong_release_stops_nothing_and_another_one_the_worker(
    folder: Path, running: set[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    running |= {"connect", "kafka", "moto", "s3", "postgres"}
    stopped: list[str] = []
    monkeypatch.setattr(Platform, "_stop", lambda _self, names, _progress: stopped.extend(names))
    with pytest.raises(PlatformError, match=r"LENSES_PLUGIN=.*typo\.zip is neither a folder"):
        Platform(folder, PlatformOptions(lenses=folder / "typo.zip")).up()
    assert stopped == []
    for name in ("first", "second"):
        (folder / name).mkdir()
        (folder / name / f"kafka-connect-aws-s3-{name}.jar").touch()
    shutil.copytree(folder / "first", folder / "connect" / "plugins" / "lenses")
    for name, those in (("first", []), ("second", ["connect"])):
        Platform(folder, PlatformOptions(lenses=folder / name))._settle()
        assert stopped == those


@pytest.mark.parametrize(("catalog", "stopped"), [(None, ["job"]), (3.0, ["job"]), (1.0, [])])
def test_a_job_that_is_older_than_the_catalog_starts_again(
    folder: Path, monkeypatch: pytest.MonkeyPatch, catalog: float | None, stopped: list[str]
) -> None:
    began = (("job", 2.0), ("moto", catalog))
    processes = {name: Mock(**{"create_time.return_value": at}) for name, at in began if at}
    monkeypatch.setattr(Platform, "running", lambda _self: set(processes))
    monkeypatch.setattr(Processes, "main", lambda _self, name: processes.get(name))
    found = list[str]()
    monkeypatch.setattr(Platform, "_stop", lambda _self, names, _progress: found.extend(names))
    assert (Platform(folder, PlatformOptions())._settle(), found) == (processes.keys() - stopped, stopped)


@pytest.mark.parametrize("broken", ["Platform._stop_outdated", "run_steps"])
def test_what_runs_after_an_interrupted_up_is_supervised_again(
    folder: Path, running: set[str], monkeypatch: pytest.MonkeyPatch, broken: str
) -> None:
    options = PlatformOptions(pipeline="pagilaquery", supervised=True)
    (folder / "state.json").unlink()
    running |= {"s3", SUPERVISOR}

    def start(processes: Processes, name: str, _command: Any) -> None:
        assert not processes.cancelled.is_set()
        running.add(name)

    monkeypatch.setattr(Processes, "start", start)
    monkeypatch.setattr(Platform, "_stop", lambda _self, names, _progress: running.difference_update(names))
    monkeypatch.setattr(Platform, "_choose_ports", lambda _self, _before: RECORD["ports"])
    monkeypatch.setattr(f"local.platform.platform.{broken}", Mock(side_effect=KeyboardInterrupt))
    for left in ({"s3", SUPERVISOR}, set()):
        with pytest.raises(KeyboardInterrupt):
            Platform(folder, options).up()
        assert running == left
        running.clear()


def test_a_folder_without_a_platform_is_said_to_have_none(tmp_path: Path) -> None:
    folder = tmp_path / "nothing"
    for asked, status, said in (
        ("status", CANNOT, f"status: there is no platform in {folder}: {UP.format(folder=folder)} starts one\n"),
        ("down", 0, f"nothing runs in {folder}\n"),
    ):
        done = CliRunner().invoke(app, [asked, "--folder", str(folder)])
        assert (done.exit_code, done.output) == (status, said)
    assert not folder.exists()


def test_down_stops_what_runs_in_a_folder_that_was_deleted(folder: Path) -> None:
    platform = Platform(folder)
    platform.processes.start("moto", Command(argv=["sleep", "60"], folder=Path("/")))
    shutil.rmtree(folder)
    assert CliRunner().invoke(app, ["down", "--folder", str(folder)]).exit_code == 0
    assert platform.processes.find() == {}


def test_down_of_a_pipeline_whose_file_is_gone_says_what_is_stopped_and_what_may_be_left(folder: Path) -> None:
    outside = {"host": "db.example", "port": 5432, "dbname": "shop", "sslmode": "require"}
    (folder / "state.json").write_text(json.dumps({**RECORD, "pipeline": "gone", "outside": outside}))
    said = left_behind(Platform(folder))
    assert said.startswith("everything is stopped; ")
    assert "pipelines/gone.toml: no such pipeline" in said
    assert "pg_drop_replication_slot" in said
    assert len(said.splitlines()) == 1
    done = CliRunner().invoke(app, ["down", "--folder", str(folder)])
    assert (done.exit_code, "pg_drop_replication_slot" in done.output) == (0, True)
