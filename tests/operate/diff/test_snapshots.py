"""Reading and writing snapshots."""

from pathlib import Path

import pytest

from operate.diff import snapshots
from operate.errors import OperateError
from settings.load import load

DEV = load("dev")
LAKE = {"dev-cdc-lake-lake": {"Resources": {"B": {"Type": "AWS::S3::Bucket"}}}}


def test_what_is_written_is_read_by_the_stacks_short_name(tmp_path: Path) -> None:
    snapshots.write(DEV, LAKE, tmp_path)
    assert snapshots.read(DEV, tmp_path) == {"lake": LAKE["dev-cdc-lake-lake"]}


def test_a_stack_that_is_gone_leaves_no_file(tmp_path: Path) -> None:
    snapshots.write(DEV, LAKE | {"dev-cdc-lake-old": {"Resources": {}}}, tmp_path)
    snapshots.write(DEV, LAKE, tmp_path)
    assert [path.name for path in (tmp_path / "dev").iterdir()] == ["lake.json"]


def test_a_missing_snapshot_names_the_command(tmp_path: Path) -> None:
    with pytest.raises(
        OperateError, match=r"there is no snapshot in tests/snapshots/dev: run `\./lake aws synth --save`"
    ):
        snapshots.read(DEV, tmp_path)


def test_a_broken_snapshot_is_named(tmp_path: Path) -> None:
    snapshots.write(DEV, LAKE, tmp_path)
    (tmp_path / "dev" / "lake.json").write_text("<<<<<<< HEAD")
    with pytest.raises(OperateError, match=r"tests/snapshots/dev/lake.json: .*: run `./lake aws synth --save`"):
        snapshots.read(DEV, tmp_path)
