"""The code of Lambda functions: the handlers with the packages they import, and layers of wheels.

A layer has the wheels that requirements.txt pins, always for Lambda's system. `make setup` downloads them;
synthesizing only reads them.
"""

import ast
import functools
import hashlib
import re
import shutil
import subprocess
import sys
import tempfile
import zipfile
from dataclasses import dataclass
from pathlib import Path

import botocore

from contract.errors import UserError

ROOT = Path(__file__).resolve().parents[1]
STAGING = ROOT / "build" / "handlers"
REQUIREMENTS = ROOT / "requirements.txt"
CACHE = ROOT / ".cache" / "layers"
# Files that belong to a package: its modules and their data.
DATA_SUFFIXES = (".py", ".toml", ".sql", ".json", ".pem")
# Lambda's own botocore may be older than ours and lack UpdateConnector's newest members. botocore looks for this path
# in its own folder and in AWS_DATA_PATH.
API_MODEL = Path("kafkaconnect", "2021-09-14", "service-2.json.gz")
MODELS = Path("models")
# Packages with the code, or the names, of what runs in a database.
RUN_IN_DATABASES = ("contract", "db")


@functools.cache
def stage(*packages: str, staging: Path = STAGING) -> Path:
    """Copy handlers, `contract`, `packages` and MSK Connect's API model to a folder, ready to be zipped; return it.

    Once per process: providers and syntheses share it. The same sources give the same files, so CDK's hash of the
    folder changes only with them.
    """
    target = staging / "-".join(["handlers", *packages])
    sources = [ROOT / "stacks" / "__init__.py", *_files(ROOT / "stacks" / "handlers"), *_files(ROOT / "contract")]
    for package in packages:
        sources += _files(ROOT / package)
    wanted = {source.relative_to(ROOT): source for source in sources}
    wanted[MODELS / API_MODEL] = Path(botocore.__file__).parent / "data" / API_MODEL
    for present in sorted(target.rglob("*"), reverse=True):
        if present.is_file() and present.relative_to(target) not in wanted:
            present.unlink()
    for relative, source in wanted.items():
        copy = target / relative
        copy.parent.mkdir(parents=True, exist_ok=True)
        if not copy.is_file() or copy.read_bytes() != source.read_bytes():
            shutil.copyfile(source, copy)
    return target


@functools.cache
def sql_hash(module: str, root: Path = ROOT) -> str:
    """Hash what the handler `stacks/handlers/<module>.py` runs in a database, with the names in it.

    When the hash changes, a deployment has to call the handler again. It covers the SQL, the code that writes SQL, and
    the names in it: all that the handler imports of `db` and `contract`. Comments and layout don't count.
    """
    digest = hashlib.sha256()
    for path in sorted((root / "db" / "sql").rglob("*.sql")):
        digest.update(f"{path.relative_to(root)}\0".encode() + path.read_bytes() + b"\0")
    for path in _imported(root / "stacks" / "handlers" / f"{module}.py", root):
        digest.update(f"{path.relative_to(root)}\0{ast.dump(_parsed(path))}\0".encode())
    return digest.hexdigest()


def _imported(start: Path, root: Path) -> list[Path]:
    found: set[Path] = set()
    ahead = [start]
    while ahead:
        for node in ast.walk(_parsed(ahead.pop())):
            names = {alias.name for alias in node.names} if isinstance(node, ast.Import | ast.ImportFrom) else set()
            if isinstance(node, ast.ImportFrom) and node.module:
                # A module of a package, or a name of a module.
                names = {node.module, *(f"{node.module}.{name}" for name in names)}
            for name in names:
                path = root.joinpath(*name.split(".")).with_suffix(".py")
                if name.partition(".")[0] in RUN_IN_DATABASES and path.is_file() and path not in found:
                    found.add(path)
                    ahead.append(path)
    return sorted(found)


def _parsed(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


def _files(folder: Path) -> list[Path]:
    return sorted(
        path for path in folder.rglob("*") if path.suffix in DATA_SUFFIXES and "__pycache__" not in path.parts
    )


@dataclass(frozen=True, kw_only=True)
class Layer:
    """Packages of one Lambda layer, without dependencies, for a Python version and a system (PEP 600).

    The functions that use it run on that version.
    """

    packages: tuple[str, ...]
    python_version: str
    platform: str

    @property
    def name(self) -> str:
        return " and ".join(self.packages)


# The wheel needs glibc 2.17; Lambda's Python 3.11 has 2.26 (Amazon Linux 2).
PSYCOPG2 = Layer(packages=("psycopg2-binary",), python_version="3.11", platform="manylinux2014_x86_64")
# Since 2.5.0 Kafka's wheel needs glibc 2.28 (confluent-kafka-python's issue 1779): Lambda has 2.34 (Amazon Linux 2023)
# from Python 3.12 on. boto3, which the signer needs, is Lambda's own; only the signer's command line needs click.
KAFKA = Layer(
    packages=("confluent-kafka", "aws-msk-iam-sasl-signer-python"),
    python_version="3.12",
    platform="manylinux_2_28_x86_64",
)
LAYERS = (PSYCOPG2, KAFKA)


class WheelError(UserError):
    """A wheel is missing or can't be downloaded. Its text is one line."""


def layer_folder(layer: Layer) -> Path:
    """Return the folder of a layer. Raises WheelError if `make setup` hasn't created it yet."""
    folder = _folder(layer)
    if not folder.is_dir():
        raise WheelError(f"{layer.name} for Lambda isn't in {CACHE.parent.name}/{CACHE.name}: run `make setup`")
    return folder


def fetch(layer: Layer) -> Path:
    """Download the wheels, check their hashes, and unpack them as a layer, unless done already; return its folder.

    Raises WheelError with pip's own reason.
    """
    folder = _folder(layer)
    if folder.is_dir():
        return folder
    CACHE.mkdir(parents=True, exist_ok=True)
    # In the cache, so that the last step is one rename: a layer exists completely or not at all.
    with tempfile.TemporaryDirectory(dir=CACHE) as temporary:
        work = Path(temporary)
        unpacked = work / "layer"
        for wheel in _download(layer, _pinned(layer), work):
            with zipfile.ZipFile(wheel) as archive:
                archive.extractall(unpacked / "python")
        try:
            unpacked.rename(folder)
        except OSError:
            # Another process may have fetched it meanwhile.
            if not folder.is_dir():
                raise
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


def _folder(layer: Layer) -> Path:
    versions = [pinned.split()[0].replace("==", "-") for pinned in _pinned(layer)]
    return CACHE / f"{'-'.join(versions)}-python{layer.python_version}"


def _pinned(layer: Layer) -> list[str]:
    text = REQUIREMENTS.read_text(encoding="utf-8")
    found = []
    for package in layer.packages:
        match = re.search(rf"^{package}==(?:.*\\\n)+.*$", text, re.MULTILINE)
        if match is None:
            raise WheelError(f"{REQUIREMENTS.name} doesn't pin {package}: run `make lock`")
        found.append(match.group() + "\n")
    return found
