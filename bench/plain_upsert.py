"""What anyone would write in place of the job: reads JSON by a schema, keeps each key's newest event, upserts it.

`bench.against_others` runs it with spark-submit, and gives it everything as JSON.
"""

import json
import sys

from pyspark.sql import SparkSession, Window, functions

given = json.loads(sys.argv[1])
settings: dict[str, bool | float | int | str | None] = {
    "spark.serializer": "org.apache.spark.serializer.KryoSerializer",
    "spark.kryo.registrator": "org.apache.spark.HoodieSparkKryoRegistrar",
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.shuffle.partitions": "2",
}
spark = SparkSession.builder.config(map=settings).getOrCreate()
events = spark.read.schema(given["schema"]).json(given["landing"])
newest = Window.partitionBy("order_id").orderBy(functions.desc(given["ordering"]))
rows = events.withColumn("place", functions.row_number().over(newest)).filter("place = 1").selectExpr(*given["columns"])
rows.write.format("hudi").options(**given["options"]).mode("append").save(given["table"])
