"""What anyone would write in place of the job: reads a table in two ranges and inserts it in bulk, or upserts events.

`bench.first_load` and `bench.against_others` run it with spark-submit, and give it everything in a file of JSON, which
may have a password. Of the events of a key the newest is kept.
"""

import json
import sys
from pathlib import Path

from pyspark.sql import SparkSession, Window, functions

given = json.loads(Path(sys.argv[1]).read_text())
settings: dict[str, bool | float | int | str | None] = {
    "spark.serializer": "org.apache.spark.serializer.KryoSerializer",
    "spark.kryo.registrator": "org.apache.spark.HoodieSparkKryoRegistrar",
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.shuffle.partitions": "2",
}
spark = SparkSession.builder.config(map=settings).getOrCreate()
if "jdbc" in given:
    rows = spark.read.format("jdbc").options(**given["jdbc"]).load()
    rows = rows.withColumns({name: functions.lit(1).cast(kind) for name, kind in given["added"].items()})
else:
    events = spark.read.schema(given["schema"]).json(given["landing"])
    newest = Window.partitionBy("order_id").orderBy(functions.desc(given["ordering"]))
    place = functions.row_number().over(newest)
    rows = events.withColumn("place", place).filter("place = 1").selectExpr(*given["columns"])
rows.write.format("hudi").options(**given["options"]).mode("append").save(given["table"])
