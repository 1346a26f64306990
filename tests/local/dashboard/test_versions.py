"""Row changes of commits, from their files."""

from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path

import fastavro
import pyarrow
import pytest

from local.dashboard.queried_changes import UnreadError, Version, read_versions
from local.look.lake import LakeError
from tests.local.dashboard.hudi_files import HudiFiles

FIRST, SECOND, THIRD = (f"2026112211000{second}000" for second in (1, 2, 3))
CLEANING = {"name": "clean", "type": "record", "fields": [{"name": "earliestCommitToRetain", "type": "string"}]}
MOST_BYTES = 1_000_000


@pytest.fixture
def table(tmp_path: Path) -> HudiFiles:
    table = HudiFiles(tmp_path / "t", pyarrow.schema([("id", pyarrow.int32()), ("name", pyarrow.string())]))
    table.commit(FIRST, {"id": 1, "name": "a"}, {"id": 2, "name": "b"}, {"id": 3, "name": "c"})
    return table


def versions(
    table: HudiFiles, since: str, instant: str, *, most_rows: int = 20, most_bytes: int = MOST_BYTES
) -> set[tuple[object, object]]:
    """Names before and after."""
    found = read_versions(table.lake, since=since, instant=instant, most_rows=most_rows, most_bytes=most_bytes)
    return {(one.before and one.before["name"], one.after and one.after["name"]) for one in found.versions}


def clean(table: HudiFiles, removed: str, kept: str) -> None:
    """Remove a commit's files, and record that."""
    with (table.folder / ".hoodie" / f"{kept[:-3]}500.clean").open("wb") as file:
        fastavro.writer(file, CLEANING, [{"earliestCommitToRetain": kept}])
    table.path(removed).unlink()


def test_what_a_commit_wrote_is_told_before_and_after_and_nothing_else(table: HudiFiles) -> None:
    table.commit(SECOND, {"id": 1, "name": "A"}, {"id": 4, "name": "d"}, deleted=(2,))
    table.commit(THIRD, {"id": 3, "name": "C"})
    assert versions(table, FIRST, SECOND) == {("a", "A"), (None, "d"), ("b", None)}
    assert versions(table, SECOND, THIRD) == {("c", "C")}


def test_of_a_large_commit_some_rows_are_read(table: HudiFiles) -> None:
    table.commit(SECOND, *({"id": number, "name": "new"} for number in range(100, 200)), deleted=(1, 2, 3))
    assert len(read_versions(table.lake, since=FIRST, instant=SECOND, most_rows=5, most_bytes=MOST_BYTES).versions) == 5


def test_files_that_are_too_large_arent_read(table: HudiFiles) -> None:
    table.commit(SECOND, {"id": 1, "name": "A"})
    table.path(FIRST).chmod(0)
    with pytest.raises(UnreadError, match=r"its files have 0 MB"):
        versions(table, FIRST, SECOND, most_bytes=100)


def test_a_row_whose_former_file_is_cleaned_is_no_new_one(table: HudiFiles) -> None:
    table.commit(SECOND, {"id": 1, "name": "A"})
    clean(table, FIRST, SECOND)
    with pytest.raises(UnreadError, match="the files before it are cleaned"):
        versions(table, FIRST, SECOND)


def test_a_file_that_is_missing_but_not_cleaned_is_an_error(table: HudiFiles) -> None:
    table.commit(SECOND, {"id": 1, "name": "A"})
    table.path(SECOND).unlink()
    with pytest.raises(LakeError):
        versions(table, FIRST, SECOND)


def test_values_of_all_kinds_become_text(tmp_path: Path) -> None:
    kinds = {
        "price": (pyarrow.decimal128(9, 2), Decimal("1.50"), "1.50"),
        "seen": (
            pyarrow.timestamp("us", tz="UTC"),
            datetime(2026, 11, 22, 1, 2, 3, tzinfo=UTC),
            "2026-11-22 01:02:03.000000Z",
        ),
        "day": (pyarrow.date32(), 20_779, "2026-11-22"),
        "tags": (pyarrow.list_(pyarrow.string()), ["a", "ß"], '["a", "ß"]'),
        "raw": (pyarrow.binary(), b"\xff\x00", "ff00"),
        "nothing": (pyarrow.string(), None, None),
    }
    schema = pyarrow.schema([("id", pyarrow.int32()), *((name, kind) for name, (kind, _, _) in kinds.items())])
    table = HudiFiles(tmp_path / "kinds", schema)
    table.commit(FIRST, {"id": 1})
    table.commit(SECOND, {"id": 2, **{name: value for name, (_, value, _) in kinds.items()}})
    [found] = read_versions(table.lake, since=FIRST, instant=SECOND, most_rows=20, most_bytes=MOST_BYTES).versions
    assert found == Version(before=None, after={"id": "2", **{name: text for name, (_, _, text) in kinds.items()}})
