"""What is settled before a partition is read: whose objects are there, where to go on, and what is missing."""

import logging
from collections.abc import Iterable, Mapping
from functools import partial

from local.sink.batch import Batch
from local.sink.consumer import GroupConsumer
from local.sink.errors import SinkError
from local.sink.layout import Layout
from local.sink.offsets import CommittedOffset, Gap, Landing, Start, decide_start
from local.sink.partition import Partition
from local.sink.retry import Retry
from local.sink.store import LandingStore

LOG = logging.getLogger("sink")


class Starter:
    """Decides where reading begins, from the group's offsets, the logs' bounds and the bucket.

    `layouts`: where each topic's records go.
    """

    def __init__(
        self, layouts: Mapping[str, Layout], consumer: GroupConsumer, store: LandingStore, retry: Retry
    ) -> None:
        self._layouts = layouts
        self._consumer = consumer
        self._store = store
        self._retry = retry

    def batches(self, partitions: Iterable[Partition]) -> list[Batch]:
        """Open the first batch of each partition.

        Raises SinkError when the objects aren't of this topic or Kafka lost what was landed from it; RevokedError when
        the partitions went to someone else meanwhile.
        """
        wanted = sorted(partitions)
        committed = self._retry(partial(self._consumer.committed, wanted))
        topics = sorted({partition.topic for partition in wanted})
        ids = self._retry(partial(self._consumer.topic_ids, topics))
        for topic in topics:
            new = [partition for partition in wanted if partition.topic == topic and partition not in committed]
            self._retry(partial(self._check_identity, topic, ids[topic], new))
        return [self._retry(partial(self._first_batch, one, committed.get(one))) for one in wanted]

    def report_gap(self, partition: Partition, gap: Gap) -> None:
        """Say loudly which offsets are missing, and leave a note in the bucket for reconcile and status."""
        LOG.error("%s: offsets %d to %d are missing: %s", partition, gap.first, gap.end - 1, gap.reason)
        self._store.keep_gap(partition.topic, partition.number, gap)

    def _check_identity(self, topic: str, topic_id: str, new: Iterable[Partition]) -> None:
        """Refuse to land a topic that was deleted and made again among the objects of the former one."""
        noted = self._store.topic_id(topic)
        if noted is None:
            if any(self._landed_end(partition) is not None for partition in new):
                raise SinkError(
                    f"{topic}: there are landed objects, but neither the group's offsets nor a note tell that"
                    " they are this topic's: land it under another prefix, or remove them with their lake table"
                )
            self._store.keep_topic_id(topic, topic_id)
        elif noted != topic_id:
            raise SinkError(
                f"{topic} was deleted and made again since its objects were landed: land it under another prefix,"
                f" or remove them with their lake table and {self._store.identity_url(topic)}"
            )

    def _landed_end(self, partition: Partition) -> int | None:
        layout = self._layouts[partition.topic]
        return self._store.end(layout.partition_folder(partition.number)) if layout.is_ordered else None

    def _first_batch(self, partition: Partition, committed: CommittedOffset | None) -> Batch:
        low, high = self._consumer.log_bounds(partition)
        landing = Landing(exists=self._store.exists, end=partial(self._landed_end, partition))
        try:
            start = decide_start(committed, low=low, high=high, landing=landing)
        except SinkError as error:
            raise SinkError(f"{partition}: {error}") from None
        self._tell(str(partition), start)
        if start.gap is not None:
            self.report_gap(partition, start.gap)
        rewound = start.rewound_from is not None
        landed = committed.landed if committed and not rewound else None
        layout = self._layouts[partition.topic]
        return Batch(layout, partition.number, start.offset, until=start.until, landed=landed)

    def _tell(self, where: str, start: Start) -> None:
        if start.rewound_from is not None:
            LOG.error(
                "%s: the object landed last is gone from the bucket: landing again from offset %d, was at %d",
                where,
                start.offset,
                start.rewound_from,
            )
        again = "" if start.until is None else f"; a batch up to {start.until - 1} was under way"
        LOG.info("%s: reading from offset %d%s", where, start.offset, again)
