"""The Hudi table: what its timeline says, and one commit. Works with Hudi 0.15 and 1.0 on table version 6."""

import json
import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import types as T

from spark_jobs import buckets, checkpoint, keys
from spark_jobs.errors import JobError, SettingsError
from spark_jobs.hadoop import Hadoop
from spark_jobs.settings import TableSettings

# Athena reads up to this table version; Hudi 1.x would write a newer one.
TABLE_VERSION = 6
# Two jobs that cross leave one commit too many, or a few.
_MOST_TAKEN_BACK = 5
_COMPLETED = re.compile(r"\d+\.(commit|deltacommit|replacecommit|rollback|clean)")


@dataclass(frozen=True)
class Commit:
    """A completed commit: rows inserted, updated and deleted, the partitions and schema it wrote.

    `newest` is the timeline's newest instant after it: a compaction's, where one followed, else its own.
    """

    instant: str
    newest: str
    inserts: int
    updates: int
    deletes: int
    partitions: frozenset[str]
    schema: str


class HudiTable:
    """One Hudi table, which may not exist yet."""

    def __init__(
        self, spark: SparkSession, settings: TableSettings, *, look_anew: Callable[[], None] = lambda: None
    ) -> None:
        """`look_anew` is called before each look at the table: what is remembered of it may be another's by now."""
        self._spark = spark
        self._settings = settings
        self._hadoop = Hadoop(spark)
        self._path = settings.base_path
        self._look_anew = look_anew
        self._newest_version = self._hudi_table_version()
        # Whether partition values are encoded; `check_layout` learns it from the table.
        self.url_encodes = settings.url_encode is not False

    def exists(self) -> bool:
        """Tell whether the table has been created."""
        self._look_anew()
        return self._hadoop.exists(f"{self._path}/.hoodie/hoodie.properties")

    def repair(self) -> list[str]:
        """Remove what a crash has left half written and Hudi can't get over; returns what that was.

        Only a local disk shows half a file: S3 has an object whole or not at all, and HDFS renames it into place.
        """
        timeline = f"{self._path}/.hoodie"
        if "://" in self._path and not self._path.startswith("file://"):
            return []
        sizes = self._hadoop.sizes_in(timeline)
        if sizes and not any(name[:1].isdigit() for name in sizes) and not self._is_created(sizes):
            # No instant yet: this table has never held a row.
            self._hadoop.delete(timeline)
            return [timeline]
        # A completed instant that can't be read isn't completed: without its last file Hudi rolls it back.
        completed = sorted(name for name in sizes if _COMPLETED.fullmatch(name))
        torn = [name for name in completed if not sizes[name]]
        commits = [name for name in completed if name.endswith("commit") and name not in torn]
        if commits and not _is_json(self._hadoop.read_text(f"{timeline}/{commits[-1]}")):
            torn.append(commits[-1])
        for name in torn:
            self._hadoop.delete(f"{timeline}/{name}")
        return [f"{timeline}/{name}" for name in torn]

    def repair_buckets(self) -> list[str]:
        """Take back the newest commits until no bucket has two file groups; returns what was done, a line each.

        Their events are read again: each commit's progress is that of its own data. Raises JobError when taking back
        the newest commits doesn't help.
        """
        done: list[str] = []
        if self._settings.write_options.get(keys.INDEX_TYPE, "").upper() != "BUCKET":
            return done
        while broken := self._doubled_buckets():
            newest = next(self._instants(self._meta_client().getActiveTimeline()), None)
            if newest is None or len(done) == _MOST_TAKEN_BACK or not _is_commit(newest[1]):
                raise JobError(
                    f"{self._path}: bucket {broken[0]} has two file groups, which Hudi can't write to; give another "
                    "--target-base-path with --ignore-checkpoint and load the table anew"
                )
            buckets.roll_back(
                self._spark, self._path, self._settings.name, self.write_options(self._settings.operation), newest[0]
            )
            done.append(f"took back commit {newest[0]}: two jobs had written bucket {broken[0]}; its events come again")
        return done

    def _doubled_buckets(self) -> list[str]:
        client = self._meta_client()
        newest = [json.loads(details) for _, details in islice(self._instants(client.getActiveTimeline()), 2)]
        written = {partition for found in newest for partition in found.get("partitionToWriteStats") or {}}
        return buckets.doubled(self._hadoop.jvm, client, sorted(written))

    def check_layout(self) -> None:
        """Raise SettingsError when the existing table has another type, key, partitioning or ordering field."""
        config = self._meta_client().getTableConfig()
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

    def _check_folders(self, stored: Any) -> None:
        """Refuse another style of folders than the table's; what the settings leave open is as the table has it."""
        wanted = {keys.HIVE_STYLE: self._settings.hive_style, keys.URL_ENCODE: self._settings.url_encode}
        found = {key: stored.getProperty(key) == "true" for key in wanted}
        for key, value in wanted.items():
            if value is not None and found[key] != value:
                raise SettingsError(
                    f"{self._path} exists with {key}={str(found[key]).lower()}, the settings say {str(value).lower()}"
                )
        self.url_encodes = found[keys.URL_ENCODE]

    def last_instant(self) -> str | None:
        """Return the time of the newest completed write (commits, compactions, replacements); None without any."""
        if not self.exists():
            return None
        timeline = self._meta_client().getActiveTimeline().getCommitsTimeline().filterCompletedInstants()
        last = timeline.lastInstant()
        return self._time_of(last.get()) if last.isPresent() else None

    def progress(self) -> dict[str, str]:
        """Return the metadata of the newest commit that has a checkpoint; empty when none has."""
        return next(self.commits_with_progress(), {})

    def commits_with_progress(self) -> Iterator[dict[str, str]]:
        """Yield the metadata of the commits that have a checkpoint, newest first.

        Commits without (compactions, other writers) are passed over, and the archived timeline is read after the
        active one.
        """
        if not self.exists():
            return
        for metadata in self._newest_first(self._meta_client()):
            entries: dict[str, str] = metadata.get("extraMetadata") or {}
            if checkpoint.SOURCE_KEY in entries:
                yield entries

    def schema(self) -> T.StructType | None:
        """Return the table's columns without Hudi's own; None before the first commit."""
        if self.last_instant() is None:
            return None
        jvm = self._hadoop.jvm
        avro = jvm.org.apache.hudi.common.table.TableSchemaResolver(self._meta_client()).getTableAvroSchema(False)
        struct = jvm.org.apache.hudi.AvroConversionUtils.convertAvroSchemaToStructType(avro)
        return T.StructType.fromJson(json.loads(struct.json()))

    def rows(self) -> DataFrame:
        """Return the table's current rows."""
        return self._spark.read.format("hudi").load(self._path)

    def write(self, rows: DataFrame, metadata: Mapping[str, str], *, operation: str) -> Commit:
        """Write rows, deletes flagged by `_hoodie_is_deleted`, and `metadata` (progress) as one commit.

        Raises JobError when Hudi reports success but no commit with this progress is there.
        """
        options = {**self.write_options(operation), **metadata}
        rows.write.format("hudi").options(**options).mode("append").save(self._path)
        newest = None
        for instant, details in self._instants(self._meta_client().getActiveTimeline()):
            newest = newest or instant
            found = json.loads(details)
            entries = found.get("extraMetadata") or {}
            if entries.get(checkpoint.SOURCE_KEY) == metadata[checkpoint.SOURCE_KEY]:
                return _commit(instant, newest, found)
        raise JobError(f"{self._path}: the commit isn't in the timeline though Hudi reported success")

    def write_options(self, operation: str) -> dict[str, str]:
        """Return the options of a write; what the properties say passes, what keeps the promises is fixed."""
        settings = self._settings
        defaults = {
            "hoodie.combine.before.upsert": "false",
            "hoodie.combine.before.insert": "false",
        }
        if settings.table_type == "MERGE_ON_READ":
            defaults["hoodie.compact.inline"] = str(settings.compaction).lower()
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
            "hoodie.datasource.write.commitmeta.key.prefix": checkpoint.PREFIX,
        }
        if self._newest_version > TABLE_VERSION:
            fixed["hoodie.write.table.version"] = str(TABLE_VERSION)
            fixed["hoodie.write.auto.upgrade"] = "false"
            fixed["hoodie.write.record.merge.mode"] = "EVENT_TIME_ORDERING"
        return {**defaults, **settings.write_options, **fixed}

    def _hudi_table_version(self) -> int:
        versions = self._hadoop.jvm.org.apache.hudi.common.table.HoodieTableVersion
        try:
            return int(versions.current().versionCode())
        except TypeError as error:  # py4j's answer for a class that isn't there
            raise SettingsError("Hudi isn't on Spark's class path: give its bundle with --jars") from error

    def _is_created(self, names: Collection[str]) -> bool:
        properties = "hoodie.properties"
        return properties in names and "checksum" in self._hadoop.read_text(f"{self._path}/.hoodie/{properties}")

    def _meta_client(self) -> Any:
        jvm = self._hadoop.jvm
        configuration = jvm.org.apache.hudi.hadoop.fs.HadoopFSUtils.getStorageConf(self._hadoop.configuration)
        builder = jvm.org.apache.hudi.common.table.HoodieTableMetaClient.builder()
        return builder.setConf(configuration).setBasePath(self._path).build()

    def _newest_first(self, client: Any) -> Iterator[dict[str, Any]]:
        for _, details in self._instants(client.getActiveTimeline()):
            yield json.loads(details)
        archived = client.getArchivedTimeline()
        archived.loadCompletedInstantDetailsInMemory()
        for _, details in self._instants(archived):
            yield json.loads(details)

    def _instants(self, timeline: Any) -> Iterator[tuple[str, bytes]]:
        completed = timeline.getCommitsTimeline().filterCompletedInstants()
        for instant in completed.getReverseOrderedInstants().toArray():
            details = completed.getInstantDetails(instant)
            if details.isPresent():
                yield self._time_of(instant), bytes(details.get())

    def _time_of(self, instant: Any) -> str:
        return str(instant.requestedTime() if self._newest_version > TABLE_VERSION else instant.getTimestamp())


def _is_commit(details: bytes) -> bool:
    """Tell whether an instant wrote events, and no compaction or clustering did."""
    return checkpoint.SOURCE_KEY in (json.loads(details).get("extraMetadata") or {})


def _is_json(text: str) -> bool:
    try:
        json.loads(text)
    except ValueError:
        return False
    return True


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
