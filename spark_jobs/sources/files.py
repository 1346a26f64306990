"""JsonDFSSource: JSON lines in files below a folder, in either landing layout or any other."""

import re
import time
from bisect import bisect_right
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field, replace
from functools import reduce
from itertools import accumulate
from pathlib import Path, PurePosixPath
from urllib.parse import unquote

from pyspark.sql import DataFrame, DataFrameReader, SparkSession
from pyspark.sql import functions as F

from spark_jobs.errors import Log, SettingsError
from spark_jobs.options import keys
from spark_jobs.options.settings import FileSettings
from spark_jobs.runtime.hadoop import Hadoop
from spark_jobs.sources.batches import SMALL_BYTES, SWEEPS_SHARE, Batch, Findings, bounded
from spark_jobs.sources.file_progress import FileCheckpoint, SourceFile, read_file_checkpoint
from spark_jobs.sources.listing import Lister

# One listing request returns this many objects: with fewer, a full listing is cheaper than one by partition.
_PAGE = 1000
# The sink's names end in the last event's offset: `topic(0_000000000055).json` or `000000000055_<ms>_<ms>.json`. Folder
# names like `customer_id=[missing]` are neither patterns nor partitions, and nothing is skipped silently.
_READ = {
    "recursiveFileLookup": "true",
    "__globPaths__": "false",
    "ignoreCorruptFiles": "false",
    "ignoreMissingFiles": "false",
    # Without Hadoop's checksums of local files: it can't read their names, `.<name>.crc`, where one has a colon.
    "fs.file.impl": "org.apache.hadoop.fs.RawLocalFileSystem",
    "fs.file.impl.disable.cache": "true",
}
# Spark must not even try these: it reads no lines from plain text called .bz2, and under the other names takes text for
# the length of a block, so that the JVM runs out of memory and ends.
_DANGEROUS = (".bz2", ".snappy", ".lz4", ".lzo")
_COMPRESSED = (*_DANGEROUS, ".gz", ".deflate", ".zst")
_GLOB = "*?[{"
# Maximum for a name, before a digest and Hadoop's additions for its own files; most file systems allow 255 bytes.
_LONGEST_NAME, _LONGEST_SUFFIX = 200, 16
_OFFSET_IN_NAME = r"(\d{12,})(?:_\d+_\d+|\))\.json$"
_SENT_IN_NAME = r"\d{12,}_\d+_(\d+)\.json$"


def normalised_root(root: str) -> str:
    """Return a root without scheme, absolute: the same text for every spelling of the folder."""
    without_scheme = re.sub(r"^[A-Za-z][A-Za-z0-9+.-]*:/+", "/", root)
    return Path(without_scheme).absolute().as_posix().strip("/")


