"""The table of quarantined events: JSON lines next to the lake's tables, which no job registers.

An entry is a JSON object on its own line (docs/decisions/0023): the reason, the origin (the landing's object, or
the topic and partition) with the line or offset in it, the time, and the text as is. A file that couldn't be read at
all is copied whole, with an entry `<copy>.reason.json` next to it that has `file` in place of `text`; Athena's
queries of that table's partition then fail at the copy until it is moved away.

The folders `<lake>/_quarantine/<table>/` become partitions through Athena's partition projection: entries show up at
once, without being registered.
"""

from collections.abc import Iterable

from contract.lake import QUARANTINE_FOLDER

NAME = "cdc_quarantine"
# Name, Glue's type. `line` counts from 1 within a file, `offset` is the topic's: an entry has one of them.
COLUMNS = (
    ("reason", "string"),
    ("origin", "string"),
    ("line", "bigint"),
    ("offset", "bigint"),
    ("quarantined_at", "string"),
    ("text", "string"),
    ("file", "string"),
)
# The folder: the captured table's name in the lake.
PARTITION = ("lake_table", "string")
INPUT_FORMAT = "org.apache.hadoop.mapred.TextInputFormat"
OUTPUT_FORMAT = "org.apache.hadoop.hive.ql.io.HiveIgnoreKeyTextOutputFormat"
SERDE = "org.openx.data.jsonserde.JsonSerDe"


def location(lake: str) -> str:
    """Return the table's folder in a lake, such as `s3://bucket`: neither ends in a slash."""
    return f"{lake}/{QUARANTINE_FOLDER}"


def parameters(lake: str, tables: Iterable[str]) -> dict[str, str]:
    """Return the Glue table's parameters for the captured tables' names in the lake.

    Raises ValueError if one of them has this table's name.
    """
    names = sorted(tables)
    if NAME in names:
        raise ValueError(f"{NAME} is the name of the table of what is set aside: give the captured one another")
    return {
        "classification": "json",
        "EXTERNAL": "TRUE",
        "projection.enabled": "true",
        f"projection.{PARTITION[0]}.type": "enum",
        f"projection.{PARTITION[0]}.values": ",".join(names),
        "storage.location.template": f"{location(lake)}/${{{PARTITION[0]}}}",
    }
