"""Lists the files under a folder: local, on S3 through its own API, or through Hadoop for everything else."""

import os
import re
import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from weakref import WeakKeyDictionary

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
        """Return what is wrong with a root without files; None if it is only empty. `read_before`: it had some."""

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
    """Objects under `scheme://bucket/prefix`, through boto3's list_objects_v2, as a walk finds them."""

    def __init__(self, root: str, walk: "Walk", *, is_shared: bool) -> None:
        self._client = walk.client
        self._walk = walk
        self.root = root
        self.prefers_after = is_shared
        prefix = root.removeprefix(walk.bucket).removeprefix("/")
        self.prefix = f"{prefix}/" if prefix else ""

    def all(self) -> list[SourceFile]:
        return self._walk.all(self.prefix)

    def after(self, watermarks: Mapping[str, str]) -> list[SourceFile]:
        return self._walk.after(self, watermarks)

    def missing(self, *, read_before: bool) -> str | None:
        # S3 has no folders: one vanishes with its last object.
        try:
            found = self._client.list_objects_v2(Bucket=self._walk.name, Prefix=self.prefix, MaxKeys=1)
        except self._client.exceptions.NoSuchBucket:
            return "no such bucket"
        return None if found.get("Contents") or read_before else "no object's name begins so"


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
            plain, root = (full.partition(":")[2].lstrip("/") for full in (path, self.root))
            name = plain.removeprefix(root).lstrip("/")
            if name and not is_bookkeeping(name):
                files.append(SourceFile(path, name, size, changed_ms, etag or str(changed_ms)))
        return files


Watermarks = Mapping[str, str]
# Partitions are numbers: nothing in a topic sorts before this one.
_FIRST_PARTITION = "0"


class SharedListing:
    """Creates the listers of one table, or of `many`, which share their answers."""

    def __init__(self, *, many: bool = False, clock: Callable[[], float] = time.monotonic) -> None:
        self._many = many
        self._clock = clock
        self._lock = threading.Lock()
        self._walks: dict[tuple[str, str, bool], Walk] = {}

    def lister(self, root: str, client: Any) -> S3Lister:
        """Return the lister of `scheme://bucket/prefix`; it walks with the others of its parent folder.

        One alone, or of a folder in the bucket's root, walks within its own: the job's role may list only that.
        """
        scheme, _, rest = root.partition("://")
        name, _, prefix = rest.partition("/")
        bucket = f"{scheme}://{name}"
        parent = prefix.rpartition("/")[0] if self._many else ""
        below = parent or prefix
        with self._lock:
            new = Walk(client, bucket, name, below and f"{below}/", self._clock)
            walk = self._walks.setdefault((bucket, below, not parent), new)
        return S3Lister(root, walk, is_shared=self._many)


@dataclass(eq=False)
class Walk:
    """One walk's findings over the folders below one; the next walk starts when the answer is too old for a lister.

    That is older than half the time since the lister last asked: a table that looks often gets new answers, and a
    table alone always does.

    S3 answers a listing with 1,000 objects in the order of their names. The walk goes from the first table's folder to
    the last one's and jumps over consumed objects: to the watermark of each topic partition. All that fits into one
    answer costs no request of its own, so 100 idle tables cost as few requests as one.
    """

    client: Any
    # With its scheme, and alone.
    bucket: str
    name: str
    below: str
    clock: Callable[[], float]
    _lock: threading.Lock = field(default_factory=threading.Lock)
    # Of the listers still in use: a table's restarted job has another one.
    _asked: WeakKeyDictionary[S3Lister, Watermarks] = field(default_factory=WeakKeyDictionary)
    _asked_at: WeakKeyDictionary[S3Lister, float] = field(default_factory=WeakKeyDictionary)
    _found: dict[str, list[SourceFile]] = field(default_factory=dict)
    _began: float = float("-inf")

    def all(self, prefix: str) -> list[SourceFile]:
        """Return every object below a prefix."""
        return self._walked({prefix: {}})[prefix]

    def after(self, lister: S3Lister, watermarks: Watermarks) -> list[SourceFile]:
        """Return the objects behind their folder's watermark, below the lister's prefix. Raises the client's errors."""
        with self._lock:
            began = self.clock()
            # The first time, the walk hasn't covered the lister's folder.
            since = began - self._asked_at.get(lister, began)
            is_known = lister in self._asked
            self._asked[lister], self._asked_at[lister] = dict(watermarks), began
            if not is_known or began - self._began > since / 2:
                self._found, self._began = self._walked(self._watermarks()), began
            return list(self._found.get(lister.prefix, []))

    def _watermarks(self) -> dict[str, Watermarks]:
        """Return, per prefix, the lowest watermark of each folder: several tables may read one folder."""
        lowest: dict[str, Watermarks] = {}
        for lister, watermarks in self._asked.items():
            others = lowest.get(lister.prefix, watermarks)
            both = others.keys() & watermarks.keys()
            lowest[lister.prefix] = {folder: min(others[folder], watermarks[folder]) for folder in both}
        return dict(sorted(lowest.items()))

    def _walked(self, asked: Mapping[str, Watermarks]) -> dict[str, list[SourceFile]]:
        found: dict[str, list[SourceFile]] = {prefix: [] for prefix in asked}
        position = _next("", asked)
        while position is not None:
            begins = {"StartAfter": position} if position else {}
            try:
                page = self.client.list_objects_v2(Bucket=self.name, Prefix=self.below, **begins)
            except self.client.exceptions.NoSuchBucket:
                break
            for entry in page.get("Contents", []):
                self._take(entry, asked, found)
            position = _next(page["Contents"][-1]["Key"], asked) if page.get("IsTruncated") else None
        return found

    def _take(
        self, entry: Mapping[str, Any], asked: Mapping[str, Watermarks], found: dict[str, list[SourceFile]]
    ) -> None:
        # Either the walk covers one folder, or all prefixes are folders of one parent: a name has at most one.
        folder = self.below + entry["Key"].removeprefix(self.below).partition("/")[0] + "/"
        prefix = self.below if self.below in asked else folder
        if prefix not in asked:
            return
        name = entry["Key"].removeprefix(prefix)
        if name <= asked[prefix].get(name.rpartition("/")[0], ""):
            return  # consumed, or late: a full listing finds late ones
        if name and not name.endswith("/") and not is_bookkeeping(name):
            changed_ms = int(entry["LastModified"].timestamp() * 1000)
            mark = entry.get("ETag", str(changed_ms))
            found[prefix].append(SourceFile(f"{self.bucket}/{entry['Key']}", name, entry["Size"], changed_ms, mark))


def _next(after: str, asked: Mapping[str, Watermarks]) -> str | None:
    """Return where a walk continues after a name: past unrequested and consumed objects.

    `asked` has the prefixes in the order of their names; None when all of them are behind.
    """
    for prefix, watermarks in asked.items():
        if after > prefix and not after.startswith(prefix):
            continue
        known = {f"{prefix}{folder}/": f"{prefix}{last}" for folder, last in watermarks.items()}
        if after <= prefix:
            return known.get(f"{prefix}{_FIRST_PARTITION}/", prefix)
        return max(after, known.get(f"{after.rpartition('/')[0]}/", ""))
    return None


def lister_for(root: str, hadoop: Hadoop, listing: SharedListing) -> tuple[Lister, str | None]:
    """Return the lister for a root, and a line to log when a better one would be possible.

    `listing` creates those on S3. A root without a scheme is resolved by Hadoop: a local folder, or one on the
    cluster's HDFS. Raises SettingsError for a root that can't be parsed.
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
    return listing.lister(root, client), None
