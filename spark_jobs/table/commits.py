"""A Hudi table's commits (0.15 and 1.0, table version 6): the progress in their metadata, and its timeline."""

import itertools
import json
import re
import sys
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

from pyspark.sql import types as T

from contract import added_columns
from contract.added_columns import AddedColumn
from spark_jobs.errors import SettingsError
from spark_jobs.options import keys
from spark_jobs.ordering import memory
from spark_jobs.ordering.memory import Delete, Truncates
from spark_jobs.runtime.hadoop import NOTHING_KNOWN, FileMemory, Hadoop
from spark_jobs.sources.postgres.snapshot import Snapshot, read_snapshot

PREFIX = keys.PROGRESS_PREFIX
SOURCE_KEY = keys.PROGRESS
RESET_KEY = f"{PREFIX}.reset_key"
# The whole register of deletes, or a commit's own deletes, which extend the earlier commits' register; tables have used
# these names since the first version.
DELETES_KEY = f"{PREFIX}.tombstones"
ADDED_DELETES_KEY = f"{PREFIX}.tombstones.added"
# Commits between two with the whole register: fewer than Hudi's active timeline keeps (20 at least).
FULL_EVERY = 10


@dataclass(frozen=True)
class Checkpoint:
    """How far the source has been read, and the remembered deletes; the two `--checkpoint` values applied last.

    `columns` are those that came with events, or after the table's first commit. `added`: this commit's own deletes;
    `since_full`: how many commits back the whole register is; `complete` is False where the commit with it is gone.
    """

    source: str | None = None
    reset: str | None = None
    ignored: str | None = None
    deleted: Mapping[str, Delete] = field(default_factory=dict, repr=False)
    columns: Mapping[str, AddedColumn] = field(default_factory=dict, repr=False)
    added: Mapping[str, Delete] = field(default_factory=dict, repr=False, compare=False)
    since_full: int = field(default=0, compare=False)
    complete: bool = field(default=True, compare=False)
    truncates: Truncates = field(default_factory=Truncates)
    snapshot: Snapshot | None = None

    @cached_property
    def newest_delete(self) -> str | None:
        """The highest ordering value of the remembered deletes; None without any."""
        return max((delete.at for delete in self.deleted.values()), key=memory.rank, default=None)

    def following(
        self, source: str, deletes: Mapping[str, Delete], *, limit: int, truncates: Truncates | None = None
    ) -> tuple["Checkpoint", int]:
        """Return the next commit's checkpoint, and how many deletes were forgotten for lack of room."""
        deleted, dropped = self.deleted, 0
        if deletes:
            deleted, dropped = memory.merge(self.deleted, deletes, limit=limit)
        since_full = (self.since_full + 1) % FULL_EVERY if self.deleted else 0
        following = replace(self, source=source, deleted=deleted, added=deletes, since_full=since_full)
        return (replace(following, truncates=truncates) if truncates else following), dropped

    def to_metadata(self) -> dict[str, str]:
        """Return a commit's metadata entries, without empty values, which Hudi doesn't store."""
        entries = {SOURCE_KEY: self.source, RESET_KEY: self.reset, keys.IGNORED: self.ignored}
        if self.since_full:
            entries[ADDED_DELETES_KEY] = memory.encode(self.added)
        elif self.deleted:
            entries[DELETES_KEY] = memory.encode(self.deleted)
        if self.snapshot:
            entries[keys.SNAPSHOT] = self.snapshot.to_text()
        if self.columns:
            entries[keys.ADDED_COLUMNS] = added_columns.encode(self.columns)
        return {key: value for key, value in entries.items() if value} | self.truncates.to_metadata()


def from_commits(commits: Iterable[Mapping[str, str]]) -> Checkpoint:
    """Return the checkpoint from commits' metadata, newest first; reads no more of them than the register takes."""
    newest: Mapping[str, str] | None = None
    added: list[Mapping[str, Delete]] = []
    register: Mapping[str, Delete] = {}
    complete = False
    for metadata in commits:
        newest = newest or metadata
        if ADDED_DELETES_KEY not in metadata:
            register, complete = memory.decode(metadata.get(DELETES_KEY)), True
            break
        added.append(memory.decode(metadata[ADDED_DELETES_KEY]))
    if newest is None:
        return Checkpoint()
    for deletes in reversed(added):
        register, _ = memory.merge(register, deletes, limit=sys.maxsize)
    return Checkpoint(
        source=newest.get(SOURCE_KEY),
        reset=newest.get(RESET_KEY),
        ignored=newest.get(keys.IGNORED),
        deleted=register,
        columns=added_columns.decode(newest.get(keys.ADDED_COLUMNS)),
        # If its beginning is missing, the register is written whole again.
        since_full=len(added) if complete else FULL_EVERY - 1,
        complete=complete,
        truncates=memory.from_metadata(newest),
        snapshot=read_snapshot(newest[keys.SNAPSHOT]) if keys.SNAPSHOT in newest else None,
    )


