"""Trino's release is unpacked once, and only the parts that tests need."""

import hashlib
import tarfile
from pathlib import Path
from typing import Any

import pytest

from local.setup import jars
from tests.trino import install


@pytest.fixture
def pinned(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """A release whose plugins share a file, as Trino's do; pip's arguments are recorded."""
    release = tmp_path / "trino-server-1"
    (release / "plugin" / "bigquery").mkdir(parents=True)
    (release / "plugin" / "hudi").mkdir()
    (release / "plugin" / "bigquery" / "shared.jar").write_bytes(b"shared")
    (release / "plugin" / "hudi" / "shared.jar").hardlink_to(release / "plugin" / "bigquery" / "shared.jar")
    (tmp_path / "jars" / "trino").mkdir(parents=True)
    archive = tmp_path / "jars" / "trino" / "trino-server-1.tar.gz"
    with tarfile.open(archive, "w:gz") as packed:
        packed.add(release, arcname=release.name)
    digest = hashlib.sha256(archive.read_bytes()).hexdigest()
    state: dict[str, Any] = {"sha256": digest, "pip": 0}

    def pip(folder: Path) -> None:
        state["pip"] += 1
        folder.mkdir()

    monkeypatch.setattr(install, "CACHE", tmp_path / "trino")
    monkeypatch.setattr(jars, "CACHE", tmp_path / "jars")
    monkeypatch.setattr(jars, "locked", lambda: {"trino": {archive.name: {"sha256": state["sha256"]}}})
    monkeypatch.setattr(install, "_install_packages", pip)
    return state


def test_only_the_plugins_that_are_asked_are_kept_whole(pinned: dict[str, Any]) -> None:
    assert install.installed() is None
    install.install()
    found = install.installed()
    assert found is not None
    assert [path.name for path in (found.server / "plugin").iterdir()] == ["hudi"]
    assert (found.server / "plugin" / "hudi" / "shared.jar").read_bytes() == b"shared"
    install.install()
    assert pinned["pip"] == 1


def test_another_pin_takes_the_place_of_what_is_there(pinned: dict[str, Any]) -> None:
    install.install()
    first = install.installed()
    pinned["sha256"] = "0" * 64
    assert install.installed() is None
    install.install()
    second = install.installed()
    assert first is not None
    assert second is not None
    assert second.server.is_dir()
    assert not first.server.exists()
    assert pinned["pip"] == 1
