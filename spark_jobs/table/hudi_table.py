"""The Hudi table: its layout, and one commit.

A table keeps its first index layout. An index finds a stored row by its own rules: with another index, or another
number of buckets, Hudi doesn't find the existing rows, and writes each of them a second time.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import Any

from pyspark.sql import DataFrame, SparkSession

from spark_jobs.errors import JobError, Log, SettingsError
from spark_jobs.options import keys
from spark_jobs.options.table_settings import TableSettings
from spark_jobs.runtime.hadoop import NOTHING_KNOWN, FileMemory, Hadoop
from spark_jobs.table import commits, repair
from spark_jobs.table.commits import TABLE_VERSION, Timeline

_ALLOWS_UPDATES = "org.apache.hudi.client.clustering.update.strategy.SparkAllowUpdateStrategy"
_ALONE = "SINGLE_WRITER"
# Each has its own store, which another index doesn't fill.
_APART = ("HBASE", "INMEMORY")
# Hudi's own default.
_BUCKETS = "256"
_BUCKET_FILE = re.compile(r"(\d{8})-")
# A random file id may also begin with eight digits, but hardly with so low a number.
_MOST_BUCKETS = 1 << 16
# Number of rows that are checked for the settings' buckets.
_SAMPLE = 1_000


def is_bucketed(settings: TableSettings) -> bool:
    """Tell whether a key's bucket is computed from the key."""
    return settings.write_options.get(keys.INDEX_TYPE, "").upper() == keys.BUCKET


def layout_of(settings: TableSettings) -> str:
    """Return how the settings spread keys over files, as a text for the commits."""
    options, kind = settings.write_options, settings.write_options.get(keys.INDEX_TYPE, "SIMPLE").upper()
    if is_bucketed(settings):
        engine = options.get("hoodie.index.bucket.engine", "SIMPLE").upper()
        by = options.get("hoodie.bucket.index.hash.field", ",".join(settings.key_fields))
        many = f"{buckets(settings)} buckets" if engine == "SIMPLE" else engine
        return f"{keys.BUCKET}, {many} by {by}"
    return kind if kind in _APART else "global" if settings.global_index else "per partition"


def buckets(settings: TableSettings) -> int:
    return int(settings.write_options.get("hoodie.bucket.index.num.buckets", _BUCKETS))


def layout_of_files(file_ids: Iterable[str], settings: TableSettings) -> str:
    """Return how an older job's table was written, from its file ids, since its commits don't record it."""
    numbers = [int(found[1]) if (found := _BUCKET_FILE.match(file_id)) else _MOST_BUCKETS for file_id in file_ids]
    wanted = layout_of(settings)
    if not numbers:
        return wanted
    if max(numbers) >= _MOST_BUCKETS:
        return f"no {keys.BUCKET}" if is_bucketed(settings) else wanted
    if is_bucketed(settings) and max(numbers) < buckets(settings):
        return wanted
    return f"{keys.BUCKET}, {max(numbers) + 1} buckets or more"


@dataclass(frozen=True)
class Commit:
    """A completed commit; `newest` is the timeline's newest instant after it, its own or a compaction's."""

    instant: str
    newest: str
    inserts: int
    updates: int
    deletes: int
    partitions: frozenset[str]
    schema: str


