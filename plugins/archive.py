"""Brings pinned releases and packs their jars into the one zip that MSK Connect takes as a plugin.

Runs in Lambda as well as on a developer's machine, so it needs the standard library only. Files stream: memory stays
at a few chunks however large a release is, disk at about three times its size.
"""

import contextlib
import errno
import hashlib
import http.client
import ssl
import tarfile
import time
import urllib.error
import urllib.request
import zipfile
import zlib
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import IO, Any
from urllib.parse import urlsplit

from contract.errors import UserError

CHUNK_BYTES = 1 << 20
LARGEST_FILE_BYTES = 512 << 20
LARGEST_CONTENT_BYTES = 1 << 30
READ_TIMEOUT_SECONDS = 30
ATTEMPT_SECONDS = 240
WAITS_SECONDS = (1, 3, 9)
# What `repack` makes of the same jars; another number when it makes other bytes, because plugins are named by it.
FORMAT = 1
# The earliest date that a zip can hold, so that the same jars always make the same bytes.
FIXED_DATE = (1980, 1, 1, 0, 0, 0)
# Where a worker's class loader finds the files that a plugin is given beside its releases.
RESOURCES_JAR = "cdc-lake-resources.jar"
_TRANSIENT_STATUS = (408, 425, 429)
_DAMAGE = (zipfile.BadZipFile, tarfile.TarError, zlib.error, EOFError, NotImplementedError, RuntimeError)


class ArchiveError(UserError):
    """A release can't be brought or used; the message is one line: which, what, and what to do."""


class UnreachableError(ArchiveError):
    """A release can't be brought now; later it may."""


class _TransientError(Exception):
    """A download failed in a way that may pass."""


class _SameProtocol(urllib.request.HTTPRedirectHandler):
    """Follows a redirect, but not from https to anything else."""

    def redirect_request(self, req: urllib.request.Request, *answer: Any) -> urllib.request.Request | None:
        target = str(answer[-1])
        if urlsplit(target).scheme != req.type:
            raise ArchiveError(f"{req.full_url}: leads to {target}, which isn't {req.type}")
        return super().redirect_request(req, *answer)


@dataclass(frozen=True, kw_only=True)
class Digest:
    """What a file is: its size in bytes and its SHA-256 in hexadecimal."""

    size: int
    sha256: str


@dataclass(frozen=True)
class _Jar:
    """A jar by its file's name, what it holds and where it came from."""

    name: str
    sha256: str
    archive: Path


def fetch(release: Mapping[str, Any], folder: Path) -> Path:
    """Download a release (`url`, `file`, `size` in bytes, `sha256`) into a folder and return its path.

    Raises ArchiveError when it isn't pinned, can't be downloaded or isn't the pinned file; then nothing is left.
    """
    name, size, sha256 = str(release["file"]), int(release["size"]), str(release["sha256"])
    if not sha256 or not size:
        raise ArchiveError(f"{name} has no checksum: run `make lock-plugins` and deploy again")
    if PurePosixPath(name).name != name:
        raise ArchiveError(f"{name!r} isn't a file's name")
    target = folder / name
    found = download(str(release["url"]), target, limit=size)
    if found != Digest(size=size, sha256=sha256):
        target.unlink()
        raise ArchiveError(
            f"{name} isn't the pinned file: SHA-256 {found.sha256} ({found.size:,} bytes), "
            f"pinned is {sha256} ({size:,} bytes)"
        )
    return target


def download(
    url: str, target: Path, *, limit: int = LARGEST_FILE_BYTES, on_chunk: Callable[[int], None] = lambda _size: None
) -> Digest:
    """Stream a URL into a file and return what it is.

    Tries again after 1, 3 and 9 seconds when the server can't be reached, is busy (5xx, 429) or breaks off. `on_chunk`
    is called with the bytes so far. Raises ArchiveError; then there is no file. More than `limit` bytes are refused.
    """
    for wait in (*WAITS_SECONDS, None):
        try:
            return _download_once(url, target, limit, on_chunk)
        except _TransientError as error:
            target.unlink(missing_ok=True)
            if wait is None:
                raise UnreachableError(f"{url}: {error} (tried {len(WAITS_SECONDS) + 1} times)") from None
            time.sleep(wait)
        except BaseException:
            target.unlink(missing_ok=True)
            raise
    raise AssertionError("unreachable")


def repack(archives: Sequence[Path], target: Path, *, resources: Mapping[str, str] | None = None) -> Digest:
    """Write the jars of zip, tar.gz and jar files to the root of one zip; the same jars always make the same bytes.

    `resources`, files by name (ASCII), become one more jar: what is on the class path needs no path on a worker. Works
    in `target`'s folder. Raises ArchiveError for a damaged archive, a path that leads out of it or isn't one line, two
    different jars of one name (in whatever case), no jar at all, or more than 1 GiB; then there is no file.
    """
    work = target.with_name(f"{target.name}.jars")
    work.mkdir()
    jars: dict[str, _Jar] = {}
    try:
        for archive in archives:
            for name, sha256 in _extract(archive, work):
                _keep(jars, _Jar(name, sha256, archive))
        if not jars:
            raise ArchiveError(f"no jar in {', '.join(archive.name for archive in archives)}")
        if resources:
            _keep(jars, _Jar(RESOURCES_JAR, _resources_jar(resources, work), target))
        _write_zip(target, {jar.name: work / jar.sha256 for jar in jars.values()})
    except BaseException:
        target.unlink(missing_ok=True)
        raise
    finally:
        for leftover in work.iterdir():
            leftover.unlink()
        work.rmdir()
    return digest(target)


