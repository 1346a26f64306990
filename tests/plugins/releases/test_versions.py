import json
from pathlib import Path

import pytest

from local.setup.jars import JARS_LOCK
from plugins.releases.versions import MavenRelease, VersionsError, load_versions

SHA256 = "0123456789abcdef" * 4
PINNED = f"""
[debezium]
coordinate = "io.debezium:debezium-connector-postgres:3.7.0.Final:tar.gz:plugin"
size = 10
sha256 = "{SHA256}"
[lenses-s3]
version = "11.7.2"
url = "https://example.org/11.7.2/kafka-connect-aws-s3-11.7.2.zip"
size = 0
sha256 = ""
[config-provider]
version = "0.4.0"
url = "https://example.org/r0.4.0/providers-0.4.0.zip"
size = 7
sha256 = "{SHA256}"
[softether]
version = "4.44-9807"
url = "https://example.org/softether-v4.44-9807.tar.gz"
size = 7
sha256 = "{SHA256}"
[jdbc]
version = "6.10.0"
url = "https://example.org/v6.10.0/jdbc-6.10.0.zip"
size = 0
sha256 = ""
"""


def test_aws_and_the_local_platform_run_the_same_debezium() -> None:
    debezium = load_versions().debezium
    locked = json.loads(JARS_LOCK.read_text())["debezium"][debezium.file]
    assert locked == {"coordinate": debezium.coordinate, "sha256": debezium.sha256, "size": debezium.size}


def test_a_coordinate_says_where_the_file_is() -> None:
    release = MavenRelease.model_validate(
        {"coordinate": "org.example.kafka:sink:1.2:tar.gz:plugin", "size": 0, "sha256": ""}
    )
    assert release.version == "1.2"
    assert release.file == "sink-1.2-plugin.tar.gz"
    assert release.url.endswith("/maven2/org/example/kafka/sink/1.2/sink-1.2-plugin.tar.gz")


def test_an_empty_hash_means_not_pinned(tmp_path: Path) -> None:
    file = tmp_path / "versions.toml"
    # A size left over after the hash was emptied is ignored.
    file.write_text(PINNED.replace("size = 0", "size = 99"))
    versions = load_versions(file)
    assert versions.unpinned == ("lenses-s3",)
    assert versions.lenses_s3.request() == {
        "url": "https://example.org/11.7.2/kafka-connect-aws-s3-11.7.2.zip",
        "file": "kafka-connect-aws-s3-11.7.2.zip",
        "size": 0,
        "sha256": "",
    }
    # It isn't deployed, so its hash isn't required.
    assert not versions.jdbc.pinned
    assert versions.softether.pinned
    assert versions.softether.request()["sha256"] == SHA256


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("[debezium]", "[debezum]", "debezium: Field required"),
        (":tar.gz:plugin", "", "debezium: coordinate must be group:artifact"),
        (PINNED[: PINNED.index("[lenses")], "debezium = 1\n", "debezium: Input should be a valid dictionary"),
        (PINNED[: PINNED.index("[lenses")], "[debezium]\nsize = 1\n", "debezium: coordinate must be group:artifact"),
        ('version = "11.7.2"', 'version = "latest"', "lenses-s3: file 'kafka-connect-aws-s3-11.7.2.zip' isn't of ver"),
        ("s3-11.7.2.zip", "s3-11.7.1.zip", "lenses-s3: file 'kafka-connect-aws-s3-11.7.1.zip' isn't of version 11.7.2"),
        ('sha256 = ""', 'sha256 = "abc"', "lenses-s3.sha256: String should match pattern"),
        ('sha256 = ""', "sha256 = 0", "lenses-s3.sha256: Input should be a v"),
        ("size = 0", 'size = "0"', "lenses-s3.size: Input should be a v"),
        ("size = 10", "size = 0", "debezium: 'debezium-connector-postgres-3.7.0.Final-plugin.tar.gz' has a sha256 but"),
        ("https://example.org/soft", "http://example.org/soft", "softether: url must be https"),
        (
            '.zip"',
            '.zip?X-Amz-Signature=beef"',
            "lenses-s3: url must be https://<host>/…/<file>, without a login and without",
        ),
        ("https://example.org/soft", "https://me:beef@example.org/soft", "softether: url must be https://<host>/…/<fi"),
        ('version = "4.44-9807"', "", "softether.version: Field required"),
        ("[debezium]", "[debezium", "not TOML"),
    ],
)
def test_a_wrong_entry_is_named_in_one_line(tmp_path: Path, old: str, new: str, message: str) -> None:
    file = tmp_path / "versions.toml"
    assert old in PINNED
    file.write_text(PINNED.replace(old, new))
    with pytest.raises(VersionsError) as caught:
        load_versions(file)
    assert str(caught.value).startswith(f"versions.toml: {message}")
    assert "\n" not in str(caught.value)
    assert "beef" not in str(caught.value)


def test_a_file_that_isnt_there_is_one_line(tmp_path: Path) -> None:
    with pytest.raises(VersionsError, match=r"^versions\.toml: can't be read: No such file"):
        load_versions(tmp_path / "versions.toml")
