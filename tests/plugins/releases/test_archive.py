import errno
import io
import tarfile
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from plugins.releases import archive
from plugins.releases.archive import repack
from plugins.releases.download import ArchiveError, digest

# Of a zip with b.jar (bb) and a.jar (aa, 99 times), made by Python 3.11. When it changes, FORMAT must change, too: a
# plugin's name consists of its pins and FORMAT, and the old bytes would stay under it.
GOLDEN_FORMAT = 1
GOLDEN = "2ec7ec3a27152e438817c1ea6309db7ef1bf2bb25b7087eca6d4f162975ef074"


def zip_of(path: Path, members: dict[str, bytes], *, compression: int = zipfile.ZIP_DEFLATED) -> Path:
    with zipfile.ZipFile(path, "w", compression) as packed:
        for name, content in members.items():
            packed.writestr(name, content)
    return path


def zip_with(path: Path, name: str) -> Path:
    """A zip with an entry name that zipfile wouldn't write."""
    written = "N" * len(name)
    made = zip_of(path, {written: b"1"})
    made.write_bytes(made.read_bytes().replace(written.encode(), name.encode()))
    return made


def tar_of(path: Path, members: dict[str, bytes], *, link: str | None = None) -> Path:
    with tarfile.open(path, "w:gz", format=tarfile.PAX_FORMAT) as packed:
        for name, content in members.items():
            entry = tarfile.TarInfo("x")
            entry.size, entry.pax_headers = len(content), {"path": name}
            packed.addfile(entry, io.BytesIO(content))
        if link:
            entry = tarfile.TarInfo(link)
            entry.type, entry.linkname = tarfile.SYMTYPE, "/etc/passwd"
            packed.addfile(entry)
    return path


def contents(file: Path | io.BytesIO) -> dict[str, bytes]:
    with zipfile.ZipFile(file) as packed:
        return {name: packed.read(name) for name in packed.namelist()}


def test_jars_of_all_archives_come_to_the_root_of_one_zip(tmp_path: Path) -> None:
    tar = tar_of(tmp_path / "a.tar.gz", {"debezium/README.md": b"text", "debezium/b.jar": b"bb", "a.jar": b"aa"})
    packed = zip_of(tmp_path / "c.zip", {"lib/deep/c.jar": b"cc", "LICENSE": b"text", "a.jar": b"aa"})
    jar = tmp_path / "d.jar"
    jar.write_bytes(b"dd")
    target = tmp_path / "plugin.zip"
    assert repack([tar, packed, jar], target) == digest(target)
    assert contents(target) == {"a.jar": b"aa", "b.jar": b"bb", "c.jar": b"cc", "d.jar": b"dd"}
    assert {path.name for path in tmp_path.iterdir()} == {"a.tar.gz", "c.zip", "d.jar", "plugin.zip"}


def test_the_same_jars_make_the_same_bytes(tmp_path: Path) -> None:
    one = zip_of(tmp_path / "one.zip", {"x/a.jar": b"aa" * 99, "b.jar": b"bb"})
    two = zip_of(tmp_path / "two.zip", {"b.jar": b"bb", "y/a.jar": b"aa" * 99}, compression=zipfile.ZIP_STORED)
    assert repack([one], tmp_path / "1.zip") == repack([two], tmp_path / "2.zip")
    # This must hold with another Python, too: the zip's bytes are pinned here.
    assert (archive.FORMAT, digest(tmp_path / "1.zip").sha256) == (GOLDEN_FORMAT, GOLDEN)


@pytest.mark.parametrize(
    ("name", "other", "said"),
    [("a.jar", "x/a.jar", "a.jar is in one.zip and in"), ("a.jar", "A.Jar", "A.Jar is in one.zip as a.jar and in")],
)
def test_two_different_jars_of_one_name_are_refused(tmp_path: Path, name: str, other: str, said: str) -> None:
    one, two = zip_of(tmp_path / "one.zip", {name: b"1"}), tar_of(tmp_path / "two.tar.gz", {other: b"2"})
    with pytest.raises(ArchiveError, match=f"{said} two.tar.gz with different content"):
        repack([one, two], tmp_path / "plugin.zip")
    assert {path.name for path in tmp_path.iterdir()} == {"one.zip", "two.tar.gz"}


@pytest.mark.parametrize("member", ["../a.jar", "/a.jar", "x/../../a.jar", "x\\..\\a.jar", "../notes.txt"])
def test_a_path_that_leads_out_is_refused(tmp_path: Path, member: str) -> None:
    for made in (zip_of(tmp_path / "a.zip", {member: b"1"}), tar_of(tmp_path / "a.tar.gz", {member: b"1"})):
        with pytest.raises(ArchiveError, match="leads out of the archive"):
            repack([made], tmp_path / "plugin.zip")


@pytest.mark.parametrize("kind", ["zip", "tar.gz"])
@pytest.mark.parametrize(
    "name", ["\0", "\0a.jar", "a\0.jar", "a.jar\0", "a\nb.jar", "a\r.jar", "\x1b[2J.jar", "note\n.txt"]
)
def test_a_name_with_a_control_sign_is_refused(tmp_path: Path, kind: str, name: str) -> None:
    path = tmp_path / f"a.{kind}"
    made = zip_with(path, name) if kind == "zip" else tar_of(path, {name: b"1"})
    with pytest.raises(ArchiveError, match=r"is no name for a file: it may hold no control characters$") as refused:
        repack([made], tmp_path / "plugin.zip")
    assert str(refused.value).isprintable()
    assert list(tmp_path.iterdir()) == [made]


