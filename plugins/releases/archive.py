"""Packs the jars of pinned releases into the one zip that MSK Connect accepts as a plugin.

Runs in Lambda as well as on a developer's machine, so it needs the standard library only. Files stream: memory stays
at a few chunks however large a release is, disk at about three times its size.
"""

import base64
import binascii
import contextlib
import errno
import io
import shutil
import tarfile
import tempfile
import zipfile
import zlib
from collections.abc import Generator, Iterator, Mapping, Sequence
from dataclasses import dataclass
from operator import itemgetter
from pathlib import Path, PurePosixPath
from typing import IO

from plugins.releases.download import CHUNK_BYTES, ArchiveError, Digest, copy, digest

LARGEST_CONTENT_BYTES = 1 << 30
# Version of `repack`'s output: change it when the same jars give other bytes, because plugins are named by it.
FORMAT = 1
# The earliest date in a zip, so that the same jars always give the same bytes.
FIXED_DATE = (1980, 1, 1, 0, 0, 0)
# The jar in which a worker's class loader finds a plugin's files that aren't in its releases.
RESOURCES_JAR = "cdc-lake-resources.jar"
# A resource with this suffix is the file's content in Base64.
_BINARY = ".class"
DAMAGE = (zipfile.BadZipFile, tarfile.TarError, zlib.error, EOFError, NotImplementedError, RuntimeError)


@dataclass(frozen=True)
class _Jar:
    """A jar by its file's name, its content and its origin."""

    name: str
    sha256: str
    archive: Path


def repack(archives: Sequence[Path], target: Path, *, resources: Mapping[str, str] | None = None) -> Digest:
    """Write the jars of zip, tar.gz and jar files to the root of one zip; the same jars always give the same bytes.

    `resources` (see `write_resources`) become one more jar: files on the class path need no path on a worker. Works
    in `target`'s folder. Raises ArchiveError for a damaged archive, a path that leads out of it or isn't one line, two
    different jars of one name (in any case), no jar at all, or more than 1 GiB; then there is no file.
    """
    jars: dict[str, _Jar] = {}
    try:
        with tempfile.TemporaryDirectory(dir=target.parent) as folder:
            work = Path(folder)
            for archive in archives:
                for name, sha256 in _extract(archive, work):
                    _keep(jars, _Jar(name, sha256, archive))
            if not jars:
                raise ArchiveError(f"no jar in {', '.join(archive.name for archive in archives)}")
            if resources:
                write_resources(resources, work / RESOURCES_JAR)
                made = _Jar(RESOURCES_JAR, digest(work / RESOURCES_JAR).sha256, target)
                (work / RESOURCES_JAR).rename(work / made.sha256)
                _keep(jars, made)
            _write_zip(target, {jar.name: work / jar.sha256 for jar in jars.values()})
    except BaseException:
        target.unlink(missing_ok=True)
        raise
    return digest(target)


def write_resources(resources: Mapping[str, str], target: Path) -> None:
    """Write files by name, optionally with folders, to a jar: ASCII, or for a `.class` Base64.

    The same files always give the same bytes. Raises ArchiveError for a class that isn't Base64.
    """
    try:
        contents = {
            name: base64.b64decode(text, validate=True) if name.endswith(_BINARY) else text.encode("ascii")
            for name, text in resources.items()
        }
    except binascii.Error as error:
        raise ArchiveError(f"a class of {', '.join(resources)} isn't Base64: {error}") from None
    _write_zip(target, contents)


def _extract(archive: Path, work: Path) -> Iterator[tuple[str, str]]:
    """Copy an archive's jars to `work/<SHA-256>`, one at a time, yielding name and SHA-256."""
    left = LARGEST_CONTENT_BYTES
    with contextlib.closing(_members(archive)) as members:
        for name, stream in members:
            partial = work / "partial"
            with stream, partial.open("wb") as file, _as_damage(archive):
                found = copy(stream, file, name=f"{archive.name}: its jars", limit=left)
            left -= found.size
            partial.rename(work / found.sha256)
            yield name, found.sha256


