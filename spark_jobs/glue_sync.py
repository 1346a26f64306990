"""Keeps the Glue catalogue up to date with Hudi's own sync tool, beside the ingestion and never in its way."""

import threading
import time
from collections.abc import Callable, Mapping
from typing import Any

from pyspark import java_gateway
from pyspark.sql import SparkSession

from spark_jobs import keys, partitions
from spark_jobs.errors import first_line
from spark_jobs.hadoop import Hadoop
from spark_jobs.table import Commit
from spark_jobs.table_settings import SyncSettings, TableSettings

Log = Callable[[str], None]
_RETRY_SECONDS = 30.0
_EXTRACTORS = "org.apache.hudi.hive."
_EXTRACTOR = "hoodie.datasource.hive_sync.partition_extractor_class"
_MULTI_PART = f"{_EXTRACTORS}MultiPartKeysValueExtractor"
# Without it Athena reads the table by the old connector, which doesn't know Hudi 0.15.
_ATHENA = "athena_enable_native_hudi_connector_implementation"


class GlueSync:
    """Decides when a sync is due and runs it in a thread of its own, so that a slow Glue holds nothing up.

    A sync is pending from the start (the last run may have ended before its own), after each commit with a new schema
    or partition, and until one has succeeded that began after the last such commit.
    """

    def __init__(
        self,
        settings: SyncSettings,
        *,
        sync: Callable[[], bool],
        log: Log,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """`sync` runs one sync and returns False when there is no table yet."""
        self._settings = settings
        self._sync = sync
        self._log = log
        self._clock = clock
        self._pending = True
        self._schema: str | None = None
        self._partitions: set[str] = set()
        self._not_before = float("-inf")
        self._thread: threading.Thread | None = None
        self._outcome: bool | Exception = False

    def committed(self, commit: Commit) -> None:
        """Note a commit, and sync when it changed the schema or the partitions; never two syncs at a time."""
        changed = commit.schema != self._schema or not commit.partitions <= self._partitions
        self._pending = self._pending or changed
        self._schema = commit.schema
        self._partitions |= commit.partitions
        self.run_if_due()

    def run_if_due(self) -> None:
        """Take note of a finished sync, and start one that is pending and due."""
        if not self._finished() or not self._pending or self._clock() < self._not_before:
            return
        self._pending = False
        self._thread = threading.Thread(target=self._run, name="glue-sync", daemon=True)
        self._thread.start()

    def finish(self) -> None:
        """Wait for a running sync and try a pending one once, each for the settings' time at most."""
        self._wait()
        if self._pending and self._thread is None:
            self._not_before = float("-inf")
            self.run_if_due()
            self._wait()

    @property
    def pending(self) -> bool:
        """Tell whether the catalogue may lack something."""
        return self._pending

    def _run(self) -> None:
        try:
            self._outcome = self._sync()
        except Exception as error:  # noqa: BLE001  (whatever it is, ingestion goes on and the sync is tried again)
            self._outcome = error

    def _finished(self) -> bool:
        if self._thread is None:
            return True
        if self._thread.is_alive():
            return False
        self._thread = None
        if isinstance(self._outcome, Exception):
            self._pending = True
            self._not_before = self._clock() + _RETRY_SECONDS
            self._log(f"catalogue sync failed, is tried again: {first_line(self._outcome)}")
        elif self._outcome:
            self._log(f"catalogue sync done: {self._settings.database}.{self._settings.table}")
        return True

    def _wait(self) -> None:
        if self._thread is not None:
            self._thread.join(self._settings.timeout_seconds)
        if not self._finished():
            self._log("catalogue sync still runs: not waiting any longer, the next start syncs again")


def sync_properties(settings: SyncSettings, table: TableSettings) -> Mapping[str, str]:
    """Return the sync tool's properties; those of the settings win but for what identifies table and catalogue."""
    extractor = "MultiPartKeysValueExtractor" if settings.partition_fields else "NonPartitionedExtractor"
    given = dict(settings.properties)
    table_properties = given.pop("hoodie.datasource.hive_sync.table_properties", "")
    return {
        _EXTRACTOR: _EXTRACTORS + extractor,
        **given,
        "hoodie.datasource.hive_sync.table_properties": "\n".join(filter(None, [table_properties, f"{_ATHENA}=true"])),
        "hoodie.datasource.meta.sync.base.path": table.base_path,
        "hoodie.datasource.hive_sync.database": settings.database,
        "hoodie.datasource.hive_sync.table": settings.table,
        "hoodie.datasource.hive_sync.partition_fields": ",".join(settings.partition_fields),
        "hoodie.datasource.write.hive_style_partitioning": str(table.hive_style).lower(),
    }


class _Decoding:
    """Hudi's PartitionValueExtractor for encoded folders: its own give Glue the encoded text, which Athena returns."""

    class Java:
        """The interface that the JVM sees."""

        implements = ("org.apache.hudi.sync.common.model.PartitionValueExtractor",)

    def __init__(self, jvm: Any) -> None:
        self._jvm = jvm

    def extractPartitionValuesInPath(self, path: str) -> Any:  # noqa: N802  (Java's name)
        """Return the values of a partition's path relative to the table."""
        values = self._jvm.java.util.ArrayList()
        for value in partitions.values_of(path):
            values.add(value)
        return values


def _decode_partitions(spark: SparkSession, tool: Any) -> None:
    """Let a sync tool use `_Decoding`, by reflection: it takes extractors by the name of a Java class only."""
    start_callbacks: Any = java_gateway.ensure_callback_server_started
    start_callbacks(spark.sparkContext._gateway)
    client = _field(tool.getClass(), "syncClient").get(tool)
    _field(client.getClass(), "partitionValueExtractor").set(client, _Decoding(spark._jvm))


def _field(kind: Any, name: str) -> Any:
    while name not in {str(field.getName()) for field in kind.getDeclaredFields()}:
        kind = kind.getSuperclass()
    found = kind.getDeclaredField(name)
    found.setAccessible(True)
    return found


def sync_to_glue(spark: SparkSession, settings: SyncSettings, table: TableSettings) -> bool:
    """Run Hudi's AwsGlueCatalogSyncTool once; False when there is no table yet.

    AWS's own environment variables give region, credentials and endpoint.
    """
    hadoop, stored = Hadoop(spark), f"{table.base_path}/.hoodie/hoodie.properties"
    if not hadoop.exists(stored):
        return False
    jvm: Any = spark._jvm
    properties = jvm.java.util.Properties()
    for key, value in sync_properties(settings, table).items():
        properties.setProperty(key, value)
    tool = jvm.org.apache.hudi.aws.sync.AwsGlueCatalogSyncTool(properties, spark._jsc.hadoopConfiguration())
    if properties.getProperty(_EXTRACTOR) == _MULTI_PART and f"{keys.URL_ENCODE}=true" in hadoop.read_text(stored):
        _decode_partitions(spark, tool)
    try:
        tool.syncHoodieTable()
    finally:
        tool.close()
    return True
