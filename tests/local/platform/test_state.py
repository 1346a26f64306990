import stat
import subprocess
import sys
from pathlib import Path

import pytest

from local.errors import PlatformError
from local.files import write_private
from local.platform.record import Lock, PlatformOptions, Record, RecordFile, passwords


def test_a_record_is_read_as_written(tmp_path: Path) -> None:
    record, services = RecordFile(tmp_path), frozenset({"kafka", "job"})
    record.write(PlatformOptions(pipeline="pagila"), {"kafka": 20_001}, services)
    assert record.read() == Record(ports={"kafka": 20_001}, services=services, pipeline="pagila")


@pytest.mark.parametrize(
    "content", ["", "{", "[]", '{"ports": {}}', '{"ports": 1, "services": []}', '{"ports": {"a": "b"}}']
)
def test_an_unreadable_record_is_an_empty_one(tmp_path: Path, content: str) -> None:
    assert RecordFile(tmp_path).read() == Record(ports={}, services=frozenset())
    (tmp_path / "state.json").write_text(content)
    assert RecordFile(tmp_path).read() == Record(ports={}, services=frozenset(), unreadable=True)


def test_private_files_are_the_owners_alone_and_leave_nothing_behind(tmp_path: Path) -> None:
    path = tmp_path / "secrets" / "password"
    write_private(path, "one")
    write_private(path, "two")
    assert path.read_text() == "two"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert list(path.parent.iterdir()) == [path]


def test_passwords_are_made_once_and_kept(tmp_path: Path) -> None:
    folder = tmp_path / "secrets"
    made = passwords(folder)
    assert passwords(folder) == made
    assert made.superuser != made.connector
    assert min(len(made.superuser), len(made.connector)) >= 24
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert passwords(tmp_path / "other") != made


def test_an_empty_password_file_is_filled(tmp_path: Path) -> None:
    (tmp_path / "superuser").touch()
    assert passwords(tmp_path).superuser


def test_the_lock_is_for_one_process_at_a_time(tmp_path: Path) -> None:
    lock = Lock(tmp_path / "lock")
    other = (
        "import sys; from pathlib import Path; from local.platform.record import Lock\n"
        "with Lock(Path(sys.argv[1])).held(): pass"
    )
    command = [sys.executable, "-c", other, str(lock.path)]
    with lock.held(), lock.held():  # reentrant for the same object
        refused = subprocess.run(command, capture_output=True, text=True, check=False)
    assert refused.returncode != 0
    assert "is at work on" in refused.stderr.splitlines()[-1]
    assert subprocess.run(command, check=False).returncode == 0


def test_another_object_is_refused_until_the_lock_is_free(tmp_path: Path) -> None:
    first, second = Lock(tmp_path / "lock"), Lock(tmp_path / "lock")
    with first.held(), pytest.raises(PlatformError, match="another command"), second.held():
        pass
    with second.held():
        pass
