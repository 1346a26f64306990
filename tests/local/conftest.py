"""Shared fixtures for tests of the local platform."""

import io
import tarfile
import time
from collections.abc import Iterator
from pathlib import Path

import pytest


@pytest.fixture
def own_jars(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Stands in for the downloads of `make setup`: no Kafka jar, and a Debezium release with an empty one."""
    folder = tmp_path / "jars"
    for name in ("kafka", "debezium"):
        (folder / name).mkdir(parents=True)
    with tarfile.open(folder / "debezium" / "debezium-connector-postgres-3.7.0.Final-plugin.tar.gz", "w:gz") as archive:
        jar = tarfile.TarInfo("debezium-connector-postgres/debezium-connector-postgres-3.7.0.Final.jar")
        archive.addfile(jar, io.BytesIO())
    monkeypatch.setattr("local.setup.jars.CACHE", folder)


@pytest.fixture
def in_tokyo() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TZ", "Asia/Tokyo")
        time.tzset()
        yield
    time.tzset()
