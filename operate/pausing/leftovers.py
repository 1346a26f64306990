"""Finds resources that still run although their stack no longer has them.

CloudFormation tries three times to delete a resource that a template drops. Then it gives up and reports the update as
complete, so only the bill would show it.
"""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from operate.errors import OperateError
from operate.pausing.waiting import Look, Waiter

if TYPE_CHECKING:
    from mypy_boto3_emr import EMRClient
    from mypy_boto3_emr.literals import ClusterStateType
    from mypy_boto3_kafkaconnect import KafkaConnectClient

# A deletion that CloudFormation gave up on may still finish.
LIMIT_S = 1_200.0
_RUNNING: Sequence["ClusterStateType"] = ("STARTING", "BOOTSTRAPPING", "RUNNING", "WAITING", "TERMINATING")


def check_connectors_gone(client: "KafkaConnectClient", names: Sequence[str], prefix: str, waiter: Waiter) -> None:
    """Check that no connector of these names exists. Raises OperateError for one that remains."""

    def look() -> str | None:
        pages = client.get_paginator("list_connectors").paginate(connectorNamePrefix=prefix)
        found = [each for page in pages for each in page.get("connectors", []) if each["connectorName"] in names]
        for connector in found:
            if connector["connectorState"] != "DELETING":
                raise OperateError(
                    f"the connector {connector['connectorName']} is {connector['connectorState']}: CloudFormation "
                    "couldn't delete it (its events say why) and no longer knows it: `aws kafkaconnect delete-connector"
                    f" --connector-arn {connector['connectorArn']}`, which loses neither slot nor offsets; then this "
                    "again"
                )
        return f"the end of {', '.join(sorted(each['connectorName'] for each in found))}" if found else None

    _wait(waiter, look)


def check_cluster_gone(client: "EMRClient", name: str, waiter: Waiter) -> None:
    """Check that no cluster of that name runs. Raises OperateError for one that remains."""

    def look() -> str | None:
        found = list(_clusters(client, name))
        for id_, state in found:
            if state != "TERMINATING":
                raise OperateError(
                    f"the EMR cluster {id_} is {state}: CloudFormation couldn't terminate it (its events say why) and "
                    f"no longer knows it: `aws emr terminate-clusters --cluster-ids {id_}`, which loses nothing; then "
                    "this again"
                )
        return f"the end of {', '.join(id_ for id_, _ in found)}" if found else None

    _wait(waiter, look)


def _clusters(client: "EMRClient", name: str) -> Iterator[tuple[str, str]]:
    for page in client.get_paginator("list_clusters").paginate(ClusterStates=_RUNNING):
        for cluster in page["Clusters"]:
            if cluster["Name"] == name:
                yield cluster["Id"], cluster["Status"]["State"]


def _wait(waiter: Waiter, look: Look) -> None:
    if left := waiter.wait(look, limit_s=LIMIT_S):
        raise OperateError(f"after {LIMIT_S / 60:.0f} minutes still waiting for {left}: this again goes on waiting")
