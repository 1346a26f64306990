"""Puts together what a custom resource's Lambda function runs: the handlers and the packages that they import."""

import ast
import functools
import hashlib
import shutil
from pathlib import Path

import botocore

ROOT = Path(__file__).resolve().parents[1]
STAGING = ROOT / "build" / "handlers"
# What belongs to a package besides its modules.
DATA_SUFFIXES = (".py", ".toml", ".sql", ".json", ".pem")
# Lambda's own botocore may be older than ours and not know of UpdateConnector's newest members. The path is what
# botocore looks for, in its own folder and in AWS_DATA_PATH.
API_MODEL = Path("kafkaconnect", "2021-09-14", "service-2.json.gz")
MODELS = Path("models")
# Where what is run in a database is written, or named.
RUN_IN_DATABASES = ("contract", "db")


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


@functools.cache
def sql_hash(module: str, root: Path = ROOT) -> str:
    """Hash what the handler `stacks/handlers/<module>.py` runs in a database, and with which names.

    When it changes, a deployment has to call the handler again: the SQL, the code that writes SQL, and the names that
    stand in it, which is all that the handler imports of `db` and `contract`. Comments and layout don't count.
    """
    digest = hashlib.sha256()
    for path in sorted((root / "db" / "sql").rglob("*.sql")):
        digest.update(f"{path.relative_to(root)}\0".encode() + path.read_bytes() + b"\0")
    for path in _imported(root / "stacks" / "handlers" / f"{module}.py", root):
        digest.update(f"{path.relative_to(root)}\0{ast.dump(_parsed(path))}\0".encode())
    return digest.hexdigest()


def _imported(start: Path, root: Path) -> list[Path]:
    """Return the files of RUN_IN_DATABASES that a module imports, and those that they import in turn."""
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
