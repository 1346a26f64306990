"""The table of the landing bucket's files: raw events, one per line, before any job has read them.

A line is one column, so one table serves all topics, whatever columns they have; queries extract values with
json_extract_scalar. The topics' folders become partitions through Athena's partition projection, for the landing's own
layout, `<prefix>/<topic>/<partition>/<offsets>.json` (docs/decisions/0040).
"""

from collections.abc import Iterable

NAME = "cdc_landed"
COLUMNS = (("event", "string"),)
# The folders: a pipeline's prefix in the landing bucket, and the topic.
PARTITIONS = (("landing_prefix", "string"), ("topic", "string"))
# Athena's hidden column with an object's address.
PATH = "$path"
INPUT_FORMAT = "org.apache.hadoop.mapred.TextInputFormat"
OUTPUT_FORMAT = "org.apache.hadoop.hive.ql.io.HiveIgnoreKeyTextOutputFormat"
# Its field separator is escaped in JSON, so a line is one field.
SERDE = "org.apache.hadoop.hive.serde2.lazy.LazySimpleSerDe"


def parameters(landing: str, prefixes: Iterable[str], topics: Iterable[str]) -> dict[str, str]:
    """Return the Glue table's parameters; `landing` is the bucket's address without a trailing slash."""
    [(prefix, _), (topic, _)] = PARTITIONS
    return {
        "classification": "text",
        "EXTERNAL": "TRUE",
        "projection.enabled": "true",
        f"projection.{prefix}.type": "enum",
        f"projection.{prefix}.values": ",".join(sorted(set(prefixes))),
        f"projection.{topic}.type": "enum",
        f"projection.{topic}.values": ",".join(sorted(set(topics))),
        "storage.location.template": f"{landing}/${{{prefix}}}/${{{topic}}}",
    }
