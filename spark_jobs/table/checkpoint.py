"""The progress in each Hudi commit's metadata, under HoodieStreamer's own keys."""

import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property

from contract import added_columns
from contract.added_columns import AddedColumn
from spark_jobs.options import keys
from spark_jobs.ordering import deletes_register, truncates
from spark_jobs.ordering.deletes_register import Delete
from spark_jobs.ordering.truncates import Truncates

PREFIX = keys.PROGRESS_PREFIX
SOURCE_KEY = keys.PROGRESS
RESET_KEY = f"{PREFIX}.reset_key"
IGNORE_KEY = f"{PREFIX}.ignore_key"
# The whole register of deletes, or a commit's own deletes, which extend the earlier commits' register; tables have used
# these names since the first version.
DELETES_KEY = f"{PREFIX}.tombstones"
ADDED_DELETES_KEY = f"{PREFIX}.tombstones.added"
# Commits between two with the whole register: fewer than Hudi's active timeline keeps (20 at least).
FULL_EVERY = 10


@dataclass(frozen=True)
class Checkpoint:
    """How far the source has been read, and the remembered deletes; the two `--checkpoint` values applied last.

    `columns` are those that came with events, or after the table's first commit. `added`: this commit's own deletes;
    `since_full`: how many commits back the whole register is; `complete` is False where the commit with it is gone.
    """

    source: str | None = None
    reset: str | None = None
    ignored: str | None = None
    deleted: Mapping[str, Delete] = field(default_factory=dict, repr=False)
    columns: Mapping[str, AddedColumn] = field(default_factory=dict, repr=False)
    added: Mapping[str, Delete] = field(default_factory=dict, repr=False, compare=False)
    since_full: int = field(default=0, compare=False)
    complete: bool = field(default=True, compare=False)
    truncates: Truncates = field(default_factory=Truncates)

    @cached_property
    def newest_delete(self) -> str | None:
        """The highest ordering value of the remembered deletes; None without any."""
        return max((delete.at for delete in self.deleted.values()), key=deletes_register.rank, default=None)

    def following(
        self, source: str, deletes: Mapping[str, Delete], *, limit: int, truncates: Truncates | None = None
    ) -> tuple["Checkpoint", int]:
        """Return the next commit's checkpoint, and how many deletes were forgotten for lack of room."""
        deleted, dropped = self.deleted, 0
        if deletes:
            deleted, dropped = deletes_register.merge(self.deleted, deletes, limit=limit)
        since_full = (self.since_full + 1) % FULL_EVERY if self.deleted else 0
        following = replace(self, source=source, deleted=deleted, added=deletes, since_full=since_full)
        return (replace(following, truncates=truncates) if truncates else following), dropped

    def to_metadata(self) -> dict[str, str]:
        """Return a commit's metadata entries, without empty values, which Hudi doesn't store."""
        entries = {SOURCE_KEY: self.source, RESET_KEY: self.reset, IGNORE_KEY: self.ignored}
        if self.since_full:
            entries[ADDED_DELETES_KEY] = deletes_register.encode(self.added)
        elif self.deleted:
            entries[DELETES_KEY] = deletes_register.encode(self.deleted)
        if self.columns:
            entries[keys.ADDED_COLUMNS] = added_columns.encode(self.columns)
        return {key: value for key, value in entries.items() if value} | self.truncates.to_metadata()


def from_commits(commits: Iterable[Mapping[str, str]]) -> Checkpoint:
    """Return the checkpoint from commits' metadata, newest first; an empty one without any.

    Reads only as many as needed to find the whole register of deletes.
    """
    newest: Mapping[str, str] | None = None
    added: list[Mapping[str, Delete]] = []
    register: Mapping[str, Delete] = {}
    complete = False
    for metadata in commits:
        newest = newest or metadata
        if ADDED_DELETES_KEY not in metadata:
            register, complete = deletes_register.decode(metadata.get(DELETES_KEY)), True
            break
        added.append(deletes_register.decode(metadata[ADDED_DELETES_KEY]))
    if newest is None:
        return Checkpoint()
    for deletes in reversed(added):
        register, _ = deletes_register.merge(register, deletes, limit=sys.maxsize)
    return Checkpoint(
        source=newest.get(SOURCE_KEY),
        reset=newest.get(RESET_KEY),
        ignored=newest.get(IGNORE_KEY),
        deleted=register,
        columns=added_columns.decode(newest.get(keys.ADDED_COLUMNS)),
        # If its beginning is missing, the register is written whole again.
        since_full=len(added) if complete else FULL_EVERY - 1,
        complete=complete,
        truncates=truncates.from_metadata(newest),
    )


def starting_from(stored: Checkpoint, *, reset: str | None, ignore: str | None) -> Checkpoint:
    """Return where to start: `--checkpoint` and `--ignore-checkpoint` count once, until a commit has stored them."""
    if reset is not None and reset != stored.reset:
        return replace(stored, source=reset, reset=reset, ignored=ignore or stored.ignored)
    if ignore is not None and ignore != stored.ignored:
        return replace(stored, source=None, ignored=ignore)
    return stored
