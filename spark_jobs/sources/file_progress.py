"""Tracks consumed files: bounded, without ever skipping one whose time equals the checkpoint's.

Progress is a horizon (a change time in ms) and a memory of consumed files (name, size and ETag or modification time, as
8-byte digests). A file is new unless it is in the memory or changed before the horizon. The memory keeps the newest
`remembered` files, and all consumed since the last full listing; the horizon is the time of the oldest one kept, 0
while all are. Watermarks, the last name consumed per topic partition, only shorten listings and reveal missing offsets.
"""

import base64
import hashlib
import json
import re
import struct
import zlib
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field

from spark_jobs.errors import SettingsError

_VERSION = 1
_DIGEST_BYTES = 8
# topic/<partition>/<last offset>_<earliest ms>_<latest ms>.json, relative to the root; without the topic where that is
# the root's own last folder.
_ORDERED = re.compile(r"(?P<folder>([^/]+/)?\d+)/(?P<last>\d{12,})_\d+_(?P<sent_ms>\d+)\.json")


@dataclass(frozen=True)
class SourceFile:
    """One listed file: `path` for Spark, `name` relative to the root, bytes, change time in ms, content mark."""

    path: str
    name: str
    size: int
    changed_ms: int
    mark: str

    @property
    def digest(self) -> bytes:
        identity = f"{self.name}\n{self.size}\n{self.mark}"
        return hashlib.blake2b(identity.encode(), digest_size=_DIGEST_BYTES).digest()

    @property
    def folder(self) -> str | None:
        """Return `topic/partition`, or `partition`, for a name of the ordered landing layout, else None."""
        return _part(self.name, "folder")

    @property
    def last_offset(self) -> int:
        """Return the offset of the last event, in the ordered layout only."""
        return int(str(_part(self.name, "last")))


def _part(name: str, part: str) -> str | None:
    found = _ORDERED.fullmatch(name)
    return found[part] if found else None


