"""Custom resource: the pipeline's topics, made from inside the VPC before any connector is (docs/decisions/0042).

Request: `bootstrapServers`; `topics`, each as plugins/kafka/topics.py says it; `group`, the sink's consumer group;
`groupTopic`, what it reads, and in `groupTopics` what else. No attributes. Deleting it leaves the topics as they are:
they hold events that nobody else may have, and whoever deletes the cluster deletes them with it.
"""

import logging
import os
from collections.abc import Mapping
from typing import Any

from confluent_kafka import KafkaError
from confluent_kafka.admin import AdminClient

from plugins.kafka import msk_login
from plugins.kafka.first_offsets import set_first_offsets
from plugins.kafka.topic_admin import REQUEST_S, TopicError, Unready, apply_plan
from plugins.kafka.topics import PlannedTopic
from stacks.handlers import framework, journal
from stacks.handlers.framework import Done, Event, Handler, Progress, ResourceError, Waiting

_REQUEST = {"bootstrapServers": str, "topics": list, "group": str, "groupTopic": str}
# Within one call: a topic has its leaders a second or two after it was made.
TRIES = 3
PAUSE_S = 2.0
_log = logging.getLogger(__name__)
_log.setLevel(logging.INFO)


def start(event: Event) -> dict[str, Any]:
    """Name it once and for all: another name on update would make CloudFormation delete the old one."""
    wanted = _request(event)
    _planned(wanted)
    return {"PhysicalResourceId": event.get("PhysicalResourceId", f"{wanted['groupTopic']}/topics")}


def settle(event: Event) -> Progress:
    """Take the steps that are missing. Brokers that are away, and rights that IAM hasn't spread yet, are waited for."""
    wanted = _request(event)
    problems: list[str] = []
    settings = connection(wanted["bootstrapServers"]) | {"error_cb": lambda error: _keep(problems, error)}
    admin = AdminClient(settings)
    for attempt in range(TRIES):
        if attempt:
            framework.sleep(PAUSE_S)
        try:
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


def remove(_event: Event) -> Progress:
    """Leave the topics, and what they hold."""
    return Done()


def connection(bootstrap_servers: str) -> dict[str, Any]:
    """Return librdkafka's settings for the cluster, in the region and under the role of this function."""
    return {
        "bootstrap.servers": bootstrap_servers,
        "client.id": "cdc-lake-topics",
        "socket.timeout.ms": round(REQUEST_S * 1_000),
        # Errors come by error_cb; librdkafka would write them to standard error as well.
        "log_level": 0,
        **msk_login.settings(os.environ["AWS_REGION"]),
    }


def _keep(problems: list[str], error: KafkaError) -> None:
    """Keep what is wrong with the connection; that no broker is left says nothing beside it."""
    if error.code() != KafkaError._ALL_BROKERS_DOWN:
        problems.append(" ".join(error.str().split()))


def _request(event: Event) -> dict[str, Any]:
    return framework.request(event, required=_REQUEST, optional={"groupTopics": list})


def _planned(wanted: Mapping[str, Any]) -> list[PlannedTopic]:
    try:
        return [PlannedTopic.of_request(topic) for topic in wanted["topics"]]
    except ValueError as error:
        raise ResourceError(f"Request: topics: {error}") from error


# So that the waiter of an update that was cancelled doesn't bring back its retention after the rollback.
_handler = Handler(start=start, settle=settle, remove=remove, claim=journal.claim, check=journal.check)
on_event = _handler.on_event
is_complete = _handler.is_complete