def _members(archive: Path) -> Generator[tuple[str, IO[bytes]], None, None]:
    """Open the jars of an archive one after the other; every path in it is checked, jar or not."""
    kind = archive.name.lower()
    if kind.endswith(".jar"):
        yield archive.name, archive.open("rb")
        return
    with _as_damage(archive):
        if kind.endswith(".zip"):
            with zipfile.ZipFile(archive) as packed:
                for member in packed.infolist():
                    # zipfile's own name ends at the first NUL.
                    if _is_jar(archive, member.orig_filename) and not member.is_dir():
                        yield PurePosixPath(member.filename).name, packed.open(member)
        elif kind.endswith((".tar.gz", ".tgz")):
            with tarfile.open(archive, "r:gz") as packed_tar:
                for entry in packed_tar:
                    if _is_jar(archive, entry.name) and (stream := _tar_stream(archive, packed_tar, entry)):
                        yield PurePosixPath(entry.name).name, stream
        else:
            raise ArchiveError(f"{archive.name} is neither .zip, .tar.gz nor .jar")


def _tar_stream(archive: Path, packed: tarfile.TarFile, entry: tarfile.TarInfo) -> IO[bytes] | None:
    if entry.isdir():
        return None
    if not entry.isreg():
        raise ArchiveError(f"{archive.name}: {entry.name} is a link, not a file")
    return packed.extractfile(entry)


def _is_jar(archive: Path, member: str) -> bool:
    """Tell whether Connect would load it (`PluginUtils.isArchive` uses the lower-case name). Refuses unsafe names."""
    path = PurePosixPath(member)
    if path.is_absolute() or ".." in path.parts or "\\" in member:
        raise ArchiveError(f"{archive.name}: {member!a} leads out of the archive")
    if not member or not member.isprintable():
        raise ArchiveError(f"{archive.name}: {member!a} is no name for a file: it may hold no control characters")
    return path.name.lower().endswith(".jar")


@contextlib.contextmanager
def _as_damage(archive: Path) -> Iterator[None]:
    try:
        yield
    except ArchiveError:
        raise
    except DAMAGE as error:
        raise ArchiveError(f"{archive.name} can't be read: {error}") from None
    except OSError as error:
        # The error of a seek to a wrong offset; a full disk gives another one.
        if error.errno != errno.EINVAL:
            raise
        raise ArchiveError(f"{archive.name} can't be read: it names a place that isn't in it") from None


def _keep(jars: dict[str, _Jar], jar: _Jar) -> None:
    """Keep a jar by its lower-case name: some file systems ignore case, and a worker would load both."""
    first = jars.setdefault(jar.name.lower(), jar)
    if first.sha256 != jar.sha256:
        also = "" if first.name == jar.name else f" as {first.name}"
        raise ArchiveError(
            f"{jar.name} is in {first.archive.name}{also} and in {jar.archive.name} with different content "
            f"(SHA-256 {first.sha256} and {jar.sha256}): the worker would load either"
        )
    # Between two spellings of the same jar the choice doesn't depend on the archives' order.
    if jar.name < first.name:
        jars[jar.name.lower()] = jar


def _write_zip(target: Path, contents: Mapping[str, Path | bytes]) -> None:
    # Stored: jars are compressed already, and a compressor's version would change the bytes.
    with zipfile.ZipFile(target, "w", zipfile.ZIP_STORED) as packed:
        for name, content in sorted(contents.items(), key=itemgetter(0)):
            entry = zipfile.ZipInfo(name, FIXED_DATE)
            entry.create_system = 3
            entry.external_attr = 0o644 << 16
            entry.file_size = len(content) if isinstance(content, bytes) else content.stat().st_size
            with (
                io.BytesIO(content) if isinstance(content, bytes) else content.open("rb") as source,
                packed.open(entry, "w") as file,
            ):
                shutil.copyfileobj(source, file, CHUNK_BYTES)
