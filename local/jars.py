"""The jars of the local platform: downloaded once, accepted only with the locked SHA-256, verified ever after.

`python -m local.jars fetch` (in `make setup`) brings what is missing; `python -m local.jars lock` (`make lock-jars`)
resolves jars.toml anew and writes jars.lock.
"""

import hashlib
import json
import shutil
import sys
import tomllib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import typer
from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeElapsedColumn
from tenacity import Retrying, retry_if_exception_type, stop_after_attempt, wait_fixed

from local.ivy import Dependency, IvyError, retrieve
from plugins.versions import load_versions

ROOT = Path(__file__).resolve().parents[1]
JARS_TOML = Path(__file__).with_name("jars.toml")
JARS_LOCK = Path(__file__).with_name("jars.lock")
CACHE = ROOT / ".cache" / "jars"

Lock = dict[str, dict[str, dict[str, str | int]]]
app = typer.Typer(add_completion=False, help="Bring and verify the jars of the local platform.")


class JarsError(RuntimeError):
    """Jars are missing or not the locked ones; the message is one line that says what to do."""


def jar_folder(name: str) -> Path:
    """Return the folder of a set (`kafka`, `s3proxy`, `spark`, `debezium`); JarsError when it isn't there."""
    folder = CACHE / name
    if not folder.is_dir():
        raise JarsError(f"the jars of {name} are missing: run `make setup`")
    return folder


@app.command()
def fetch() -> None:
    """Download what is missing or damaged, verify everything against jars.lock."""
    locked: Lock = json.loads(JARS_LOCK.read_text())
    with _one_line_errors():
        for name, files in locked.items():
            if problems(CACHE / name, files):
                _download(name, files)
        typer.echo(f"{sum(len(files) for files in locked.values())} jars verified")


@app.command()
def lock() -> None:
    """Resolve jars.toml and write jars.lock: file, size in bytes and SHA-256 of each jar."""
    with _one_line_errors():
        resolved = {name: _resolve(name) for name in [*_sets(), "debezium"]}
    JARS_LOCK.write_text(json.dumps(resolved, indent=1, sort_keys=True) + "\n")
    typer.echo(f"{JARS_LOCK.name}: {sum(len(files) for files in resolved.values())} jars")


def problems(folder: Path, files: dict[str, dict[str, str | int]]) -> list[str]:
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


def _download(name: str, files: dict[str, dict[str, str | int]]) -> None:
    """Bring a set into a folder beside its place and move it there only when every file is the locked one."""
    total = sum(int(entry["size"]) for entry in files.values())
    staging = CACHE / f".{name}.partial"
    with _progress() as progress:
        task = progress.add_task(f"{name} ({len(files)} files)", total=total)
        _retrieve(name, staging, lambda cache: progress.update(task, completed=min(total, _size_of_jars(cache))))
        progress.update(task, completed=total)
    if wrong := problems(staging, files):
        shutil.rmtree(staging)
        raise JarsError(f"{name}: the download isn't what {JARS_LOCK.name} names: {'; '.join(wrong[:3])}")
    shutil.rmtree(CACHE / name, ignore_errors=True)
    staging.rename(CACHE / name)
    shutil.rmtree(_work(name))


def _resolve(name: str) -> dict[str, dict[str, str | int]]:
    staging = CACHE / f".{name}.lock"
    _retrieve(name, staging, lambda _cache: None)
    entries: dict[str, dict[str, str | int]] = {
        path.name: {"sha256": _sha256(path), "size": path.stat().st_size} for path in sorted(staging.iterdir())
    }
    shutil.rmtree(staging)
    shutil.rmtree(_work(name))
    return entries


def _retrieve(name: str, into: Path, on_wait: Callable[[Path], None]) -> None:
    shutil.rmtree(into, ignore_errors=True)
    into.mkdir(parents=True)
    exclude = _sets().get(name, {}).get("provided", [])
    # A registry that doesn't answer for a moment is no reason to give up; Ivy goes on from its cache.
    for attempt in Retrying(
        retry=retry_if_exception_type(IvyError), stop=stop_after_attempt(3), wait=wait_fixed(5), reraise=True
    ):
        with attempt:
            retrieve(_dependencies(name), into=into, work=_work(name), on_wait=on_wait, exclude=exclude)


def _dependencies(name: str) -> list[Dependency]:
    if name == "debezium":
        return [Dependency(coordinate=load_versions().debezium.coordinate, transitive=False)]
    entry = _sets()[name]
    alone = [Dependency(coordinate=coordinate, transitive=False) for coordinate in entry.get("alone", [])]
    return alone + [Dependency(coordinate=coordinate, transitive=True) for coordinate in entry.get("transitive", [])]


def _sets() -> dict[str, dict[str, list[str]]]:
    return tomllib.loads(JARS_TOML.read_text())


def _work(name: str) -> Path:
    return CACHE / f".{name}.ivy"


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _size_of_jars(cache: Path) -> int:
    """Add up what Ivy has downloaded; a file may go away while we look (it renames its parts)."""
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


@contextmanager
def _one_line_errors() -> Iterator[None]:
    try:
        yield
    except (JarsError, IvyError, OSError) as error:
        typer.echo(f"jars: {error}", err=True)
        sys.exit(1)


if __name__ == "__main__":
    app()
