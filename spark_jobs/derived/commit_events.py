"""The events behind each commit, since a commit keeps only the last of several changes of a row.

For a table with a history, its job writes them next to the table before each commit; the history reads them from there.
Their name combines the instant that the commit will follow with its progress. So a batch that comes again overwrites
the same files completely, and no commit names the leftovers of a crash.
"""

import hashlib
from collections.abc import Iterable, Sequence

from pyspark.sql import DataFrame, SparkSession

from spark_jobs.ordering import changes
from spark_jobs.runtime.hadoop import Hadoop
from spark_jobs.table.timeline import Carried

# Stored columns: the row, whether it is a delete, and how many newer ones of its key the batch has.
ROW, DELETED, NEWER = "row", "deleted", "newer"
_DIGEST_DIGITS = 32
# Stands for the instant before a table's first commit; sorts before each instant.
_NONE = "0"
# A failed write is repeated in full, so files needn't be renamed twice, which S3 can only do by copying.
_WRITTEN_ONCE = {"mapreduce.fileoutputcommitter.algorithm.version": "2"}


class CommitEvents:
    """The folder of one table: `path` is sibling_path's (table_settings.py)."""

    def __init__(self, spark: SparkSession, path: str) -> None:
        self._spark = spark
        self._hadoop = Hadoop(spark)
        self._path = path

    def put(self, events: DataFrame, *, ordering: str, after: str | None, progress: str) -> None:
        """Store a batch's settled events.

        `after`: the instant before the batch's commit, None for the table's first; `progress`: the batch's own.
        """
        numbered = changes.numbered(events, ordering=ordering, newer=NEWER).select(ROW, DELETED, NEWER)
        folder = f"{self._path}/{after or _NONE}-{_digest(progress)}"
        numbered.write.mode("overwrite").options(**_WRITTEN_ONCE).parquet(folder)

    def names(self) -> list[str]:
        """Return the names of all stored batches."""
        return list(self._hadoop.sizes_in(self._path))

    def read(self, name: str) -> DataFrame:
        """Return the events stored under a name."""
        return self._spark.read.parquet(f"{self._path}/{name}")

    def forget_before(self, instant: str, names: Iterable[str]) -> None:
        """Remove those of `names` that no commit after an instant can name."""
        for name in names:
            if _follows(name) < instant:
                self._hadoop.delete(f"{self._path}/{name}")


def named_by(names: Sequence[str], commits: Iterable[Carried]) -> dict[str, str]:
    """Return the names that commits refer to, by the commit's instant, in the commits' order.

    A batch with the commit's progress that follows an earlier instant than the commit was never committed: skip it.
    """
    found = {commit.instant: _named(names, commit) for commit in commits}
    return {instant: name for instant, name in found.items() if name is not None}


def _named(names: Iterable[str], commit: Carried) -> str | None:
    end = f"-{_digest(commit.progress)}"
    its = (name for name in names if name.endswith(end) and commit.since <= _follows(name) < commit.instant)
    return max(its, default=None)


def _follows(name: str) -> str:
    return name.partition("-")[0]


def _digest(progress: str) -> str:
    return hashlib.sha256(progress.encode()).hexdigest()[:_DIGEST_DIGITS]
