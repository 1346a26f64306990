"""KCQL, the query language of the Lenses S3 sink: what goes where, in which folders, and when it is flushed.

A statement per topic is built here for the connector and parsed here for the local stand-in, so both read the same. The
grammar is that of Lenses' kafka-connect-query-language; we write and accept the part that the pipeline uses.
"""

import re
from dataclasses import dataclass
from typing import Literal

from plugins.connector_properties import check_within

# Kcql.parseMultiple splits at each one, wherever it stands: none of our names may contain it.
SEPARATOR = ";"
MAXIMUM_INTERVAL_SECONDS = 86_400
MAXIMUM_COUNT = 1_000_000
MAXIMUM_BYTES = 5_000_000_000

# Measured with 11.7.2: docs/decisions/0040.
PARTITION_LOSS = (
    "killed during a flush, the connector lost data in this layout (46 and 25 of 1,802 records in two of two runs) "
    'while its task said RUNNING, and once it was stopped it can\'t resume in it ("Unable to resume", 259 of 7,100 '
    "events landed, three of three runs)"
)
PARTITION_WARNING = (
    f"PARTITIONBY {{fields}}: {PARTITION_LOSS}; it also writes an object per key. Leave partition_by empty unless the "
    "folder names are needed, and run reconcile"
)

_BUCKET = re.compile(r"(?=.{3,63}\Z)[a-z0-9][a-z0-9-]*(\.[a-z0-9][a-z0-9-]*)*(?<!-)\Z")
_PREFIX = re.compile(r"[A-Za-z0-9_\-]+([./=+][A-Za-z0-9_\-]+)*\Z")
_TOPIC = re.compile(r"(?!\.{1,2}\Z)[A-Za-z0-9._-]{1,249}\Z")
_FIELD = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\Z")

# Keywords of the connector's lexer, wholly in lower or upper case: a name's part that equals one must stand in
# backticks.
_KEYWORDS = frozenset(
    re.findall(
        r"\w+",
        """insert upsert update into select from ignore as autocreate autoevolve clusterby buckets batch capitalize
        initialize partitionby distributeby withtimestamp withgroup withoffset withtag withkey keydelimiter
        withstructure withtype pk every withformat withunwrap storeas limit incrementalmode withdoctype
        withindexsuffix withconverter withjmsselector withtarget withcompression withpartitioner withsubscription
        timestampunit withpipeline withdelay withregex with_flush_interval with_flush_size with_flush_count
        with_session ttl with_ack with_encode_base64 with_lock_time properties""",
    )
)

# Blanks that the lexer skips between words.
_BLANKS = " \t\r\n"


def _grammar(pattern: str) -> re.Pattern[str]:
    """Compile a pattern with keywords as the lexer knows them, wholly in upper or lower case, `~` for a blank."""
    words = re.sub(r"[A-Z_]{2,}", lambda word: f"(?:{word[0]}|{word[0].lower()})", pattern)
    return re.compile(words.replace("~", f"[{_BLANKS}]"), re.ASCII)


_STATEMENT = _grammar(
    r"~*INSERT~+INTO~+(?P<target>`[^`]+`|[^\s`]+)"
    r"~+SELECT~+\*~+FROM~+(?P<topic>`[^`]+`|[^\s`]+)"
    r"(~+PARTITIONBY~+(?P<fields>\w+(~*,~*\w+)*))?"
    r"~+STOREAS~+(?P<format>`\w+`|\w+)"
    r"(?P<flush>(~+WITH_FLUSH_\w+~*=~*\d+)*)"
    r"(~+PROPERTIES~*\((?P<properties>[^()]*)\))?~*;?~*"
)
_PROPERTY = _grammar(r"'(?P<name>[^']*)'~*=~*(?P<value>.*)")
_INTEGER = re.compile(r"(?P<quote>'?)[0-9]{1,18}(?P=quote)")

_PROPERTY_OF = {
    "flush_interval_seconds": "flush.interval",
    "flush_count": "flush.count",
    "flush_bytes": "flush.size",
}


@dataclass(frozen=True, kw_only=True)
class Kcql:
    """One `INSERT INTO` statement: a topic's values, as JSON lines or Parquet, under a bucket and prefix.

    An open object is finished `flush_interval_seconds` after the previous one, or when it holds `flush_count` records
    or, if given, `flush_bytes` bytes. `partition_by`: fields of the value that name folders; `partition_headers`:
    headers that do, which the files don't contain; neither: one folder per topic partition.
    Raises ValueError naming the wrong field.
    """

    bucket: str
    prefix: str
    topic: str
    flush_interval_seconds: int
    flush_count: int
    flush_bytes: int | None = None
    partition_by: tuple[str, ...] = ()
    partition_headers: tuple[str, ...] = ()
    stored_as: Literal["JSON", "PARQUET"] = "JSON"

    def __post_init__(self) -> None:
        _check(_BUCKET, self.bucket, "bucket", "3 to 63 small letters, digits, dots and hyphens")
        _check(_PREFIX, self.prefix, "prefix", "letters, digits and . / = + - _, with no slash at either end")
        _check(_TOPIC, self.topic, "topic", "up to 249 letters, digits, dots, underscores and hyphens")
        for field in self.folders:
            _check(_FIELD, field, "partition_by", "a field's name of letters, digits and underscores")
            if _is_keyword(field):
                # Backticks don't help here: the grammar accepts them only after a dot.
                raise ValueError(f"partition_by must be fields that aren't words of KCQL's own, as {field!r} is")
        # The connector ignores the case of fields here.
        if len({field.lower() for field in self.folders}) < len(self.folders):
            raise ValueError(f"partition_by: a field is named twice in {', '.join(self.folders)}")
        check_within("flush_interval_seconds", self.flush_interval_seconds, 1, MAXIMUM_INTERVAL_SECONDS)
        check_within("flush_count", self.flush_count, 1, MAXIMUM_COUNT)
        if self.flush_bytes is not None:
            check_within("flush_bytes", self.flush_bytes, 1, MAXIMUM_BYTES)

    @property
    def folders(self) -> tuple[str, ...]:
        return (*self.partition_by, *self.partition_headers)

    @property
    def warnings(self) -> tuple[str, ...]:
        """What the user should know before choosing this statement, one sentence each."""
        if not self.folders:
            return ()
        return (PARTITION_WARNING.format(fields=",".join(self.folders)),)


