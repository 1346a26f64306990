"""The progress that each Hudi commit carries in its metadata, under HoodieStreamer's own keys."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from spark_jobs import tombstones

PREFIX = "deltastreamer.checkpoint"
SOURCE_KEY = f"{PREFIX}.key"
RESET_KEY = f"{PREFIX}.reset_key"
IGNORE_KEY = f"{PREFIX}.ignore_key"
TOMBSTONES_KEY = f"{PREFIX}.tombstones"


@dataclass(frozen=True)
class Checkpoint:
    """How far the source has been read, and the deletes remembered; the two `--checkpoint` values applied last."""

    source: str | None = None
    reset: str | None = None
    ignored: str | None = None
    deleted: Mapping[str, str] = field(default_factory=dict, repr=False)

    def to_metadata(self) -> dict[str, str]:
        """Return the metadata entries of a commit; empty values are left out, as Hudi doesn't store them."""
        entries = {
            SOURCE_KEY: self.source,
            RESET_KEY: self.reset,
            IGNORE_KEY: self.ignored,
            TOMBSTONES_KEY: tombstones.encode(self.deleted) if self.deleted else None,
        }
        return {key: value for key, value in entries.items() if value}


def from_metadata(metadata: Mapping[str, str]) -> Checkpoint:
    """Return the checkpoint of a commit's metadata; an empty one when there is none."""
    return Checkpoint(
        source=metadata.get(SOURCE_KEY),
        reset=metadata.get(RESET_KEY),
        ignored=metadata.get(IGNORE_KEY),
        deleted=tombstones.decode(metadata.get(TOMBSTONES_KEY)),
    )


def starting_from(stored: Checkpoint, *, reset: str | None, ignore: str | None) -> Checkpoint:
    """Return where to start: `--checkpoint` and `--ignore-checkpoint` count once, until a commit has stored them."""
    if reset is not None and reset != stored.reset:
        return Checkpoint(source=reset, reset=reset, ignored=ignore or stored.ignored, deleted=stored.deleted)
    if ignore is not None and ignore != stored.ignored:
        return Checkpoint(source=None, reset=stored.reset, ignored=ignore, deleted=stored.deleted)
    return stored
