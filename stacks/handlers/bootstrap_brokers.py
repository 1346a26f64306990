"""Custom resource: the addresses at which IAM clients reach an MSK cluster, which CloudFormation doesn't return.

Request: `clusterArn`. Attribute: `BootstrapBrokers`. "This list may not include all the brokers in the cluster" (MSK
developer guide, "Get the bootstrap brokers"): two answers for one cluster may differ, so a stack asks once.
"""

import functools
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from stacks.handlers import framework
from stacks.handlers.framework import Done, Event, Handler, Progress, ResourceError, Waiting

if TYPE_CHECKING:
    from mypy_boto3_kafka import KafkaClient

# In every other state the cluster works, or will recover.
_LOST = ("DELETING", "FAILED")


client: Callable[[], "KafkaClient"] = functools.partial(framework.client, "kafka")


def start(event: Event) -> dict[str, Any]:
    return {"PhysicalResourceId": f"{_cluster_arn(event)}/bootstrap-brokers"}


def settle(event: Event) -> Progress:
    """Look up the addresses, sorted: they come in any order, and a changed order would look like a changed cluster."""
    arn = _cluster_arn(event)
    addresses = client().get_bootstrap_brokers(ClusterArn=arn).get("BootstrapBrokerStringSaslIam", "")
    if addresses:
        return Done(data={"BootstrapBrokers": ",".join(sorted(addresses.split(",")))})
    state = client().describe_cluster_v2(ClusterArn=arn)["ClusterInfo"]["State"]
    if state == "ACTIVE":
        raise ResourceError(f"the cluster {arn} is ACTIVE but has no address for IAM: enable IAM authentication")
    if state in _LOST:
        raise ResourceError(f"the cluster {arn} is {state}")
    return Waiting(f"the cluster {arn} is {state} and has no address for IAM yet")


def _cluster_arn(event: Event) -> str:
    wanted = framework.request(event, required={"clusterArn": str}, optional={})
    return str(wanted["clusterArn"])


_handler = Handler(start=start, settle=settle)
on_event = _handler.on_event
is_complete = _handler.is_complete
