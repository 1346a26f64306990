"""Finds differing rows that have an event in quarantine, and the reason: no repair can bring those."""

import json
from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from botocore.exceptions import BotoCoreError, ClientError

from contract.events import NOT_NUMBERS
from local.comparison.compare import Difference, TableComparison
from local.look.lake import Lake
from local.look.quarantine import entries

if TYPE_CHECKING:
    from mypy_boto3_s3 import S3Client


def with_reasons(client: "S3Client", lake: Lake, found: TableComparison) -> TableComparison:
    """Return the result with quarantine reasons for the shown rows and for the table."""
    if found.equal or not lake.base_uri.startswith("s3://"):
        return found
    bucket, _, table = lake.base_uri.partition("://")[2].partition("/")
    newest: dict[int, tuple[str, str]] = {}
    reasons: Counter[str] = Counter()
    try:
        for entry in (entry for some in entries(client, table, bucket) for entry in some):
            reason, event = str(entry["reason"]), _event(entry)
            reasons[reason] += 1
            for number in [number for number, one in enumerate(found.shown) if event and _is_of(event, one)]:
                told = (str(entry.get("quarantined_at")), reason)
                newest[number] = max(told, newest.get(number, told))
    except (BotoCoreError, ClientError) as error:
        return replace(found, notes=(*found.notes, f"its quarantine can't be read: {error}"))
    shown = (replace(one, quarantined=newest[n][1]) if n in newest else one for n, one in enumerate(found.shown))
    counts = ", ".join(f"{count:,} by {reason}" for reason, count in sorted(reasons.items()))
    notes = (*found.notes, f"events of it in quarantine: {counts}") if reasons else found.notes
    return replace(found, shown=tuple(shown), notes=notes)


def _event(entry: Mapping[str, Any]) -> Mapping[str, Any] | None:
    try:
        event = json.loads(entry.get("text") or "null")
    except ValueError:
        return None
    return event if isinstance(event, dict) else None


def _is_of(event: Mapping[str, Any], row: Difference) -> bool:
    """Tell whether an event has a row's key: numbers and texts, the forms in which keys travel."""
    sent = {name: str(event[name]) for name in row.key if name in event}
    return all(name in sent and value in (sent[name], NOT_NUMBERS.get(sent[name])) for name, value in row.key.items())
