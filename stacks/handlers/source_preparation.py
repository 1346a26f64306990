"""Prepares the source database from inside its VPC, and drops the connector's replication slot when the stack goes.

Properties of the resource: `ClusterIdentifier`, `MasterSecretArn`, `ConnectorSecretArn`, `Database`, `SlotName`,
`OutboxMode`, `SampleData` ("true" or "false"), `SampleScale`. Returns `Loaded`: how many orders this request loaded.
"""

import logging
from collections.abc import Mapping
from typing import Any, cast

import boto3
from botocore.exceptions import ClientError

from db.loading import LoadOptions, Mode
from db.preparing import prepare
from db.secret import PATIENCE, connection_parameters
from db.slots import drop_slot

log = logging.getLogger(__name__)
log.setLevel(logging.INFO)


def on_event(event: Mapping[str, Any], _context: object) -> dict[str, Any]:
    """Handle one request of CloudFormation. Raises LoadError, one line, for whatever can't be done."""
    properties: Mapping[str, str] = event["ResourceProperties"]
    if event["RequestType"] == "Delete":
        delete(properties)
        return {"PhysicalResourceId": event["PhysicalResourceId"]}
    # Never a new id on update: CloudFormation would delete the old one after it, and with it the slot that is in use.
    physical_id = event.get("PhysicalResourceId", f"{properties['ClusterIdentifier']}/{properties['Database']}")
    return {"PhysicalResourceId": physical_id, "Data": {"Loaded": create_or_update(properties)}}


def create_or_update(properties: Mapping[str, str]) -> int:
    """Prepare the database unless it is prepared; return how many orders were loaded."""
    sample_data = properties["SampleData"] == "true"
    options = LoadOptions(
        connector_password=str(connection_parameters(properties["ConnectorSecretArn"])["password"]),
        mode=cast(Mode, properties["OutboxMode"]),
        scale=int(properties["SampleScale"]) if sample_data else 1,
        empty=not sample_data,
    )
    report = prepare(_master(properties), options)
    if report is None:
        log.info("%s is prepared already: only the connector's password was renewed", properties["Database"])
        return 0
    log.info("%s: %d order events in %.1f s", properties["Database"], report.events, report.seconds)
    return report.events


def delete(properties: Mapping[str, str]) -> None:
    """Drop the slot and leave everything else; a database that is gone has none.

    One that is only out of reach is a failure: its slot would go on filling the disk with write-ahead log.
    """
    if not _cluster_exists(properties["ClusterIdentifier"]):
        log.info("the cluster %s is gone: nothing to drop", properties["ClusterIdentifier"])
        return
    dropped = drop_slot(_master(properties), properties["SlotName"])
    log.info("slot %s: %s", properties["SlotName"], "dropped" if dropped else "there was none")


def _master(properties: Mapping[str, str]) -> dict[str, str | int]:
    return connection_parameters(properties["MasterSecretArn"]) | {"dbname": properties["Database"]}


def _cluster_exists(identifier: str) -> bool:
    try:
        found = boto3.client("rds", config=PATIENCE).describe_db_clusters(DBClusterIdentifier=identifier)
    except ClientError as error:
        if error.response["Error"]["Code"] == "DBClusterNotFoundFault":
            return False
        raise
    return any(cluster.get("Status") != "deleting" for cluster in found["DBClusters"])
