from pathlib import Path

import pytest

from local.services.jvm import properties_text, write_properties


@pytest.mark.parametrize(
    ("value", "line"),
    [
        ("plain:/a=b#c!", "plain:/a=b#c!"),
        ("C:\\data", "C:\\\\data"),
        (" led by a blank", "\\ led by a blank"),
        ("Gerät", "Ger\\u00e4t"),
        ("two\nlines", "two\\u000alines"),
        ("😀", "\\ud83d\\ude00"),
        ("", ""),
    ],
)
def test_values_are_escaped_as_java_reads_them(value: str, line: str) -> None:
    assert properties_text({"key": value}) == f"key={line}\n"


def test_a_written_file_is_pure_ascii(tmp_path: Path) -> None:
    path = tmp_path / "new" / "server.properties"
    write_properties(path, {"log.dirs": "/home/jürgen/build", "node.id": "1"})
    assert path.read_bytes() == b"log.dirs=/home/j\\u00fcrgen/build\nnode.id=1\n"
