"""Properties files as Java and Hudi read them."""

from pathlib import Path
from typing import Any, cast

import pytest

from spark_jobs import properties
from spark_jobs.errors import SettingsError
from spark_jobs.hadoop import read_text


@pytest.mark.parametrize(
    ("text", "pairs"),
    [
        ("a=1\nb = 2 \n c\t=\t3", [("a", "1"), ("b", "2"), ("c", "3")]),
        ("a:1\nb 2\nc", [("a", "1"), ("b", "2"), ("c", "")]),
        ("# a=1\n  ! b=2\n\n#\n\r\nc=3", [("c", "3")]),
        ("a=one, \\\n    two\\\n  three", [("a", "one, twothree")]),
        ("a=x\\\\\nb=2", [("a", "x\\"), ("b", "2")]),
        (r"a\ b\=c=d\te\u00e9", [("a b=c", "d\teé")]),
        ("url=jdbc:hive2://10.100.22.160:10000", [("url", "jdbc:hive2://10.100.22.160:10000")]),
        ("a=b=c#d", [("a", "b=c#d")]),
        ("a=1\na=2", [("a", "1"), ("a", "2")]),
        ("a=1\\", [("a", "1")]),
        ("", []),
    ],
)
def test_parse(text: str, pairs: list[tuple[str, str]]) -> None:
    assert properties.parse(text) == pairs


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("hoodie.deltastreamer.source.dfs.root", "hoodie.streamer.source.dfs.root"),
        ("hoodie.streamer.tombstones.max.keys", "hoodie.streamer.deletes.max.keys"),
        ("hoodie.deltastreamer.tombstones.max.keys", "hoodie.streamer.deletes.max.keys"),
    ],
)
def test_an_older_name_is_the_newer_one(old: str, new: str) -> None:
    assert properties.combine([(old, "1")], []) == {new: "1"}


def test_overrides_win() -> None:
    root = "hoodie.deltastreamer.source.dfs.root"
    assert properties.combine([(root, "a")], [("hoodie.streamer.source.dfs.root", "b")]) == {
        "hoodie.streamer.source.dfs.root": "b"
    }


def test_of_two_entries_in_a_file_the_later_wins() -> None:
    assert properties.combine([("x", "1"), ("x", "2")], []) == {"x": "2"}


def test_one_key_under_both_names_must_agree() -> None:
    pairs = [("hoodie.deltastreamer.x", "1"), ("hoodie.streamer.x", "2")]
    with pytest.raises(SettingsError, match=r"^hoodie\.streamer\.x: given twice"):
        properties.combine(pairs, [])
    assert properties.combine([pairs[0], ("hoodie.streamer.x", "1")], []) == {"hoodie.streamer.x": "1"}


def test_included_files_are_found_beside_the_including_one(tmp_path: Path) -> None:
    (tmp_path / "main.properties").write_text("a=1\ninclude=more/b.properties\nc=3\n")
    (tmp_path / "more").mkdir()
    (tmp_path / "more" / "b.properties").write_text("b=2\ninclude=../d.properties\n")
    (tmp_path / "d.properties").write_text("c=0\n")
    pairs = properties.load(str(tmp_path / "main.properties"), lambda path: Path(path).read_text())
    assert properties.combine(pairs, []) == {"a": "1", "b": "2", "c": "3"}


def test_a_file_is_text_in_utf_8(tmp_path: Path) -> None:
    path = tmp_path / "table.properties"
    path.write_text("a=größe", encoding="utf-8")
    assert read_text(str(path), cast(Any, None)) == "a=größe"
    path.write_text("a=größe", encoding="latin-1")
    with pytest.raises(SettingsError, match=r"table\.properties: not UTF-8 text"):
        read_text(str(path), cast(Any, None))


def test_files_that_include_each_other_are_refused() -> None:
    texts = {"/x/a": "include=b", "/x/b": "include=a"}
    with pytest.raises(SettingsError, match="includes itself by way of /x/a -> /x/b"):
        properties.load("/x/a", texts.__getitem__)


@pytest.mark.parametrize("override", ["key", "=value"])
def test_overrides_are_pairs(override: str) -> None:
    with pytest.raises(SettingsError, match="write it as key=value"):
        properties.parse_overrides([override])