@dataclass(frozen=True)
class FileCheckpoint:
    """What has been consumed under `root`; immutable, `after` returns the progress with more files consumed."""

    root: str
    horizon_ms: int = 0
    memory: Mapping[bytes, int] = field(default_factory=dict)
    watermarks: Mapping[str, str] = field(default_factory=dict)

    def is_new(self, file: SourceFile) -> bool:
        return file.changed_ms >= self.horizon_ms and file.digest not in self.memory

    def is_late(self, file: SourceFile) -> bool:
        """Check whether a new file is below its partition's watermark: late, or rewritten."""
        return file.folder is not None and file.name <= self.watermarks.get(file.folder, "")

    def was_passed(self, file: SourceFile) -> bool:
        """Check whether a late file's events were sent before the watermark's: not so in a recreated topic."""
        return self.is_late(file) and _sent_ms(file.name) <= _sent_ms(self.watermarks[str(file.folder)])

    def ceiling(self, listed: Iterable[SourceFile], *, remembered: int) -> int:
        """Return how far the horizon may go until the next full listing; `listed`: all files at present.

        A later file can lie below a watermark, where only a full listing finds it. So its time must not fall before the
        horizon: nothing consumed after this listing moves it.
        """
        times = dict(self.memory) | {file.digest: file.changed_ms for file in listed}
        newest = sorted(times.values(), reverse=True)
        return newest[max(remembered, 1) - 1] if len(newest) > remembered else self.horizon_ms

    def after(
        self,
        consumed: Iterable[SourceFile],
        waiting: Iterable[SourceFile],
        *,
        remembered: int,
        ceiling_ms: int,
    ) -> "FileCheckpoint":
        """Return the progress with `consumed` added while the files `waiting` are listed but not consumed.

        `ceiling_ms` is the last full listing's `ceiling`.
        """
        consumed, waiting = list(consumed), list(waiting)
        memory = dict(self.memory) | {file.digest: file.changed_ms for file in consumed}
        horizon = self.horizon_ms
        if len(memory) > remembered:
            times = sorted(memory.values(), reverse=True)
            # Files with exactly the horizon's time stay in memory: their time alone can't tell them apart.
            oldest_kept = times[max(remembered, 1) - 1]
            horizon = max(horizon, min([oldest_kept, ceiling_ms, *(file.changed_ms for file in waiting)]))
            memory = {digest: changed for digest, changed in memory.items() if changed >= horizon}
        return FileCheckpoint(self.root, horizon, memory, self._watermarks_after(consumed, waiting))

    def _watermarks_after(self, consumed: list[SourceFile], waiting: list[SourceFile]) -> dict[str, str]:
        # The first of each folder comes last.
        first_waiting = {file.folder: file.name for file in sorted(waiting, key=lambda file: file.name, reverse=True)}
        watermarks = dict(self.watermarks)
        for file in sorted(consumed, key=lambda file: file.name):
            folder = file.folder
            if folder and (folder not in first_waiting or file.name < first_waiting[folder]):
                before = watermarks.get(folder, "")
                # A recreated topic starts below: its files would each wait for a full listing.
                if file.name > before or _sent_ms(file.name) > _sent_ms(before):
                    watermarks[folder] = file.name
        return watermarks

    def missing_offsets(
        self, consumed: Iterable[SourceFile], lines_of_name: Mapping[str, int], *, uncounted: Collection[str] = ()
    ) -> dict[str, int]:
        """Return, per topic partition, how many offsets between the watermark and `consumed` are in no file.

        A file's name has its last offset; its number of lines gives the first. Files `uncounted` couldn't be read, so
        their first offset is unknown.
        """
        missing: dict[str, int] = {}
        last_of = {folder: int(str(_part(name, "last"))) for folder, name in self.watermarks.items()}
        for file in sorted(consumed, key=lambda file: file.name):
            if file.folder is None or self.is_late(file):
                continue
            gap = file.last_offset - last_of.get(file.folder, -1) - lines_of_name.get(file.name, 0)
            if gap > 0 and file.name not in uncounted:
                missing[file.folder] = missing.get(file.folder, 0) + gap
            last_of[file.folder] = file.last_offset
        return missing

    def to_text(self) -> str:
        by_time = sorted(self.memory.items(), key=lambda item: item[1])
        times = struct.pack(f">{len(by_time)}Q", *(changed for _, changed in by_time))
        packed = zlib.compress(times + b"".join(digest for digest, _ in by_time), 9)
        document = {
            "version": _VERSION,
            "root": self.root,
            "horizon_ms": self.horizon_ms,
            "watermarks": dict(self.watermarks),
            "memory": base64.b64encode(packed).decode("ascii"),
        }
        return json.dumps(document, separators=(",", ":"))


def _sent_ms(name: str) -> int:
    return int(_part(name, "sent_ms") or 0)


def read_file_checkpoint(text: str | None, root: str) -> FileCheckpoint:
    """Return the progress in a checkpoint; under another root all files are new.

    A plain number, HoodieStreamer's own checkpoint, is a modification time in ms: files of that time or later are new.
    Raises SettingsError for anything else.
    """
    if text is None:
        return FileCheckpoint(root)
    if text.isdecimal():
        return FileCheckpoint(root, horizon_ms=int(text))
    try:
        document = json.loads(text)
        if document["version"] != _VERSION:
            raise SettingsError(f"checkpoint of version {document['version']}: this job knows version {_VERSION} only")
        if document["root"] != root:
            return FileCheckpoint(root)
        packed = zlib.decompress(base64.b64decode(document["memory"]))
        count = len(packed) // (8 + _DIGEST_BYTES)
        times = struct.unpack(f">{count}Q", packed[: count * 8])
        digests = [packed[start : start + _DIGEST_BYTES] for start in range(count * 8, len(packed), _DIGEST_BYTES)]
        memory = dict(zip(digests, times, strict=True))
        return FileCheckpoint(root, document["horizon_ms"], memory, document["watermarks"])
    except (ValueError, KeyError, TypeError, zlib.error, struct.error) as error:
        raise SettingsError(
            f"checkpoint {text[:60]!r} isn't one of JSON files: start with --checkpoint <ms> or --ignore-checkpoint"
        ) from error
