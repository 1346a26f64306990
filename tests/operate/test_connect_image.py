"""The build folder of the EKS workers' image: verified, reproducible, and with nothing unpinned."""

import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from operate import connect_image
from operate.errors import OperateError
from plugins.releases.versions import load_versions


@pytest.fixture
def pinned(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """All releases pinned, and downloads that are small archives; returns what was fetched."""
    versions, fetched = load_versions(), []
    pins: dict[str, Any] = {"size": 1, "sha256": "0" * 64}
    all_pinned = versions.model_copy(
        update={name: getattr(versions, name).model_copy(update=pins) for name in ("lenses_s3", "config_provider")}
    )

    def fetch(release: Mapping[str, Any], folder: Path) -> Path:
        target = folder / str(release["file"])
        fetched.append(target.name)
        with zipfile.ZipFile(target, "w") as archive:
            archive.writestr(f"{target.stem}.jar", target.name)
        return target

    (tmp_path / "kafka").mkdir()
    (tmp_path / "kafka" / "connect-runtime-3.9.1.jar").write_bytes(b"jar")
    monkeypatch.setattr(connect_image, "load_versions", lambda: all_pinned)
    monkeypatch.setattr(connect_image, "jar_folder", lambda name: tmp_path / name)
    monkeypatch.setattr(connect_image, "fetch", fetch)
    return fetched


def test_everything_is_put_together_and_the_lines_say_how_to_build_it(
    tmp_path: Path,
    pinned: list[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    said: list[str] = []
    # Debezium's is a tar.gz, unlike the archives here.
    monkeypatch.setattr(connect_image, "repack", _packed)
    connect_image.connect_image(said.append, target=tmp_path / "image")
    found = {str(path.relative_to(tmp_path / "image")) for path in (tmp_path / "image").rglob("*") if path.is_file()}
    assert "libs/connect-runtime-3.9.1.jar" in found
    assert "libs/aws-msk-iam-auth-2.3.2-all.jar" in found
    assert "libs/cdc-lake-worker.jar" in found
    assert {"plugins/source/one.jar", "plugins/sink/one.jar", "Dockerfile"} <= found
    assert not [name for name in found if ".work" in name]
    assert len(pinned) == 4
    assert f"docker build --platform linux/amd64 -t <repository>:<any tag> {tmp_path / 'image'}" in "\n".join(said)


def _packed(_archives: list[Path], target: Path, *, resources: Mapping[str, str] | None) -> None:
    with zipfile.ZipFile(target, "w") as archive:
        archive.writestr("one.jar", str(sorted(resources or {})))


@pytest.mark.parametrize("base", ["java:17", "java:17@sha256:", f"java@sha256:{'a' * 63}", "${BASE}"])
def test_a_base_without_a_digest_is_one_line(tmp_path: Path, base: str) -> None:
    (tmp_path / "Dockerfile").write_text(f"# A base.\nFROM {base}\nUSER 1\n")
    with pytest.raises(OperateError, match=r"Dockerfile: FROM .* has no digest: write `@` and what `docker buildx"):
        connect_image.connect_image(print, target=tmp_path / "image", dockerfile=tmp_path / "Dockerfile")
    assert not (tmp_path / "image").exists()


def test_a_release_without_a_checksum_is_one_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    versions = load_versions()
    unpinned = versions.lenses_s3.model_copy(update={"size": None, "sha256": None})
    monkeypatch.setattr(connect_image, "load_versions", lambda: versions.model_copy(update={"lenses_s3": unpinned}))
    with pytest.raises(
        OperateError, match=r"has no SHA-256 for .*kafka-connect-aws-s3.*: run `./lake dev lock plugins`"
    ):
        connect_image.connect_image(print, target=tmp_path / "image")
