"""Keeps the Glue catalog up to date through Hudi's sync tool, alongside the ingestion and without blocking it."""

import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import KW_ONLY, dataclass, field
from typing import Any

from pyspark.sql import SparkSession

from spark_jobs.decoding import row_keys
from spark_jobs.errors import Log, first_line
from spark_jobs.options import keys
from spark_jobs.options.table_settings import SyncSettings, TableSettings
from spark_jobs.runtime.hadoop import Hadoop
from spark_jobs.runtime.session import callback_gateway, java_object
from spark_jobs.table.hudi_table import Commit

_EXTRACTORS = "org.apache.hudi.hive."
_EXTRACTOR = "hoodie.datasource.hive_sync.partition_extractor_class"
_MULTI_PART = f"{_EXTRACTORS}MultiPartKeysValueExtractor"
# Without it Athena reads the table with the old connector, which doesn't know Hudi 0.15.
_ATHENA = "athena_enable_native_hudi_connector_implementation"
# Without it Glue's type of an instant is bigint, and Athena and Trino return microseconds as a number.
_TIMESTAMPS = "hoodie.datasource.hive_sync.support_timestamp"


def sync_properties(settings: SyncSettings, table: TableSettings) -> Mapping[str, str]:
    """Return the sync tool's properties; the settings' win, except those that identify table and catalog."""
    extractor = "MultiPartKeysValueExtractor" if settings.partition_fields else "NonPartitionedExtractor"
    given = dict(settings.properties)
    table_properties = given.pop("hoodie.datasource.hive_sync.table_properties", "")
    return {
        _EXTRACTOR: _EXTRACTORS + extractor,
        _TIMESTAMPS: "true",
        **given,
        "hoodie.datasource.hive_sync.table_properties": "\n".join(filter(None, [table_properties, f"{_ATHENA}=true"])),
        "hoodie.datasource.meta.sync.base.path": table.base_path,
        "hoodie.datasource.hive_sync.database": settings.database,
        "hoodie.datasource.hive_sync.table": settings.table,
        "hoodie.datasource.hive_sync.partition_fields": ",".join(settings.partition_fields),
        "hoodie.datasource.write.hive_style_partitioning": str(table.hive_style).lower(),
    }


def _await_updates(spark: SparkSession, client: Any) -> None:
    """Give the tool's client, by reflection, a Glue client whose UpdateTable has finished when the call returns.

    The tool doesn't wait for its own, and its next step reads the table, changes something else and writes it back:
    Glue then lost the new columns until the next change of the schema. Hudi 0.15.0; fixed by HUDI-8006 and HUDI-8016.
    """
    gateway = callback_gateway(spark)
    field = _field(client, "awsGlue")
    glue, kinds = field.get(client), gateway.new_array(gateway.jvm.java.lang.Class, 1)
    kinds[0] = kind = field.getType()

    def invoke(_proxy: Any, method: Any, arguments: Any) -> Any:
        answer = method.invoke(glue, arguments)
        if method.getName() == "updateTable":
            answer.join()
        return answer

    awaiting = java_object("java.lang.reflect.InvocationHandler", invoke=invoke)
    field.set(client, gateway.jvm.java.lang.reflect.Proxy.newProxyInstance(kind.getClassLoader(), kinds, awaiting))


def _give_instants_their_type(spark: SparkSession, client: Any, table: str) -> None:
    """Change an existing table's instants from bigint, once the type for all tables, to timestamps.

    The tool itself rejects that as a forbidden change of type, and would fail at each sync.
    """
    jvm: Any = spark._jvm
    # A merge-on-read table has three.
    for name in (name for name in (table, f"{table}_ro", f"{table}_rt") if client.tableExists(name)):
        known = {str(column).lower(): str(kind).lower() for column, kind in client.getMetastoreSchema(name).items()}
        schema = client.getStorageSchema()
        wanted = jvm.org.apache.hudi.hive.util.HiveSchemaUtil.parquetSchemaToMapSchema(schema, True, False)
        kinds = {(known.get(str(column).lower()), str(kind).lower()) for column, kind in wanted.items()}
        if ("bigint", "timestamp") in kinds:
            client.updateTableSchema(name, schema)