def _resources_jar(resources: Mapping[str, str], work: Path) -> str:
    """Make the jar of the resources at `work/<SHA-256>`; return the hash."""
    files = work / "resources"
    files.mkdir()
    for name, text in resources.items():
        (files / name).write_text(text, encoding="ascii")
    partial = work / "partial"
    _write_zip(partial, {name: files / name for name in resources})
    for name in resources:
        (files / name).unlink()
    files.rmdir()
    sha256 = digest(partial).sha256
    partial.rename(work / sha256)
    return sha256


def digest(path: Path) -> Digest:
    """Return what a file is."""
    with path.open("rb") as file:
        return Digest(size=path.stat().st_size, sha256=hashlib.file_digest(file, "sha256").hexdigest())


def _download_once(url: str, target: Path, limit: int, on_chunk: Callable[[int], None]) -> Digest:
    if urlsplit(url).scheme not in ("https", "http"):
        raise ArchiveError(f"{url}: not a web address")
    request = urllib.request.Request(url, headers={"User-Agent": "cdc-data-lake"})  # noqa: S310  checked above
    ends_at = time.monotonic() + ATTEMPT_SECONDS
    with (
        _as_archive_errors(url),
        urllib.request.build_opener(_SameProtocol).open(request, timeout=READ_TIMEOUT_SECONDS) as response,
        target.open("wb") as file,
    ):
        announced = response.headers.get("Content-Length")
        found = _copy(response, file, name=url, limit=limit, ends_at=ends_at, on_chunk=on_chunk)
    if announced is not None and found.size != int(announced):
        raise _TransientError(f"broke off after {found.size:,} of {int(announced):,} bytes")
    return found


@contextlib.contextmanager
def _as_archive_errors(url: str) -> Iterator[None]:
    """Tell what may pass from what won't."""
    try:
        yield
    except urllib.error.HTTPError as error:
        message = f"HTTP {error.code} {error.reason}"
        error.close()
        if error.code >= http.client.INTERNAL_SERVER_ERROR or error.code in _TRANSIENT_STATUS:
            raise _TransientError(message) from None
        raise ArchiveError(f"{url}: {message}") from None
    except urllib.error.URLError as error:
        if isinstance(error.reason, ssl.SSLCertVerificationError):
            raise ArchiveError(f"{url}: {error.reason}") from None
        raise _TransientError(str(error.reason)) from None
    except (ConnectionError, TimeoutError, http.client.HTTPException) as error:
        raise _TransientError(str(error) or type(error).__name__) from None


def _copy(
    source: IO[bytes],
    target: IO[bytes],
    *,
    name: str,
    limit: int,
    ends_at: float | None = None,
    on_chunk: Callable[[int], None] = lambda _size: None,
) -> Digest:
    """Copy a stream, chunk by chunk, up to a size and a time (of time.monotonic)."""
    size, sha256 = 0, hashlib.sha256()
    while chunk := source.read(CHUNK_BYTES):
        size += len(chunk)
        if size > limit:
            raise ArchiveError(f"{name}: more than {limit:,} bytes")
        if ends_at is not None and time.monotonic() > ends_at:
            raise _TransientError(f"only {size:,} bytes in {ATTEMPT_SECONDS} s")
        target.write(chunk)
        sha256.update(chunk)
        on_chunk(size)
    return Digest(size=size, sha256=sha256.hexdigest())


def _extract(archive: Path, work: Path) -> Iterator[tuple[str, str]]:
    """Copy an archive's jars to `work/<SHA-256>`, one at a time, yielding name and SHA-256."""
    left = LARGEST_CONTENT_BYTES
    with contextlib.closing(_members(archive)) as members:
        for name, stream in members:
            partial = work / "partial"
            with stream, partial.open("wb") as file, _as_damage(archive):
                found = _copy(stream, file, name=f"{archive.name}: its jars", limit=left)
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
    """Whether Connect would load it (`PluginUtils.isArchive` looks at the name in lower case). Refuses unfit names."""
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
    except _DAMAGE as error:
        raise ArchiveError(f"{archive.name} can't be read: {error}") from None
    except OSError as error:
        # What a seek to a wrong offset says; a full disk is something else.
        if error.errno != errno.EINVAL:
            raise
        raise ArchiveError(f"{archive.name} can't be read: it names a place that isn't in it") from None


def _keep(jars: dict[str, _Jar], jar: _Jar) -> None:
    """Keep a jar by its name in lower case: not every file system tells case, and a worker would load both."""
    first = jars.setdefault(jar.name.lower(), jar)
    if first.sha256 != jar.sha256:
        also = "" if first.name == jar.name else f" as {first.name}"
        raise ArchiveError(
            f"{jar.name} is in {first.archive.name}{also} and in {jar.archive.name} with different content "
            f"(SHA-256 {first.sha256} and {jar.sha256}): the worker would load either"
        )
    # Of the same jar under two spellings always the same one, whatever the archives' order.
    if jar.name < first.name:
        jars[jar.name.lower()] = jar


def _write_zip(target: Path, jars: Mapping[str, Path]) -> None:
    # Stored: jars are compressed already, and a compressor's version would change the bytes.
    with zipfile.ZipFile(target, "w", zipfile.ZIP_STORED) as packed:
        for name in sorted(jars):
            entry = zipfile.ZipInfo(name, FIXED_DATE)
            entry.create_system = 3
            entry.external_attr = 0o644 << 16
            entry.file_size = jars[name].stat().st_size
            with jars[name].open("rb") as source, packed.open(entry, "w") as file:
                while chunk := source.read(CHUNK_BYTES):
                    file.write(chunk)
