"""The events that commits are of, since a commit has the last of several changes of a row alone.

Where a table's history is kept they are put next to the table before each commit; its history takes them from there.
They are named by what the commit will follow and by the progress that it will carry. So a batch that comes again writes
the same again, whole, and what a crash has left is named by no commit and taken by nobody.
"""

import hashlib
from collections.abc import Iterable, Sequence

from pyspark.sql import DataFrame, SparkSession

from spark_jobs.ordering import changes
from spark_jobs.runtime.hadoop import Hadoop
from spark_jobs.table.timeline import Carried

# The columns of what is put away: the row, whether it is a delete, and how many newer ones of its key the batch has.
ROW, DELETED, NEWER = "row", "deleted", "newer"
_DIGEST_DIGITS = 32
# In place of the instant that a table's first commit follows; before each.
_NONE = "0"
# What fails half-way is written again, so files needn't be renamed twice, which S3 can't but by copies.
_WRITTEN_ONCE = {"mapreduce.fileoutputcommitter.algorithm.version": "2"}


class CommitEvents:
    """The folder of one table: `path` is sibling_path's (table_settings.py)."""

    def __init__(self, spark: SparkSession, path: str) -> None:
        self._spark = spark
        self._hadoop = Hadoop(spark)
        self._path = path

    def put(self, events: DataFrame, *, ordering: str, after: str | None, progress: str) -> None:
        """Put a batch's settled events away.

        `after` is the instant that the batch's commit follows, None for the table's first one; `progress` its own.
        """
        numbered = changes.numbered(events, ordering=ordering, newer=NEWER).select(ROW, DELETED, NEWER)
        folder = f"{self._path}/{after or _NONE}-{_digest(progress)}"
        numbered.write.mode("overwrite").options(**_WRITTEN_ONCE).parquet(folder)

    def names(self) -> list[str]:
        """Return the names of all that is put away."""
        return list(self._hadoop.sizes_in(self._path))

    def read(self, name: str) -> DataFrame:
        """Return what was put away by a name."""
        return self._spark.read.parquet(f"{self._path}/{name}")

    def forget_before(self, instant: str, names: Iterable[str]) -> None:
        """Remove those of `names` that no commit after an instant can name."""
        for name in names:
            if _follows(name) < instant:
                self._hadoop.delete(f"{self._path}/{name}")


def named_by(names: Sequence[str], commits: Iterable[Carried]) -> dict[str, str]:
    """Return the names that commits name, by the commit's instant, in the commits' order.

    What was put away before the commit that one follows, and has the same progress, is of a batch that began earlier
    and was never committed.
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
