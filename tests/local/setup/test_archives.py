"""What an archive leaves in a folder, in any Python 3.11."""

import io
import tarfile
from pathlib import Path

import pytest

from local.setup.archives import unpack

FILE, HARD, SYMBOLIC, DEVICE = tarfile.REGTYPE, tarfile.LNKTYPE, tarfile.SYMTYPE, tarfile.CHRTYPE


@pytest.mark.parametrize(
    ("prefix", "members", "left"),
    [
        ("a/", [("a/b.js", FILE, ""), ("a/b.txt", FILE, ""), ("c.js", FILE, "")], ["a/b.js"]),
        ("", [("a/b.js", FILE, ""), ("c.js", HARD, "a/b.js")], ["a/b.js", "c.js"]),
        ("", [("a/../../b.js", FILE, ""), ("{outside}/b.js", FILE, ""), ("b.js", DEVICE, "")], []),
        ("", [("b.js", HARD, "../kept"), ("c.js", SYMBOLIC, "{outside}/kept")], []),
        # Through a link that leads out of the folder.
        ("", [("a.js", SYMBOLIC, ".."), ("a.js/b.js", FILE, "")], ["a.js/b.js"]),
    ],
)
def test_only_files_within_the_folder_are_made(
    tmp_path: Path, prefix: str, members: list[tuple[str, bytes, str]], left: list[str]
) -> None:
    (tmp_path / "kept").write_bytes(b"as it was")
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w") as tar:
        for name, kind, link in members:
            member = tarfile.TarInfo(name.format(outside=tmp_path))
            member.type, member.linkname, member.mode = kind, link.format(outside=tmp_path), 0o4777
            member.size = len(b"new") if kind == FILE else 0
            tar.addfile(member, io.BytesIO(b"new"))
    folder = tmp_path / "folder"
    with tarfile.open(fileobj=io.BytesIO(packed.getvalue())) as tar:
        unpack(tar, folder, prefix=prefix, suffix=".js")
    made = {path: path.read_bytes() for path in tmp_path.rglob("*") if not path.is_dir()}
    assert made == {tmp_path / "kept": b"as it was"} | {folder / name: b"new" for name in left}
    assert not [path for path in made if path.stat().st_mode & 0o7111]
