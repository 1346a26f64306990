"""Lists the landing folders of many tables in one walk: 100 idle tables cost as few requests as one.

S3 answers a listing with 1,000 objects in the order of their names. The walk goes from the first table's folder to the
last one's and jumps over consumed objects: to the watermark of each topic partition. Whatever fits into one answer
costs no request of its own.
"""

import threading
import time
from collections.abc import Callable, Mapping
from typing import Any
from weakref import WeakKeyDictionary

from spark_jobs.sources.file_progress import SourceFile
from spark_jobs.sources.listing import S3Lister, source_file

Watermarks = Mapping[str, str]
# Partitions are numbers: nothing in a topic sorts before this one.
_FIRST_PARTITION = "0"


class SharedListing:
    """Creates the tables' listers; `max_age_seconds`: maximum age of an answer, the time between two looks.

    With 0 a single table walks alone.
    """

    def __init__(self, *, max_age_seconds: float, clock: Callable[[], float] = time.monotonic) -> None:
        self._max_age = max_age_seconds
        self._clock = clock
        self._lock = threading.Lock()
        self._walks: dict[tuple[str, str, bool], Walk] = {}

    def lister(self, root: str, client: Any) -> "SharedLister":
        """Return the lister of `scheme://bucket/prefix`; it walks with the others of its parent folder.

        A single table, and a folder in the bucket's root, walk within their own folder: the job's role may list only
        that.
        """
        scheme, _, rest = root.partition("://")
        bucket, _, prefix = rest.partition("/")
        parent = prefix.rpartition("/")[0] if self._max_age else ""
        below = parent or prefix
        with self._lock:
            new = Walk(client, scheme, bucket, below, self._max_age, self._clock)
            walk = self._walks.setdefault((f"{scheme}://{bucket}", below, not parent), new)
        return SharedLister(root, client, walk, f"{prefix}/" if prefix else "", is_shared=self._max_age > 0)


class SharedLister(S3Lister):
    """One table's lister; its full listings are its own."""

    def __init__(self, root: str, client: Any, walk: "Walk", prefix: str, *, is_shared: bool) -> None:
        super().__init__(root, client)
        self._walk = walk
        self.prefix = prefix
        self.prefers_after = is_shared

    def after(self, watermarks: Watermarks) -> list[SourceFile]:
        return self._walk.after(self, watermarks)


class Walk:
    """One walk's findings over the folders below one; the next walk starts when the answer is too old."""

    def __init__(
        self, client: Any, scheme: str, bucket: str, below: str, max_age: float, clock: Callable[[], float]
    ) -> None:
        self._client = client
        self._scheme = scheme
        self._bucket = bucket
        self._below = f"{below}/" if below else ""
        self._max_age = max_age
        self._clock = clock
        self._lock = threading.Lock()
        # Of the listers still in use: a table's restarted job has another one.
        self._asked: WeakKeyDictionary[SharedLister, Watermarks] = WeakKeyDictionary()
        self._found: dict[str, list[SourceFile]] = {}
        self._began = float("-inf")

    def after(self, lister: SharedLister, watermarks: Watermarks) -> list[SourceFile]:
        """Return the objects named after their folder's watermark, below the lister's prefix.

        Raises the client's errors.
        """
        with self._lock:
            is_known = lister in self._asked
            self._asked[lister] = dict(watermarks)
            if not is_known or self._clock() - self._began > self._max_age:
                began = self._clock()
                try:
                    self._found = self._walked(self._watermarks())
                except self._client.exceptions.NoSuchBucket:
                    self._found = {}
                self._began = began
            return list(self._found.get(lister.prefix, []))

    def _watermarks(self) -> dict[str, Watermarks]:
        """Return, per prefix, the lowest watermark of each folder: several tables may read one folder."""
        lowest: dict[str, dict[str, str]] = {}
        for lister, watermarks in self._asked.items():
            others = lowest.get(lister.prefix)
            if others is None:
                lowest[lister.prefix] = dict(watermarks)
            else:
                both = others.keys() & watermarks.keys()
                lowest[lister.prefix] = {folder: min(others[folder], watermarks[folder]) for folder in both}
        return dict(sorted(lowest.items()))

    def _walked(self, asked: Mapping[str, Watermarks]) -> dict[str, list[SourceFile]]:
        found: dict[str, list[SourceFile]] = {prefix: [] for prefix in asked}
        position = _next("", asked)
        while position is not None:
            begins = {"StartAfter": position} if position else {}
            page = self._client.list_objects_v2(Bucket=self._bucket, Prefix=self._below, **begins)
            for entry in page.get("Contents", []):
                self._take(entry, asked, found)
            position = _next(page["Contents"][-1]["Key"], asked) if page.get("IsTruncated") else None
        return found

    def _take(
        self, entry: Mapping[str, Any], asked: Mapping[str, Watermarks], found: dict[str, list[SourceFile]]
    ) -> None:
        # Either the walk covers one folder, or all prefixes are folders of one parent: a name has at most one.
        folder = self._below + entry["Key"].removeprefix(self._below).partition("/")[0] + "/"
        prefix = self._below if self._below in asked else folder
        if prefix not in asked:
            return
        name = entry["Key"].removeprefix(prefix)
        if name <= asked[prefix].get(name.rpartition("/")[0], ""):
            return  # consumed, or late: a full listing finds late ones
        file = source_file(entry, self._scheme, self._bucket, prefix)
        if file is not None:
            found[prefix].append(file)


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
