"""The Spark session: settings that suit one small table, each of them left alone where spark-submit gives another."""

from typing import Any

from pyspark import SparkConf
from pyspark.sql import SparkSession

_DEFAULTS = {
    "spark.serializer": "org.apache.spark.serializer.KryoSerializer",
    "spark.kryo.registrator": "org.apache.spark.HoodieSparkKryoRegistrar",
    # Landing objects are small: reading many of them must not make many tasks.
    "spark.sql.files.openCostInBytes": "65536",
    "spark.sql.sources.parallelPartitionDiscovery.threshold": "256",
    "spark.sql.shuffle.partitions": "2",
    "spark.sql.adaptive.enabled": "false",
}
# Without these, values would change on their way; nobody may choose otherwise.
_FIXED = {
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.ansi.enabled": "false",
    "spark.sql.caseSensitive": "true",
    "spark.sql.legacy.timeParserPolicy": "CORRECTED",
    "spark.sql.json.enablePartialResults": "true",
    # Days and times are of today's calendar, before 1582 and 1900 too; Spark would refuse to write or read those.
    "spark.sql.parquet.datetimeRebaseModeInWrite": "CORRECTED",
    "spark.sql.parquet.datetimeRebaseModeInRead": "CORRECTED",
    "spark.sql.parquet.int96RebaseModeInWrite": "CORRECTED",
    "spark.sql.parquet.int96RebaseModeInRead": "CORRECTED",
    "spark.sql.avro.datetimeRebaseModeInWrite": "CORRECTED",
    "spark.sql.avro.datetimeRebaseModeInRead": "CORRECTED",
}
# py4j looks a class up at each use of `F.col` and its like, and each look-up searches every jar on the class path:
# 0.9 ms here, 350 times per batch. Kept in the view of the JVM, they are found at once.
_USED_OFTEN = ("functions", "PythonUtils", "org")


def start(app_name: str, master: str | None, *, fair: bool = False) -> SparkSession:
    """Return the running session, or start one; `fair` for one that several threads give their jobs."""
    builder = SparkSession.builder.appName(app_name)
    if master:
        builder = builder.master(master)
    given = SparkConf()
    defaults = _DEFAULTS | ({"spark.scheduler.mode": "FAIR"} if fair else {})
    for key, value in defaults.items():
        if not given.contains(key):
            builder = builder.config(key, value)
    for key, value in _FIXED.items():
        builder = builder.config(key, value)
    spark = builder.getOrCreate()
    jvm: Any = spark._jvm
    for name in _USED_OFTEN:
        setattr(jvm, name, getattr(jvm, name))
    return spark
