"""Packs the job for `--py-files`, and unpacks the boto3 in it: EMR's Python 3.11 has none.

Equal sources give equal bytes. Standard library only: CDK's app imports it.
"""

import importlib.util
import os
import sys
import tempfile
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
OURS = ("contract", "spark_jobs")
# Modules, and the files that they read from their own folders.
KINDS = ("*.py", "*.txt", "*.tsv", "*.java", "*.pem")
# The archive's folder for boto3 and its dependencies.
LIBRARIES = "aws_sdk"
PACKAGES = ("boto3", "botocore", "dateutil", "jmespath", "s3transfer", "six", "urllib3")
# Of botocore's 400 services those that the job uses, and the data that every client reads.
SERVICES = ("cloudwatch", "s3", "secretsmanager", "sts")
# Any date works: it only has to be constant.
_DATE = (2026, 1, 1, 0, 0, 0)


def build_archive(target: Path) -> None:
    """Pack the job's modules and boto3; an unchanged file stays untouched."""
    target.parent.mkdir(parents=True, exist_ok=True)
    sources = (path for folder in OURS for kind in KINDS for path in (ROOT / folder).rglob(kind))
    contents = {path.relative_to(ROOT).as_posix(): path for path in sources} | dict(_library_files())
    # Several runs may build it at once; each renames its own complete file into place.
    part = target.with_name(f"{target.name}.{os.getpid()}.part")
    with zipfile.ZipFile(part, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, source in sorted(contents.items()):
            entry = zipfile.ZipInfo(name, _DATE)
            entry.external_attr = 0o644 << 16
            archive.writestr(entry, source.read_bytes(), zipfile.ZIP_DEFLATED)
    if target.is_file() and target.read_bytes() == part.read_bytes():
        part.unlink()
    else:
        part.replace(target)


def _library_files() -> Iterator[tuple[str, Path]]:
    for package in PACKAGES:
        found = importlib.util.find_spec(package)
        if found is None or found.origin is None:
            raise ModuleNotFoundError(f"{package} isn't installed: run make setup", name=package)
        origin = Path(found.origin)
        if not found.submodule_search_locations:  # six: one module
            yield f"{LIBRARIES}/{origin.name}", origin
            continue
        for path in origin.parent.rglob("*"):
            name = path.relative_to(origin.parent.parent)
            if path.is_file() and _is_needed(name):
                yield f"{LIBRARIES}/{name.as_posix()}", path


def _is_needed(name: Path) -> bool:
    if name.suffix in (".py", ".pem"):
        return True
    is_data = name.parts[:2] == ("botocore", "data")
    return is_data and (len(name.parts) == 3 or name.parts[2] in SERVICES)


def use_shipped(loader: Any) -> tempfile.TemporaryDirectory[str] | None:
    """Unpack the libraries of the archive that `loader` loaded this job from; None without one.

    botocore reads its models as files, so it can't run from within an archive. The folder lives as long as the object.
    """
    path = getattr(loader, "archive", None)
    if path is None:
        return None
    with zipfile.ZipFile(path) as archive:
        names = [name for name in archive.namelist() if name.startswith(f"{LIBRARIES}/")]
        folder = tempfile.TemporaryDirectory(prefix="streamer-libraries-")
        archive.extractall(folder.name, names)
    sys.path.insert(0, f"{folder.name}/{LIBRARIES}")
    return folder
