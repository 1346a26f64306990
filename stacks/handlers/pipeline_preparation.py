"""Custom resource: what a pipeline of ordinary tables needs of its database, made from inside the VPC.

Request: `clusterIdentifier`, `masterSecret` and `connectorSecret` (ARNs), `database`, `pipeline` (its name), `schema`
(ours in that database), `publication`, `slot`, `role`, and `tables`: objects with `schema`, `name`, `key`,
`leaveOut` and `hash`. Attribute: `Generation`, another one whenever the database is prepared for a new life
(source_record.py).

It gives the connector's role its password and its rights, and publishes exactly these tables (db/source_plan.py): a
table that the request no longer names is published no longer. Nothing of the tables' owner is changed but a replica
identity that says too little. Deleting drops the pipeline's slot, which would fill the disk, and leaves the rest.
"""

import functools
import logging
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

import boto3

from db.errors import LaterError, LoadError, LoginError, UnreachableError
from db.secret import connection_parameters
from db.slots import drop_slot
from db.source_objects import SourceObjects, WantedTable
from db.source_preparing import prepare
from stacks.handlers import framework, source_record
from stacks.handlers.framework import Done, Event, Handler, Progress, ResourceError, Waiting

if TYPE_CHECKING:
    from mypy_boto3_rds import RDSClient

_REQUEST = {
    "clusterIdentifier": str,
    "masterSecret": str,
    "connectorSecret": str,
    "database": str,
    "pipeline": str,
    "schema": str,
    "publication": str,
    "slot": str,
    "role": str,
    "tables": list,
}
GENERATION_DIGITS = 8
_log = logging.getLogger(__name__)
_log.setLevel(logging.INFO)


@functools.cache
def client() -> "RDSClient":
    """RDS, once per Lambda environment."""
    return boto3.client("rds", config=framework.CLIENT_CONFIG)


def start(event: Event) -> dict[str, Any]:
    """Name it once and for all: another name on update would make CloudFormation delete the old one, slot and all."""
    wanted = _request(event)
    _objects(wanted)
    if event["RequestType"] == "Update":
        return {"PhysicalResourceId": event["PhysicalResourceId"]}
    found = source_record.look(client(), wanted["clusterIdentifier"], wanted["pipeline"])
    # A renamed resource goes on where the one before it is: slot and offsets are still that one's.
    generation = found.generation if found else None
    generation = generation or framework.sha256_of(event["RequestId"])[:GENERATION_DIGITS]
    return {"PhysicalResourceId": f"{wanted['clusterIdentifier']}/{wanted['pipeline']}/prepared/{generation}"}


def settle(event: Event) -> Progress:
    """Do what the plan still has; a table in use, and a database that is away, are waited for."""
    wanted = _request(event)
    password = str(connection_parameters(wanted["connectorSecret"])["password"])
    try:
        done, left = prepare(_master(wanted), _objects(wanted), password=password)
    except LoginError as error:
        return Waiting(f"{error}: the master's secret is being rotated, or says another password than the database has")
    except LaterError as error:
        return Waiting(str(error))
    except LoadError as error:
        raise ResourceError(f"pipeline {wanted['pipeline']}, database {wanted['database']}: {error}") from error
    for remark in (*done.remarks, *left.problems):
        _log.warning("%s: %s", wanted["pipeline"], remark)
    generation = event["PhysicalResourceId"].rpartition("/")[2]
    found = source_record.look(client(), wanted["clusterIdentifier"], wanted["pipeline"])
    if found is None:
        raise ResourceError(f"the cluster {wanted['clusterIdentifier']} is being deleted")
    source_record.claim(client(), found, framework.owner(event), generation, missed=False)
    return Done(data={"Generation": generation})


def remove(event: Event) -> Progress:
    """Drop the slot. A database that is gone has none; one that is only out of reach still has."""
    try:
        wanted = _request(event)
    except ResourceError:
        # A request that was refused has made nothing.
        return Done()
    found = source_record.look(client(), wanted["clusterIdentifier"], wanted["pipeline"])
    owner = framework.owner(event)
    if found is None or not found.has(owner):
        return Done()
    if not found.others(owner):
        try:
            gone = drop_slot(_master(wanted), wanted["slot"])
        except LoginError as error:
            return Waiting(f"{error}: the master's secret is being rotated")
        except UnreachableError as error:
            return Waiting(f"{error}: start the database, or delete the stack and retain this resource")
        except LoadError as error:
            raise ResourceError(str(error)) from error
        if not gone:
            return Waiting(f"the replication slot {wanted['slot']} is in use: delete its connector first")
    source_record.release(client(), found, owner)
    return Done()


def _request(event: Event) -> dict[str, Any]:
    return framework.request(event, required=_REQUEST, optional={})


def wanted_tables(entries: Iterable[Mapping[str, Any]]) -> tuple[WantedTable, ...]:
    """Return a request's tables. Raises ResourceError. A request of an earlier release says nothing of hashes."""
    try:
        return tuple(
            WantedTable(
                schema=str(table["schema"]),
                name=str(table["name"]),
                key=tuple(map(str, table["key"])),
                leave_out=frozenset(map(str, table["leaveOut"])),
                hashed=frozenset(map(str, table.get("hash", ()))),
            )
            for table in entries
        )
    except (KeyError, TypeError, AttributeError) as error:
        raise ResourceError(f"Request: tables: not a table: {error!r}") from None


def _objects(wanted: Mapping[str, Any]) -> SourceObjects:
    return SourceObjects(
        publication=wanted["publication"],
        slot=wanted["slot"],
        schema=wanted["schema"],
        role=wanted["role"],
        tables=wanted_tables(wanted["tables"]),
    )


def _master(wanted: Mapping[str, Any]) -> dict[str, str | int]:
    return connection_parameters(wanted["masterSecret"]) | {"dbname": wanted["database"]}


_handler = Handler(start=start, settle=settle, remove=remove)
on_event = _handler.on_event
is_complete = _handler.is_complete