@pytest.mark.parametrize("name", ["A.JAR", "lib/a.Jar", ".jar"])
def test_whatever_connect_takes_for_a_jar_is_one(tmp_path: Path, name: str) -> None:
    """Connect checks the name in lower case (`PluginUtils.isArchive`)."""
    (tmp_path / Path(name).name).write_bytes(b"1")
    made = zip_of(tmp_path / "A.ZIP", {name: b"1"}), tar_of(tmp_path / "A.TAR.GZ", {name: b"1"})
    for packed in (*made, tmp_path / Path(name).name):
        repack([packed], tmp_path / "plugin.zip")
        assert [*contents(tmp_path / "plugin.zip")] == [Path(name).name]


def test_one_jar_under_two_spellings_is_there_once_and_always_the_same(tmp_path: Path) -> None:
    one, two = zip_of(tmp_path / "one.zip", {"a.jar": b"1"}), zip_of(tmp_path / "two.zip", {"A.jar": b"1"})
    assert repack([one, two], tmp_path / "1.zip") == repack([two, one], tmp_path / "2.zip")
    assert [*contents(tmp_path / "1.zip")] == ["A.jar"]


def test_a_zip_that_names_a_place_outside_of_itself_is_damaged(tmp_path: Path) -> None:
    made = zip_of(tmp_path / "a.zip", {"a.jar": b"1"})
    content = bytearray(made.read_bytes())
    # The directory's own offset, in the last record of the file: zipfile then considers all others shifted.
    content[-6:-2] = (2**31).to_bytes(4, "little")
    made.write_bytes(content)
    with pytest.raises(ArchiveError, match=r"^a.zip can't be read: it names a place that isn't in it$"):
        repack([made], tmp_path / "plugin.zip")


@pytest.mark.parametrize("name", ["a.zip", "a.tar.gz"])
@pytest.mark.parametrize("cut", [10, -30])
def test_a_damaged_archive_is_said(tmp_path: Path, name: str, cut: int) -> None:
    make = zip_of if name.endswith(".zip") else tar_of
    whole = make(tmp_path / name, {"a.jar": bytes(range(256)) * 400})
    whole.write_bytes(whole.read_bytes()[:cut])
    with pytest.raises(ArchiveError, match=f"{name} can't be read"):
        repack([whole], tmp_path / "plugin.zip")
    assert {path.name for path in tmp_path.iterdir()} == {name}


def test_a_bomb_is_stopped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(archive, "LARGEST_CONTENT_BYTES", 1_000)
    packed = zip_of(tmp_path / "a.zip", {"a.jar": b"0" * 600, "b.jar": b"1" * 600})
    with pytest.raises(ArchiveError, match=r"a.zip: its jars: more than 400 bytes"):
        repack([packed], tmp_path / "plugin.zip")


def test_a_full_disk_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(target: Path, *_: object) -> None:
        target.write_bytes(b"half")
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(archive, "_write_zip", full)
    with pytest.raises(OSError, match="No space left"):
        repack([zip_of(tmp_path / "a.zip", {"a.jar": b"1"})], tmp_path / "plugin.zip")
    assert {path.name for path in tmp_path.iterdir()} == {"a.zip"}


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda folder: zip_of(folder / "a.zip", {"README": b"text"}), "no jar in a.zip"),
        (lambda folder: zip_of(folder / "a.rar", {"a.jar": b"1"}), "neither .zip"),
        (lambda folder: tar_of(folder / "a.tar.gz", {}, link="a.jar"), "a.jar is a link"),
    ],
)
def test_an_archive_without_jars_is_refused(tmp_path: Path, make: Callable[[Path], Path], message: str) -> None:
    with pytest.raises(ArchiveError, match=message):
        repack([make(tmp_path)], tmp_path / "plugin.zip")


def test_resources_become_a_jar_that_is_the_same_each_time(tmp_path: Path) -> None:
    given = zip_of(tmp_path / "a.zip", {"a.jar": b"1"})
    resources = {"rds-ca.pem": "text\n"}
    found = repack([given], tmp_path / "plugin.zip", resources=resources)
    assert found == repack([given], tmp_path / "again.zip", resources=resources)
    assert found != repack([given], tmp_path / "other.zip", resources={"rds-ca.pem": "another\n"})
    packed = contents(tmp_path / "plugin.zip")
    assert packed.keys() == {"a.jar", archive.RESOURCES_JAR}
    assert contents(io.BytesIO(packed[archive.RESOURCES_JAR])) == {"rds-ca.pem": b"text\n"}


def test_a_class_among_the_resources_arrives_as_its_bytes(tmp_path: Path) -> None:
    archive.write_resources({"cdclake/A.class": "yv66vg==", "a.pem": "text\n"}, tmp_path / "a.jar")
    assert contents(tmp_path / "a.jar") == {"a.pem": b"text\n", "cdclake/A.class": b"\xca\xfe\xba\xbe"}


def test_a_class_that_is_not_base64_is_one_line(tmp_path: Path) -> None:
    with pytest.raises(ArchiveError, match=r"a class of cdclake/A\.class isn't Base64"):
        archive.write_resources({"cdclake/A.class": "no class"}, tmp_path / "a.jar")
    assert not (tmp_path / "a.jar").exists()
