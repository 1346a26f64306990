"""Finds a table's losses, after which Hudi would write wrong rows, and repairs damage that Hudi can't recover from.

A loss is a missing timeline, commit or data file. Damage comes from a crash, or from two jobs at once: Hudi 0.15 can
never again write to a bucket with two file groups. Two writers that put the first rows into a bucket at the same moment
leave such a pair; so does a second bulk insert.
"""

import json
import re
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, closing, contextmanager
from itertools import islice
from typing import Any

from spark_jobs.errors import JobError
from spark_jobs.runtime.hadoop import Hadoop
from spark_jobs.runtime.row_progress import pool_of
from spark_jobs.table import commits
from spark_jobs.table.commits import Timeline

# Base files, `<file id>_<token>_<instant>.parquet`, and logs, `.<file id>_<instant of the base file>.log.<…>`.
_DATA_FILE = re.compile(r"(?:[^.].*_(\d+)\.(?:parquet|orc|hfile)|\..+_(\d+)\.log\.\d+.*)")
_INSTANT = re.compile(r"/\.hoodie/(\d+)\.[^/]+")


def refuse_data_without_timeline(hadoop: Hadoop, path: str) -> None:
    """Raise JobError when a folder without a timeline has data files: their rows would be written a second time."""
    files, _ = _found(hadoop.files_in(path))
    if files:
        raise damaged(path, f"its .hoodie is missing, {len(files)} data files are there")


def refuse_damage(timeline: Timeline, hadoop: Hadoop, path: str) -> None:
    """Raise JobError when the table lacks a commit of its files, or a file that an active commit names."""
    files, instants = _found(hadoop.files_in(path))
    commits = list(timeline.active())
    first = min((instant for instant, _ in commits), default="")
    lost = {instant for instant in files.values() if instant >= first} - instants
    # A task that outlives its commit may write a file after the rollback.
    if lost and (lost := lost - timeline.rolled_back()):
        raise damaged(path, f"commit {min(lost)} isn't in its timeline, data files of it are there")
    seen: set[str] = set()
    for instant, details in commits:
        replaced = details.get("partitionToReplaceFileIds") or {}
        seen |= {file_id for file_ids in replaced.values() for file_id in file_ids}
        stats = [stat for each in (details.get("partitionToWriteStats") or {}).values() for stat in each]
        newest = [stat for stat in stats if stat.get("path") and stat["fileId"] not in seen]
        if gone := sorted(str(stat["path"]) for stat in newest if _name(stat["path"]) not in files):
            raise damaged(path, f"data file {gone[0]} of commit {instant} is missing")
        seen |= {stat["fileId"] for stat in newest}


def _found(paths: Iterable[str]) -> tuple[dict[str, str], set[str]]:
    """Return the instant of each data file among a table's files, by its name, and the timeline's instants."""
    files, instants = dict[str, str](), set[str]()
    for path in paths:
        if instant := _INSTANT.search(path):
            instants.add(instant[1])
        elif "/.hoodie/" not in path and (data := _DATA_FILE.fullmatch(_name(path))):
            files[_name(path)] = data[1] or data[2]
    return files, instants


def _name(path: str) -> str:
    return path.rpartition("/")[2]


def damaged(path: str, what: str) -> JobError:
    """Return the error with a table's losses, and the remedy."""
    return JobError(
        f"{path} is damaged: {what}; nothing was written. Move the folder away, then `./lake resnapshot` fills a new "
        "one (docs/your-database/repair.md)"
    )


# Creates a write client with these options.
Client = Callable[..., AbstractContextManager[Any]]
# Two overlapping jobs leave one commit too many, or a few.
_MOST_TAKEN_BACK = 5
# Maximum wait for tasks that outlive their failed write, and pause between checks.
_TASKS_S, _ASK_S = 60.0, 0.1
# Finds a write's files by name, without its markers.
_LISTED = {"hoodie.rollback.using.markers": "false"}
_COMPLETED = re.compile(r"\d+\.(commit|deltacommit|replacecommit|rollback|clean)")


def remove_torn_files(hadoop: Hadoop, path: str) -> list[str]:
    """Remove a crash's half-written files that Hudi can't recover from; returns their description.

    `path` is the table's. Only a local disk shows half a file: S3 has an object whole or not at all, and HDFS renames
    it into place.
    """
    timeline = f"{path}/.hoodie"
    if "://" in path and not path.startswith("file://"):
        return []
    sizes = hadoop.sizes_in(timeline)
    properties, has_instants = "hoodie.properties", any(name[:1].isdigit() for name in sizes)
    created = properties in sizes and "checksum" in hadoop.read_text(f"{timeline}/{properties}")
    if sizes and not has_instants and not created:
        # This table has never held a row.
        hadoop.delete(timeline)
        return [timeline]
    # An unreadable completed instant isn't completed: without its last file Hudi rolls it back.
    completed = sorted(name for name in sizes if _COMPLETED.fullmatch(name))
    torn = [name for name in completed if not sizes[name]]
    commits = [name for name in completed if name.endswith("commit") and name not in torn]
    if commits:
        try:
            json.loads(hadoop.read_text(f"{timeline}/{commits[-1]}"))
        except ValueError:
            torn.append(commits[-1])
    for name in torn:
        hadoop.delete(f"{timeline}/{name}")
    return [f"{timeline}/{name}" for name in torn]


