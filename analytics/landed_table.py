"""The table of what has landed: the events as they travelled, a line each, before any job has read them.

A line is one column, so one table is for all topics, whatever columns theirs have; a query takes out what it wants by
json_extract_scalar. The topics' folders become partitions by Athena's partition projection. That holds for the
landing's own layout, `<prefix>/<topic>/<partition>/<offsets>.json` (docs/decisions/0040).
"""

from collections.abc import Iterable

NAME = "cdc_landed"
COLUMNS = (("event", "string"),)
# The folders: a pipeline's prefix in the landing, and the topic.
PARTITIONS = (("landing_prefix", "string"), ("topic", "string"))
# Athena's hidden column, an object's address.
PATH = "$path"
INPUT_FORMAT = "org.apache.hadoop.mapred.TextInputFormat"
OUTPUT_FORMAT = "org.apache.hadoop.hive.ql.io.HiveIgnoreKeyTextOutputFormat"
# Its fields end at a sign that JSON spells out: a line is one of them.
SERDE = "org.apache.hadoop.hive.serde2.lazy.LazySimpleSerDe"


def parameters(landing: str, prefixes: Iterable[str], topics: Iterable[str]) -> dict[str, str]:
    """Return the Glue table's parameters; `landing` is the bucket's address without a slash at the end."""
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
