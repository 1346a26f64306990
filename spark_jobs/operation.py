"""Chooses the write operation of a batch: the settings', or another one where Hudi's would lose or double rows."""

from collections.abc import Callable

from spark_jobs.index_layout import is_bucketed
from spark_jobs.settled import Settled
from spark_jobs.table_settings import TableSettings


def operation_for(settings: TableSettings, settled: Settled, *, is_new: bool, log: Callable[[str], None]) -> str:
    """Return the operation that writes a batch; `is_new` says that the table has no commit yet.

    `log` gets a line when it isn't the settings'.
    """
    wanted, summary = settings.operation, settled.summary
    bucketed = is_bucketed(settings)
    if wanted == "upsert" and settled.fresh and not summary.deletes:
        # What an upsert would look for isn't there: it would only take longer. But each task would have a file open in
        # each folder, and the buckets of a bucket index can be filled in bulk once.
        return wanted if settings.partition_fields or (bucketed and not is_new) else "bulk_insert"
    if wanted != "upsert" and (summary.deletes or summary.truncated is not None):
        log(f"{wanted} can't delete: this batch has deletes and is written by upsert")
        return "upsert"
    if wanted != "upsert" and settled.rewrites:
        log(f"{wanted} would double rows: this batch has changed ones and is written by upsert")
        return "upsert"
    if wanted == "bulk_insert" and bucketed and not is_new:
        # Each would add a second file to the buckets, after which Hudi can't write to the table any more.
        log("bulk_insert fills a bucket index only once: this batch is written by insert")
        return "insert"
    return wanted
