"""psycopg2 for Lambda: the wheel that requirements.txt pins, for Lambda's system whatever the developer's is.

`python -m stacks.wheels` fetches it, and `make setup` calls that; synthesizing only reads it.
"""

import re
import shutil
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
REQUIREMENTS = ROOT / "requirements.txt"
CACHE = ROOT / ".cache" / "layers"
PACKAGE = "psycopg2-binary"
# As stacks.provider.RUNTIME; the wheel wants glibc 2.17, and Lambda's Python 3.11 has 2.26.
PYTHON_VERSION = "3.11"
PLATFORM = "manylinux2014_x86_64"


class WheelError(Exception):
    """The wheel isn't there or can't be had. Its text is one line."""


def layer_folder(requirements: Path = REQUIREMENTS, cache: Path = CACHE) -> Path:
    """Return the folder of the Lambda layer. Raises WheelError when `make setup` hasn't made it yet."""
    folder = _folder(requirements, cache)
    if not folder.is_dir():
        raise WheelError(f"{PACKAGE} for Lambda isn't in {cache.parent.name}/{cache.name}: run `make setup`")
    return folder


def fetch(requirements: Path = REQUIREMENTS, cache: Path = CACHE) -> Path:
    """Download the wheel, check its hash, and unpack it as a layer, unless that is done; return the layer's folder.

    Raises WheelError with pip's own reason.
    """
    folder = _folder(requirements, cache)
    if folder.is_dir():
        return folder
    cache.mkdir(parents=True, exist_ok=True)
    # In the cache, so that the last step is one rename: a layer is there whole or not at all.
    with tempfile.TemporaryDirectory(dir=cache) as temporary:
        work = Path(temporary)
        wheel = _download(_pinned(requirements), work)
        layer = work / "layer"
        with zipfile.ZipFile(wheel) as archive:
            archive.extractall(layer / "python")
        shutil.move(layer, folder)
    return folder


def _download(pinned: str, work: Path) -> Path:
    lock = work / "requirements.txt"
    lock.write_text(pinned, encoding="utf-8")
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check"]
    command += ["--require-hashes", "--no-deps", "--only-binary=:all:", "--implementation", "cp"]
    command += [
        "--python-version",
        PYTHON_VERSION,
        "--platform",
        PLATFORM,
        "--dest",
        str(work),
        "--requirement",
        str(lock),
    ]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    wheels = list(work.glob("*.whl"))
    if done.returncode or len(wheels) != 1:
        reason = " ".join(line for line in done.stderr.splitlines() if line.startswith("ERROR")) or "pip failed"
        raise WheelError(f"cannot fetch {PACKAGE} for Lambda: {reason}")
    return wheels[0]


def _folder(requirements: Path, cache: Path) -> Path:
    version = _pinned(requirements).split("==")[1].split()[0]
    return cache / f"{PACKAGE}-{version}-python{PYTHON_VERSION}"


def _pinned(requirements: Path) -> str:
    """Return the package's requirement with its hashes."""
    match = re.search(rf"^{PACKAGE}==(?:.*\\\n)+.*$", requirements.read_text(encoding="utf-8"), re.MULTILINE)
    if match is None:
        raise WheelError(f"{requirements.name} doesn't pin {PACKAGE}: run `make lock`")
    return match.group() + "\n"


if __name__ == "__main__":
    try:
        fetch()
    except WheelError as problem:
        sys.exit(f"error: {problem}")