@contextmanager
def write_client(spark: Any, path: str, name: str, options: Mapping[str, str]) -> Iterator[Any]:
    given = spark._jvm.java.util.HashMap()
    for key, value in options.items():
        given.put(key, value)
    client = spark._jvm.org.apache.hudi.DataSourceUtils.createHoodieClient(spark._jsc, None, path, name, given)
    try:
        yield client
    finally:
        client.close()


def await_failed_tasks(spark: Any) -> None:
    """Wait until no task of this thread's failed Spark jobs runs. Raises TimeoutError, an outage, after a minute.

    Spark doesn't interrupt them. A task that writes its file after the rollback adds a second file group to a bucket,
    with rows of no commit: Hudi takes files older than the timeline for committed ones.
    """
    jvm, none = spark._jvm, spark.sparkContext._gateway.new_array(spark._jvm.double, 0)
    failed = jvm.java.util.List.of(jvm.org.apache.spark.status.api.v1.StageStatus.FAILED)
    store, deadline, pool = spark._jsc.sc().statusStore(), time.monotonic() + _TASKS_S, pool_of(spark)
    while True:
        found = store.stageList(failed, False, False, none, jvm.java.util.List.of())
        stages = map(found.apply, range(found.size()))
        if not any(stage.numActiveTasks() for stage in stages if stage.schedulingPool() == pool):
            return
        if time.monotonic() > deadline:
            raise TimeoutError(f"tasks of a failed write still run after {_TASKS_S:.0f} s")
        time.sleep(_ASK_S)


def roll_back_failed(timeline: Timeline, hadoop: Hadoop, path: str, client: Client) -> list[str]:
    """Roll back unfinished writes; returns a line for each action.

    A write does so itself, but chooses its own instant first: on a merge-on-read table the rollback is then the later
    one, and readers of the log stop there, before the write's rows. Raises JobError for a write that can't be rolled
    back, since a later one has finished.
    """
    if not (failed := timeline.unfinished(commits.WRITES)):
        return []
    newest = timeline.last_instant()
    if newest is not None and failed[-1] < newest:
        raise damaged(path, f"commit {failed[-1]} has not ended, later ones have")
    # Markers name a write's files until it ends; a write that a crash made unreadable has none left.
    marked = all(hadoop.exists(f"{path}/.hoodie/.temp/{instant}") for instant in failed)
    with client(**_LISTED if not marked else {}) as writing:
        writing.rollbackFailedWrites()
    if left := timeline.unfinished(commits.WRITES):
        raise RuntimeError(f"{path}: Hudi didn't roll {left[-1]} back")
    return [f"rolled back {instant}, which had failed" for instant in failed]


def take_back_doubled_buckets(timeline: Timeline, jvm: Any, path: str, client: Client) -> list[str]:
    """Roll back the newest commits, a line for each, until no bucket has two file groups; JobError if some remain."""
    done: list[str] = []
    while broken := _doubled_buckets(timeline, jvm):
        newest, metadata = next(timeline.active(), ("", {}))
        # Without progress it is a compaction or clustering, not a write of events.
        if len(done) == _MOST_TAKEN_BACK or commits.SOURCE_KEY not in (metadata.get("extraMetadata") or {}):
            raise JobError(
                f"{path}: bucket {broken[0]} has two file groups, which Hudi can't write to; give another "
                "--target-base-path with --ignore-checkpoint and load the table again"
            )
        with client(**_LISTED) as writing:
            writing.rollback(newest)
        done.append(f"took back commit {newest}: two jobs had written bucket {broken[0]}; its events come again")
    return done


def _doubled_buckets(timeline: Timeline, jvm: Any) -> list[str]:
    """Return the two newest commits' buckets, as `partition/number`, with more than one file group."""
    client = timeline.meta_client()
    newest = islice(timeline.writes(client.getActiveTimeline()), 2)
    written = {partition for _, found in newest for partition in found.get("partitionToWriteStats") or {}}
    context = jvm.org.apache.hudi.common.engine.HoodieLocalEngineContext(client.getStorageConf())
    views = jvm.org.apache.hudi.common.table.view.FileSystemViewManager
    metadata = jvm.org.apache.hudi.common.config.HoodieMetadataConfig.newBuilder().enable(False).build()
    with closing(views.createInMemoryFileSystemView(context, client, metadata)) as view:
        found = Counter(
            f"{partition}/{file_group.getFileGroupId().getFileId()[:8]}".lstrip("/")
            for partition in written
            for file_group in view.getAllFileGroups(partition).toArray()
            if file_group.getLatestFileSlice().isPresent()
        )
    return sorted(bucket for bucket, count in found.items() if count > 1)
