"""The Spark session: settings for one small table, each left alone where spark-submit gives another."""

import threading
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any

from pyspark import SparkConf, java_gateway
from pyspark.sql import SparkSession

DEFAULTS = {
    "spark.serializer": "org.apache.spark.serializer.KryoSerializer",
    "spark.kryo.registrator": "org.apache.spark.HoodieSparkKryoRegistrar",
    # Landing objects are small: reading many of them must not create many tasks.
    "spark.sql.files.openCostInBytes": "65536",
    "spark.sql.sources.parallelPartitionDiscovery.threshold": "256",
    "spark.sql.shuffle.partitions": "2",
    "spark.sql.adaptive.enabled": "false",
    # Each table has its own queries, and the compiled code of 20 tables doesn't fit into Spark's 100 entries.
    "spark.sql.codegen.cache.maxEntries": "1000",
    # An event's row is a struct in memory, so pruning its fields saves no reading. With 1,600 of them it takes a third
    # of the planning.
    "spark.sql.optimizer.nestedSchemaPruning.enabled": "false",
}
# Without these, values would change on their way; they can't be overridden.
FIXED = {
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.ansi.enabled": "false",
    "spark.sql.caseSensitive": "true",
    "spark.sql.legacy.timeParserPolicy": "CORRECTED",
    "spark.sql.json.enablePartialResults": "true",
    # Days and times are in today's calendar, before 1582 and 1900 too; Spark would refuse to write or read those.
    "spark.sql.parquet.datetimeRebaseModeInWrite": "CORRECTED",
    "spark.sql.parquet.datetimeRebaseModeInRead": "CORRECTED",
    "spark.sql.parquet.int96RebaseModeInWrite": "CORRECTED",
    "spark.sql.parquet.int96RebaseModeInRead": "CORRECTED",
    "spark.sql.avro.datetimeRebaseModeInWrite": "CORRECTED",
    "spark.sql.avro.datetimeRebaseModeInRead": "CORRECTED",
}
# py4j looks a class up at each use of `F.col` and the like, and each look-up searches every jar on the class path: 0.9
# ms here, 350 times per batch, and for `org.apache.hadoop` thrice, as each part might be a class. Kept in the view of
# the JVM, they are found immediately.
_USED_OFTEN = (
    "functions",
    "Column",
    "PythonUtils",
    "java.lang.Class",
    "java.util.HashMap",
    "org.apache.hadoop.fs.Path",
    "org.apache.hudi.AvroConversionUtils",
    "org.apache.hudi.common.table.HoodieTableMetaClient",
    "org.apache.hudi.common.table.TableSchemaResolver",
    "org.apache.hudi.hadoop.fs.HadoopFSUtils",
    "org.apache.spark.sql.Dataset",
    "org.apache.spark.sql.catalyst.expressions.LambdaFunction",
    "org.apache.spark.sql.catalyst.expressions.UnresolvedNamedLambdaVariable",
    "org.apache.spark.sql.execution.RDDScanExec",
    "org.apache.spark.sql.expressions.Window",
    "org.apache.spark.storage.StorageLevel",
    "scala.Option",
)


# Spark generates, compiles and loads a class for most steps of each query. For few rows that takes longer than the
# rows.
_INTERPRETED = {"spark.sql.codegen.wholeStage": "false", "spark.sql.codegen.factoryMode": "NO_CODEGEN"}


# Integer overflow is an error in Athena, too, and `${name}` in a text stays unchanged.
_AS_IN_ATHENA = {"spark.sql.ansi.enabled": "true", "spark.sql.variable.substitute": "false"}


def as_in_athena(spark: SparkSession) -> AbstractContextManager[None]:
    """Plan a block's queries with Athena's semantics. The settings are the session's, and the plans keep them."""
    return _using(spark, _AS_IN_ATHENA)


@contextmanager
def _using(spark: SparkSession, settings: Mapping[str, str]) -> Iterator[None]:
    given = {key: str(spark.conf.get(key)) for key in settings}
    try:
        _use(spark, settings)
        yield
    finally:
        _use(spark, given)


def _use(spark: SparkSession, settings: Mapping[str, str]) -> None:
    for key, value in settings.items():
        spark.conf.set(key, value)


