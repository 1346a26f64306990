"""The jars of the local platform: downloaded once, accepted only with the locked SHA-256, and always verified.

The Ivy inside PySpark resolves Maven coordinates, so no Maven is needed. `make setup` downloads missing sets, except
those in ON_DEMAND, which are requested by name; `./lake dev lock jars` resolves jars.toml and writes jars.lock.
"""

import contextlib
import fcntl
import hashlib
import json
import os
import shutil
import subprocess
import tarfile
import threading
import tomllib
import xml.etree.ElementTree as ElementTree
from collections.abc import Callable, Collection, Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeElapsedColumn
from tenacity import Retrying, retry_if_exception_type, sleep_using_event, stop_after_attempt, wait_fixed

from contract.errors import UserError
from contract.text import UTF_8_FLAG, UTF_8_LOCALE
from local.setup.java import java_binary, spark_home, trust_store_flags
from plugins.releases.versions import load_versions

MAVEN_NAMESPACE = "http://ant.apache.org/ivy/maven"
FLAT = "[artifact]-[revision](-[classifier]).[ext]"
BY_COORDINATE = "[organisation]/[module]/[revision]/([classifier]/)" + FLAT
# Without POMs and without the registry's own checksums (a lock has better ones) a jar costs two requests, not ten.
SETTINGS = """<ivysettings>
  <settings defaultResolver="central"/>
  <property name="ivy.checksums" value=""/>
  <resolvers><ibiblio name="central" m2compatible="true" usepoms="{poms}"/></resolvers>
</ivysettings>
"""
ROOT = Path(__file__).resolve().parents[2]
JARS_TOML = Path(__file__).with_name("jars.toml")
JARS_LOCK = Path(__file__).with_name("jars.lock")
CACHE = ROOT / ".cache" / "jars"
# Set → the command that brings it, as nothing else needs it: 821, 42 and 273 MB.
ON_DEMAND = {
    "trino": "./lake dev test trino",
    "yarn": "./lake dev test yarn",
    "hoodie-streamer": "./lake dev bench job",
}

# Set → file → its `coordinate` (see local.setup.jars.Dependency), `sha256` and `size` in bytes.
Files = dict[str, dict[str, str | int]]
Lock = dict[str, Files]


class IvyError(UserError):
    """Ivy couldn't fetch a coordinate; the message holds its last lines."""


@dataclass(frozen=True, kw_only=True)
class Dependency:
    """One Maven artifact to fetch: `group:name:version[:extension[:classifier]]`, with its dependencies or alone."""

    coordinate: str
    transitive: bool = False


def download(dependencies: Iterable[Dependency], *, into: Path, work: Path, on_wait: Callable[[Path], None]) -> None:
    """Download exactly these artifacts into the folder `into`, unverified: the caller has their hashes.

    `work` keeps Ivy's cache, so a second try resumes from it; `on_wait` is called about four times a second with the
    cache folder, to show progress, and may raise. Raises IvyError when something can't be downloaded.
    """
    _run(_ivy_xml(dependencies), pattern=into / FLAT, work=work, on_wait=on_wait, poms=False)


def _run(description: str, *, pattern: Path, work: Path, on_wait: Callable[[Path], None], poms: bool) -> None:
    work.mkdir(parents=True, exist_ok=True)
    ivy_xml, settings, log, cache = (work / name for name in ("ivy.xml", "ivysettings.xml", "ivy.log", "cache"))
    ivy_xml.write_text(description)
    settings.write_text(SETTINGS.format(poms=str(poms).lower()))
    (ivy_jar,) = (spark_home() / "jars").glob("ivy-*.jar")
    command: list[str | Path] = [
        java_binary(), UTF_8_FLAG, *trust_store_flags(), "-jar", ivy_jar, "-settings", settings, "-ivy", ivy_xml,
        "-cache", cache, "-confs", "default", "-types", "jar", "bundle", "tar.gz", "-retrieve", pattern,
    ]  # fmt: skip
    environment = {**os.environ, **UTF_8_LOCALE}
    with (
        log.open("w") as output,
        subprocess.Popen(command, stdout=output, stderr=subprocess.STDOUT, env=environment) as ivy,
    ):
        try:
            while ivy.poll() is None:
                on_wait(cache)
                with contextlib.suppress(subprocess.TimeoutExpired):
                    ivy.wait(timeout=0.25)
        finally:
            ivy.terminate()
    if ivy.returncode != 0:
        reasons = [line.strip() for line in log.read_text().splitlines() if "not found" in line or "ERROR" in line]
        raise IvyError(f"Ivy ended with {ivy.returncode}: {'; '.join(reasons[-3:]) or 'no reason given'}")


def _ivy_xml(dependencies: Iterable[Dependency], exclude: Iterable[str] = ()) -> str:
    """Describe the dependencies in Ivy's own terms: its `master` is the artifact, `runtime` its dependencies."""
    ElementTree.register_namespace("m", MAVEN_NAMESPACE)
    module = ElementTree.Element("ivy-module", version="2.0")
    ElementTree.SubElement(module, "info", organisation="local", module="platform")
    ElementTree.SubElement(ElementTree.SubElement(module, "configurations"), "conf", name="default")
    listed = ElementTree.SubElement(module, "dependencies")
    for dependency in dependencies:
        _add(listed, dependency)
    for name in exclude:
        ElementTree.SubElement(listed, "exclude", module=name)
    return ElementTree.tostring(module, encoding="unicode")


