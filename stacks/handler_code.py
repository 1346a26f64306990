"""Puts together what a custom resource's Lambda function runs: the handlers and the packages that they import."""

import functools
import hashlib
import shutil
from pathlib import Path

import botocore

import contract.source

ROOT = Path(__file__).resolve().parents[1]
STAGING = ROOT / "build" / "handlers"
# What belongs to a package besides its modules.
DATA_SUFFIXES = (".py", ".toml", ".sql", ".json", ".pem")
# Lambda's own botocore may be older than ours and not know of UpdateConnector's newest members. The path is what
# botocore looks for, in its own folder and in AWS_DATA_PATH.
API_MODEL = Path("kafkaconnect", "2021-09-14", "service-2.json.gz")
MODELS = Path("models")


def stage(*packages: str, staging: Path = STAGING) -> Path:
    """Copy handlers, `contract`, `packages` and MSK Connect's API model into a folder, ready to be zipped; return it.

    The same sources make the same files, so CDK's hash of the folder changes only with them.
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
def staged(*packages: str) -> str:
    """Return the folder that `stage` has made, once in a process: its providers share it, and so do its syntheses."""
    return str(stage(*packages))


def sql_hash() -> str:
    """Hash what the source preparation runs in the database, and with which names (db/sql_text.py).

    When it changes, a deployment has to call it again.
    """
    digest = hashlib.sha256()
    for path in sorted((ROOT / "db" / "sql").rglob("*.sql")):
        digest.update(f"{path.relative_to(ROOT)}\0".encode() + path.read_bytes() + b"\0")
    names = {name: value for name, value in vars(contract.source).items() if name.isupper()}
    digest.update(repr(sorted(names.items())).encode())
    return digest.hexdigest()


def _files(folder: Path) -> list[Path]:
    return sorted(
        path for path in folder.rglob("*") if path.suffix in DATA_SUFFIXES and "__pycache__" not in path.parts
    )
