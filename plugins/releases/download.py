"""Downloads pinned releases: a URL becomes a file, and a file that isn't the pinned one is removed.

Runs in Lambda as well as on a developer's machine, so it needs the standard library only. Files stream: memory stays
at a few chunks however large a release is.
"""

import contextlib
import hashlib
import http.client
import ssl
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import IO, Any
from urllib.parse import urlsplit

from contract.errors import UserError

CHUNK_BYTES = 1 << 20
LARGEST_FILE_BYTES = 512 << 20
READ_TIMEOUT_SECONDS = 30
ATTEMPT_SECONDS = 240
WAITS_SECONDS = (1, 3, 9)
_TRANSIENT_STATUS = (408, 425, 429)


class ArchiveError(UserError):
    """A release can't be downloaded or used; the message is one line: which, what, and what to do."""


class UnreachableError(ArchiveError):
    """A release can't be downloaded now; it may be later."""


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
    """A file's size in bytes and its SHA-256 in hexadecimal."""

    size: int
    sha256: str


def fetch(release: Mapping[str, Any], folder: Path, *, waits: Sequence[int] = WAITS_SECONDS) -> Path:
    """Download a release (`url`, `file`, `size` in bytes, `sha256`) into a folder and return its path.

    `waits` are as for `download`. Raises ArchiveError if it isn't pinned, can't be downloaded or isn't the pinned file;
    then nothing is left.
    """
    name, size, sha256 = str(release["file"]), int(release["size"]), str(release["sha256"])
    if not sha256 or not size:
        raise ArchiveError(f"{name} has no checksum: run `./lake dev lock plugins` and deploy again")
    if PurePosixPath(name).name != name:
        raise ArchiveError(f"{name!r} isn't a file's name")
    target = folder / name
    found = download(str(release["url"]), target, limit=size, waits=waits)
    if found != Digest(size=size, sha256=sha256):
        target.unlink()
        raise ArchiveError(
            f"{name} isn't the pinned file: SHA-256 {found.sha256} ({found.size:,} bytes), "
            f"pinned is {sha256} ({size:,} bytes)"
        )
    return target


def download(
    url: str,
    target: Path,
    *,
    limit: int = LARGEST_FILE_BYTES,
    on_chunk: Callable[[int], None] = lambda _size: None,
    waits: Sequence[int] = WAITS_SECONDS,
) -> Digest:
    """Stream a URL into a file and return its digest.

    Retries after `waits` (seconds) if the server can't be reached, is busy (5xx, 429), crawls or breaks off. `on_chunk`
    is called with the bytes so far. Raises ArchiveError; then there is no file. More than `limit` bytes are refused.
    """
    for wait in (*waits, None):
        try:
            return _download_once(url, target, limit, on_chunk)
        except _TransientError as error:
            target.unlink(missing_ok=True)
            if wait is None:
                raise UnreachableError(f"{url}: {error} (tried {len(waits) + 1} times)") from None
            time.sleep(wait)
        except BaseException:
            target.unlink(missing_ok=True)
            raise
    raise AssertionError("unreachable")


def digest(path: Path) -> Digest:
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
        found = copy(response, file, name=url, limit=limit, ends_at=ends_at, on_chunk=on_chunk)
    if announced is not None and found.size != int(announced):
        raise _TransientError(f"broke off after {found.size:,} of {int(announced):,} bytes")
    return found


@contextlib.contextmanager
def _as_archive_errors(url: str) -> Iterator[None]:
    """Separate errors that may pass from permanent ones."""
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


def copy(
    source: IO[bytes],
    target: IO[bytes],
    *,
    name: str,
    limit: int,
    ends_at: float | None = None,
    on_chunk: Callable[[int], None] = lambda _size: None,
) -> Digest:
    """Copy a stream, chunk by chunk, up to a size and a time (of time.monotonic); return its digest.

    Raises ArchiveError for more than `limit` bytes.
    """
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
