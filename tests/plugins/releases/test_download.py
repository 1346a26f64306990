import hashlib
from pathlib import Path
from typing import Any

import pytest

from plugins.releases import download as module
from plugins.releases.download import ArchiveError, Digest, download, fetch
from tests.plugins.releases.server import Server, body, status

CONTENT = b"release" * 1000
OTHER = b"x" * len(CONTENT)
SHA256 = hashlib.sha256(CONTENT).hexdigest()


def release(server: Server, **changes: Any) -> dict[str, Any]:
    return {"url": f"{server.url}/a.zip", "file": "a.zip", "size": len(CONTENT), "sha256": SHA256, **changes}


def test_the_pinned_file_is_brought(server: Server, tmp_path: Path) -> None:
    server.answers["/a.zip"] = [body(CONTENT)]
    assert fetch(release(server), tmp_path).read_bytes() == CONTENT


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (OTHER, rf"SHA-256 {hashlib.sha256(OTHER).hexdigest()} .*pinned is {SHA256} "),
        (CONTENT + b"more", "more than 7,000 bytes"),
    ],
)
def test_another_file_is_refused_with_its_hash(server: Server, tmp_path: Path, content: bytes, reason: str) -> None:
    server.answers["/a.zip"] = [body(content)]
    with pytest.raises(ArchiveError, match=reason):
        fetch(release(server), tmp_path)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"sha256": ""}, r"a.zip has no checksum: run `./lake dev lock plugins`"),
        ({"size": 0}, r"a.zip has no checksum"),
        ({"file": "../a.zip"}, "isn't a file's name"),
    ],
)
def test_what_is_not_pinned_isnt_asked_for(
    server: Server, tmp_path: Path, changes: dict[str, Any], reason: str
) -> None:
    with pytest.raises(ArchiveError, match=reason):
        fetch(release(server, **changes), tmp_path)
    assert server.requested == []


def test_a_server_that_is_busy_or_breaks_off_is_asked_again(server: Server, tmp_path: Path, waits: list[float]) -> None:
    server.answers["/a.zip"] = [status(503), status(429), body(CONTENT[:100], announced=len(CONTENT)), body(CONTENT)]
    assert download(f"{server.url}/a.zip", tmp_path / "a.zip") == Digest(size=len(CONTENT), sha256=SHA256)
    assert waits == [1, 3, 9]


@pytest.mark.parametrize(
    ("url", "reason", "tries"),
    [
        ("http://releases.test/busy.zip", r"/busy.zip: HTTP 500 .*\(tried 4 times\)", 4),
        ("http://elsewhere.test/a.zip", r"Connection refused \(tried 4 times\)", 4),
        ("http://releases.test/gone.zip", "HTTP 404", 1),
        ("http://releases.test/moved.zip", "leads to ftp://", 1),
        ("file:///etc/passwd", "not a web address", 1),
    ],
)
def test_only_what_may_pass_is_tried_again_and_not_for_ever(
    server: Server, tmp_path: Path, waits: list[float], url: str, reason: str, tries: int
) -> None:
    server.answers |= {"/busy.zip": [status(500)], "/moved.zip": [status(302, Location="ftp://127.0.0.1:1/a.zip")]}
    with pytest.raises(ArchiveError, match=reason):
        download(url, tmp_path / "a.zip")
    assert len(waits) == tries - 1
    assert list(tmp_path.iterdir()) == []


def test_a_download_that_crawls_is_given_up(
    server: Server, tmp_path: Path, waits: list[float], monkeypatch: pytest.MonkeyPatch
) -> None:
    server.answers["/a.zip"] = [body(CONTENT)]
    monkeypatch.setattr(module, "ATTEMPT_SECONDS", -1)
    with pytest.raises(ArchiveError, match="only 7,000 bytes in"):
        download(f"{server.url}/a.zip", tmp_path / "a.zip")
    assert len(waits) == 3


def test_a_redirect_is_followed(server: Server, tmp_path: Path) -> None:
    server.answers["/a.zip"] = [status(302, Location="/real.zip")]
    server.answers["/real.zip"] = [body(CONTENT)]
    assert fetch(release(server), tmp_path).read_bytes() == CONTENT
