"""Custom resource: the source database, prepared from inside its VPC by the loader's own code.

Request: `clusterIdentifier`, `masterSecret` and `connectorSecret` (ARNs), `database`, `slot`, `sampleData`,
`sampleScale`, `setMasterPassword` (optional: the cluster was restored, with another password) and `sqlHash`, which only
has to differ when what is run in the database does. Attributes: `Loaded`, the orders that this request loaded, and `Generation`, another one whenever the database is prepared for a new life: offsets of the one
before are worth nothing, since their slot is gone. Data that is there stays, and its outbox is migrated in place.

Deleting drops the connector's replication slot and leaves the data; who has prepared a cluster is in its tags
(source_record.py). A resource that never succeeded has nothing to drop. Of two that share a database, because one was
renamed, the last one drops it.
"""

import json
import logging
from collections.abc import Mapping
from typing import Any

from db.errors import LaterError, LoadError, LoginError, NewerError
from db.loading import LoadOptions, LoadReport
from db.preparing import prepare
from db.secret import connection_parameters
from stacks.handlers import framework, preparation, source_record
from stacks.handlers.framework import Done, Event, Handler, Progress, ResourceError, Waiting

_REQUEST = {
    "clusterIdentifier": str,
    "masterSecret": str,
    "connectorSecret": str,
    "database": str,
    "slot": str,
    "sampleData": bool,
    "sampleScale": int,
}
# Of the 15 minutes that a function may run: the rest of the rows is for the next call.
REFRESH_S = 600.0
_log = logging.getLogger(__name__)
_log.setLevel(logging.INFO)


def start(event: Event) -> dict[str, Any]:
    """Name it by its cluster and database."""
    wanted = _request(event)
    return preparation.start(event, f"{wanted['clusterIdentifier']}/{wanted['database']}", lambda: _look(wanted))


def settle(event: Event) -> Progress:
    """Load the database, or find it loaded: migrate its outbox and renew the password of the connector's role.

    A newer outbox stays as it is: to fail for it would fail a rollback, which runs the older code.
    """
    wanted = _request(event)
    _check_encrypted(wanted)
    try:
        report = _prepare(wanted)
    except LoginError as error:
        if wanted.get("setMasterPassword"):
            _set_password(wanted)
        return preparation.refused(error)
    except LaterError as error:
        return Waiting(str(error))
    except NewerError as error:
        _log.warning("%s: %s", wanted["database"], error)
        report = None
    except LoadError as error:
        raise ResourceError(str(error)) from error
    generation = preparation.generation_of(event)
    _enter(event, wanted, generation, found_prepared=report is None)
    return Done(data={"Loaded": report.events if report else 0, "Generation": generation})


def remove(event: Event) -> Progress:
    """Drop the slot."""
    try:
        wanted = _request(event)
    except ResourceError:
        # A request that was refused has made nothing.
        return Done()
    return preparation.remove(event, _look(wanted), lambda: preparation.master(wanted), wanted["slot"])


def _check_encrypted(wanted: Mapping[str, Any]) -> None:
    """Raise ResourceError for a cluster restored from something that isn't encrypted: its template can't say it is."""
    found = _look(wanted)
    if wanted.get("setMasterPassword") and found and not found.encrypted:
        raise ResourceError(
            f"the restored cluster {wanted['clusterIdentifier']} isn't encrypted, as what it was restored from isn't:"
            " copy the snapshot with a key, and restore the copy"
        )


def _prepare(wanted: Mapping[str, Any]) -> LoadReport | None:
    options = LoadOptions(
        connector_password=str(connection_parameters(wanted["connectorSecret"])["password"]),
        scale=wanted["sampleScale"] if wanted["sampleData"] else 1,
        empty=not wanted["sampleData"],
    )
    report = prepare(preparation.master(wanted), options, refresh_s=REFRESH_S)
    if report is None:
        _log.info("%s is prepared already: sample data and scale no longer count", wanted["database"])
    return report


def _set_password(wanted: Mapping[str, Any]) -> None:
    """Give the master the secret's password: a restored cluster has that of what it was restored from."""
    try:
        preparation.client().modify_db_cluster(
            DBClusterIdentifier=wanted["clusterIdentifier"],
            MasterUserPassword=str(connection_parameters(wanted["masterSecret"])["password"]),
            ApplyImmediately=True,
        )
    except preparation.client().exceptions.InvalidDBClusterStateFault:
        # It is being changed; the next call tries again.
        _log.info("%s is being changed", wanted["clusterIdentifier"])


def _enter(event: Event, wanted: Mapping[str, Any], generation: str, *, found_prepared: bool) -> None:
    """Enter us as a preparation of the cluster. Who finds it prepared and nobody in charge may have missed changes."""
    found = _look(wanted)
    if found is None:
        raise ResourceError(f"the cluster {wanted['clusterIdentifier']} is being deleted")
    owner = framework.owner(event)
    begins = not found.others(owner) if event["RequestType"] == "Create" else _moved(event, wanted)
    found.claim(owner, generation, missed=found_prepared and begins)


def _moved(event: Event, wanted: Mapping[str, Any]) -> bool:
    """Whether an update is for another cluster than before: a restored one."""
    old = json.loads(event.get("OldResourceProperties", event["ResourceProperties"])["Request"])
    return bool(old.get("clusterIdentifier") != wanted["clusterIdentifier"])


def _request(event: Event) -> dict[str, Any]:
    return framework.request(event, required=_REQUEST, optional={"sqlHash": str, "setMasterPassword": bool})


def _look(wanted: Mapping[str, Any]) -> source_record.Preparations | None:
    return source_record.look(preparation.client(), wanted["clusterIdentifier"])


_handler = Handler(start=start, settle=settle, remove=remove)
on_event = _handler.on_event
is_complete = _handler.is_complete
