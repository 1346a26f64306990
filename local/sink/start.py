"""What is settled before a partition is read: whose objects are there, where to go on, and what is missing."""

import logging
from collections.abc import Iterable
from functools import partial

from local.sink.batch import Batch
from local.sink.errors import SinkError
from local.sink.layout import Layout
from local.sink.member import Member
from local.sink.patience import Patience
from local.sink.progress import Gap, Landing, Start, decide_start
from local.sink.store import LandingStore

LOG = logging.getLogger("sink")


class Starter:
    """Decides where reading begins, from the group's progress, the log's bounds and the bucket."""

    def __init__(self, layout: Layout, member: Member, store: LandingStore, patience: Patience) -> None:
        self._topic = layout.kcql.topic
        self._layout = layout
        self._member = member
        self._store = store
        self._patience = patience

    def batches(self, partitions: Iterable[int]) -> dict[int, Batch]:
        """Open the first batch of each partition.

        Raises SinkError when the objects aren't of this topic or Kafka lost what was landed from it; RevokedError when
        the partitions went to someone else meanwhile.
        """
        numbers = sorted(partitions)
        self._patience(partial(self._check_identity, numbers))
        return {number: self._patience(partial(self._first_batch, number)) for number in numbers}

    def report_gap(self, partition: int, gap: Gap) -> None:
        """Say loudly which offsets are missing, and leave a note in the bucket for reconcile and status."""
        where = f"{self._topic}[{partition}]"
        LOG.error("%s: offsets %d to %d are missing: %s", where, gap.first, gap.end - 1, gap.reason)
        self._store.keep_gap(self._topic, partition, gap)

    def _check_identity(self, partitions: list[int]) -> None:
        """Refuse to land a topic that was deleted and made again among the objects of the former one."""
        topic_id = self._member.topic_id()
        noted = self._store.topic_id(self._topic)
        if noted is None:
            if any(self._has_objects_of_others(partition) for partition in partitions):
                raise SinkError(
                    f"{self._topic}: there are landed objects, but neither the group's offsets nor a note tell that"
                    " they are this topic's: land it under another prefix, or remove them with their lake table"
                )
            self._store.keep_topic_id(self._topic, topic_id)
        elif noted != topic_id:
            raise SinkError(
                f"{self._topic} was deleted and made again since its objects were landed: land it under another prefix,"
                f" or remove them with their lake table and {self._store.identity_url(self._topic)}"
            )

    def _has_objects_of_others(self, partition: int) -> bool:
        return self._member.progress(partition) is None and self._landed_end(partition) is not None

    def _landed_end(self, partition: int) -> int | None:
        if not self._layout.is_ordered:
            return None
        return self._store.end(self._layout.partition_folder(partition))

    def _first_batch(self, partition: int) -> Batch:
        where = f"{self._topic}[{partition}]"
        progress = self._member.progress(partition)
        low, high = self._member.log_bounds(partition)
        landing = Landing(exists=self._store.exists, end=partial(self._landed_end, partition))
        try:
            start = decide_start(progress, low=low, high=high, landing=landing)
        except SinkError as error:
            raise SinkError(f"{where}: {error}") from None
        self._tell(where, start)
        if start.gap is not None:
            self.report_gap(partition, start.gap)
        rewound = start.rewound_from is not None
        landed = progress.landed if progress and not rewound else None
        return Batch(self._layout, partition, start.offset, until=start.until, landed=landed)

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
