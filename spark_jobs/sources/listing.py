"""Lists the files under a folder: local, on S3 through its own API, or through Hadoop for everything else."""

import os
import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from spark_jobs.runtime import aws
from spark_jobs.runtime.hadoop import Hadoop, local_path
from spark_jobs.sources.file_progress import SourceFile


class Lister(ABC):
    """Lists SourceFiles under its root, without bookkeeping; a root that doesn't exist yet has none."""

    # In full: scheme, authority and all folders.
    root: str
    # Whether `after` costs less than `all`, however few files there are.
    prefers_after = False

    @abstractmethod
    def missing(self, *, read_before: bool) -> str | None:
        """Return what is wrong with a root that has no files; None when it is only empty.

        `read_before`: it had files earlier.
        """

    @abstractmethod
    def all(self) -> list[SourceFile]:
        """Return every file."""

    def after(self, watermarks: Mapping[str, str]) -> list[SourceFile]:  # noqa: ARG002  (not each can begin in the middle)
        """Return at least every file after the watermark of its folder, and those of folders without one."""
        return self.all()


# S3Proxy lists an object while it is still being written, as `<name>-<UUID>`. It would be read with half a line at its
# end and, as the watermark, hide the complete object, whose name sorts before it.
_UNFINISHED = re.compile(r"\.json-[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}\Z")


def is_bookkeeping(name: str) -> bool:
    """Check whether a path isn't data: unfinished, or a part starts with `.` or `_` (`.indexes/`, `_SUCCESS`)."""
    return _UNFINISHED.search(name) is not None or any(part.startswith((".", "_")) for part in name.split("/"))


class LocalLister(Lister):
    """Files of this machine. A file moved here keeps its modification time, so its change time counts too."""

    def __init__(self, root: str) -> None:
        self._root = Path(root)
        self.root = str(self._root)

    def missing(self, *, read_before: bool) -> str | None:  # noqa: ARG002  (an emptied folder is still there)
        if self._root.is_dir():
            return None
        return "not a folder" if self._root.exists() else "no such folder"

    def all(self) -> list[SourceFile]:
        return list(self._walk(self._root, ""))

    def _walk(self, folder: Path, prefix: str) -> Iterator[SourceFile]:
        try:
            entries = sorted(os.scandir(folder), key=lambda entry: entry.name)
        except (FileNotFoundError, NotADirectoryError):
            return
        for entry in entries:
            if is_bookkeeping(entry.name):
                continue
            if entry.is_dir():
                yield from self._walk(Path(entry.path), f"{prefix}{entry.name}/")
                continue
            try:
                status = entry.stat()
            except FileNotFoundError:
                continue
            changed_ms = max(status.st_mtime_ns, status.st_ctime_ns) // 1_000_000
            path = Path(entry.path).as_posix()
            yield SourceFile(f"file://{path}", prefix + entry.name, status.st_size, changed_ms, str(status.st_mtime_ns))


class S3Lister(Lister):
    """Objects under `scheme://bucket/prefix`, through boto3's list_objects_v2; `after` comes from a walk
    (shared_listing.py).
    """

    def __init__(self, root: str, client: Any) -> None:
        self._client = client
        self.root = root
        self._scheme, _, rest = root.partition("://")
        self._bucket, _, prefix = rest.partition("/")
        self._prefix = f"{prefix}/" if prefix else ""

    def all(self) -> list[SourceFile]:
        pages = self._client.get_paginator("list_objects_v2").paginate(Bucket=self._bucket, Prefix=self._prefix)
        try:
            entries = [entry for page in pages for entry in page.get("Contents", [])]
        except self._client.exceptions.NoSuchBucket:
            return []
        found = (source_file(entry, self._scheme, self._bucket, self._prefix) for entry in entries)
        return [file for file in found if file is not None]

    def missing(self, *, read_before: bool) -> str | None:
        """Return what is wrong with a root that has no files. S3 has no folders: one vanishes with its last object."""
        try:
            found = self._client.list_objects_v2(Bucket=self._bucket, Prefix=self._prefix, MaxKeys=1)
        except self._client.exceptions.NoSuchBucket:
            return "no such bucket"
        return None if found.get("Contents") or read_before else "no object's name begins so"


def source_file(entry: Mapping[str, Any], scheme: str, bucket: str, prefix: str) -> SourceFile | None:
    """Return an object from list_objects_v2's answer; None for a folder or bookkeeping."""
    name = entry["Key"].removeprefix(prefix)
    if not name or name.endswith("/") or is_bookkeeping(name):
        return None
    changed_ms = int(entry["LastModified"].timestamp() * 1000)
    path = f"{scheme}://{bucket}/{entry['Key']}"
    return SourceFile(path, name, entry["Size"], changed_ms, entry.get("ETag", str(changed_ms)))


class HadoopLister(Lister):
    """Files of any file system that Hadoop knows; lists everything each time."""

    def __init__(self, root: str, hadoop: Hadoop) -> None:
        self.root = hadoop.qualified(root)
        self._hadoop = hadoop

    def missing(self, *, read_before: bool) -> str | None:
        if self._hadoop.is_folder(self.root) or (read_before and self.root.startswith("s3")):
            return None
        return "not a folder" if self._hadoop.exists(self.root) else "no such folder"

    def all(self) -> list[SourceFile]:
        files = []
        for path, size, changed_ms, etag in self._hadoop.files_below(self.root):
            name = _below(path, self.root)
            if name and not is_bookkeeping(name):
                files.append(SourceFile(path, name, size, changed_ms, etag or str(changed_ms)))
        return files


def _below(path: str, root: str) -> str:
    plain = path.partition(":")[2].lstrip("/") if ":" in path else path.lstrip("/")
    plain_root = root.partition(":")[2].lstrip("/") if ":" in root else root.lstrip("/")
    return plain.removeprefix(plain_root).lstrip("/")


def lister_for(root: str, hadoop: Hadoop, s3_lister: Callable[[str, Any], Lister]) -> tuple[Lister, str | None]:
    """Return the lister for a root, and a line to log when a better one would be possible.

    `s3_lister` creates one from a root on S3 and boto3's client.

    A root without a scheme is resolved by Hadoop: a local folder, or one on the cluster's HDFS. Raises SettingsError
    for a root that can't be parsed.
    """
    qualified = hadoop.qualified(root)
    local = local_path(qualified)
    if local is not None:
        return LocalLister(local), None
    if not qualified.startswith(("s3://", "s3a://")):
        return HadoopLister(root, hadoop), None
    try:
        client = aws.client("s3", **hadoop.s3_client_arguments())
    except ModuleNotFoundError:
        return HadoopLister(root, hadoop), f"boto3 is missing: {root} is listed whole each time, through Hadoop"
    return s3_lister(root, client), None
