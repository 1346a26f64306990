"""Settles the events of a log: each is a change, in an order, and may come again, late, or with values left out."""

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from spark_jobs import changes, deletes_register, key_changes, snapshot_rows
from spark_jobs.batch_decoder import BatchDecoder, DecodedBatch
from spark_jobs.batch_truncates import BatchTruncates
from spark_jobs.checkpoint import Checkpoint
from spark_jobs.known import remembered_deletes
from spark_jobs.quarantine import COLUMNS
from spark_jobs.settled import LakeRows, Settled
from spark_jobs.sources import Batch
from spark_jobs.summary import Summary
from spark_jobs.table_settings import TableSettings


class LoggedEvents:
    """Gives events their places, drops those that something newer is known of, and fills in TOAST placeholders."""

    remembers_deletes = True

    def __init__(
        self, spark: SparkSession, settings: TableSettings, *, decoder: BatchDecoder, lake_rows: LakeRows
    ) -> None:
        self._spark = spark
        self._settings = settings
        self._decoder = decoder
        self._lake_rows = lake_rows

    def __call__(self, batch: Batch, decoded: DecodedBatch, progress: Checkpoint) -> Settled:  # noqa: ARG002
        """Return the events with TOAST placeholders replaced, and those for which no value was found."""
        summary, ordering = decoded.summary, self._settings.ordering_field
        events = changes.with_key(decoded.events, self._settings.key_fields)
        truncates = BatchTruncates(self._settings.truncate, progress.truncates, summary)
        if summary.snapshot_rows:
            events = self._placed(events, summary, truncates, progress)
        events = truncates.remaining(events)
        lowest = None if summary.snapshot_rows else summary.lowest
        remembered = remembered_deletes(self._spark, events, progress, ordering=ordering, lowest=lowest)
        if remembered is not None:
            events = changes.without_deleted_before(events, remembered, ordering=ordering)
        if not summary.placeholders:
            return Settled(events, None, summary)
        types = {column.name: column.stored for column in self._decoder.columns if column.name in summary.placeholders}
        stored = self._lake_rows(types)
        if summary.deletes and self._decoder.places_snapshots:
            events = key_changes.with_moved(events, stored, list(types))
        restored, lacking = changes.restore_placeholders(events, stored, list(types), ordering=ordering)
        reason = F.concat(F.lit("placeholder: no earlier value of "), F.concat_ws(", ", "placeholders"))
        return Settled(restored, lacking.withColumn("reason", reason).select(*COLUMNS), summary)

    def release(self) -> None:
        """Nothing is cached here."""

    def _placed(
        self, events: DataFrame, summary: Summary, truncates: BatchTruncates, progress: Checkpoint
    ) -> DataFrame:
        """Return the events with the snapshot's rows in the places of the changes before them."""
        deleted = progress.deleted
        events, behind, emptied = truncates.places(events)
        return snapshot_rows.placed(
            events,
            self._lake_rows({}),
            deletes_register.as_frame(self._spark, deleted) if deleted else None,
            behind=behind,
            emptied=emptied,
            only_these=summary.snapshot_rows == summary.events - summary.bad - summary.marks,
        )
