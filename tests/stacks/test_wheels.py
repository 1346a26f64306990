"""Packages for Lambda: found where they were put, asked for in one line where they weren't."""

import subprocess
import zipfile
from pathlib import Path
from typing import Any

import pytest

from stacks import wheels
from stacks.wheels import KAFKA, PSYCOPG2

PINNED = """requests==1.0 \\
    --hash=sha256:aa
psycopg2-binary==2.9.13 \\
    --hash=sha256:bb \\
    --hash=sha256:cc
zzz==1
"""


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where the layers are put."""
    folder = tmp_path / "cache" / "layers"
    monkeypatch.setattr(wheels, "CACHE", folder)
    return folder


@pytest.fixture
def requirements(tmp_path: Path) -> Path:
    path = tmp_path / "requirements.txt"
    path.write_text(PINNED)
    return path


@pytest.fixture
def pip(monkeypatch: pytest.MonkeyPatch) -> list[list[str]]:
    """A pip that puts a wheel where it is told to; returns its calls. `make setup` calls the real one."""
    calls: list[list[str]] = []

    def run(command: list[str], **_: Any) -> "subprocess.CompletedProcess[str]":
        calls.append(command)
        folder = Path(command[command.index("--dest") + 1])
        assert (folder / "requirements.txt").read_text() == (
            "psycopg2-binary==2.9.13 \\\n    --hash=sha256:bb \\\n    --hash=sha256:cc\n"
        )
        with zipfile.ZipFile(folder / "psycopg2_binary-2.9.13-cp311.whl", "w") as archive:
            archive.writestr("psycopg2/__init__.py", "")
        return subprocess.CompletedProcess(command, 0, "", "")

    monkeypatch.setattr(subprocess, "run", run)
    return calls


@pytest.mark.usefixtures("cache")
def test_a_layer_that_isnt_there_is_one_line(requirements: Path) -> None:
    with pytest.raises(wheels.WheelError, match=r"psycopg2-binary for Lambda isn't in cache/layers: run `make setup`"):
        wheels.layer_folder(PSYCOPG2, requirements)


def test_it_is_fetched_once_for_lambdas_system_with_its_hashes(
    requirements: Path, cache: Path, pip: list[list[str]]
) -> None:
    folder = wheels.fetch(PSYCOPG2, requirements)
    assert wheels.fetch(PSYCOPG2, requirements) == folder
    assert wheels.layer_folder(PSYCOPG2, requirements) == folder
    assert (folder / "python" / "psycopg2" / "__init__.py").is_file()
    assert [path.name for path in cache.iterdir()] == [folder.name]
    assert len(pip) == 1
    assert {"--require-hashes", "--only-binary=:all:", "manylinux2014_x86_64"} <= set(pip[0])


@pytest.mark.usefixtures("cache")
def test_another_version_is_another_layer(requirements: Path, pip: list[list[str]]) -> None:
    wheels.fetch(PSYCOPG2, requirements)
    requirements.write_text(PINNED.replace("2.9.13", "2.9.14"))
    with pytest.raises(wheels.WheelError, match="make setup"):
        wheels.layer_folder(PSYCOPG2, requirements)
    assert len(pip) == 1


def test_pips_reason_is_shown(requirements: Path, cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    failed = subprocess.CompletedProcess([], 1, "", "WARNING: slow\nERROR: THESE PACKAGES DO NOT MATCH THE HASHES\n")
    monkeypatch.setattr(subprocess, "run", lambda *_args, **_options: failed)
    with pytest.raises(wheels.WheelError, match="ERROR: THESE PACKAGES DO NOT MATCH THE HASHES"):
        wheels.fetch(PSYCOPG2, requirements)
    assert list(cache.iterdir()) == []


def test_a_lock_without_it_says_so(tmp_path: Path) -> None:
    (tmp_path / "requirements.txt").write_text("requests==1.0\n")
    with pytest.raises(wheels.WheelError, match="doesn't pin psycopg2-binary"):
        wheels.layer_folder(PSYCOPG2, tmp_path / "requirements.txt")


# Lambda's own limit for a function with its layers, unzipped.
LARGEST_FUNCTION_BYTES = 250 * 1024**2


@pytest.mark.synth
def test_kafkas_client_fits_into_lambda_with_its_login() -> None:
    folder = wheels.layer_folder(KAFKA) / "python"
    for name in ("confluent_kafka", "aws_msk_iam_sasl_signer"):
        assert (folder / name / "__init__.py").is_file()
    # The signer asks for its own version.
    assert list(folder.glob("aws_msk_iam_sasl_signer_python-*.dist-info/METADATA"))
    size = sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())
    assert size < LARGEST_FUNCTION_BYTES / 5


def test_a_wheel_runs_on_the_system_that_lambda_has_for_its_python() -> None:
    """PEP 600: manylinux_x_y runs where glibc is x.y or newer. Lambda has 2.26 up to Python 3.11, then 2.34."""
    glibc = {"3.11": (2, 26), "3.12": (2, 34)}
    wanted = {"manylinux2014_x86_64": (2, 17), "manylinux_2_28_x86_64": (2, 28)}
    for layer in wheels.LAYERS:
        assert wanted[layer.platform] <= glibc[layer.python_version]
