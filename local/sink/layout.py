"""Names and contents of the landed objects, as the Lenses S3 sink 11.7 makes them.

Without PARTITIONBY: `prefix/topic/<partition>/<last offset, 12 digits>_<earliest ms>_<latest ms>.json`, which sorts by
offset. With it: `prefix/customer_id=7/order_id=100/topic(<partition>_<last offset, 12 digits>).json`. JSON lines, the
value only.
"""

import re
from dataclasses import dataclass

from local.sink.errors import MalformedValueError
from local.sink.values import content
from plugins.kcql import Kcql

MISSING = "[missing]"
_ORDERED_NAME = re.compile(r"(?P<last_offset>\d{12,})_-?\d+_-?\d+\.json\Z")


@dataclass(frozen=True, kw_only=True, slots=True)
class Span:
    """What an object's name tells about its records: the last offset and the timestamps in ms since the epoch."""

    last_offset: int
    earliest_ms: int
    latest_ms: int


class Layout:
    """Where records of one topic go."""

    def __init__(self, kcql: Kcql) -> None:
        self.kcql = kcql

    @property
    def is_ordered(self) -> bool:
        """Whether names sort by offset, so that a listing tells how far a partition has been landed."""
        return not self.kcql.partition_by

    def folder(self, partition: int, value: bytes) -> str:
        """Return the folder of a record's object. Raises MalformedValueError when PARTITIONBY can't be applied."""
        if self.is_ordered:
            return self.partition_folder(partition)
        fields = _fields(value)
        # As the connector does it, a value with a slash makes one more folder.
        values = [f"{name}={_folder_value(name, fields.get(name))}" for name in self.kcql.partition_by]
        return "/".join([self.kcql.prefix, *values])

    def partition_folder(self, partition: int) -> str:
        """Return the folder of a topic partition's objects in the ordered layout."""
        return f"{self.kcql.prefix}/{self.kcql.topic}/{partition}"

    def key(self, folder: str, partition: int, span: Span) -> str:
        """Return the object's key."""
        if self.is_ordered:
            return f"{folder}/{span.last_offset:012d}_{span.earliest_ms}_{span.latest_ms}.json"
        return f"{folder}/{self.kcql.topic}({partition}_{span.last_offset:012d}).json"


def last_offset(key: str) -> int | None:
    """Read the last offset from a key of the ordered layout; None for a key that isn't one of its names."""
    match = _ORDERED_NAME.match(key.rsplit("/", 1)[-1])
    return int(match["last_offset"]) if match else None


def _fields(value: bytes) -> dict[str, object]:
    fields = content(value)
    if not isinstance(fields, dict):
        raise MalformedValueError("the value isn't a JSON object, so it has no folder")
    return fields


def _folder_value(name: str, value: object) -> str:
    if value is None:
        return MISSING
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, str | int | float):
        return str(value)
    raise MalformedValueError(f"{name} isn't a plain value, so the record has no folder")