class CodegenSwitch:
    """Decides whether a session's queries are compiled or interpreted; the results are the same."""

    def __init__(self, spark: SparkSession) -> None:
        self._spark = spark
        self._given = {key: str(spark.conf.get(key)) for key in _INTERPRETED}

    def unless(self, small: bool) -> AbstractContextManager[None]:
        """Interpret the queries of a block that has few rows."""
        return _using(self._spark, _INTERPRETED) if small else nullcontext()

    def resume(self) -> None:
        """Compile later queries, if the session was configured so at its start."""
        _use(self._spark, self._given)


def callback_gateway(spark: SparkSession) -> Any:
    """Return the gateway to the JVM, able to call back."""
    gateway: Any = spark.sparkContext._gateway
    start_callbacks: Any = java_gateway.ensure_callback_server_started
    start_callbacks(gateway)
    return gateway


def java_object(interface: str, **methods: Callable[..., Any]) -> Any:
    """Return an object that the JVM calls back through an interface's methods."""
    java = type("Java", (), {"implements": (interface,)})  # py4j reads it
    return type("Implementation", (), {"Java": java, **{name: staticmethod(do) for name, do in methods.items()}})()


def start(app_name: str, master: str | None, *, fair: bool = False) -> SparkSession:
    """Return the running session, or start one; `fair` for one whose jobs come from several threads."""
    builder = SparkSession.builder.appName(app_name)
    if master:
        builder = builder.master(master)
    given = SparkConf()
    defaults = DEFAULTS | ({"spark.scheduler.mode": "FAIR"} if fair else {})
    for key, value in defaults.items():
        if not given.contains(key):
            builder = builder.config(key, value)
    for key, value in FIXED.items():
        builder = builder.config(key, value)
    spark = builder.getOrCreate()
    # Hudi names commits by the default zone's time: in autumn, new ones would be below those of the hour before.
    jvm: Any = spark._jvm
    jvm.java.util.TimeZone.setDefault(jvm.java.util.TimeZone.getTimeZone("UTC"))
    for name in _USED_OFTEN:
        _keep(spark._jvm, name)
    return spark


def slots(spark: SparkSession) -> int:
    """Return how many tasks run at a time on the present executors."""
    context = spark._jsc.sc()
    return int(context.maxNumConcurrentTasks(context.resourceProfileManager().defaultResourceProfile()))


def _keep(jvm: Any, name: str) -> None:
    above = jvm
    for part in name.split("."):
        found = getattr(above, part)
        setattr(above, part, found)
        above = found


# A batch uses at most two tasks at a time to group, order and write (conf/lean.properties).
TASKS = 2
# Slots that large batches leave free. A small batch runs some ten tasks in turn: each would wait for a large one's end.
SPARE = 2
# While large batches work, a table commits only this often: each commit takes CPU from them, also a small one.
PACE_SECONDS = 3.0


def large_turns(most: int, slots: int) -> int:
    """Return how many large batches may run at once, with `slots` tasks at a time; at most `most`."""
    return min(most, max(1, (slots - SPARE) // TASKS))


class Turns:
    """Limits the tables that work at the same time, first come, first served; small batches have turns of their own.

    A first load's batch takes long, and its table requests the next turn immediately. A small batch needs little
    memory, so making it wait saves nothing.
    """

    def __init__(self, most: int, slots: Callable[[], int] | None = None) -> None:
        """At most `most` batches of a kind run at the same time; large ones leave some of the `slots` free."""
        self._most = {False: most, True: most}
        self._slots = slots
        self._busy = {False: 0, True: 0}
        self._waiting: dict[bool, deque[threading.Event]] = {False: deque(), True: deque()}
        self._lock = threading.Lock()

    def min_interval_seconds(self) -> float:
        """Return the minimum time from the start of a table's last commit to the next one."""
        return PACE_SECONDS if self._busy[False] else 0.0

    @contextmanager
    def take(self, *, small: bool = False) -> Iterator[None]:
        mine = threading.Event()
        # Read here, since executors come and go; returning a turn must not fail.
        slots = None if small or self._slots is None else self._slots()
        with self._lock:
            if slots is not None:
                self._most[False] = large_turns(self._most[True], slots)
            self._waiting[small].append(mine)
            self._give(small)
        mine.wait()
        try:
            yield
        finally:
            with self._lock:
                self._busy[small] -= 1
                self._give(small)

    def _give(self, small: bool) -> None:
        while self._waiting[small] and self._busy[small] < self._most[small]:
            self._busy[small] += 1
            self._waiting[small].popleft().set()
