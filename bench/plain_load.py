"""What anyone would write in place of a direct first load: reads a table in two ranges, and inserts it in bulk.

`bench.first_load` runs it with spark-submit, and gives it everything in a file of JSON, which has a password.
"""

import json
import sys
from pathlib import Path

from pyspark.sql import SparkSession, functions

given = json.loads(Path(sys.argv[1]).read_text())
settings: dict[str, bool | float | int | str | None] = {
    "spark.serializer": "org.apache.spark.serializer.KryoSerializer",
    "spark.kryo.registrator": "org.apache.spark.HoodieSparkKryoRegistrar",
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.shuffle.partitions": "2",
}
spark = SparkSession.builder.config(map=settings).getOrCreate()
rows = spark.read.format("jdbc").options(**given["jdbc"]).load()
rows = rows.withColumns({name: functions.lit(1).cast(kind) for name, kind in given["added"].items()})
rows.write.format("hudi").options(**given["options"]).mode("append").save(given["table"])
