"""Names for PostgreSQL's tables and columns where PostgreSQL's own don't fit: in the lake, and as a topic.

In PostgreSQL a quoted name is anything of up to 63 bytes: mixed case, blanks, dots, any script. A lake name is what
Glue, Athena, Hive and Avro all accept: small Latin letters, digits and underscores, a letter or an underscore first
(Athena's "Name databases, tables, and columns"; Avro's specification, "Names"). Two names may become one, which
`clashes` finds.
"""

import difflib
import re
import shlex
import unicodedata
from collections.abc import Callable, Iterable, Sequence

# Glue's limit for a table's or column's name; PostgreSQL's 63 bytes stay below it in any spelling.
LONGEST_LAKE_NAME = 255
# Kafka's limit for a topic's name.
LONGEST_TOPIC = 249
_LAKE_NAME = re.compile(r"[a-z_][a-z0-9_]{0,254}\Z")
# Where a new word begins inside a name such as orderID, HTTPServer2Name: ISO|Date, order|ID.
_WORDS = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
_QUOTED = re.compile(r'"((?:[^"]|"")+)"\."((?:[^"]|"")+)"')
_NOT_IN_TOPIC = re.compile(r"[^A-Za-z0-9._-]")


def table_text(schema: str, table: str) -> str:
    """Return `schema.table`, in PostgreSQL's quotes where that wouldn't tell the two apart; for `table_of_text`."""
    if any(re.search(r'[."]|^\s|\s\Z', name) for name in (schema, table)):
        schema, table = (f'"{name.replace(chr(34), chr(34) * 2)}"' for name in (schema, table))
    return f"{schema}.{table}"


def table_of_text(text: str) -> tuple[str, str]:
    """Return a table's schema, empty without one, and name."""
    if found := _QUOTED.fullmatch(text):
        return found[1].replace('""', '"'), found[2].replace('""', '"')
    schema, _, table = text.rpartition(".")
    return schema, table


def table_option(name: str) -> str:
    """Return the option that names a table, quoted for the shell where needed."""
    return f"-t {shlex.quote(name)}"


def is_lake_name(name: str) -> bool:
    """Tell whether the lake accepts a name unchanged."""
    return _LAKE_NAME.match(name) is not None


def lake_name(name: str) -> str:
    """Return the lake's name for a table or column: itself if it is one, else in snake_case.

    Accents are dropped (`café` is `cafe`), other scripts' letters are written by their number (`ß` is `u00df`),
    everything else becomes an underscore. The result depends on the name alone.
    """
    if is_lake_name(name):
        return name
    plain = "".join(map(_plain, _WORDS.sub("_", unicodedata.normalize("NFC", name))))
    tidy = re.sub(r"_+", "_", plain.lower()).strip("_")
    return tidy if _LAKE_NAME.match(tidy) else f"_{tidy}"


def _plain(sign: str) -> str:
    base = unicodedata.normalize("NFD", sign)[0]
    if base.isascii():
        return base if base.isalnum() else "_"
    return f"_u{ord(sign):04x}_" if sign.isalnum() else "_"


def topic_part(name: str) -> str:
    """Return a table's or schema's name as Debezium writes it in a topic: an underscore for each sign Kafka forbids.

    Java counts UTF-16 units, so a sign beyond the first 65,536 becomes two (observed with Debezium 3.7.0's
    SchemaTopicNamingStrategy: `Order Details` is `Order_Details`, a dot stays one).
    """
    return _NOT_IN_TOPIC.sub(lambda found: "_" * (2 if ord(found[0]) > 0xFFFF else 1), name)


def table_topic(topic_prefix: str, schema: str, table: str) -> str:
    """Return the topic of a table's events: <topic_prefix>.<schema>.<table>, as Debezium names it."""
    return f"{topic_prefix}.{topic_part(schema)}.{topic_part(table)}"


def topic_identity(topic: str) -> str:
    """Return the topic's identity in Kafka, which refuses topics that differ only in dots and underscores."""
    return topic.replace(".", "_")


def clashes(names: Iterable[str], rule: Callable[[str], str]) -> dict[str, list[str]]:
    """Return results that several names share under `rule`, with those names in their order."""
    found: dict[str, list[str]] = {}
    for name in names:
        found.setdefault(rule(name), []).append(name)
    return {result: origins for result, origins in found.items() if len(origins) > 1}


def nearest(name: str, known: Iterable[str]) -> str:
    """List the three known names most similar to an unknown one: a whole list would hide them."""
    return ", ".join(difflib.get_close_matches(name, [*known], n=3, cutoff=0))


def listed(names: Sequence[str], most: int) -> str:
    """List up to `most` names unshortened, and count the rest."""
    further = len(names) - most
    return ", ".join(names[:most]) + (f" and {further:,} more" if further > 0 else "")