class HudiTable(Timeline):
    """One Hudi table, which may not exist yet."""

    def __init__(self, spark: SparkSession, settings: TableSettings, *, memory: FileMemory = NOTHING_KNOWN) -> None:
        super().__init__(Hadoop(spark), settings.base_path, memory=memory)
        self._spark = spark
        self._settings = settings
        # Whether partition values are encoded; `check_layout` reads it from the table.
        self.url_encodes = settings.url_encode is not False

    def recover(self, log: Log) -> bool:
        """Repair the table so that Hudi can write to it, and return whether it exists: at a start, after a failure.

        `log` gets a line for each repair. Events of rolled-back commits are read again, as each commit has the progress
        of its own data. Raises SettingsError for other settings than the table's, JobError for a damaged table.
        """
        repair.await_failed_tasks(self._spark)
        for path in repair.remove_torn_files(self._hadoop, self._path):
            log(f"removed {path}, which a crash had left half written")
        if not self.exists():
            repair.refuse_data_without_timeline(self._hadoop, self._path)
            return False
        self.check_layout()
        for line in repair.roll_back_failed(self, self._hadoop, self._path, self._client):
            log(line)
        inline = self._settings.write_options.get("hoodie.clustering.inline", "").lower() == "true"
        if not inline and (left := self.unfinished(commits.CLUSTERINGS)):
            log(
                f"clustering {left[-1]} is unfinished, and Hudi refuses changes of its rows; if no other program "
                "works on it, start once with hoodie.clustering.inline=true"
            )
        repair.refuse_damage(self, self._hadoop, self._path)
        self._check_index()
        if is_bucketed(self._settings):
            for line in repair.take_back_doubled_buckets(self, self._hadoop.jvm, self._path, self._client):
                log(line)
        return True

    def check_layout(self) -> None:
        """Raise SettingsError when the existing table has another type, key, partitioning or ordering field."""
        config = self.meta_client().getTableConfig()
        stored = config.getProps()
        wanted = {
            "hoodie.table.type": self._settings.table_type,
            "hoodie.table.recordkey.fields": ",".join(self._settings.key_fields),
            "hoodie.table.partition.fields": ",".join(self._settings.partition_fields),
            "hoodie.table.precombine.field": self._settings.ordering_field,
            "hoodie.table.keygenerator.class": self._settings.key_generator,
        }
        for key, value in wanted.items():
            found = stored.getProperty(key)
            if found is not None and found != value:
                raise SettingsError(f"{self._path} exists with {key}={found}, the settings say {value}")
        if self._settings.partition_fields:
            self._check_folders(stored)
        version = config.getTableVersion().versionCode()
        if version > TABLE_VERSION:
            raise SettingsError(f"{self._path} has table version {version}; Athena and this job need {TABLE_VERSION}")

    def rows(self) -> DataFrame:
        return self._spark.read.format("hudi").load(self._path)

    def newest(self) -> int | None:
        """Return the highest ordering value, a whole number, of the table's rows; None without any."""
        found = None if self.schema() is None else self.rows().agg({self._settings.ordering_field: "max"}).first()
        return None if found is None or found[0] is None else int(found[0])

    def write(self, rows: DataFrame, metadata: Mapping[str, str], *, operation: str) -> Commit:
        """Write rows, with deletes flagged, and `metadata` as one commit; JobError if no commit has its progress."""
        layout = {keys.INDEX_LAYOUT: layout_of(self._settings)}
        options = {**self.write_options(operation), **metadata, **layout}
        self._hadoop.lighten()
        # With several writers Hudi looks for the others' commits at the end of its own.
        alone = options.get("hoodie.write.concurrency.mode", _ALONE).upper() == _ALONE
        with self._memory.only_writer(f"{self._path}/.hoodie") if alone else nullcontext():
            rows.write.format("hudi").options(**options).mode("append").save(self._path)
        newest = None
        for instant, found in self.active():
            newest = newest or instant
            entries = found.get("extraMetadata") or {}
            if entries.get(commits.SOURCE_KEY) == metadata[commits.SOURCE_KEY]:
                return _commit(instant, newest, found)
        raise JobError(f"{self._path}: the commit isn't in the timeline though Hudi reported success")

    def write_options(self, operation: str) -> dict[str, str]:
        """Return a write's options: the properties pass through, except those that the job's guarantees depend on."""
        settings = self._settings
        defaults = {"hoodie.combine.before.upsert": "false", "hoodie.combine.before.insert": "false"}
        if settings.table_type == "MERGE_ON_READ":
            defaults["hoodie.compact.inline"] = str(settings.compaction).lower()
        if settings.write_options.get("hoodie.clustering.inline", "").lower() == "true":
            # One that was interrupted is rolled back: otherwise it refuses every write to its files.
            defaults["hoodie.clustering.updates.strategy"] = _ALLOWS_UPDATES
            defaults["hoodie.clustering.rollback.pending.replacecommit.on.conflict"] = "true"
        fixed = {
            "hoodie.table.name": settings.name,
            "hoodie.database.name": settings.database,
            "hoodie.datasource.write.table.type": settings.table_type,
            "hoodie.datasource.write.operation": operation,
            keys.RECORD_KEY: ",".join(settings.key_fields),
            keys.PARTITION_PATH: ",".join(settings.partition_fields),
            keys.KEY_GENERATOR: settings.key_generator,
            keys.HIVE_STYLE: str(settings.hive_style).lower(),
            keys.URL_ENCODE: str(self.url_encodes and bool(settings.partition_fields)).lower(),
            "hoodie.datasource.write.precombine.field": settings.ordering_field,
            "hoodie.datasource.write.payload.class": "org.apache.hudi.common.model.DefaultHoodieRecordPayload",
            "hoodie.payload.ordering.field": settings.ordering_field,
            "hoodie.payload.event.time.field": settings.ordering_field,
            "hoodie.datasource.write.commitmeta.key.prefix": commits.PREFIX,
        }
        if self._newest_version > TABLE_VERSION:
            fixed["hoodie.write.table.version"] = str(TABLE_VERSION)
            fixed["hoodie.write.auto.upgrade"] = "false"
            fixed["hoodie.write.record.merge.mode"] = "EVENT_TIME_ORDERING"
        return {**defaults, **settings.write_options, **fixed}

    def _client(self, **options: str) -> AbstractContextManager[Any]:
        given = self.write_options(self._settings.operation) | options
        return repair.write_client(self._spark, self._path, self._settings.name, given)

    def _check_index(self) -> None:
        written = [metadata for _, metadata in self.active()]
        if not written:
            return
        wanted = layout_of(self._settings)
        # Compactions, clusterings and other programs' commits don't record it.
        recorded = ((each.get("extraMetadata") or {}).get(keys.INDEX_LAYOUT) for each in written)
        found = next(filter(None, recorded), None)
        if found is None:
            stats = [stat for each in (written[0].get("partitionToWriteStats") or {}).values() for stat in each]
            found = layout_of_files([str(stat["fileId"]) for stat in stats], self._settings)
            if found == wanted and is_bucketed(self._settings) and self._has_misplaced_rows():
                found = "another number of buckets, or by other fields"
        if found != wanted:
            raise SettingsError(
                f"{self._path} was written with the index {found}, the settings say {wanted}: its rows wouldn't be "
                f"found and come twice; keep {keys.INDEX_TYPE} and what belongs to it, or give another "
                "--target-base-path and load the table again"
            )

    def _has_misplaced_rows(self) -> bool:
        """Check a sample for a row outside the bucket that the settings compute."""
        settings, rows = self._settings, self.rows().select("_hoodie_record_key", "_hoodie_file_name").limit(_SAMPLE)
        by = settings.write_options.get("hoodie.bucket.index.hash.field", ",".join(settings.key_fields))
        bucket_of = self._hadoop.jvm.org.apache.hudi.index.bucket.BucketIdentifier.getBucketId
        return any(
            (found := _BUCKET_FILE.match(file)) and int(found[1]) != bucket_of(key, by, buckets(settings))
            for key, file in rows.collect()
        )

    def _check_folders(self, stored: Any) -> None:
        """Refuse another style of folders than the table's; undefined settings follow the table."""
        wanted = {keys.HIVE_STYLE: self._settings.hive_style, keys.URL_ENCODE: self._settings.url_encode}
        found = {key: stored.getProperty(key) == "true" for key in wanted}
        for key, value in wanted.items():
            if value is not None and found[key] != value:
                raise SettingsError(
                    f"{self._path} exists with {key}={str(found[key]).lower()}, the settings say {str(value).lower()}"
                )
        self.url_encodes = found[keys.URL_ENCODE]


def _commit(instant: str, newest: str, metadata: Mapping[str, Any]) -> Commit:
    by_partition: Mapping[str, Sequence[Mapping[str, Any]]] = metadata.get("partitionToWriteStats") or {}
    stats = [stat for partition in by_partition.values() for stat in partition]
    return Commit(
        instant=instant,
        newest=newest,
        inserts=sum(int(stat["numInserts"]) for stat in stats),
        updates=sum(int(stat["numUpdateWrites"]) for stat in stats),
        deletes=sum(int(stat["numDeletes"]) for stat in stats),
        partitions=frozenset(by_partition),
        schema=str((metadata.get("extraMetadata") or {}).get("schema", "")),
    )
