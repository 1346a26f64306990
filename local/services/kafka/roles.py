"""The rights of each user of the local broker: those of the same program's role on AWS, from the same grants.

plugins/kafka/topics.py defines both. Names that exist on AWS alone, of MSK Connect's internal topics and groups, have a
`*` in their middle, which no ACL can have. Here they stand for our worker's topics and group. There, one worker runs
one connector with the connector's role. Here, one worker runs all connectors with its own user, which has the grants on
those names, and each connector logs in as itself for the rest.
"""

from collections.abc import Iterable, Sequence

from local.services.connect import CONFIG_TOPIC, GROUP, OFFSET_TOPIC, STATUS_TOPIC
from local.services.kafka.acls import Acl, acls
from plugins.connector_names import GENERATION, offset_topic
from plugins.connector_settings import SinkSettings, SourceSettings
from plugins.kafka.topics import (
    INTERNAL_GROUPS,
    INTERNAL_TOPICS,
    PlannedTopic,
    reader_access,
    sink_access,
    source_access,
    topics_access,
    worker_access,
)

SOURCE, SINK, WORKER = "source-connector", "sink-connector", "connect-worker"
# The creator of the topics, and a person who reads them.
TOPICS, READER = "topics", "reader"
ROLES = (SOURCE, SINK, WORKER, TOPICS, READER)


def platform_acls(source: SourceSettings, sink: SinkSettings, planned: Sequence[PlannedTopic]) -> frozenset[Acl]:
    """Return the ACLs of all users of a pipeline with the topics `planned`.

    Raises AclError for a right that Kafka can't express, or that lacks a required one.
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
