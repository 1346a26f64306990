"""A journal in memory. test_journal.py holds it to what the real one does on S3."""

from dataclasses import dataclass, field


@dataclass
class MemoryStore:
    """Entries by key."""

    entries: dict[str, str] = field(default_factory=dict)

    def keys(self, prefix: str) -> list[str]:
        return [key for key in self.entries if key.startswith(prefix)]

    def read(self, key: str) -> str | None:
        return self.entries.get(key)

    def write(self, key: str, text: str) -> None:
        self.entries[key] = text
