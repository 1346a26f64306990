"""Custom resource: what a pipeline of ordinary tables needs of its database, made from inside the VPC.

Request: `clusterIdentifier`, `masterSecret` and `connectorSecret` (ARNs), `database`, `pipeline` (its name), `schema`
(ours in that database), `publication`, `slot`, `role`, `sqlHash`, which only has to differ when what is run in the
database does, and `tables`: objects with `schema`, `name`, `key`, `leaveOut`, `hash` and, like `sqlHash`, `schemaHash`.
Attribute: `Generation`, another one whenever the database is prepared for a new life (source_record.py).

It gives the connector's role its password and its rights, and publishes exactly these tables (db/source_plan.py): a
table that the request no longer names is published no longer. Nothing of the tables' owner is changed but a replica
identity that says too little. Deleting drops the pipeline's slot, which would fill the disk, and leaves the rest.
"""

import logging
from collections.abc import Iterable, Mapping
from typing import Any

from db.errors import LaterError, LoadError, LoginError
from db.secret import connection_parameters
from db.source_objects import SourceObjects, WantedTable
from db.source_preparing import prepare
from stacks.handlers import framework, preparation, source_record
from stacks.handlers.framework import Done, Event, Handler, Progress, ResourceError, Waiting

# What says which objects are wanted of a database, whoever made it.
OBJECTS = {
    "database": str,
    "pipeline": str,
    "schema": str,
    "publication": str,
    "slot": str,
    "role": str,
    "tables": list,
}
_REQUEST = {"clusterIdentifier": str, "masterSecret": str, "connectorSecret": str, **OBJECTS}
_log = logging.getLogger(__name__)
_log.setLevel(logging.INFO)


def start(event: Event) -> dict[str, Any]:
    """Name it by its cluster and pipeline."""
    wanted = _request(event)
    objects(wanted)
    return preparation.start(event, f"{wanted['clusterIdentifier']}/{wanted['pipeline']}", lambda: _look(wanted))


def settle(event: Event) -> Progress:
    """Do what the plan still has; a table in use, and a database that is away, are waited for."""
    wanted = _request(event)
    try:
        password = str(connection_parameters(wanted["connectorSecret"])["password"])
        done, left = prepare(preparation.master(wanted), objects(wanted), password=password)
    except LoginError as error:
        return preparation.refused(error)
    except LaterError as error:
        return Waiting(str(error))
    except LoadError as error:
        raise ResourceError(f"pipeline {wanted['pipeline']}, database {wanted['database']}: {error}") from error
    for remark in (*done.remarks, *left.problems):
        _log.warning("%s: %s", wanted["pipeline"], remark)
    generation, found = preparation.generation_of(event), _look(wanted)
    if found is None:
        raise ResourceError(f"the cluster {wanted['clusterIdentifier']} is being deleted")
    found.claim(framework.owner(event), generation, missed=False)
    return Done(data={"Generation": generation})


def remove(event: Event) -> Progress:
    """Drop the slot."""
    try:
        wanted = _request(event)
    except ResourceError:
        # A request that was refused has made nothing.
        return Done()
    return preparation.remove(event, _look(wanted), lambda: preparation.master(wanted), wanted["slot"])


def _request(event: Event) -> dict[str, Any]:
    return framework.request(event, required=_REQUEST, optional={"sqlHash": str})


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
                by_xmin=bool(table.get("byXmin", False)),
            )
            for table in entries
        )
    except (KeyError, TypeError, AttributeError) as error:
        raise ResourceError(f"Request: tables: not a table: {error!r}") from None


def objects(wanted: Mapping[str, Any]) -> SourceObjects:
    """Return what a request wants of a database. Raises ResourceError."""
    return SourceObjects(
        publication=wanted["publication"],
        slot=wanted["slot"],
        schema=wanted["schema"],
        role=wanted["role"],
        tables=wanted_tables(wanted["tables"]),
    )


def _look(wanted: Mapping[str, Any]) -> source_record.Preparations | None:
    return source_record.look(preparation.client(), wanted["clusterIdentifier"], wanted["pipeline"])


_handler = Handler(start=start, settle=settle, remove=remove)
on_event = _handler.on_event
is_complete = _handler.is_complete
