import hashlib
import shutil
from pathlib import Path

import pytest
from typer.testing import CliRunner

from cli.__main__ import app
from contract.errors import CANNOT
from plugins.releases import download as module
from plugins.releases import lock
from plugins.releases.download import Digest
from plugins.releases.versions import VERSIONS_TOML, load_versions
from tests.plugins.releases.server import Server, body

CONTENT = b"the file"
FOUND = Digest(size=len(CONTENT), sha256=hashlib.sha256(CONTENT).hexdigest())


@pytest.fixture
def versions(tmp_path: Path) -> Path:
    """A copy of our own file with nothing pinned."""
    file = tmp_path / "versions.toml"
    shutil.copyfile(VERSIONS_TOML, file)
    text = file.read_text()
    for release in load_versions().releases.values():
        text = text.replace(f'sha256 = "{release.sha256}"', 'sha256 = ""')
    file.write_text(text)
    return file


@pytest.fixture(autouse=True)
def loopback(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every release's path is requested from our server; versions.toml accepts only https."""

    def download(url: str, target: Path, **options: object) -> Digest:
        return module.download(server.url + path_of(url), target, **options)  # type: ignore[arg-type]

    monkeypatch.setattr(lock, "download", download)


def path_of(url: str) -> str:
    return url[url.index("/", len("https://")) :]


def serve_all(versions: Path, server: Server) -> None:
    for release in load_versions(versions).releases.values():
        server.answers[path_of(release.url)] = [body(CONTENT)]


def run(file: Path) -> tuple[int, str]:
    result = CliRunner().invoke(app, ["dev", "lock", "plugins", "--file", str(file)])
    return result.exit_code, result.output


def test_every_release_is_pinned_and_the_rest_of_the_file_stays(versions: Path, server: Server) -> None:
    before = versions.read_text()
    serve_all(versions, server)
    assert run(versions)[0] == 0
    pinned = load_versions(versions)
    assert pinned.unpinned == ()
    assert {(release.size, release.sha256) for release in pinned.releases.values()} == {(FOUND.size, FOUND.sha256)}
    assert _without_pins(versions.read_text()) == _without_pins(before)


def test_what_can_be_brought_is_written_and_the_rest_is_said(versions: Path, server: Server) -> None:
    release = load_versions(versions).config_provider
    server.answers[path_of(release.url)] = [body(CONTENT)]
    code, output = run(versions)
    assert code == CANNOT
    assert load_versions(versions).config_provider.sha256 == FOUND.sha256
    assert load_versions(versions).unpinned == ("debezium", "lenses-s3", "softether")
    errors = [line for line in output.splitlines() if line.startswith("error: ")]
    assert [line.split(":")[1].strip() for line in errors] == ["debezium", "lenses-s3", "softether", "jdbc"]
    assert all("HTTP 404" in line for line in errors)


def test_what_nothing_deploys_may_be_missing(versions: Path, server: Server) -> None:
    serve_all(versions, server)
    del server.answers[path_of(load_versions(versions).jdbc.url)]
    code, output = run(versions)
    assert code == 0
    assert "error: jdbc: " in output
    assert load_versions(versions).unpinned == ()


def test_a_release_that_changed_behind_its_version_is_not_pinned_again(versions: Path, server: Server) -> None:
    serve_all(versions, server)
    run(versions)
    pinned = versions.read_text()
    server.answers[path_of(load_versions(versions).softether.url)] = [body(b"something else")]
    code, output = run(versions)
    assert code == CANNOT
    assert versions.read_text() == pinned
    assert FOUND.sha256 in output
    assert hashlib.sha256(b"something else").hexdigest() in output


def test_a_file_that_cannot_be_read_is_one_line(tmp_path: Path) -> None:
    code, output = run(tmp_path / "none.toml")
    assert code == CANNOT
    assert output.startswith("error: ")
    assert output.count("\n") == 1


@pytest.mark.parametrize("table", ["nothing", "debezium"])
def test_a_table_without_the_lines_to_fill_in_is_refused(table: str) -> None:
    with pytest.raises(ValueError, match="needs one line"):
        lock.pin('\n[debezium]\nsize = 1\n\n[softether]\nsize = 0\nsha256 = ""\n', table, FOUND)


def _without_pins(text: str) -> list[str]:
    return [line for line in text.splitlines() if not line.startswith(("size", "sha256"))]