@dataclass(frozen=True)
class FileBatch(Batch):
    """Some files to consume in one commit."""

    spark: SparkSession
    consumed: Sequence[SourceFile]
    before: FileCheckpoint
    progress: FileCheckpoint
    line_bytes: int
    unreadable: Mapping[str, str] = field(default_factory=dict)
    # Unreadable files that are still read, without their longest lines.
    with_long_lines: frozenset[str] = frozenset()

    @property
    def files(self) -> int:
        return len(self.consumed)

    @property
    def has_lines(self) -> bool:
        return any(file.size for file in self.consumed)

    @property
    def is_small(self) -> bool:
        """Whether the files have SMALL_BYTES at most, as stored: compressed ones hold more."""
        return sum(file.size for file in self.consumed) <= SMALL_BYTES

    @property
    def has_passed(self) -> bool:
        return any(map(self.before.was_passed, self.consumed))

    @property
    def checkpoint(self) -> str:
        return self.progress.to_text()

    def lines(self) -> DataFrame:
        """Return the lines; `number` counts them within a block of their file."""
        whole = [file.path for file in self.consumed if file.size and file.name not in self.unreadable]
        cut = [file.path for file in self.consumed if file.name in self.with_long_lines]
        if not whole and not cut:
            tie = "named_struct('offset', 0L, 'sent_ms', 0L, 'late', false) AS tie"
            return self.spark.range(0).selectExpr("'' AS line", "'' AS origin", "0L AS block", "id AS number", tie)
        parts = [self._lines(self.spark.read, whole)] if whole else []
        if cut:
            # In one piece: at a piece's end Hadoop's reader takes the rest of a skipped line for a line.
            session = self.spark.newSession()
            for name, value in (("maxPartitionBytes", 2**62), ("minPartitionNum", 1)):
                session.conf.set(f"spark.sql.files.{name}", str(value))
            parts.append(self._lines(session.read.options(**self._cutting), cut))
        return reduce(DataFrame.unionAll, parts)

    def _lines(self, reader: DataFrameReader, paths: Sequence[str]) -> DataFrame:
        text = reader.options(**_READ).text(list(paths))
        path = F.col("_metadata.file_path")
        offset, sent_ms = (F.regexp_extract(path, mark, 1).cast("long") for mark in (_OFFSET_IN_NAME, _SENT_IN_NAME))
        # Partition and file suffice in a name, and are never encoded.
        late = ["/".join(file.name.split("/")[-2:]) for file in self.consumed if self.before.was_passed(file)]
        is_late = F.concat_ws("/", F.slice(F.split(path, "/"), -2, 2)).isin(late) if late else F.lit(False)
        time = F.col("_metadata.file_modification_time").alias("time")
        return text.select(
            bounded(F.col("value"), self.line_bytes).alias("line"),
            path.alias("origin"),
            F.col("_metadata.file_block_start").alias("block"),
            F.monotonically_increasing_id().alias("number"),
            F.struct(offset.alias("offset"), time, path, sent_ms.alias("sent_ms"), is_late.alias("late")).alias("tie"),
        )

    @property
    def _cutting(self) -> Mapping[str, str]:
        # Hadoop's reader skips lines that reach this size, with their end of two characters at most, and keeps none of
        # them in memory.
        return {"mapreduce.input.linerecordreader.line.maxlength": str(self.line_bytes + 3)}

    def without_long_lines(self) -> "FileBatch":
        """Return the batch without the lines beyond the bound; their files also go to quarantine.

        Only a file larger than the maximum line can have such lines. It is read once more here, and the difference
        between its size and its lines' shows them. Compressed files are skipped: their lines are cut as they come.
        """
        large = [file for file in self.consumed if file.size > self.line_bytes and not file.name.endswith(_COMPRESSED)]
        if not large:
            return self
        kept = self.spark.read.options(**_READ, **self._cutting).text([file.path for file in large])
        counts = kept.groupBy("_metadata.file_path").agg(F.count("*"), F.sum(F.octet_length("value")))
        found = {self.name_of(path): (lines, size) for path, lines, size in counts.collect()}
        long = set()
        for file in large:
            lines, size = found.get(file.name, (0, 0))
            # A line ends in one character or two, and a file may begin with a byte order mark of three.
            if file.size - size - lines > min(lines + 3, self.line_bytes):
                long.add(file.name)
        if not long:
            return self
        reason = f"a line has more than {self.line_bytes} bytes ({keys.LINE_BYTES}); the other lines are read"
        unreadable = {**self.unreadable, **dict.fromkeys(long, reason)}
        return replace(self, unreadable=unreadable, with_long_lines=frozenset(long))

    def without_unreadable(self, *, endings: tuple[str, ...] = ("",)) -> "FileBatch | None":
        """Return the batch without its files, of these endings, that can't be decompressed; None if all can."""
        hadoop = Hadoop(self.spark)
        reasons = {
            file.name: hadoop.why_unreadable(file.path)
            for file in self.consumed
            if file.size and file.name not in self.unreadable and file.name.endswith(endings)
        }
        found = {name: f"unreadable: {reason}" for name, reason in reasons.items() if reason}
        return replace(self, unreadable={**self.unreadable, **found}) if found else None

    def copy(self, name: str, folder: str) -> str:
        [file] = [file for file in self.consumed if file.name == name]
        # Lines of the file that are read may go to quarantine, too, under the file's own name.
        ending = ".whole" if name in self.with_long_lines else ""
        to = f"{folder}/{_name_with(file.digest, name)}{ending}"
        Hadoop(self.spark).copy(file.path, to)
        return to

    def name_of(self, origin: str) -> str:
        return normalised_root(unquote(origin)).removeprefix(self.before.root).lstrip("/")

    def content_of(self, origin: str) -> str:
        name = self.name_of(origin)
        [digest] = [file.digest for file in self.consumed if file.name == name]
        return _name_with(digest, name)

    def check(self, lines_of_origin: Mapping[str, int]) -> Findings:
        lines_of_name = {self.name_of(origin): count for origin, count in lines_of_origin.items()}
        missing = self.before.missing_offsets(self.consumed, lines_of_name, uncounted=self.unreadable)
        late = [file.name for file in self.consumed if self.before.is_late(file)]
        notes = [f"{count} offsets of {folder} are in no file" for folder, count in sorted(missing.items())]
        if late:
            notes.append(f"{len(late)} files came late or again, the first is {late[0]}")
        return Findings(sum(missing.values()), len(late), tuple(notes))


