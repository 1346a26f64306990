"""Turns records' values into lines, and collects the open ones of a partition: read from Kafka, not yet landed.

A line has the value's bytes, where the real connector's line would mean the same.

The connector reads each value with Connect's JsonConverter, with Jackson 2.16, and rewrites it. A value that this would
change, or that it can't read, is refused here as well; one that it skips is skipped.
"""

import json
import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from decimal import Decimal
from fractions import Fraction
from functools import partial
from typing import Any

from local.sink.settings import MalformedValueError, Partition
from plugins.sink.kcql import Kcql

LONG = range(-(2**63), 2**63)
# Jackson's StreamReadConstraints: characters of a string and of a number.
LONGEST_STRING = 20_000_000
LONGEST_NUMBER = 1_000
# Maximum digits that Double.toString of Java 17 writes.
JAVA_DIGITS = 18
# Replaces, in a parsed value, a number that the connector would change.
_CHANGED = object()


def _spells(number: Decimal, value: float) -> bool:
    """Tell whether Python or Java would write this double as this number.

    Java 17 writes more digits than needed (437793390013810900 has 18), and not always the nearest ones (JDK-4511638): a
    difference below one in the last digit is a spelling, too.
    """
    _, digits, exponent = number.normalize().as_tuple()
    return len(digits) <= JAVA_DIGITS and abs(Fraction(number) - Fraction(value)) < Fraction(10) ** int(exponent)


def _integer(changed: list[object], text: str) -> object:
    """Return an integer as the connector would; _CHANGED, which is noted, for one that it would change."""
    if len(text) <= LONGEST_NUMBER and (value := int(text)) in LONG:
        return value
    changed.append(_CHANGED)
    return _CHANGED


def _fraction(changed: list[object], text: str) -> object:
    value = float(text)
    if len(text) <= LONGEST_NUMBER and math.isfinite(value) and _spells(Decimal(text), value):
        return value
    changed.append(_CHANGED)
    return _CHANGED


def line(value: bytes | None) -> bytes | None:
    """Turn a value into one line with a newline; None for what the connector skips: no value, blanks, JSON's null.

    A line break in JSON can only stand between tokens, where a space means the same; every other byte stays. Raises
    MalformedValueError for invalid JSON and for a number that the connector would change.
    """
    if value is None or not value.strip() or content(value) is None:
        return None
    return value.replace(b"\r", b" ").replace(b"\n", b" ") + b"\n"


def check_key(key: bytes | None) -> None:
    """Raise MalformedValueError for a key that the connector's converter can't read, though no key is landed."""
    if key is None or not key.strip():
        return
    try:
        json.loads(key.decode())
    except (ValueError, RecursionError):
        raise MalformedValueError("the key isn't JSON") from None


def content(value: bytes) -> Any:
    """Read a value as the connector does: of equal names the last one counts. Raises MalformedValueError."""
    changed: list[object] = []
    integer, fraction = partial(_integer, changed), partial(_fraction, changed)
    try:
        # From text: from bytes, json would also accept UTF-16, whose line breaks are other bytes.
        read = json.loads(value.decode(), parse_int=integer, parse_float=fraction, parse_constant=_refuse_constant)
    except (ValueError, RecursionError):
        raise MalformedValueError("the value isn't JSON") from None
    # Of equal names the last one counts, which may hide a changed number.
    if changed and (place := next((path for path, node in _nodes(read) if node is _CHANGED), None)):
        # The number itself is a customer's data: its place is enough to find it.
        raise MalformedValueError(
            f"the number at {place} fits neither a long nor a double, so the connector would change it: send it as text"
        )
    texts = (node for _, node in _nodes(read) if isinstance(node, str))
    if len(value) > LONGEST_STRING and any(len(text) > LONGEST_STRING for text in texts):
        raise MalformedValueError(f"a text of more than {LONGEST_STRING:,} characters, which the connector can't read")
    return read


def _refuse_constant(name: str) -> Any:
    raise ValueError(name)


def _nodes(read: Any) -> Iterator[tuple[str, Any]]:
    """Yield each part of a value in its order, with its path, such as `items[2].price`."""
    open_nodes = [("", read)]
    while open_nodes:
        path, node = open_nodes.pop()
        yield path or "the top", node
        if isinstance(node, dict):
            open_nodes += [(f"{path}.{name}" if path else name, child) for name, child in reversed(node.items())]
        elif isinstance(node, list):
            open_nodes += [(f"{path}[{number}]", child) for number, child in reversed(list(enumerate(node)))]


@dataclass(kw_only=True)
class Batch:
    """Consecutive records of one partition that make one object: from offset `start` up to, not including, `end`.

    Its age counts from the landing of the previous batch, or from its first record. Times are monotonic, in seconds.
    """

    partition: Partition
    rules: Kcql
    start: int
    counts_from: float | None = None
    end: int = field(init=False)
    last_offset: int = -1
    size_bytes: int = 0
    holes: list[tuple[int, int]] = field(default_factory=list)
    lines: list[bytes] = field(default_factory=list)
    _earliest_ms: int = 0
    _latest_ms: int = 0

    def __post_init__(self) -> None:
        self.end = self.start

    def add(self, value: bytes | None, *, offset: int, timestamp_ms: int, now: float) -> None:
        """Add the next record; one without a value (a tombstone, JSON's null) isn't landed.

        Raises MalformedValueError and leaves the batch unchanged.
        """
        text = line(value)
        if text is not None:
            self._earliest_ms = min(self._earliest_ms, timestamp_ms) if self.lines else timestamp_ms
            self._latest_ms = max(self._latest_ms, timestamp_ms) if self.lines else timestamp_ms
            self.lines.append(text)
            self.last_offset = offset
            self.size_bytes += len(text)
        self.skip(offset, now=now)

    def skip(self, offset: int, *, now: float) -> None:
        """Skip a record that isn't landed; offsets that the log left out before it are a hole."""
        if offset > self.end:
            self.holes.append((self.end, offset))
        self.end = offset + 1
        if self.counts_from is None:
            self.counts_from = now

    @property
    def is_full(self) -> bool:
        """Whether it must be landed regardless of its age."""
        limit = self.rules.flush_bytes
        return len(self.lines) >= self.rules.flush_count or (limit is not None and self.size_bytes >= limit)

    def is_due(self, now: float) -> bool:
        if self.end == self.start or self.counts_from is None:
            return False
        return self.is_full or now >= self.counts_from + self.rules.flush_interval_seconds

    @property
    def key(self) -> str:
        """The object's name, as the connector forms it: names sort by offset and show how far a partition is landed.

        `prefix/topic/<partition>/<last offset, 12 digits>_<earliest ms>_<latest ms>.json`
        """
        folder = partition_folder(self.rules, self.partition.number)
        return f"{folder}/{self.last_offset:012d}_{self._earliest_ms}_{self._latest_ms}.json"


def partition_folder(rules: Kcql, number: int) -> str:
    return f"{rules.prefix}/{rules.topic}/{number}"
