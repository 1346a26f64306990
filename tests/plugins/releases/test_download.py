import hashlib
from pathlib import Path
from typing import Any

import pytest

from plugins.releases import download as module
from plugins.releases.download import ArchiveError, Digest, download, fetch
from tests.plugins.releases.server import Server, body, status

CONTENT = b"release" * 1000
SHA256 = hashlib.sha256(CONTENT).hexdigest()


def release(server: Server, **changes: Any) -> dict[str, Any]:
    return {"url": f"{server.url}/a.zip", "file": "a.zip", "size": len(CONTENT), "sha256": SHA256, **changes}


def test_the_pinned_file_is_brought(server: Server, tmp_path: Path) -> None:
    server.answers["/a.zip"] = [body(CONTENT)]
    assert fetch(release(server), tmp_path).read_bytes() == CONTENT


def test_a_wrong_checksum_shows_both_and_leaves_nothing(server: Server, tmp_path: Path) -> None:
    server.answers["/a.zip"] = [body(b"x" * len(CONTENT))]
    with pytest.raises(ArchiveError) as error:
        fetch(release(server), tmp_path)
    assert SHA256 in str(error.value)
    assert hashlib.sha256(b"x" * len(CONTENT)).hexdigest() in str(error.value)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("changes", [{"sha256": ""}, {"size": 0}])
def test_what_is_not_pinned_is_not_even_asked_for(server: Server, tmp_path: Path, changes: dict[str, Any]) -> None:
    with pytest.raises(ArchiveError, match=r"a.zip has no checksum: run `./lake dev lock plugins`"):
        fetch(release(server, **changes), tmp_path)
    assert server.requested == []


def test_a_file_name_with_a_path_is_refused(server: Server, tmp_path: Path) -> None:
    with pytest.raises(ArchiveError, match="isn't a file's name"):
        fetch(release(server, file="../a.zip"), tmp_path)


def test_more_than_the_pinned_size_is_not_read(server: Server, tmp_path: Path) -> None:
    server.answers["/a.zip"] = [body(CONTENT + b"more")]
    with pytest.raises(ArchiveError, match="more than 7,000 bytes"):
        fetch(release(server), tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_a_server_that_is_busy_or_breaks_off_is_asked_again(server: Server, tmp_path: Path, waits: list[float]) -> None:
    server.answers["/a.zip"] = [status(503), status(429), body(CONTENT[:100], announced=len(CONTENT)), body(CONTENT)]
    assert download(f"{server.url}/a.zip", tmp_path / "a.zip") == Digest(size=len(CONTENT), sha256=SHA256)
    assert waits == [1, 3, 9]


def test_tries_end(server: Server, tmp_path: Path, waits: list[float]) -> None:
    server.answers["/a.zip"] = [status(500)]
    with pytest.raises(ArchiveError, match=r"/a.zip: HTTP 500 .*\(tried 4 times\)"):
        download(f"{server.url}/a.zip", tmp_path / "a.zip")
    assert len(server.requested) == len(waits) + 1 == 4
    assert list(tmp_path.iterdir()) == []


@pytest.mark.usefixtures("server")
def test_a_server_that_is_not_there_is_tried_again(tmp_path: Path, waits: list[float]) -> None:
    with pytest.raises(ArchiveError, match=r"Connection refused \(tried 4 times\)"):
        download("http://elsewhere.test/a.zip", tmp_path / "a.zip")
    assert len(waits) == 3


def test_a_download_that_crawls_is_given_up(
    server: Server, tmp_path: Path, waits: list[float], monkeypatch: pytest.MonkeyPatch
) -> None:
    server.answers["/a.zip"] = [body(CONTENT)]
    monkeypatch.setattr(module, "ATTEMPT_SECONDS", -1)
    with pytest.raises(ArchiveError, match="only 7,000 bytes in"):
        download(f"{server.url}/a.zip", tmp_path / "a.zip")
    assert len(waits) == 3


def test_what_is_not_there_is_said_at_once(server: Server, tmp_path: Path, waits: list[float]) -> None:
    with pytest.raises(ArchiveError, match="HTTP 404"):
        download(f"{server.url}/gone.zip", tmp_path / "a.zip")
    assert waits == []


def test_a_redirect_is_followed(server: Server, tmp_path: Path) -> None:
    server.answers["/a.zip"] = [status(302, Location="/real.zip")]
    server.answers["/real.zip"] = [body(CONTENT)]
    assert fetch(release(server), tmp_path).read_bytes() == CONTENT


def test_a_redirect_to_another_protocol_is_refused(server: Server, tmp_path: Path) -> None:
    server.answers["/a.zip"] = [status(302, Location="ftp://127.0.0.1:1/a.zip")]
    with pytest.raises(ArchiveError, match="leads to ftp://"):
        download(f"{server.url}/a.zip", tmp_path / "a.zip")
    assert list(tmp_path.iterdir()) == []


def test_a_file_of_the_machine_is_not_a_release(tmp_path: Path) -> None:
    with pytest.raises(ArchiveError, match="not a web address"):
        download((tmp_path / "a.zip").as_uri(), tmp_path / "b.zip")
