"""Custom resource: what a pipeline needs of a database that the stacks didn't make, made there, or looked for.

Request: as of pipeline_preparation.py, with `host`, `port` (a number), `sslmode` and `certificate` (PEM, "" for none)
in the place of the cluster, `record` (a path of Systems Manager's parameters, outside_record.py), and the secrets
`connectorSecretArn` and `ownerSecretArn`: that of whoever may prepare the database, or "". Without it nothing is
changed there: the connector's role looks whether everything has been done (`./lake source prepare`), and each thing
that hasn't is said in the failure. Attribute: `Generation`, another one for a new life of the slot.

Deleting drops the pipeline's slot, which would fill that server's disk, and leaves the rest.
"""

import contextlib
import functools
import logging
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import boto3

from db.connecting import connect
from db.errors import LaterError, LoadError, LoginError, UnreachableError
from db.source_plan import Plan
from db.source_preparing import plan, prepare
from stacks.handlers import framework, outside_record, preparation
from stacks.handlers.framework import Done, Event, Handler, Progress, ResourceError, Waiting
from stacks.handlers.outside_login import login
from stacks.handlers.outside_record import OutsideRecord
from stacks.handlers.pipeline_preparation import OBJECTS, objects

if TYPE_CHECKING:
    from mypy_boto3_ssm import SSMClient

_REQUEST = {
    "host": str,
    "port": int,
    "sslmode": str,
    "certificate": str,
    "connectorSecretArn": str,
    "ownerSecretArn": str,
    "record": str,
    **OBJECTS,
}
_log = logging.getLogger(__name__)
_log.setLevel(logging.INFO)


@functools.cache
def client() -> "SSMClient":
    """Systems Manager, once per Lambda environment."""
    return boto3.client("ssm", config=framework.CLIENT_CONFIG)


def start(event: Event) -> dict[str, Any]:
    """Name it by its server and pipeline."""
    wanted = _request(event)
    objects(wanted)
    return preparation.start(event, f"{wanted['host']}/{wanted['pipeline']}", lambda: _look(wanted))


def settle(event: Event) -> Progress:
    """Do what the plan still has, or see that nothing is left; what may pass is waited for."""
    wanted = _request(event)
    try:
        with login(wanted, wanted["connectorSecretArn"]) as connector:
            _check_user(wanted, connector)
            left = _prepared(wanted, connector) if wanted["ownerSecretArn"] else _looked(wanted, connector)
    except LoginError as error:
        return preparation.refused(error, whose="its secret")
    except (LaterError, UnreachableError) as error:
        return Waiting(f"{error}")
    except LoadError as error:
        raise ResourceError(f"pipeline {wanted['pipeline']}, {wanted['host']}: {error}") from error
    for remark in (*left.remarks, *left.problems):
        _log.warning("%s: %s", wanted["pipeline"], remark)
    generation = preparation.generation_of(event)
    _look(wanted).claim(framework.owner(event), generation)
    return Done(data={"Generation": generation})


def remove(event: Event) -> Progress:
    """Drop the slot, as the role that reads it."""
    try:
        wanted = _request(event)
    except ResourceError:
        # A request that was refused has made nothing.
        return Done()
    with contextlib.ExitStack() as logged_in:
        secret = wanted["ownerSecretArn"] or wanted["connectorSecretArn"]
        return preparation.remove(
            event, _look(wanted), lambda: logged_in.enter_context(login(wanted, secret)), wanted["slot"]
        )


def _prepared(wanted: Mapping[str, Any], connector: Mapping[str, Any]) -> Plan:
    with login(wanted, wanted["ownerSecretArn"]) as owner:
        done, left = prepare(owner, objects(wanted), password=str(connector["password"]))
    for remark in done.remarks:
        _log.warning("%s: %s", wanted["pipeline"], remark)
    return left


def _looked(wanted: Mapping[str, Any], connector: Mapping[str, Any]) -> Plan:
    """See as the connector's role that nothing is left to do. Raises LoadError that says what."""
    with contextlib.closing(connect(connector)) as connection, connection.cursor() as cursor:
        found = plan(cursor, objects(wanted))
    lines = [*found.problems, *(f"not done: {step.purpose}" for step in found.steps)]
    if lines:
        name = wanted["pipeline"]
        raise LoadError(
            f"it isn't prepared: {'; '.join(lines)}: run `./lake source prepare {name} --dsn …`, then deploy again"
        )
    return found


def _check_user(wanted: Mapping[str, Any], connector: Mapping[str, Any]) -> None:
    """Raise ResourceError for a secret of another user than the connector logs in as."""
    if connector["user"] != wanted["role"]:
        raise ResourceError(
            f"the secret of pipeline {wanted['pipeline']} is of the user {connector['user']}, and its connector logs in"
            f" as {wanted['role']}: set `role` of the pipeline in the environment's file, or name another secret"
        )


def _look(wanted: Mapping[str, Any]) -> OutsideRecord:
    return outside_record.look(client(), wanted["record"])


def _request(event: Event) -> dict[str, Any]:
    return framework.request(event, required=_REQUEST, optional={"sqlHash": str})


_handler = Handler(start=start, settle=settle, remove=remove)
on_event = _handler.on_event
is_complete = _handler.is_complete
