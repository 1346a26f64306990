"""Commands' messages for a platform that is down, partly running, or without a record; nothing is started."""

import json
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from cli.__main__ import app
from contract.errors import CANNOT
from local.comparison import reconcile as command
from local.errors import PlatformError
from local.look import status as status_module
from local.look.lake import LakeError
from local.look.status import DataStatus, Status, read_status
from local.platform.command import left_behind
from local.platform.platform import Platform
from local.platform.record import PORTS
from local.platform.startup import SUPERVISOR

RECORD = {"ports": {name: 20_000 + number for number, name in enumerate(PORTS)}, "services": []}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """The folder of a platform that was up and is down."""
    (tmp_path / "secrets").mkdir()
    (tmp_path / "secrets" / "pgpass").write_text("127.0.0.1:20000:*:postgres:x\n")
    (tmp_path / "state.json").write_text(json.dumps(RECORD))
    return tmp_path


@pytest.fixture
def running(monkeypatch: pytest.MonkeyPatch) -> set[str]:
    """The services that run, as far as Platform can see; a test adds some."""
    names: set[str] = set()
    monkeypatch.setattr(Platform, "running", lambda _self: set(names))
    monkeypatch.setattr(Platform, "pid", lambda _self, name: 1 if name in names else None)
    monkeypatch.setattr(status_module, "silent_services", lambda _platform, _names: set())
    return names


@dataclass
class Table:
    """A lake's table: with a commit or without."""

    base_uri: str = "s3://lake/cdc_events"
    committed: bool = False
    looks: list[float] = field(default_factory=list)

    def exists(self) -> bool:
        self.looks.append(time.monotonic())
        return self.committed


@pytest.fixture
def table(monkeypatch: pytest.MonkeyPatch) -> Table:
    table = Table()
    monkeypatch.setattr(Platform, "lake", table)
    return table


def reconcile(folder: Path) -> tuple[int, str, str]:
    result = CliRunner().invoke(app, ["reconcile", "--folder", str(folder)])
    return result.exit_code, result.stdout, result.stderr


def expect(folder: Path, *services: str) -> None:
    """Record that these services were started."""
    (folder / "state.json").write_text(json.dumps({**RECORD, "services": list(services)}))


@pytest.mark.usefixtures("running")
def test_reconcile_of_a_platform_that_is_down_is_one_line(folder: Path) -> None:
    line = f"reconcile: the platform in {folder} is down: `./lake up` starts it\n"
    assert reconcile(folder) == (CANNOT, "", line)


def test_reconcile_names_what_it_misses_and_where_its_log_is(folder: Path, running: set[str]) -> None:
    running |= {"kafka", "postgres", SUPERVISOR}
    status, _, shown = reconcile(folder)
    log = folder / "logs" / "s3.log"
    assert (status, shown) == (
        CANNOT,
        f"reconcile: s3 must run for that: `./lake up` starts what is dead (see {log})\n",
    )


def test_reconcile_of_services_that_hang_is_one_line(
    folder: Path, running: set[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    running |= {"postgres", "s3"}
    monkeypatch.setattr(status_module, "silent_services", lambda _platform, names: names & {"s3"})
    line = f"reconcile: s3 doesn't respond (stopped or hung): see {folder / 'logs' / 's3.log'}\n"
    assert reconcile(folder) == (CANNOT, "", line)


def test_a_supervisor_alone_is_no_platform(folder: Path, running: set[str]) -> None:
    running.add(SUPERVISOR)
    assert "is down" in reconcile(folder)[2]


def test_without_job_and_commit_reconcile_says_so_at_once(folder: Path, running: set[str], table: Table) -> None:
    running |= {"postgres", "s3"}
    status, _, shown = reconcile(folder)
    line = "reconcile: s3://lake/cdc_events has no commit, and the job doesn't run: `./lake up` starts it\n"
    assert (status, shown) == (CANNOT, line)
    assert len(table.looks) == 1


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
    folder: Path, running: set[str], table: Table, monkeypatch: pytest.MonkeyPatch
) -> None:
    expect(folder, "postgres", "s3", "sink")
    running |= {"postgres", "s3"}
    table.committed = True
    monkeypatch.setattr(command, "reconcile_platform", lambda *_, **__: False)
    data = DataStatus()
    monkeypatch.setattr(command, "read_status", lambda _platform: Status(services=[], data=data, problems=["sink is"]))
    status, shown, _ = reconcile(folder)
    assert status == 1
    assert shown.splitlines()[-2:] == [
        "sink is",
        "the job doesn't run, so nothing reaches the lake: `./lake up` starts it",
    ]


@pytest.mark.parametrize("content", ["", "{", "\0\0", '{"ports": {"kafka": 99999999}, "services": []}', "[" * 100_000])
def test_a_corrupt_record_is_named_with_what_to_do(folder: Path, content: str) -> None:
    (folder / "state.json").write_text(content)
    message = (
        f"{folder / 'state.json'} is corrupt, so the platform's ports are unknown: `./lake up` rewrites it and"
        " starts"
        " everything at new ports; the data stays"
    )
    for question in (read_status, lambda platform: platform.services):
        with pytest.raises(PlatformError) as said:
            question(Platform(folder))
        assert str(said.value) == message


def test_a_platform_that_was_stopped_with_a_corrupt_record_is_still_one(folder: Path) -> None:
    (folder / "state.json").write_text("{")
    Platform(folder).down()
    with pytest.raises(PlatformError, match=r"no ports are recorded for .*: `\./lake up` gives it new ones"):
        read_status(Platform(folder))


def test_a_folder_without_a_platform_is_said_to_have_none(tmp_path: Path) -> None:
    with pytest.raises(PlatformError, match=f"there is no platform in {tmp_path}: `./lake up` starts one"):
        read_status(Platform(tmp_path))


def test_down_of_a_pipeline_whose_file_is_gone_says_what_is_stopped_and_what_may_be_left(folder: Path) -> None:
    outside = {"host": "db.example", "port": 5432, "dbname": "shop", "sslmode": "require"}
    (folder / "state.json").write_text(json.dumps({**RECORD, "pipeline": "gone", "outside": outside}))
    said = left_behind(Platform(folder))
    assert said.startswith("everything is stopped; ")
    assert "pipelines/gone.toml: no such pipeline" in said
    assert "pg_drop_replication_slot" in said
    assert len(said.splitlines()) == 1
