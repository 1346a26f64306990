"""What an environment may add to Debezium's configuration: how fast and how often, never what, where to or from where.

Meanings are those of Debezium 3.7's PostgreSQL connector (its documentation, "Connector properties", and the
descriptions in the connector itself) and of Kafka Connect's producer, as far as an environment may override it.
"""

from plugins.allowed_properties import AllowedProperties

_NUMBERS = {
    "connection.validation.timeout.ms": (1_000, 300_000),
    "database.query.timeout.ms": (60_000, 86_400_000),
    "executor.shutdown.timeout.ms": (1_000, 60_000),
    "heartbeat.interval.ms": (1_000, 60_000),
    "incremental.snapshot.chunk.size": (100, 100_000),
    "lsn.flush.timeout.ms": (1_000, 300_000),
    # Debezium refuses a queue that isn't larger than a batch: whatever of these is set alone or together fits.
    "max.batch.size": (1, 8_191),
    "max.queue.size": (8_192, 1_000_000),
    "poll.interval.ms": (1, 5_000),
    "producer.override.batch.size": (0, 1_048_576),
    "producer.override.linger.ms": (0, 1_000),
    "query.fetch.size": (0, 100_000),
    "retriable.restart.connector.wait.ms": (100, 300_000),
    "signal.poll.interval.ms": (100, 60_000),
    "slot.max.retries": (6, 10_000),
    "slot.retry.delay.ms": (100, 60_000),
    "snapshot.delay.ms": (0, 3_600_000),
    "snapshot.fetch.size": (1, 100_000),
    "snapshot.lock.timeout.ms": (1_000, 600_000),
    # By default the server ends a connection that it hasn't heard of for 60 s.
    "status.update.interval.ms": (100, 30_000),
    "xmin.fetch.interval.ms": (0, 3_600_000),
}
_WORDS = {"errors.log.enable": ("true", "false"), "producer.override.acks": ("all", "-1")}
# Reason → how the names of the properties begin that it keeps out.
_REASONS = {
    "the pipeline's file says which tables, columns and operations are captured, and by which keys": """
        column. database.exclude.list database.include.list message.key.columns publish.via.partition.root schema.
        skip.messages. skipped.operations table.""",
    "the job reads names and values as we have Debezium write them": """
        binary. converters custom.sanitize. datatype. decimal. extended.headers. field. header.converter hstore.
        include. interval. key.converter money. post.processors predicates provide.transaction. schema.name.
        sourceinfo. time. tombstones. transaction.metadata. transforms unavailable. value.converter""",
    "an event that can't be read or converted must end the task: otherwise it would be lost": """
        errors. event. guardrail. internal.custom.retriable. lsn.flush.timeout.action""",
    "changes are read on from the slot, by the publication, as they were prepared: some would be passed over": """
        flush.lsn. internal.create.slot. internal.log. internal.slot. lsn. offset. plugin.name publication.
        replica.identity. slot.""",
    "snapshots have all rows, in one order, and are asked for by `./lake resnapshot`": """
        incremental. internal.snapshot. legacy.snapshot. read.only signal. snapshot.
        streaming.""",
    "the heartbeat calls what was prepared: it moves the slot on, and sends what the outbox has queued": "heartbeat.",
    "messages in the log have no topic of their own": "message.prefix.",
    "the sink reads the topics under the names that the deployment gives them": "topic.",
    "where the database is, and how its server is verified, is said by the pipeline's database": "database. driver.",
    "the workers, their clients and their offsets are the deployment's": """
        config. connector. exactly.once. name offsets. poll.dispatch. producer.override. queue. tasks.
        transaction.boundary""",
    "nobody here reads it, and the alarms rely on the names of metrics": """
        custom.metric. internal. memory. notification. openlineage. statistics.""",
}

ALLOWED = AllowedProperties(
    numbers=_NUMBERS,
    words=_WORDS,
    refused={
        "producer.override.acks": "an event that one broker alone has is gone with it, and isn't sent again",
        **{begin: f"{reason}: take it out" for reason, begins in _REASONS.items() for begin in begins.split()},
    },
)
