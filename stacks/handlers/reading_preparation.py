"""Custom resource: a role that may read what a pipeline queries, made in its database or looked for.

Request: `host`, `port` (a number), `sslmode`, `certificate` (PEM, "" for none), `readerSecretArn`: the role's,
`ownerSecretArn`: of whoever may let it read, "" where a DBA has done so; `database`, `pipeline` (its name), `role`,
`tables` as of pipeline_preparation.py, `queries` (SQL by name), `seesWriters`: whether the role is to know who is
writing, and `sqlHash`. With an owner it makes the role, with SELECT on these tables and on what the queries read;
without one the role itself looks, on a standby, too, and each thing that it may not read is said in the failure.

Deleting leaves the role: it holds nothing, and its secret is gone.
"""

import contextlib
from collections.abc import Mapping
from typing import Any

import psycopg2

from db.connecting import connect
from db.errors import LaterError, LoadError, LoginError, UnreachableError, explain
from db.reading import ReadObjects, let_read, unreadable
from stacks.handlers import framework, preparation
from stacks.handlers.framework import Done, Event, Handler, Progress, ResourceError, Waiting
from stacks.handlers.outside_login import login
from stacks.handlers.pipeline_preparation import wanted_tables

_REQUEST = {
    "host": str,
    "port": int,
    "sslmode": str,
    "certificate": str,
    "readerSecretArn": str,
    "ownerSecretArn": str,
    "database": str,
    "pipeline": str,
    "role": str,
    "tables": list,
    "queries": dict,
    "seesWriters": bool,
}


def start(event: Event) -> dict[str, Any]:
    """Name it once and for all."""
    wanted = _request(event)
    objects(wanted)
    if event["RequestType"] == "Update":
        return {"PhysicalResourceId": event["PhysicalResourceId"]}
    return {"PhysicalResourceId": f"{wanted['pipeline']}/reader/{framework.sha256_of(event['RequestId'])[:8]}"}


def settle(event: Event) -> Progress:
    """Let the role read, or see that it may; what may pass is waited for."""
    wanted = _request(event)
    try:
        with login(wanted, wanted["readerSecretArn"]) as reader:
            _check_user(wanted, reader)
            if wanted["ownerSecretArn"]:
                with login(wanted, wanted["ownerSecretArn"]) as owner:
                    let_read(owner, objects(wanted), password=str(reader["password"]))
            _look(wanted, reader)
    except LoginError as error:
        return preparation.refused(error, whose="its secret")
    except (LaterError, UnreachableError) as error:
        return Waiting(f"{error}")
    except LoadError as error:
        raise ResourceError(f"pipeline {wanted['pipeline']}, database {wanted['database']}: {error}") from error
    return Done()


def remove(_event: Event) -> Progress:
    """Leave what is there."""
    return Done()


def _look(wanted: Mapping[str, Any], reader: Mapping[str, Any]) -> None:
    """See as the role that nothing is missing. Raises LoadError that says what is."""
    with contextlib.closing(connect(reader)) as connection, connection.cursor() as cursor:
        try:
            cursor.execute("SET search_path = pg_catalog")
            lines = unreadable(cursor, objects(wanted))
        except psycopg2.Error as error:
            raise LoadError(f"cannot read what the database has: {explain(error)}") from error
    if lines:
        raise LoadError(f"it can't be queried: {'; '.join(lines)}; then deploy again")


def _check_user(wanted: Mapping[str, Any], reader: Mapping[str, Any]) -> None:
    """Raise ResourceError for a secret of another user than the role."""
    if reader["user"] != wanted["role"]:
        raise ResourceError(
            f"the secret of pipeline {wanted['pipeline']} is of the user {reader['user']}, and its job reads as"
            f" {wanted['role']}: set `role` of the pipeline in the environment's file, or name another secret"
        )


def objects(wanted: Mapping[str, Any]) -> ReadObjects:
    """Return what a request wants to be read. Raises ResourceError."""
    return ReadObjects(
        role=wanted["role"],
        tables=wanted_tables(wanted["tables"]),
        queries={str(name): str(query) for name, query in wanted["queries"].items()},
        sees_writers=wanted["seesWriters"],
    )


def _request(event: Event) -> dict[str, Any]:
    return framework.request(event, required=_REQUEST, optional={"sqlHash": str})


_handler = Handler(start=start, settle=settle, remove=remove)
on_event = _handler.on_event
is_complete = _handler.is_complete