def build(kcql: Kcql) -> str:
    """Write the statement in the connector's syntax."""
    fields = (*kcql.partition_by, *(f"_header.{name}" for name in kcql.partition_headers))
    partition_by = f" PARTITIONBY {','.join(fields)}" if fields else ""
    values = {name: value for name in _PROPERTY_OF if (value := getattr(kcql, name)) is not None}
    flush = "PROPERTIES(" + ",".join(f"'{_PROPERTY_OF[name]}'={value}" for name, value in values.items()) + ")"
    target = _quoted(f"{kcql.bucket}:{kcql.prefix}")
    topic = _quoted(kcql.topic)
    return f"INSERT INTO {target} SELECT * FROM {topic}{partition_by} STOREAS `{kcql.stored_as}` {flush}"  # noqa: S608 not SQL


def parse(statement: str) -> Kcql:
    """Read a statement as the connector would.

    Raises ValueError, in one line, for statements that REST accepts but on which the task fails at its start, and for
    property names that the connector would silently ignore.
    """
    match = _STATEMENT.fullmatch(statement)
    if match is None:
        form = "INSERT INTO bucket:prefix SELECT * FROM topic … STOREAS `JSON` …"
        raise ValueError(f"KCQL: not of the form {form}, each word in one case: {statement!r}")
    if match["format"].strip("`").upper() != "JSON":
        raise ValueError(f"KCQL: STOREAS must be JSON, not {match['format']}")
    bucket, _, prefix = _name(match["target"]).partition(":")
    if match["flush"]:
        # REST accepts it with 201.
        raise ValueError("KCQL: WITH_FLUSH_* is gone since 7.0.0, the task would fail: use PROPERTIES(…)")
    flush = _properties(match["properties"] or "")
    return Kcql(
        bucket=bucket,
        prefix=prefix,
        topic=_name(match["topic"]),
        partition_by=tuple(re.split(r"\s*,\s*", match["fields"])) if match["fields"] else (),
        flush_interval_seconds=flush["flush.interval"],
        flush_count=flush["flush.count"],
        flush_bytes=flush.get("flush.size"),
    )


def parse_all(text: str) -> tuple[Kcql, ...]:
    """Read a connector's statements. Raises ValueError as `parse` does, and for two of one topic.

    The connector would silently use one of the two.
    """
    parts = text.rstrip(_BLANKS).removesuffix(SEPARATOR).split(SEPARATOR)
    statements = tuple(parse(part.strip(_BLANKS)) for part in parts)
    topics = [statement.topic for statement in statements]
    if twice := sorted({topic for topic in topics if topics.count(topic) > 1}):
        raise ValueError(f"KCQL: two statements read {', '.join(twice)}: the connector would go by one of them")
    return statements


def _properties(text: str) -> dict[str, int]:
    values: dict[str, int] = {}
    for item in [part.strip(_BLANKS) for part in text.split(",")] if text.strip(_BLANKS) else []:
        match = _PROPERTY.fullmatch(item)
        if match is None:
            raise ValueError(f"KCQL: PROPERTIES: {item!r} isn't 'name'=value")
        name, value = match["name"], match["value"]
        if name not in _PROPERTY_OF.values():
            raise ValueError(f"KCQL: PROPERTIES: {name!r} isn't one of {', '.join(_PROPERTY_OF.values())}")
        if name in values:
            raise ValueError(f"KCQL: PROPERTIES: {name} is given twice")
        number = _INTEGER.fullmatch(value)
        if number is None:
            raise ValueError(f"KCQL: PROPERTIES: {name} must be a whole number, not {value!r}")
        if number["quote"]:
            raise ValueError(
                f"KCQL: PROPERTIES: {name}={value}: the task fails on a quoted number, leave the quotes out"
            )
        values[name] = int(value)
    # With the connector's own defaults (50,000 records, 3,600 s) the pipeline would seem to stand still.
    for name in ("flush.interval", "flush.count"):
        if name not in values:
            raise ValueError(f"KCQL: {name} is missing")
    return values


def _name(written: str) -> str:
    """Read a target or topic. Raises ValueError for one that needs backticks and has none."""
    name = written.strip("`")
    if name == written and _quoted(name) != name:
        raise ValueError(f"KCQL: {name} needs backticks: the connector would take a part of it for a word of its own")
    return name


def _quoted(name: str) -> str:
    """Put a name in backticks if the connector's lexer would misread a part of it."""
    words = name.split(".")
    needed = "=" in name or any(word.isdigit() or _is_keyword(word) for word in words)
    return f"`{name}`" if needed else name


def _is_keyword(word: str) -> bool:
    return word in (word.lower(), word.upper()) and word.lower() in _KEYWORDS


def _check(pattern: re.Pattern[str], value: str, name: str, rule: str) -> None:
    if not pattern.match(value):
        raise ValueError(f"{name} must be {rule}, not {value!r}")