def _add(listed: ElementTree.Element, dependency: Dependency) -> None:
    group, name, version, *special = dependency.coordinate.split(":")
    element = ElementTree.SubElement(listed, "dependency", org=group, name=name, rev=version)
    if dependency.transitive:
        element.set("conf", "default->master,compile,runtime")
        return
    element.set("conf", "default->*")
    element.set("transitive", "false")
    if special:
        extension, *classifier = special
        artifact = ElementTree.SubElement(element, "artifact", name=name, type=extension, ext=extension)
        if classifier:
            artifact.set(f"{{{MAVEN_NAMESPACE}}}classifier", *classifier)


def unpack(tar: tarfile.TarFile, folder: Path) -> None:
    """Write an archive's files to a folder, without its owners and modes.

    Symbolic links, devices and names that lead out of the folder are left out. A hard link to a file of the archive
    stays one. Raises tarfile.TarError for a damaged archive.
    """
    root = folder.resolve()
    for member in tar:
        target, original = (root / member.name).resolve(), (root / member.linkname).resolve()
        if not target.is_relative_to(root):
            continue
        if member.isfile() and (content := tar.extractfile(member)):
            target.parent.mkdir(parents=True, exist_ok=True)
            with target.open("wb") as file:
                shutil.copyfileobj(content, file)
        elif member.islnk() and original.is_relative_to(root):
            target.parent.mkdir(parents=True, exist_ok=True)
            target.hardlink_to(original)


class JarsError(UserError):
    """Jars are missing or not the locked ones; the message is one line with the remedy."""


def jar_folder(name: str) -> Path:
    """Return the folder of a set of jars.lock, such as `kafka`; JarsError when it doesn't exist."""
    folder = CACHE / name
    if not folder.is_dir():
        raise JarsError(f"the jars of {name} are missing: run `{ON_DEMAND.get(name, 'make setup')}`")
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
        CACHE.mkdir(parents=True, exist_ok=True)
        columns = TextColumn("{task.description:<22}"), BarColumn(), DownloadColumn(), TimeElapsedColumn()
        with (CACHE / ".lock").open("w") as file, Progress(*columns, redirect_stdout=False) as progress:
            # Two commands would empty each other's folders.
            waiting = progress.add_task("another download", total=None)
            fcntl.flock(file, fcntl.LOCK_EX)
            progress.remove_task(waiting)
            ended = threading.Event()
            # In parallel: a registry takes longer to answer than to send.
            with ThreadPoolExecutor(max_workers=len(wanted)) as pool:
                try:
                    for each in [pool.submit(_download, *one, progress, ended) for one in wanted.items()]:
                        each.result()
                finally:
                    ended.set()  # for the rest, which the pool would wait for


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


def _download(name: str, files: Files, progress: Progress, ended: threading.Event) -> None:
    """Download a set into a temporary folder and move it to its place once every file is the locked one."""
    if not problems(CACHE / name, files):
        return  # another command was first
    total = sum(int(entry["size"]) for entry in files.values())
    staging, work = CACHE / f".{name}.partial", CACHE / f".{name}.ivy"
    task = progress.add_task(f"{name} ({len(files)} files)", total=total)
    dependencies = [Dependency(coordinate=str(entry["coordinate"])) for entry in files.values()]

    def show(cache: Path) -> None:
        if ended.is_set():
            raise KeyboardInterrupt
        progress.update(task, completed=min(total, _size_of_jars(cache)))

    # A registry's short outage is no reason to give up; Ivy resumes from its cache.
    for attempt in Retrying(
        retry=retry_if_exception_type(IvyError),
        stop=stop_after_attempt(3),
        wait=wait_fixed(5),
        sleep=sleep_using_event(ended),
        reraise=True,
    ):
        with attempt:
            _empty(staging)
            download(dependencies, into=staging, work=work, on_wait=show)
    progress.update(task, completed=total)
    wrong = problems(staging, files)
    shutil.rmtree(work)
    if wrong:
        shutil.rmtree(staging)
        raise JarsError(f"{name}: the download isn't what {JARS_LOCK.name} names: {'; '.join(wrong[:3])}")
    shutil.rmtree(CACHE / name, ignore_errors=True)
    staging.rename(CACHE / name)


def _resolve(name: str) -> Files:
    """Download a set of jars.toml with its POM dependencies; return its files. Raises IvyError."""
    staging, work = CACHE / f".{name}.lock", CACHE / f".{name}.ivy"
    _empty(staging)
    wanted = {"alone": [load_versions().debezium.coordinate]} if name == "debezium" else _sets()[name]
    dependencies = [
        Dependency(coordinate=coordinate, transitive=kind == "transitive")
        for kind in ("alone", "transitive")
        for coordinate in wanted.get(kind, [])
    ]
    description = _ivy_xml(dependencies, wanted.get("provided", []))
    _run(description, pattern=staging / BY_COORDINATE, work=work, on_wait=lambda _cache: None, poms=True)
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
        with contextlib.suppress(FileNotFoundError):
            total += path.stat().st_size
    return total
