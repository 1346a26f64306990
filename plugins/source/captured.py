"""The tables that a source connector captures, and their names in Debezium's configuration and Kafka's topics.

Debezium's lists of tables and columns are Java regular expressions, split at commas, which must match the whole
`schema.table` (or `schema.table.column`) and ignore case; topics have a smaller alphabet than PostgreSQL's names
(Debezium 3.7, "table.include.list", "topic.naming.strategy").
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from contract.table_names import LONGEST_TOPIC, clashes, table_topic, topic_identity

# Debezium's property with the patterns of the captured tables.
INCLUDED_TABLES = "table.include.list"
# Characters that no name has, or that have another meaning in Debezium's lists of keys.
_UNUSABLE = ("\0", "\n", "\r", ";", ":")
_LONGEST_NAME_BYTES = 63


@dataclass(frozen=True, kw_only=True)
class CapturedTable:
    """A table of the source as its catalogue names it, without quotes. Raises ValueError naming what is wrong.

    `key`: an event's key columns if the table has no primary key; otherwise the primary key's.
    `leave_out`: columns that aren't captured. `hashed`: columns that travel as SHA-256. A TRUNCATE of it stops
    the connector's task (`stops_at_truncate`), is an event (`tells_of_truncate`), or goes unreported
    (docs/decisions/0021). Where every event is a row (`append_only`), an incremental snapshot's can't be
    one (docs/decisions/0078). `loaded_directly`: the job reads its first rows from the database.
    """

    schema: str
    table: str
    key: tuple[str, ...] = ()
    leave_out: tuple[str, ...] = ()
    hashed: tuple[str, ...] = ()
    stops_at_truncate: bool = False
    tells_of_truncate: bool = False
    append_only: bool = False
    loaded_directly: bool = False

    def __post_init__(self) -> None:
        for name in (self.schema, self.table, *self.key, *self.leave_out, *self.hashed):
            if not name or len(name.encode()) > _LONGEST_NAME_BYTES or any(sign in name for sign in _UNUSABLE):
                raise ValueError(f"{self.name}: no table or column that can be captured is called {name!r}")
        if twice := sorted({*self.leave_out} & {*self.hashed}):
            raise ValueError(f"{self.name}: {', '.join(twice)} can't be left out and hashed")
        if gone := sorted({*self.key} & {*self.leave_out}):
            raise ValueError(f"{self.name}: {', '.join(gone)} can't be left out: it is of the key")

    @property
    def name(self) -> str:
        """`schema.table`, as in messages and signals."""
        return f"{self.schema}.{self.table}"

    @property
    def pattern(self) -> str:
        """The regular expression of Debezium's lists that matches this table and no other."""
        return java_regex(self.schema, self.table)

    def topic(self, prefix: str) -> str:
        """Return the topic of the table's events."""
        return table_topic(prefix, self.schema, self.table)


def java_regex(*parts: str) -> str:
    r"""Return a case-sensitive regular expression for `part.part`: `(?-i:public\.orders)`."""
    return "(?-i:" + r"\.".join(map(_literal, parts)) + ")"


def shown(pattern: str) -> str:
    """Return the name in a pattern of `java_regex`."""
    escaped = pattern.removeprefix("(?-i:").removesuffix(")")
    return re.sub(r"\\(x2C|.)", lambda found: "," if found[1] == "x2C" else found[1], escaped)


def _literal(name: str) -> str:
    """Escape a name for Java's regular expressions, in a list split at commas: commas are written by their number."""
    escaped = re.sub(r"[^\w]", lambda found: "\\" + found[0], name)
    return escaped.replace("\\,", "\\x2C")


def columns(tables: Iterable[CapturedTable], chosen: str) -> str:
    """Return Debezium's list of the columns in each table's `chosen`, `leave_out` or `hashed`; empty for none."""
    return ",".join(java_regex(t.schema, t.table, column) for t in tables for column in getattr(t, chosen))


def keys(tables: Iterable[CapturedTable]) -> str:
    """Return Debezium's `message.key.columns` for the tables with their own key; empty for none.

    A colon ends the table's pattern there, so case counts through a flag without one.
    """
    return ";".join(
        rf"(?-i){_literal(table.schema)}\.{_literal(table.table)}:{','.join(map(_literal, table.key))}"
        for table in tables
        if table.key
    )


def check_topics(tables: Sequence[CapturedTable], prefix: str) -> None:
    """Raise ValueError if a table is named twice, or two tables' events would share a topic."""
    topics = {table.name: table.topic(prefix) for table in tables}
    names = (table.name for table in tables)
    for first, other, *_ in clashes(names, lambda name: topic_identity(topics[name])).values():
        if other == first:
            raise ValueError(f"tables: {first} is named twice")
        raise ValueError(f"tables: {first} and {other} would share the topic {topics[other]}")
    for topic in topics.values():
        if len(topic) > LONGEST_TOPIC:
            raise ValueError(
                f"tables: the topic {topic} is longer than the {LONGEST_TOPIC} characters that Kafka takes"
            )
