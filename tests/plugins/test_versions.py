import re
from pathlib import Path

import pytest

from plugins.versions import MavenPlugin, ReleasePlugin, load_versions, parse_version

PINNED = """
[debezium]
coordinate = "io.debezium:debezium-connector-postgres:3.7.0.Final:tar.gz:plugin"
[lenses-s3]
version = "11.7.2"
file = "kafka-connect-aws-s3-11.7.2.zip"
sha256 = ""
"""


def test_the_pinned_versions_are_the_measured_ones() -> None:
    versions = load_versions()
    assert versions.debezium.version == "3.7.0.Final"
    assert versions.lenses_s3.version == "11.7.2"
    assert versions.lenses_s3.file.endswith(".zip")


def test_an_empty_hash_means_not_pinned(tmp_path: Path) -> None:
    file = tmp_path / "versions.toml"
    file.write_text(PINNED)
    assert load_versions(file).lenses_s3.sha256 is None


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("[debezium]", "[debezum]", "debezium"),
        (":tar.gz:plugin", "", "group:artifact"),
        ('version = "11.7.2"', 'version = "latest"', "numbers and dots"),
        ("s3-11.7.2.zip", "s3-11.7.1.zip", "isn't of version 11.7.2"),
        ('sha256 = ""', 'sha256 = "abc"', "64 hexadecimal"),
    ],
)
def test_a_wrong_entry_is_named(tmp_path: Path, old: str, new: str, message: str) -> None:
    file = tmp_path / "versions.toml"
    file.write_text(PINNED.replace(old, new))
    with pytest.raises(ValueError, match=f"^versions.toml: .*{re.escape(message)}"):
        load_versions(file)


def test_versions_compare_as_numbers() -> None:
    assert parse_version("11.7.2") > parse_version("7.0.0") > parse_version("6.10")
    assert MavenPlugin(coordinate="a:b:1.2:jar:c").version == "1.2"
    assert ReleasePlugin(version="1.0", file="x-1.0.zip", sha256="0" * 64).sha256 == "0" * 64
