"""The Spark session: settings that suit one small table, each of them left alone where spark-submit gives another."""

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
}


def start(app_name: str, master: str | None) -> SparkSession:
    """Return the running session, or start one."""
    builder = SparkSession.builder.appName(app_name)
    if master:
        builder = builder.master(master)
    given = SparkConf()
    for key, value in _DEFAULTS.items():
        if not given.contains(key):
            builder = builder.config(key, value)
    for key, value in _FIXED.items():
        builder = builder.config(key, value)
    return builder.getOrCreate()
