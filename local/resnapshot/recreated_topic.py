"""A topic that was deleted, recreated or has lost records: the landed objects of the former one are in the way.

Object names contain offsets, which begin at 0 again. The sink refuses to mix the two (docs/decisions/0040); the objects
of the former topic are set aside, never deleted.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from confluent_kafka import KafkaException

from contract.lake import LANDING_PREFIX
from local.look.json_lines import keys
from local.look.topic import Topic
from local.platform.services import LANDING_BUCKET
from local.services.aws import S3
from local.services.kafka import Kafka
from local.sink.settings import PASSED_OVER, read_held, write_held
from local.sink.store import LandingStore
from plugins.connector_names import sink_group
from plugins.kafka.topics import PlannedTopic

FORMER_PREFIX = "former"


@dataclass(frozen=True, kw_only=True)
class FormerTopics:
    """What `sink` has landed of these topics, and the topics now. `planned`: the topics to be.

    `way_out`: what to run after a loss. `folder`: where the stand-in of the sink keeps its files.
    """

    kafka: Kafka
    s3: S3
    topics: Sequence[Topic]
    planned: Sequence[PlannedTopic]
    sink: str
    folder: Path
    way_out: str

    @property
    def _store(self) -> LandingStore:
        return LandingStore(self.s3.client(), LANDING_BUCKET, self.sink)

    def problems(self) -> dict[str, str]:
        """Describe in one line what happened to a topic, by its name; all are looked at together."""
        ids = self.kafka.topic_ids(topic.name for topic in self.topics)
        lost = self._with_lost_records(ids)
        found = ((name, self._problem(name, topic_id, lost=name in lost)) for name, topic_id in ids.items())
        return {name: problem for name, problem in found if problem}

    def _problem(self, name: str, topic_id: str | None, *, lost: bool) -> str | None:
        if topic_id is None:
            return f"the topic {name} is gone, and with it events that may not be landed: {self.way_out}"
        noted = self._store.topic_id(name)
        if noted is not None and noted != topic_id:
            return (
                f"the topic {name} was deleted and made again, events may be lost, and the sink lands"
                f" nothing of the new one next to the former one's objects: {self.way_out}"
            )
        if lost:
            return f"Kafka has lost records of {name} that were landed already, perhaps others: {self.way_out}"
        return None

    def set_aside(self) -> int:
        """Move the former topics' objects to another prefix, so that the sink starts over; return their number.

        Raises PlatformError, KafkaException and botocore's errors; after an interruption, another call continues.
        """
        if not (former := self.problems()):
            return 0
        for name in self._with_lost_records(self.kafka.topic_ids(former)):
            # Its offsets would occur twice.
            self.kafka.delete_topic(name)
        self.kafka.create_topics(self.planned)
        return sum(map(self._set_aside, former))

    def _set_aside(self, topic: str) -> int:
        name = self._store.topic_id(topic) or "unknown"
        moved = self._move(f"{LANDING_PREFIX}/{topic}/", f"{FORMER_PREFIX}/{name}/")
        # An offset names another record in the new topic.
        passed_over = read_held(self.folder / PASSED_OVER)
        if (others := [one for one in passed_over if one.topic != topic]) != passed_over:
            write_held(self.folder / PASSED_OVER, others)
        # The notes go last: until then the sink refuses to start.
        client = self.s3.client()
        for key in keys(client, LANDING_BUCKET, f".indexes/{self.sink}/"):
            client.delete_object(Bucket=LANDING_BUCKET, Key=key)
        for key in LandingStore.note_keys(self.sink, topic):
            self._move(key, f"{FORMER_PREFIX}/{name}/")
        return moved

    def _with_lost_records(self, ids: Mapping[str, str | None]) -> set[str]:
        names = [name for name, topic_id in ids.items() if topic_id]
        try:
            committed = self.kafka.committed_offsets(sink_group(self.sink), names)
            return {name for name, end in self.topics[0].ends(names).items() if (committed[name] or 0) > end}
        except KafkaException:
            return set()

    def _move(self, prefix: str, target: str) -> int:
        client = self.s3.client()
        moved = keys(client, LANDING_BUCKET, prefix)
        for key in moved:
            client.copy_object(
                Bucket=LANDING_BUCKET, Key=target + key, CopySource={"Bucket": LANDING_BUCKET, "Key": key}
            )
            client.delete_object(Bucket=LANDING_BUCKET, Key=key)
        return len(moved)
