"""What each user of the local broker may do: what the role of the same program may on AWS, from the same grants.

plugins/kafka/access.py says it for both. Names that exist on AWS alone, those of MSK Connect's internal topics and
groups, have a `*` in their middle, which no ACL can have. Here they stand for what our worker keeps, by its names.
There one worker runs one connector with the connector's role. Here one worker runs all with a user of its own, which
has what the grants allow on those names, and each connector logs in as itself for the rest.
"""

from collections.abc import Iterable, Sequence

from local.services.connect import CONFIG_TOPIC, GROUP, OFFSET_TOPIC, STATUS_TOPIC
from local.services.kafka.acls import Acl, acls
from plugins.connector_names import GENERATION, offset_topic
from plugins.connector_settings import SinkSettings, SourceSettings
from plugins.kafka.access import (
    INTERNAL_GROUPS,
    INTERNAL_TOPICS,
    reader_access,
    sink_access,
    source_access,
    topics_access,
    worker_access,
)
from plugins.kafka.topics import PlannedTopic

SOURCE, SINK, WORKER = "source-connector", "sink-connector", "connect-worker"
# Who makes the topics, and a person who looks into them.
TOPICS, READER = "topics", "reader"
ROLES = (SOURCE, SINK, WORKER, TOPICS, READER)


def platform_acls(source: SourceSettings, sink: SinkSettings, planned: Sequence[PlannedTopic]) -> frozenset[Acl]:
    """Return the ACLs of all users of a pipeline with the topics `planned`.

    Raises AclError for a right that Kafka can't express, or that lacks another.
    """
    internal = {
        **{INTERNAL_TOPICS.format(connector=name): (CONFIG_TOPIC, STATUS_TOPIC) for name in (source.name, sink.name)},
        INTERNAL_GROUPS: (GROUP,),
        **{offset_topic(source.name, generation): (OFFSET_TOPIC,) for generation in (None, "*", GENERATION)},
    }

    def without_internal(name: str) -> Iterable[str]:
        return () if name in internal else (name,)

    worker = (*worker_access(source.name, offset_topic(source.name, "*")), *worker_access(sink.name))
    return frozenset(
        acls(WORKER, worker, internal.__getitem__)
        | acls(SOURCE, source_access(source), without_internal)
        | acls(SINK, sink_access(sink), without_internal)
        | acls(TOPICS, topics_access(planned, sink), lambda name: internal.get(name, (name,)))
        | acls(READER, reader_access())
    )
