"""The file that says how far a queried table is: the newest look, whole or not at all, and never the job's end."""

from pathlib import Path

from spark_jobs.listeners import SweepTimeFile


def test_the_newest_look_is_in_the_file(tmp_path: Path) -> None:
    path, log, looks = tmp_path / "looked" / "address", list[str](), list[int | None]([None])
    file = SweepTimeFile(str(path), looked_ms=lambda: looks[-1], log=log.append)
    file.write()
    assert not path.exists()
    for looked_ms in (5, 5, 7_000):
        looks.append(looked_ms)
        file.write()
        assert path.read_text() == f"{looked_ms}\n"
    assert [found.name for found in path.parent.iterdir()] == ["address"]
    assert log == []


def test_a_file_that_cannot_be_written_is_told_once(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    log: list[str] = []
    file = SweepTimeFile(str(tmp_path / "file" / "address"), looked_ms=lambda: 1, log=log.append)
    file.write()
    file.write()
    assert len(log) == 1
    assert "file/address can't be written: " in log[0]
