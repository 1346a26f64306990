"""Tells of rows that differ which have an event in quarantine, and why: no repair brings those."""

import json
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from local.comparison.compare import Difference, TableComparison
from local.look.lake import Lake
from local.look.quarantine import entries

if TYPE_CHECKING:
    from mypy_boto3_s3 import S3Client


def with_reasons(client: "S3Client", lake: Lake, found: TableComparison) -> TableComparison:
    """Return what was found with the reason in each row shown that has an event in quarantine, the newest one's.

    Raises botocore's errors.
    """
    if not found.shown:
        return found
    bucket, _, table = lake.base_uri.partition("://")[2].partition("/")
    reasons: dict[int, tuple[str, str]] = {}
    for entry in (entry for some in entries(client, table, bucket) for entry in some):
        event = _event(entry)
        for number in [number for number, one in enumerate(found.shown) if event and _is_of(event, one)]:
            told = (str(entry["quarantined_at"]), str(entry["reason"]))
            reasons[number] = max(told, reasons.get(number, told))
    shown: Iterable[Difference] = (
        replace(one, quarantined=reasons[number][1]) if number in reasons else one
        for number, one in enumerate(found.shown)
    )
    return replace(found, shown=tuple(shown))


def _event(entry: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """Return the event of an entry; None where it isn't one."""
    try:
        event = json.loads(entry.get("text") or "null")
    except ValueError:
        return None
    return event if isinstance(event, dict) else None


def _is_of(event: Mapping[str, Any], row: Difference) -> bool:
    """Tell whether an event has a row's key: numbers and texts, as which keys travel."""
    return all(name in event and str(event[name]) == value for name, value in row.key.items())
