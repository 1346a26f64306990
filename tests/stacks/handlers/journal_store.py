"""A journal in memory. test_journal.py checks it against the real one's behavior on S3."""

from collections.abc import Callable
from dataclasses import dataclass, field

from botocore.exceptions import ClientError

BUSY = ClientError(
    {"Error": {"Code": "SlowDown"}, "ResponseMetadata": {"HTTPStatusCode": 503}},  # type: ignore[typeddict-item]
    "ListObjectsV2",
)


@dataclass
class MemoryStore:
    """Entries by key. `busy`: whether S3 currently refuses to answer."""

    entries: dict[str, str] = field(default_factory=dict)
    busy: Callable[[], bool] = lambda: False

    def keys(self, prefix: str) -> list[str]:
        if self.busy():
            raise BUSY
        return [key for key in self.entries if key.startswith(prefix)]

    def read(self, key: str) -> str | None:
        return self.entries.get(key)

    def write(self, key: str, text: str) -> None:
        self.entries[key] = text
