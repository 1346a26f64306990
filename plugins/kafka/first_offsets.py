"""Sets a consumer group's offset before it has read anything, so that its lag is known from the start.

MSK publishes a group's lag only once it has an offset ("You haven't set the consumer offset for the consumer
group" is one of the reasons for absent metrics: MSK developer guide, "Monitor consumer lags"), and Connect's sink tasks
commit none before their first record. The first offset is where a group without one begins.
"""

from collections.abc import Callable, Mapping

from confluent_kafka import Consumer, KafkaError, KafkaException, TopicPartition

from plugins.kafka.topic_admin import REQUEST_S, Unready

# Only the members of an active group may set its offsets.
_IN_USE = frozenset(
    {
        KafkaError.ILLEGAL_GENERATION,
        KafkaError.REBALANCE_IN_PROGRESS,
        KafkaError.UNKNOWN_MEMBER_ID,
    }
)


def set_first_offsets(settings: Mapping[str, object], *, group: str, topic: str, say: Callable[[str], None]) -> None:
    """Set the group's offset to the first record of each partition without one; leave all others unchanged.

    `settings` are librdkafka's for the connection. Does nothing if the group has members. Raises Unready.
    """
    fixed = {"group.id": group, "enable.auto.commit": False, "allow.auto.create.topics": False}
    consumer = Consumer({**settings, **fixed})
    try:
        missing = [place for place in _committed(consumer, topic) if place.offset < 0]
        if missing:
            consumer.commit(offsets=[_first(consumer, place) for place in missing], asynchronous=False)
            say(f"group {group} begins with the first record of {topic}")
    except KafkaException as failure:
        error = failure.args[0]
        if error.code() not in _IN_USE:
            raise Unready(f"group {group}: {' '.join(error.str().split())}", error.code()) from None
        say(f"group {group} has members, and no offset of its own yet")
    finally:
        consumer.close()


def _committed(consumer: Consumer, topic: str) -> list[TopicPartition]:
    partitions = consumer.list_topics(topic, timeout=REQUEST_S).topics[topic].partitions
    places = consumer.committed([TopicPartition(topic, number) for number in partitions], timeout=REQUEST_S)
    for place in places:
        if place.error is not None:
            raise KafkaException(place.error)
    return list(places)


def _first(consumer: Consumer, place: TopicPartition) -> TopicPartition:
    first, _ = consumer.get_watermark_offsets(place, timeout=REQUEST_S)
    return TopicPartition(place.topic, place.partition, int(first))
