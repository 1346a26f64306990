"""Packages for Lambda: the wheels that requirements.txt pins, for Lambda's system whatever the developer's is.

`make setup` fetches them; synthesizing only reads them.
"""

import re
import shutil
import subprocess
import sys
import tempfile
import zipfile
from dataclasses import dataclass
from pathlib import Path

from contract.errors import UserError

ROOT = Path(__file__).resolve().parents[1]
REQUIREMENTS = ROOT / "requirements.txt"
CACHE = ROOT / ".cache" / "layers"


@dataclass(frozen=True, kw_only=True)
class Layer:
    """Packages of one Lambda layer, without what they depend on, for a version of Python and a system (PEP 600).

    The functions that take it run on that version.
    """

    packages: tuple[str, ...]
    python_version: str
    platform: str

    @property
    def name(self) -> str:
        """What messages call it."""
        return " and ".join(self.packages)


# The wheel wants glibc 2.17, and Lambda's Python 3.11 has 2.26 (Amazon Linux 2).
PSYCOPG2 = Layer(packages=("psycopg2-binary",), python_version="3.11", platform="manylinux2014_x86_64")
# Since 2.5.0 Kafka's wheel wants glibc 2.28 (confluent-kafka-python's issue 1779): Lambda has a newer one from Python
# 3.12 on, 2.34 (Amazon Linux 2023). boto3, which the signer needs, is Lambda's own, and click is its command line's.
KAFKA = Layer(
    packages=("confluent-kafka", "aws-msk-iam-sasl-signer-python"),
    python_version="3.12",
    platform="manylinux_2_28_x86_64",
)
LAYERS = (PSYCOPG2, KAFKA)


class WheelError(UserError):
    """A wheel isn't there or can't be had. Its text is one line."""


def layer_folder(layer: Layer, requirements: Path = REQUIREMENTS) -> Path:
    """Return the folder of a layer. Raises WheelError when `make setup` hasn't made it yet."""
    folder = _folder(layer, requirements)
    if not folder.is_dir():
        raise WheelError(f"{layer.name} for Lambda isn't in {CACHE.parent.name}/{CACHE.name}: run `make setup`")
    return folder


def fetch(layer: Layer, requirements: Path = REQUIREMENTS) -> Path:
    """Download the wheels, check their hashes, and unpack them as a layer, unless that is done; return its folder.

    Raises WheelError with pip's own reason.
    """
    folder = _folder(layer, requirements)
    if folder.is_dir():
        return folder
    CACHE.mkdir(parents=True, exist_ok=True)
    # In the cache, so that the last step is one rename: a layer is there whole or not at all.
    with tempfile.TemporaryDirectory(dir=CACHE) as temporary:
        work = Path(temporary)
        unpacked = work / "layer"
        for wheel in _download(layer, _pinned(layer, requirements), work):
            with zipfile.ZipFile(wheel) as archive:
                archive.extractall(unpacked / "python")
        shutil.move(unpacked, folder)
    return folder


def _download(layer: Layer, pinned: list[str], work: Path) -> list[Path]:
    lock = work / "requirements.txt"
    lock.write_text("".join(pinned), encoding="utf-8")
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check"]
    command += ["--require-hashes", "--no-deps", "--only-binary=:all:", "--implementation", "cp"]
    command += ["--python-version", layer.python_version, "--platform", layer.platform]
    command += ["--dest", str(work), "--requirement", str(lock)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    wheels = sorted(work.glob("*.whl"))
    if done.returncode or len(wheels) != len(pinned):
        reason = " ".join(line for line in done.stderr.splitlines() if line.startswith("ERROR")) or "pip failed"
        raise WheelError(f"cannot fetch {layer.name} for Lambda: {reason}")
    return wheels


def _folder(layer: Layer, requirements: Path) -> Path:
    versions = [pinned.split()[0].replace("==", "-") for pinned in _pinned(layer, requirements)]
    return CACHE / f"{'-'.join(versions)}-python{layer.python_version}"


def _pinned(layer: Layer, requirements: Path) -> list[str]:
    """Return the packages' requirements with their hashes."""
    text = requirements.read_text(encoding="utf-8")
    found = []
    for package in layer.packages:
        match = re.search(rf"^{package}==(?:.*\\\n)+.*$", text, re.MULTILINE)
        if match is None:
            raise WheelError(f"{requirements.name} doesn't pin {package}: run `make lock`")
        found.append(match.group() + "\n")
    return found
