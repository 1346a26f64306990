"""Custom resource: the addresses at which IAM clients reach an MSK cluster, which CloudFormation doesn't return.

Request: `clusterArn`. Attribute: `BootstrapBrokers`. "This list may not include all the brokers in the cluster" (MSK
developer guide, "Get the bootstrap brokers"): two answers for one cluster may differ, so a stack asks once.
"""

import functools

from stacks.handlers import framework
from stacks.handlers.framework import Done, Event, Handler, Progress, ResourceError, Waiting

# In every other state the cluster works, or will recover.
_LOST = ("DELETING", "FAILED")


_request = functools.partial(framework.request, required={"clusterArn": str})


def start(event: Event) -> str:
    return f"{_request(event)['clusterArn']}/bootstrap-brokers"


def settle(event: Event) -> Progress:
    """Look up the addresses, sorted: they come in any order, and a changed order would look like a changed cluster."""
    arn, kafka = _request(event)["clusterArn"], framework.client("kafka")
    if addresses := kafka.get_bootstrap_brokers(ClusterArn=arn).get("BootstrapBrokerStringSaslIam"):
        return Done(data={"BootstrapBrokers": ",".join(sorted(addresses.split(",")))})
    state = kafka.describe_cluster_v2(ClusterArn=arn)["ClusterInfo"]["State"]
    if state == "ACTIVE":
        raise ResourceError(f"the cluster {arn} is ACTIVE but has no address for IAM: enable IAM authentication")
    if state in _LOST:
        raise ResourceError(f"the cluster {arn} is {state}")
    return Waiting(f"the cluster {arn} is {state} and has no address for IAM yet")


on_event, is_complete = Handler(start=start, settle=settle).functions
