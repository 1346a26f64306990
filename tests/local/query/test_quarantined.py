"""What the job has set aside reads as rows: each entry once, and none of a file that lies there whole."""

import io
import json
from typing import Any

from local.query.quarantined import SCHEMA, batches

ENTRY = {"reason": "type: a (not int)", "origin": "t/0/1.json", "line": 2, "quarantined_at": "2026-11-20", "text": "{}"}
WHOLE = {"reason": "unreadable: truncated", "origin": "t/0/2.json.gz", "file": "s3a://lake/_quarantine/b/2.json.gz"}
OBJECTS = {
    "_quarantine/a/1.json": f"{json.dumps(ENTRY)}\n{json.dumps(ENTRY | {'line': 3})}\n".encode(),
    "_quarantine/b/2.json.gz": b"\x1f\x8b half",
    "_quarantine/b/2.json.gz.reason.json": json.dumps(WHOLE).encode(),
    "_quarantine/bb/3.json": json.dumps(ENTRY).encode(),
}


class Body(io.BytesIO):
    def iter_lines(self) -> list[bytes]:
        return self.read().splitlines()


class Client:
    """Unit tests have no S3; the end-to-end test asks the real stand-in."""

    def get_paginator(self, _operation: str) -> "Client":
        return self

    def paginate(self, *, Bucket: str, Prefix: str) -> list[dict[str, Any]]:  # noqa: N803
        assert Bucket == "lake"
        found = [{"Key": key} for key in OBJECTS if key.startswith(Prefix)]
        return [{"Contents": found}, {}]

    def get_object(self, *, Bucket: str, Key: str) -> dict[str, Any]:  # noqa: ARG002, N803
        return {"Body": Body(OBJECTS[Key])}


def test_entries_are_rows_of_their_tables() -> None:
    rows = [row for batch in batches(Client(), ["a", "b"]) for row in batch.to_pylist()]  # type: ignore[arg-type]
    assert [(row["lake_table"], row["origin"], row["line"]) for row in rows] == [
        ("a", "t/0/1.json", 2),
        ("a", "t/0/1.json", 3),
        ("b", "t/0/2.json.gz", None),
    ]
    assert rows[2]["file"] == WHOLE["file"]
    assert all(list(row) == SCHEMA.names for row in rows)