def _name_with(digest: bytes, path: str) -> str:
    name = PurePosixPath(path)
    # Hadoop's own paths can't have a colon, and the name must have room for additions.
    stem = name.stem.encode()[:_LONGEST_NAME].decode(errors="ignore")
    suffix = name.suffix if len(name.suffix) < _LONGEST_SUFFIX else ""
    return str(name.with_name(f"{stem}-{digest.hex()}{suffix}")).replace(":", "_")


@dataclass(eq=False)
class JsonFiles:
    """Finds new files, oldest first; lists little between two full sweeps where the layout allows it."""

    spark: SparkSession
    settings: FileSettings
    lister: Lister
    _: KW_ONLY
    log: Log
    clock: Callable[[], float] = time.monotonic
    _said_missing: bool = False
    _waiting: Sequence[SourceFile] = ()
    _next_sweep: float = 0.0
    _ceiling_ms: int = 0
    # Whether the waiting files come from a sweep, and how many others were consumed.
    _is_sweeping: bool = True
    _since_sweep: int = 0
    _can_list_after: bool = False

    def passed(self) -> str:
        """Return the progress of a table that needs none of the files of now."""
        files, remembered = self.lister.all(), self.settings.remembered_files
        start = FileCheckpoint(normalised_root(self.lister.root))
        ceiling_ms = start.ceiling(files, remembered=remembered)
        return start.after(in_order(files), (), remembered=remembered, ceiling_ms=ceiling_ms).to_text()

    def next_batch(self, checkpoint: str | None) -> FileBatch | None:
        """Return the next files after `checkpoint`, at most the settings' bytes but at least one file."""
        progress = read_file_checkpoint(checkpoint, normalised_root(self.lister.root))
        if not self._waiting:
            self._waiting = in_order(file for file in self._list(progress) if progress.is_new(file))
        if not self._waiting:
            return None
        count, most = len(self._waiting), self.settings.max_bytes
        if most is not None:
            count = max(bisect_right([*accumulate(file.size for file in self._waiting)], most), 1)
        consumed, self._waiting = self._waiting[:count], self._waiting[count:]
        self._since_sweep += 0 if self._is_sweeping else count
        remembered = self.settings.remembered_files
        after = progress.after(consumed, self._waiting, remembered=remembered, ceiling_ms=self._ceiling_ms)
        batch = FileBatch(self.spark, consumed, progress, after, self.settings.line_bytes)
        if any(file.name.endswith(_DANGEROUS) for file in consumed):
            batch = batch.without_unreadable(endings=_DANGEROUS) or batch
        return batch.without_long_lines()

    def reset(self) -> None:
        self._waiting = ()
        self._next_sweep = 0.0

    def _list(self, progress: FileCheckpoint) -> list[SourceFile]:
        now = self.clock()
        remembered = self.settings.remembered_files
        # The memory only grows until a sweep lets it forget.
        due = now >= self._next_sweep or self._since_sweep > max(remembered, _PAGE)
        if self._can_list_after and not due:
            self._is_sweeping = False
            return self.lister.after(progress.watermarks)
        files = self.lister.all()
        if not files:
            self._notice_missing(progress)
        self._next_sweep = now + max(self.settings.sweep_seconds, (self.clock() - now) / SWEEPS_SHARE)
        self._since_sweep, self._is_sweeping = 0, True
        self._ceiling_ms = progress.ceiling(files, remembered=remembered)
        worth_it = len(files) > _PAGE or self.lister.prefers_after
        self._can_list_after = worth_it and all(file.folder is not None for file in files)
        return files

    def _notice_missing(self, progress: FileCheckpoint) -> None:
        if self._said_missing:
            return
        reason = self.lister.missing(read_before=bool(progress.memory))
        if reason is None:
            return
        root = self.settings.root
        if any(character in root for character in _GLOB):
            raise SettingsError(f"{keys.FILES_ROOT}={root}: {reason}; a pattern has no meaning here, name one folder")
        if self.settings.must_exist:
            raise SettingsError(f"{keys.FILES_ROOT}={root}: {reason}")
        self._said_missing = True
        self.log(f"{keys.FILES_ROOT}={root}: {reason} yet; the job waits for it")


def in_order(files: Iterable[SourceFile]) -> list[SourceFile]:
    """Sort files oldest first, but those of one topic partition always by offset."""
    listed = sorted(files, key=lambda file: file.name)
    latest: dict[str, int] = {}
    positions = {}
    for file in listed:
        folder = file.folder or file.name
        positions[file.name] = latest[folder] = max(latest.get(folder, 0), file.changed_ms)
    return sorted(listed, key=lambda file: (positions[file.name], file.name))
