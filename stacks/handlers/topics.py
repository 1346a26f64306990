"""Custom resource: the pipelines' topics, created from inside the VPC before any connector (docs/decisions/0042).

Request: `bootstrapServers`; `topics`, each in the form of plugins/kafka/topics.py; `group`, the sink's consumer group;
`groupTopic`, which it reads, and more of them in `groupTopics`. No attributes. A deletion leaves the topics: they may
hold the only copy of some events, and deleting the cluster deletes them anyway.
"""

import functools
import logging
import os
from collections.abc import Mapping
from typing import Any

from confluent_kafka import KafkaError
from confluent_kafka.admin import AdminClient

from plugins.kafka import msk_login
from plugins.kafka.topic_admin import REQUEST_S, TopicError, Unready, apply_plan, set_first_offsets
from plugins.kafka.topics import PlannedTopic
from stacks.handlers import framework, journal
from stacks.handlers.framework import Done, Event, Progress, ResourceError, Waiting

_request = functools.partial(
    framework.request,
    required={"bootstrapServers": str, "topics": list, "group": str, "groupTopic": str},
    optional={"groupTopics": list},
)
# Within one call: a topic gets its leaders a second or two after its creation.
TRIES = 3
PAUSE_S = 2.0
_log = logging.getLogger(__name__)
_log.setLevel(logging.INFO)


def start(event: Event) -> str:
    """Choose a permanent id: if it changed in an update, CloudFormation would delete the old resource."""
    wanted = _request(event)
    _planned(wanted)
    return str(event.get("PhysicalResourceId", f"{wanted['groupTopic']}/topics"))


def settle(event: Event) -> Progress:
    """Take the missing steps. Wait for brokers that are away, and for rights that IAM hasn't propagated yet."""
    wanted = _request(event)
    problems: list[str] = []
    settings = connection(wanted["bootstrapServers"]) | {"error_cb": lambda error: _keep(problems, error)}
    admin = AdminClient(settings)
    for attempt in range(TRIES):
        if attempt:
            framework.sleep(PAUSE_S)
        try:
            with journal.acting(event, seconds=journal.RUN_SECONDS):
                apply_plan(admin, _planned(wanted), say=_log.info)
                for topic in (wanted["groupTopic"], *wanted.get("groupTopics", [])):
                    set_first_offsets(settings, group=wanted["group"], topic=topic, say=_log.info)
        except TopicError as error:
            raise ResourceError(str(error)) from error
        except Unready as problem:
            reason = str(problem)
        else:
            return Done()
    admin.poll(0)  # hands over what librdkafka has against the brokers
    return Waiting("; ".join([reason, *problems[-1:]]))


def connection(bootstrap_servers: str) -> dict[str, Any]:
    """Return librdkafka's settings for the cluster, in this function's region and under its role."""
    return {
        "bootstrap.servers": bootstrap_servers,
        "client.id": "cdc-lake-topics",
        "socket.timeout.ms": round(REQUEST_S * 1_000),
        # error_cb gets the errors; librdkafka would also write them to standard error.
        "log_level": 0,
        **msk_login.settings(os.environ["AWS_REGION"]),
    }


def _keep(problems: list[str], error: KafkaError) -> None:
    """Keep a connection error; "all brokers down" adds nothing to the others."""
    if error.code() != KafkaError._ALL_BROKERS_DOWN:
        problems.append(" ".join(error.str().split()))


def _planned(wanted: Mapping[str, Any]) -> list[PlannedTopic]:
    try:
        return [PlannedTopic.of_request(topic) for topic in wanted["topics"]]
    except ValueError as error:
        raise ResourceError(f"Request: topics: {error}") from error


# The journal keeps a cancelled update, its waiter and its calls, from restoring its retention after the rollback.
on_event, is_complete = journal.handler(start=start, settle=settle).functions
