"""Stores the events that don't fit: JSON lines with reason and origin, under names that a rerun overwrites."""

import datetime as dt
import json
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import groupby

from pyspark.sql import DataFrame, Row

from spark_jobs.runtime.hadoop import Hadoop
from spark_jobs.sources.batches import Batch

COLUMNS = ("origin", "block", "number", "reason", "line")


@dataclass(eq=False)
class Quarantine:
    """A folder with one file per origin: the same bad lines always get the same name, so a rerun adds nothing."""

    hadoop: Hadoop
    path: str

    def write(
        self, bad: DataFrame, *, batch: Batch, shifts: Mapping[str, Mapping[int, int]], one_per_event: bool
    ) -> None:
        """Write bad events (COLUMNS), one file per origin, or one per event where batches have no fixed bounds.

        `shifts` are Summary's: they make a line's number within its file, from 1.
        """
        now = dt.datetime.now(dt.UTC).isoformat(timespec="milliseconds")
        ordered = bad.select(*COLUMNS).orderBy("origin", "block", "number")
        for origin, rows in groupby(ordered.toLocalIterator(), key=lambda row: str(row["origin"])):
            name, content = batch.name_of(origin), batch.content_of(origin)
            if one_per_event:
                for row in rows:
                    offset = int(row["number"])
                    entry = _entry(row, now, {"origin": name, "offset": offset})
                    self.hadoop.write_text(f"{self.path}/{content}/{offset:012d}.json", entry)
            else:
                places = ((row, row["number"] + shifts[origin][row["block"]]) for row in rows)
                entries = (_entry(row, now, {"origin": name, "line": line}) for row, line in places)
                self.hadoop.write_text(f"{self.path}/{content}", "".join(entries))

    def write_unreadable(self, batch: Batch) -> None:
        """Copy a batch's unreadable content, each with an entry that gives the reason."""
        now = dt.datetime.now(dt.UTC).isoformat(timespec="milliseconds")
        for name, reason in sorted(batch.unreadable.items()):
            copy = batch.copy(name, self.path)
            entry = {"reason": reason, "origin": name, "quarantined_at": now, "file": copy}
            self.hadoop.write_text(f"{copy}.reason.json", json.dumps(entry, ensure_ascii=False) + "\n")


def _entry(row: Row, now: str, where: Mapping[str, object]) -> str:
    entry = {"reason": row["reason"], **where, "quarantined_at": now, "text": row["line"]}
    return json.dumps(entry, ensure_ascii=False) + "\n"
