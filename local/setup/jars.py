"""The jars of the local platform: downloaded once, accepted only with the locked SHA-256, and always verified.

`make setup` downloads missing sets, except those in ON_DEMAND, which are requested by name; `./lake dev lock jars`
resolves jars.toml and writes jars.lock.
"""

import hashlib
import json
import shutil
import tomllib
from collections.abc import Collection
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeElapsedColumn
from tenacity import Retrying, retry_if_exception_type, stop_after_attempt, wait_fixed

from contract.errors import UserError
from local.setup.ivy import Dependency, IvyError, download, resolve
from plugins.releases.versions import load_versions

ROOT = Path(__file__).resolve().parents[2]
JARS_TOML = Path(__file__).with_name("jars.toml")
JARS_LOCK = Path(__file__).with_name("jars.lock")
CACHE = ROOT / ".cache" / "jars"
# 821 MB that only `./lake dev test trino` needs, and 42 MB that only `./lake dev test yarn` needs.
ON_DEMAND = frozenset({"trino", "yarn"})

# Set → file → its `coordinate` (see local.setup.ivy.Dependency), `sha256` and `size` in bytes.
Files = dict[str, dict[str, str | int]]
Lock = dict[str, Files]


class JarsError(UserError):
    """Jars are missing or not the locked ones; the message is one line with the remedy."""


def jar_folder(name: str) -> Path:
    """Return the folder of a set of jars.lock, such as `kafka`; JarsError when it doesn't exist."""
    folder = CACHE / name
    if not folder.is_dir():
        command = f"./lake dev test {name}" if name in ON_DEMAND else "make setup"
        raise JarsError(f"the jars of {name} are missing: run `{command}`")
    return folder


def locked() -> Lock:
    found: Lock = json.loads(JARS_LOCK.read_text())
    return found


def fetch(names: Collection[str] = ()) -> None:
    """Download missing or damaged files of these sets, verify everything against jars.lock. Raises JarsError.

    Without names: all sets that the local platform needs.
    """
    everything = locked()
    asked = {name: files for name, files in everything.items() if name in (names or everything.keys() - ON_DEMAND)}
    wanted = {name: files for name, files in asked.items() if problems(CACHE / name, files)}
    if wanted:
        # The sets in parallel: a registry takes longer to answer than to send.
        with _progress() as progress, ThreadPoolExecutor(max_workers=len(wanted)) as pool:
            for finished in [pool.submit(_download, name, files, progress) for name, files in wanted.items()]:
                finished.result()


def lock() -> None:
    """Resolve jars.toml and write jars.lock: coordinate, size in bytes and SHA-256 of each file."""
    with ThreadPoolExecutor() as pool:
        names = [*_sets(), "debezium"]
        resolved = dict(zip(names, pool.map(_resolve, names), strict=True))
    JARS_LOCK.write_text(lock_text(resolved))
    print(f"{JARS_LOCK.name}: {sum(len(files) for files in resolved.values())} jars")


def lock_text(found: Lock) -> str:
    """Write a lock as JSON, with a line per file."""
    sets = []
    for name, files in sorted(found.items()):
        entries = (f'  "{file}": {json.dumps(entry, sort_keys=True)}' for file, entry in sorted(files.items()))
        sets.append(f' "{name}": {{\n' + ",\n".join(entries) + "\n }")
    return "{\n" + ",\n".join(sets) + "\n}\n"


def problems(folder: Path, files: Files) -> list[str]:
    """Compare a folder with its lock: one line for each file that is missing, different or not locked."""
    if not folder.is_dir():
        return [f"{folder.name}: not there"]
    found = {path.name: path for path in folder.iterdir()}
    wrong = [f"{name}: not in {JARS_LOCK.name}" for name in found.keys() - files.keys()]
    for name, entry in files.items():
        if name not in found:
            wrong.append(f"{name}: missing")
        elif (actual := _sha256(found[name])) != entry["sha256"]:
            wrong.append(f"{name}: SHA-256 is {actual}, locked is {entry['sha256']}")
    return sorted(wrong)


def _download(name: str, files: Files, progress: Progress) -> None:
    """Download a set into a temporary folder and move it to its place once every file is the locked one."""
    total = sum(int(entry["size"]) for entry in files.values())
    staging, work = CACHE / f".{name}.partial", CACHE / f".{name}.ivy"
    task = progress.add_task(f"{name} ({len(files)} files)", total=total)
    dependencies = [Dependency(coordinate=str(entry["coordinate"])) for entry in files.values()]
    # A registry's short outage is no reason to give up; Ivy resumes from its cache.
    for attempt in Retrying(
        retry=retry_if_exception_type(IvyError), stop=stop_after_attempt(3), wait=wait_fixed(5), reraise=True
    ):
        with attempt:
            _empty(staging)
            download(
                dependencies,
                into=staging,
                work=work,
                on_wait=lambda cache: progress.update(task, completed=min(total, _size_of_jars(cache))),
            )
    progress.update(task, completed=total)
    wrong = problems(staging, files)
    shutil.rmtree(work)
    if wrong:
        shutil.rmtree(staging)
        raise JarsError(f"{name}: the download isn't what {JARS_LOCK.name} names: {'; '.join(wrong[:3])}")
    shutil.rmtree(CACHE / name, ignore_errors=True)
    staging.rename(CACHE / name)


def _resolve(name: str) -> Files:
    staging, work = CACHE / f".{name}.lock", CACHE / f".{name}.ivy"
    _empty(staging)
    if name == "debezium":
        coordinates = [load_versions().debezium.coordinate]
        resolve([Dependency(coordinate=coordinates[0])], into=staging, work=work, exclude=[])
    else:
        entry = _sets()[name]
        alone = [Dependency(coordinate=coordinate) for coordinate in entry.get("alone", [])]
        transitive = [Dependency(coordinate=coordinate, transitive=True) for coordinate in entry.get("transitive", [])]
        resolve([*alone, *transitive], into=staging, work=work, exclude=entry.get("provided", []))
    files: Files = {
        path.name: {"coordinate": _coordinate(path, staging), "sha256": _sha256(path), "size": path.stat().st_size}
        for path in sorted(path for path in staging.rglob("*") if path.is_file())
    }
    shutil.rmtree(staging)
    shutil.rmtree(work)
    return files


def _coordinate(path: Path, root: Path) -> str:
    """Read the coordinate off the path `<group>/<module>/<version>/[<classifier>/]<file>` under `root`."""
    group, module, version, *classifier, _ = path.relative_to(root).parts
    extension = "tar.gz" if path.name.endswith(".tar.gz") else path.suffix.removeprefix(".")
    return ":".join([group, module, version, *([extension, *classifier] if classifier or extension != "jar" else [])])


def _sets() -> dict[str, dict[str, list[str]]]:
    return tomllib.loads(JARS_TOML.read_text())


def _empty(folder: Path) -> None:
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _size_of_jars(cache: Path) -> int:
    """Add up what Ivy has downloaded; a file may disappear meanwhile (Ivy renames its parts)."""
    total = 0
    for path in cache.glob("**/*.[jg]*"):
        try:
            total += path.stat().st_size
        except FileNotFoundError:
            continue
    return total


def _progress() -> Progress:
    return Progress(
        TextColumn("{task.description:<22}"), BarColumn(), DownloadColumn(), TimeElapsedColumn(), redirect_stdout=False
    )
