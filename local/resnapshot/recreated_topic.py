"""A topic that was deleted, recreated or has lost records: the landed objects of the former one are in the way.

Object names contain offsets, which begin at 0 again. The sink refuses to mix the two (docs/decisions/0040); the objects
of the former topic are set aside, never deleted.
"""

from collections.abc import Sequence

from confluent_kafka import KafkaException

from local.look.json_lines import keys
from local.look.topic import Topic
from local.services.aws import S3
from local.services.kafka import Kafka
from local.sink.store import LandingStore
from plugins.connector_names import sink_group
from plugins.kafka.topics import PlannedTopic

FORMER_PREFIX = "former"


class FormerTopic:
    """The landing of `sink` in `bucket`, compared with the current topic.

    `planned`: the topics as they should be; `way_out`: what to run when changes are lost.
    """

    def __init__(
        self,
        kafka: Kafka,
        s3: S3,
        *,
        topic: Topic,
        planned: Sequence[PlannedTopic],
        bucket: str,
        prefix: str,
        sink: str,
        way_out: str,
    ) -> None:
        self._kafka = kafka
        self._s3 = s3
        self._log = topic
        self._topic = topic.name
        self._planned = planned
        self._bucket = bucket
        self._prefix = prefix
        self._sink = sink
        self._way_out = way_out
        self._store = LandingStore(s3.client(), bucket, sink)

    def problem(self) -> str | None:
        """Describe in one line what happened to the topic; None when nothing did or that is unknown."""
        topic_id = self._kafka.topic_id(self._topic)
        if topic_id is None:
            return f"the topic {self._topic} is gone, and with it events that may not be landed: {self._way_out}"
        noted = self._store.topic_id(self._topic)
        if noted is not None and noted != topic_id:
            return (
                f"the topic {self._topic} was deleted and made again, events may be lost, and the sink lands nothing of"
                f" the new one beside the former one's objects: {self._way_out}"
            )
        if self._has_lost_records():
            return f"Kafka has lost records of {self._topic} that were landed already, perhaps others: {self._way_out}"
        return None

    def set_aside(self) -> int:
        """Move the former topic's objects to another prefix, so that the sink starts over; return their number.

        Raises PlatformError, KafkaException and botocore's errors; after an interruption, another call continues.
        """
        if self._has_lost_records():
            # Its offsets would occur twice.
            self._kafka.delete_topic(self._topic)
        self._kafka.create_topics(self._planned)
        name = self._store.topic_id(self._topic) or "unknown"
        moved = self._move(f"{self._prefix}/{self._topic}/", f"{FORMER_PREFIX}/{name}/")
        # The notes go last: until then the sink refuses to start.
        client = self._s3.client()
        for key in keys(client, self._bucket, f".indexes/{self._sink}/"):
            client.delete_object(Bucket=self._bucket, Key=key)
        for key in LandingStore.note_keys(self._sink, self._topic):
            self._move(key, f"{FORMER_PREFIX}/{name}/")
        return moved

    def _has_lost_records(self) -> bool:
        try:
            committed = self._kafka.committed_offset(sink_group(self._sink), self._topic)
            return committed is not None and committed > self._log.bounds()[1]
        except KafkaException:
            return False

    def _move(self, prefix: str, target: str) -> int:
        client = self._s3.client()
        moved = keys(client, self._bucket, prefix)
        for key in moved:
            client.copy_object(Bucket=self._bucket, Key=target + key, CopySource={"Bucket": self._bucket, "Key": key})
            client.delete_object(Bucket=self._bucket, Key=key)
        return len(moved)
