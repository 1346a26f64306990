"""Files that only their owner may read, and the ends of logs."""

import errno
import os
from pathlib import Path

import pytest

from local.files import tail, write_private


def test_a_full_disk_is_named_with_the_file_whose_earlier_content_stays(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "secrets" / "state.json"
    write_private(path, "at first")
    path.write_text("before")
    path.chmod(0o644)
    write_private(path, "before")
    assert path.stat().st_mode & 0o777 == 0o600

    def full(_descriptor: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="No space left") as refused:
        write_private(path, "after")
    assert refused.value.filename == str(path)
    write_private(path, "before")
    assert [(each.name, each.read_text()) for each in path.parent.iterdir()] == [("state.json", "before")]


@pytest.mark.parametrize(
    ("written", "shown"),
    [
        ("\x1b[1;31mred\x1b[0m\n", "red\n"),
        ("\x1b]0;title\x07\x1b]8;;http://a\x1b\\link\x1b]8;;\x1b\\", "link"),
        ("\x1b(Ba\x1b[2K\x1b[1Gb\x1bM", "ab"),
        ("\x1b]open\nnext\x07", "open\nnext\x07"),
    ],
)
def test_the_end_of_a_log_has_no_codes_of_terminals(tmp_path: Path, written: str, shown: str) -> None:
    (tmp_path / "a.log").write_text(written)
    assert tail(tmp_path / "a.log", 100) == shown
