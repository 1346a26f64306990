"""A row that differs is told why an event of it is in quarantine: the newest one's reason, and no other row's."""

import json
from typing import Any

from local.comparison.compare import Difference, TableComparison
from local.comparison.quarantined import with_reasons
from local.look.lake import Lake
from tests.local.query.lakes import Bucket


def entry(reason: str, at: str, text: str) -> dict[str, Any]:
    return {"reason": reason, "origin": "t/0/1.json", "quarantined_at": at, "text": text}


def test_rows_are_known_by_their_keys() -> None:
    entries = [
        entry("type: qty (not int)", "2026-11-20T02:00:00Z", '{"id": 7, "of": "a", "qty": "x"}'),
        entry("value: price", "2026-11-20T01:00:00Z", '{"id": 7, "of": "a", "price": "x"}'),
        entry("type: qty (not int)", "2026-11-20T02:00:00Z", '{"id": 8, "of": "b"}'),
        entry("missing: id", "2026-11-20T02:00:00Z", '{"id": "NAN", "of": "a"}'),
        entry("not JSON", "2026-11-20T03:00:00Z", "{"),
    ]
    body = "\n".join(map(json.dumps, entries)).encode()
    client: Any = Bucket("lake", {"_quarantine/shop_t/1.json": body})
    rows: list[dict[str, str | None]] = [
        {"id": "7", "of": "a"},
        {"id": "8", "of": "a"},
        {"id": "9", "of": None},
        {"id": "NaN", "of": "a"},
    ]
    shown = tuple(Difference(key=key, kind="different") for key in rows)
    lake = Lake(base_uri="s3://lake/shop_t")
    found = with_reasons(client, lake, TableComparison(table="t", different=3, shown=shown))
    assert found.notes == (
        "events of it in quarantine: 1 by missing: id, 1 by not JSON, 2 by type: qty (not int), 1 by value: price",
    )
    assert [one.quarantined for one in found.shown] == ["type: qty (not int)", None, None, "missing: id"]