def _decode_partitions(jvm: Any, client: Any) -> None:
    """Give the tool's client an extractor for encoded folders: its own gives Glue the encoded text.

    By reflection: the tool accepts extractors only by the name of a Java class.
    """

    def values_of(path: str) -> Any:
        values = jvm.java.util.ArrayList()
        for value in row_keys.values_of(path):
            values.add(value)
        return values

    kind = "org.apache.hudi.sync.common.model.PartitionValueExtractor"
    _field(client, "partitionValueExtractor").set(client, java_object(kind, extractPartitionValuesInPath=values_of))


def _field(of: Any, name: str) -> Any:
    kind = of.getClass()
    while name not in {str(field.getName()) for field in kind.getDeclaredFields()}:
        kind = kind.getSuperclass()
    found = kind.getDeclaredField(name)
    found.setAccessible(True)
    return found


def sync_to_glue(spark: SparkSession, settings: SyncSettings, table: TableSettings) -> bool:
    """Run Hudi's AwsGlueCatalogSyncTool once, with AWS's own variables; False when there is no table yet."""
    hadoop, stored = Hadoop(spark), f"{table.base_path}/.hoodie/hoodie.properties"
    if not hadoop.exists(stored):
        return False
    jvm: Any = spark._jvm
    properties = jvm.java.util.Properties()
    for key, value in sync_properties(settings, table).items():
        properties.setProperty(key, value)
    tool = jvm.org.apache.hudi.aws.sync.AwsGlueCatalogSyncTool(properties, spark._jsc.hadoopConfiguration())
    try:
        client = _field(tool, "syncClient").get(tool)
        _await_updates(spark, client)
        if properties.getProperty(_TIMESTAMPS) == "true":
            _give_instants_their_type(spark, client, settings.table)
        if properties.getProperty(_EXTRACTOR) == _MULTI_PART and f"{keys.URL_ENCODE}=true" in hadoop.read_text(stored):
            _decode_partitions(jvm, client)
        tool.syncHoodieTable()
    finally:
        tool.close()
    return True


_RETRY_SECONDS = 30.0


@dataclass(eq=False)
class GlueSync:
    """Decides when a sync is due and runs it in its own thread, so that a slow Glue delays nothing.

    A sync is pending from the start (the last run may have ended before its own), after each commit with a new schema
    or partition, and until one succeeds that began after the last such commit. `sync` runs one; it returns False when
    there is no table yet.
    """

    settings: SyncSettings
    _: KW_ONLY
    sync: Callable[[], bool]
    log: Log
    clock: Callable[[], float] = time.monotonic
    _pending: bool = field(default=True, init=False)
    _schema: str | None = field(default=None, init=False)
    _partitions: set[str] = field(default_factory=set, init=False)
    _not_before: float = field(default=float("-inf"), init=False)
    _thread: threading.Thread | None = field(default=None, init=False)
    _outcome: bool | Exception = field(default=False, init=False)

    def committed(self, commit: Commit) -> None:
        """Note a commit, and sync when it changed the schema or the partitions; never two syncs at a time."""
        changed = commit.schema != self._schema or not commit.partitions <= self._partitions
        self._pending = self._pending or changed
        self._schema = commit.schema
        self._partitions |= commit.partitions
        self.run_if_due()

    def request(self) -> None:
        """Make a sync due: a commit that wasn't reported may have changed the schema or the partitions."""
        self._pending = True

    def run_if_due(self) -> None:
        """Note a finished sync, and start one that is pending and due."""
        if not self._finished() or not self._pending or self.clock() < self._not_before:
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

    def _run(self) -> None:
        try:
            self._outcome = self.sync()
        except Exception as error:  # noqa: BLE001  (ingestion goes on, and the sync is tried again)
            self._outcome = error

    def _finished(self) -> bool:
        if self._thread is None:
            return True
        if self._thread.is_alive():
            return False
        self._thread = None
        if isinstance(self._outcome, Exception):
            self._pending = True
            self._not_before = self.clock() + _RETRY_SECONDS
            self.log(f"catalogue sync failed, is tried again: {first_line(self._outcome)}")
        elif self._outcome:
            self.log(f"catalogue sync done: {self.settings.database}.{self.settings.table}")
        return True

    def _wait(self) -> None:
        if self._thread is not None:
            self._thread.join(self.settings.timeout_seconds)
        if not self._finished():
            self.log("catalogue sync still runs: not waiting any longer, the next start syncs again")