def starting_from(stored: Checkpoint, *, reset: str | None, ignore: str | None) -> Checkpoint:
    """Return where to start: `--checkpoint` and `--ignore-checkpoint` count once, until a commit has stored them."""
    if reset is not None and reset != stored.reset:
        return replace(stored, source=reset, reset=reset, ignored=ignore or stored.ignored)
    if ignore is not None and ignore != stored.ignored:
        return replace(stored, source=None, ignored=ignore)
    return stored


# Actions on the timeline; table services aren't writes.
WRITES, CLUSTERINGS = ("commit", "deltacommit"), ("replacecommit", "clustering")
# The highest table version that Athena reads; Hudi 1.x would write a newer one.
TABLE_VERSION = 6


@dataclass(frozen=True)
class Carried:
    """A completed write with progress: its time, and the time of the previous one with progress."""

    instant: str
    progress: str
    since: str


class Timeline:
    """The timeline of the table at `path`, which may not exist yet; each answer is read again."""

    def __init__(self, hadoop: Hadoop, path: str, *, memory: FileMemory = NOTHING_KNOWN) -> None:
        """Clears `memory` before each look: another writer may have changed what it knows."""
        self._hadoop = hadoop
        self._path = path
        self._memory = memory
        self._newest_version = self._hudi_table_version()

    def exists(self) -> bool:
        self._memory.forget()
        return self._hadoop.exists(f"{self._path}/.hoodie/hoodie.properties")

    def last_instant(self) -> str | None:
        """Return the time of the newest completed write (commits, compactions, replacements); None without any."""
        if not self.exists():
            return None
        last = self._completed().lastInstant()
        return self._time_of(last.get()) if last.isPresent() else None

    def instants_after(self, instant: str) -> list[str]:
        """Return the times of the completed writes after an instant, or all for an empty text, oldest first."""
        if not self.exists():
            return []
        return sorted(time for each in self._completed().getInstants() if (time := self._time_of(each)) > instant)

    def progress(self) -> dict[str, str]:
        """Return the metadata of the newest commit with a checkpoint; empty without any."""
        return next(self.commits_with_progress(), {})

    def commits_with_progress(self) -> Iterator[dict[str, str]]:
        """Yield the metadata of commits with a checkpoint, newest first, archived ones too; others' have none."""
        if not self.exists():
            return
        for _, metadata in self._with_archived():
            entries: dict[str, str] = metadata.get("extraMetadata") or {}
            if SOURCE_KEY in entries:
                yield entries

    def carried(self, after: str, to: str) -> list[Carried]:
        """Return the completed writes with progress after `after` up to `to`, oldest first; `to` in any case."""
        found: list[tuple[str, str]] = []
        for time, metadata in self._with_archived():
            progress = (metadata.get("extraMetadata") or {}).get(SOURCE_KEY)
            if progress is None or time > to:
                continue
            found.append((time, progress))
            if time <= after and time < to:
                break
        else:
            found.append(("", ""))
        found.reverse()
        return [Carried(*write, since) for (since, _), write in itertools.pairwise(found)]

    def active(self) -> Iterator[tuple[str, dict[str, Any]]]:
        """Yield time and metadata of the active timeline's completed writes, newest first."""
        return self.writes(self.meta_client().getActiveTimeline())

    def unfinished(self, actions: Collection[str]) -> list[str]:
        """Return the times of unfinished writes or table services, newest first."""
        pending = self.meta_client().getActiveTimeline().filterInflightsAndRequested().getInstants()
        return sorted({self._time_of(each) for each in pending if each.getAction() in actions}, reverse=True)

    def rolled_back(self) -> set[str]:
        """Return the times of the writes that the active timeline's rollbacks undid."""
        timeline = self.meta_client().getActiveTimeline()
        completed = timeline.getRollbackTimeline().filterCompletedInstants()
        read = self._hadoop.jvm.org.apache.hudi.common.table.timeline.TimelineMetadataUtils
        details = (timeline.getInstantDetails(instant).get() for instant in completed.getInstants())
        # As text: py4j can't iterate Avro's lists.
        found = (str(read.deserializeHoodieRollbackMetadata(each).getCommitsRollback().toString()) for each in details)
        return {instant for text in found for instant in re.findall(r"\d+", text)}

    def first_whole(self) -> str:
        """Return the oldest instant whose files cleanings have kept, unfinished ones too; empty without any.

        One that counts versions of files names none: only the newest instant is certainly whole then.
        """
        client, utilities = self.meta_client(), self._hadoop.jvm.org.apache.hudi.common.util.CleanerUtils
        cleanings, kept = client.getActiveTimeline().getCleanerTimeline(), list[Any]()
        if (last := cleanings.filterCompletedInstants().lastInstant()).isPresent():
            kept.append(utilities.getCleanerMetadata(client, last.get()).getEarliestCommitToRetain())
        for each in cleanings.filterInflightsAndRequested().getInstants():
            earliest = utilities.getCleanerPlan(client, each).getEarliestInstantToRetain()
            kept.append(earliest and earliest.getTimestamp())
        return max((str(instant or self.last_instant()) for instant in kept), default="")

    def refuse_cleaned(self, instant: str) -> None:
        """Raise TimeoutError if a cleaning may have removed files of an instant: a reader just misses their rows."""
        if self.first_whole() > instant:
            raise TimeoutError(
                f"{self._path}: files of commit {instant} were removed while they were read; retention_hours keeps them"
            )

    def ordering_field(self) -> str:
        """Return the column that decides which of two rows of a key is newer."""
        return str(self.meta_client().getTableConfig().getProps().getProperty("hoodie.table.precombine.field"))

    def schema(self) -> T.StructType | None:
        """Return the table's columns without Hudi's own; None before the first commit."""
        if self.last_instant() is None:
            return None
        jvm = self._hadoop.jvm
        avro = jvm.org.apache.hudi.common.table.TableSchemaResolver(self.meta_client()).getTableAvroSchema(False)
        struct = jvm.org.apache.hudi.AvroConversionUtils.convertAvroSchemaToStructType(avro)
        return T.StructType.fromJson(json.loads(struct.json()))

    def meta_client(self) -> Any:
        """Return Hudi's HoodieTableMetaClient, which reads the table's files again."""
        jvm = self._hadoop.jvm
        configuration = jvm.org.apache.hudi.hadoop.fs.HadoopFSUtils.getStorageConf(self._hadoop.configuration)
        builder = jvm.org.apache.hudi.common.table.HoodieTableMetaClient.builder()
        return builder.setConf(configuration).setBasePath(self._path).build()

    def writes(self, timeline: Any) -> Iterator[tuple[str, dict[str, Any]]]:
        """Yield time and metadata of a timeline's completed writes, newest first."""
        completed = timeline.getCommitsTimeline().filterCompletedInstants()
        for instant in completed.getReverseOrderedInstants().toArray():
            details = completed.getInstantDetails(instant)
            if details.isPresent():
                yield self._time_of(instant), json.loads(bytes(details.get()))

    def _completed(self) -> Any:
        return self.meta_client().getActiveTimeline().getCommitsTimeline().filterCompletedInstants()

    def _hudi_table_version(self) -> int:
        versions = self._hadoop.jvm.org.apache.hudi.common.table.HoodieTableVersion
        try:
            return int(versions.current().versionCode())
        except TypeError as error:  # py4j's answer for a missing class
            raise SettingsError("Hudi isn't on Spark's class path: give its bundle with --jars") from error

    def _with_archived(self) -> Iterator[tuple[str, dict[str, Any]]]:
        client = self.meta_client()
        yield from self.writes(client.getActiveTimeline())
        archived = client.getArchivedTimeline()
        archived.loadCompletedInstantDetailsInMemory()
        yield from self.writes(archived)

    def _time_of(self, instant: Any) -> str:
        return str(instant.requestedTime() if self._newest_version > TABLE_VERSION else instant.getTimestamp())
