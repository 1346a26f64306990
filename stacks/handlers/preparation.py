"""Custom resource: prepares a pipeline's database from inside its VPC, with the loader's own code.

There are four requests, each with `database` and `sqlHash`, which only has to differ when the code that runs in the
database does. For the environment's own cluster they have `clusterIdentifier`, `masterSecret` and `connectorSecret`
(ARNs):
- the outbox's: `slot`, `sampleData`, `sampleScale` and, for a restored cluster with another password,
  `setMasterPassword`. The sample is loaded, or existing data migrated in place; `Loaded` is the number of orders.
- a pipeline's: its name `pipeline`, `schema` (ours there), `publication`, `slot`, `role`, and `tables`: objects with
  `schema`, `name`, `key`, `leaveOut`, `hash` and, like `sqlHash`, `schemaHash`. The role gets its password and its
  rights, and exactly these tables are published. Of the owner's objects, only an insufficient replica identity is
  changed.

For any server they have `host`, `port` (a number), `sslmode`, `certificate` (PEM, "" for none), and `ownerSecretArn`:
the secret of a user who may prepare the database, or "". Without it nothing is changed there: the role checks that
everything has been done, and the failure lists what hasn't.
- a pipeline's on an external database: as above, with `connectorSecretArn` and `record`, a path of Systems Manager.
- a query-based one's: `pipeline`, `readerSecretArn`, `role`, `tables`, `queries` (SQL by name), and `seesWriters`:
  whether the role must see who is writing. The role gets SELECT on these tables and on what the queries read.

Attribute of all but the last: `Generation`, which changes whenever the database is prepared for a new life: earlier
offsets are worthless, since their slot is gone (preparation_record.py). A deletion drops the pipeline's slot, which
would fill the disk, and leaves the rest.
"""

import contextlib
import json
import logging
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from db import loading
from db.connecting import LaterError, LoadError, LoginError, NewerError, UnreachableError, transaction, value
from db.loading import LoadOptions
from db.log_in import of_secret
from db.migrating import UnfinishedError
from db.source import plan as source_preparing
from db.source.objects import SourceObjects, WantedTable
from db.source.publication import was_read
from db.source.reading import ReadObjects, grant_reader, missing_privileges
from db.source.replication import drop_slot
from stacks.handlers import framework, journal, preparation_record
from stacks.handlers.framework import Done, Event, Progress, ResourceError, Waiting, client
from stacks.handlers.preparation_record import Record

_CLUSTER = {"clusterIdentifier": str, "masterSecret": str, "connectorSecret": str, "database": str}
_SERVER = {"host": str, "port": int, "sslmode": str, "certificate": str, "ownerSecretArn": str, "database": str}
_TABLES = {"pipeline": str, "role": str, "tables": list}
_CAPTURED = {**_TABLES, "schema": str, "publication": str, "slot": str}
# By an identifying key; the first match counts.
_REQUESTS: dict[str, dict[str, type]] = {
    "sampleData": {**_CLUSTER, "slot": str, "sampleData": bool, "sampleScale": int},
    "readerSecretArn": {**_SERVER, **_TABLES, "readerSecretArn": str, "queries": dict, "seesWriters": bool},
    "host": {**_SERVER, **_CAPTURED, "connectorSecretArn": str, "record": str},
    "clusterIdentifier": {**_CLUSTER, **_CAPTURED},
}
GENERATION_DIGITS = 8
_READING = "what the database has is only read"
_READER = "SELECT active_pid FROM pg_replication_slots WHERE slot_name = %s"
# A call that begins at the framework's deadline must end within CloudFormation's; the next one refreshes the rest.
REFRESH_S = 120.0
_log = logging.getLogger(__name__)
_log.setLevel(logging.INFO)


def start(event: Event) -> str:
    """Choose a permanent id: if it changed in an update, CloudFormation would delete the old resource and its slot.

    Raises ResourceError if an update moves an external database: its old server would keep the slot. Within our own
    cluster the slot itself shows that (db/source/plan.py).
    """
    wanted = _request(event)
    wanted_tables(wanted.get("tables", ()))
    name = wanted.get("pipeline") or wanted["database"]
    server = wanted.get("clusterIdentifier") or f"{wanted['host']}:{wanted['port']}/{wanted['database']}"
    if event["RequestType"] == "Update":
        known = str(event["PhysicalResourceId"])
        # In a rollback OldResourceProperties are the refused ones.
        if "record" in wanted and (before := known.rsplit("/", 3)[0]) != server:
            raise ResourceError(
                f"pipeline {name}: its database can't move from {before} to {server}: the slot would stay there and"
                " fill the disk, and offsets mean nothing on another server; remove the pipeline and deploy, which"
                " drops the slot, add it again with the new server and deploy, then run"
                f" `./lake resnapshot -e ENV -p {name}`"
            )
        return known
    # A renamed resource inherits its predecessor's generation: slot and offsets are still the same.
    found = _record(wanted)
    generation = (found and found.generation) or framework.sha256_of(event["RequestId"])[:GENERATION_DIGITS]
    if "readerSecretArn" in wanted:
        return f"{name}/reader/{generation}"
    return f"{server}/{name}/prepared/{generation}"


def settle(event: Event) -> Progress:
    """Do what isn't done yet, or check that nothing is left. Wait for tables in use and an unreachable database."""
    wanted = _request(event)
    try:
        if "readerSecretArn" in wanted:
            _let_read(event, wanted)
            return Done()
        loaded = _load(wanted) if "sampleData" in wanted else None
        if loaded is None:
            _prepare(event, wanted)
        found_prepared = _was_read(wanted) if loaded is None else not loaded
    except LoginError as error:
        if wanted.get("setMasterPassword"):
            _set_password(wanted)
        return _wait_for_password(error, wanted)
    except LaterError as error:
        return Waiting(str(error), progressed=isinstance(error, UnfinishedError))
    except LoadError as error:
        place = wanted["host"] if "record" in wanted else f"database {wanted['database']}"
        where = "" if "sampleData" in wanted else f"pipeline {wanted['pipeline']}, {place}: "
        raise ResourceError(f"{where}{error}") from error
    generation = str(event["PhysicalResourceId"].rpartition("/")[2])
    # If the database was prepared before but had no owner since, its changes may not have been captured.
    _enter(event, wanted, generation, found_prepared=found_prepared)
    return Done(data={"Generation": generation, **({"Loaded": 0} | loaded if loaded is not None else {})})


def remove(event: Event) -> Progress:
    """Drop the slot: nothing will read it, and it would fill the disk with write-ahead log.

    A deleted database has no slot; an unreachable one still does. If two resources share a database, because one was
    renamed, the last one drops the slot.
    """
    wanted, owner = framework.if_accepted(lambda: _request(event)), framework.owner(event)
    found = _record(wanted) if wanted else None
    if wanted is None or found is None or not found.has(owner):
        return Done()
    if not found.others(owner) and (left := _drop_slot(wanted)) is not None:
        return left
    found.release(owner)
    return Done()


def wanted_tables(entries: Iterable[Mapping[str, Any]]) -> tuple[WantedTable, ...]:
    """Return a request's tables. Raises ResourceError. Requests of earlier releases have no `hash`."""
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


def _load(wanted: Mapping[str, Any]) -> dict[str, int]:
    """Load the outbox, or migrate an existing one and renew the connector role's password; {} if it existed.

    A newer outbox stays unchanged: failing here would fail a rollback, which runs the older code.
    """
    found = _record(wanted)
    if wanted.get("setMasterPassword") and found is not None and not found.encrypted:
        # A template can't tell whether the restored origin is encrypted.
        raise ResourceError(
            f"the restored cluster {wanted['clusterIdentifier']} isn't encrypted, as what it was restored from isn't:"
            " copy the snapshot with a key, and restore the copy"
        )
    options = LoadOptions(
        connector_password=str(of_secret(wanted["roleSecret"])["password"]),
        scale=wanted["sampleScale"] if wanted["sampleData"] else 1,
        empty=not wanted["sampleData"],
    )
    try:
        with _login(wanted, wanted["ownerSecret"]) as master:
            report = loading.prepare(master, options, refresh_s=REFRESH_S)
    except NewerError as error:
        _log.warning("%s: %s", wanted["database"], error)
        return {}
    if report is None:
        _log.info("%s is prepared already: sample data and scale no longer count", wanted["database"])
        return {}
    return {"Loaded": report.events}


def _prepare(event: Event, wanted: Mapping[str, Any]) -> None:
    """Do what the plan for a connector still lists, or check as its role that it is done. Raises LoadError."""
    objects = SourceObjects(
        publication=wanted["publication"],
        slot=wanted["slot"],
        schema=wanted["schema"],
        role=wanted["role"],
        tables=wanted_tables(wanted["tables"]),
    )
    if (found := _record(wanted)) and not found.generations:
        _check_unread(wanted)
    with _login(wanted, wanted["roleSecret"]) as connector:
        _check_user(wanted, connector, "connector logs in")
        if secret := wanted["ownerSecret"]:
            with _login(wanted, secret) as owner:
                done, left = source_preparing.prepare(
                    owner, objects, password=str(connector["password"]), check=lambda: journal.check(event)
                )
            remarks = [*done.remarks, *left.remarks, *left.problems]
        else:
            with transaction(connector, failing=_READING) as cursor:
                left = source_preparing.plan(cursor, objects)
            if lines := [*left.problems, *(f"not done: {step.purpose}" for step in left.steps)]:
                command = f"./lake source prepare {wanted['pipeline']} --dsn …"
                raise LoadError(f"it isn't prepared: {'; '.join(lines)}: run `{command}`, then deploy again")
            remarks = [*left.remarks]
    for remark in remarks:
        _log.warning("%s: %s", wanted["pipeline"], remark)


def _check_unread(wanted: Mapping[str, Any]) -> None:
    """Raise ResourceError if a slot that isn't this environment's is being read: its rollback would drop it."""
    secret = wanted["ownerSecret"] or wanted["roleSecret"]
    with _login(wanted, secret) as login, transaction(login, failing=_READING) as cursor:
        reader = value(cursor, _READER, [wanted["slot"]])
    if reader is not None:
        raise ResourceError(
            f"pipeline {wanted['pipeline']}: process {reader} reads the slot {wanted['slot']} already, of another"
            " environment or machine: end it there, or capture by a pipeline of another name"
        )


def _was_read(wanted: Mapping[str, Any]) -> bool:
    """Whether a connector of this pipeline has read the database before. Raises LoadError."""
    # A secret for our own cluster's connector has no address.
    secret = wanted["ownerSecret" if "clusterIdentifier" in wanted else "roleSecret"]
    with _login(wanted, secret) as login, transaction(login, failing=_READING) as cursor:
        return was_read(cursor, wanted["schema"])


def _let_read(event: Event, wanted: Mapping[str, Any]) -> None:
    """Grant reading with the owner's secret, if any, then check the rights, also on a standby. Raises LoadError."""
    objects = ReadObjects(
        role=wanted["role"],
        tables=wanted_tables(wanted["tables"]),
        queries={str(name): str(query) for name, query in wanted["queries"].items()},
        sees_writers=wanted["seesWriters"],
    )
    with _login(wanted, wanted["roleSecret"]) as reader:
        _check_user(wanted, reader, "job reads")
        if secret := wanted["ownerSecret"]:
            with _login(wanted, secret) as owner:
                grant_reader(owner, objects, password=str(reader["password"]), check=lambda: journal.check(event))
        with transaction(reader, failing=_READING) as cursor:
            lines = missing_privileges(cursor, objects)
    if lines:
        raise LoadError(f"it can't be queried: {'; '.join(lines)}; then deploy again")


def _drop_slot(wanted: Mapping[str, Any]) -> Waiting | None:
    try:
        with _login(wanted, wanted["ownerSecret"] or wanted["roleSecret"]) as parameters:
            gone = drop_slot(parameters, wanted["slot"])
    except LoginError as error:
        return _wait_for_password(error, wanted)
    except UnreachableError as error:
        return Waiting(f"{error}: start the database, or delete the stack and retain this resource")
    except LoadError as error:
        raise ResourceError(str(error)) from error
    return None if gone else Waiting(f"the replication slot {wanted['slot']} is in use: delete its connector first")


@contextlib.contextmanager
def _login(wanted: Mapping[str, Any], secret: str) -> Iterator[dict[str, Any]]:
    """Yield a secret's login parameters; libpq reads certificates only from files. Raises LoadError."""
    found: dict[str, Any] = dict(of_secret(secret))
    if "clusterIdentifier" in wanted:
        yield found | {"dbname": wanted["database"]}
        return
    parameters = {key: value for key, value in found.items() if key in ("user", "password")}
    parameters |= {key: wanted[key] for key in ("host", "port", "sslmode")} | {"dbname": wanted["database"]}
    with tempfile.TemporaryDirectory() as folder:
        if wanted["certificate"]:
            root = Path(folder, "root.pem")
            root.write_text(wanted["certificate"], encoding="ascii")
            parameters["sslrootcert"] = str(root)
        yield parameters


def _check_user(wanted: Mapping[str, Any], login: Mapping[str, Any], what_it_does: str) -> None:
    """Raise ResourceError if an external database's secret is for another user than the pipeline's role."""
    if "host" in wanted and login["user"] != wanted["role"]:
        raise ResourceError(
            f"the secret of pipeline {wanted['pipeline']} is of the user {login['user']}, and its {what_it_does} as"
            f" {wanted['role']}: set `role` of the pipeline in the environment's file, or name another secret"
        )


def _set_password(wanted: Mapping[str, Any]) -> None:
    """Set the master's password from the secret: a restored cluster still has its origin's."""
    rds = client("rds")
    try:
        rds.modify_db_cluster(
            DBClusterIdentifier=wanted["clusterIdentifier"],
            MasterUserPassword=str(of_secret(wanted["ownerSecret"])["password"]),
            ApplyImmediately=True,
        )
    except (rds.exceptions.InvalidDBClusterStateFault, UnreachableError) as error:
        # The cluster is being changed, or its secret is out of reach; the next call tries again.
        _log.info("%s: %s", wanted["clusterIdentifier"], error)


def _wait_for_password(error: LoginError, wanted: Mapping[str, Any]) -> Waiting:
    """Secrets Manager changes the password in the database first, and in the secret some seconds later.

    The next call reads the secret again. "Rotation by Lambda function" of its user guide: set_secret, test_secret, and
    only finish_secret makes the new one AWSCURRENT.
    """
    whose = "the master's secret" if "clusterIdentifier" in wanted else "its secret"
    return Waiting(f"{error}: {whose} says another password than the database has, or is being rotated")


def _enter(event: Event, wanted: Mapping[str, Any], generation: str, *, found_prepared: bool) -> None:
    """Record this resource as a preparation of the database."""
    found, owner = _record(wanted), framework.owner(event)
    if found is None:
        raise ResourceError(f"the cluster {wanted['clusterIdentifier']} is being deleted")
    begins = not found.others(owner)
    if event["RequestType"] == "Update":
        # For another cluster than before: a restored one, unless a rollback returns to the first.
        old = json.loads(event.get("OldResourceProperties", event["ResourceProperties"])["Request"])
        begins = old.get("clusterIdentifier") != wanted.get("clusterIdentifier") and not found.has(owner)
    found.claim(owner, generation, missed=found_prepared and begins)


def _record(wanted: Mapping[str, Any]) -> Record | None:
    """Read who has prepared the database; None if it is gone, or for a role that only reads, which needs no record."""
    if "readerSecretArn" in wanted:
        return None
    if "clusterIdentifier" in wanted:
        return preparation_record.tags(wanted["clusterIdentifier"], wanted.get("pipeline"))
    return preparation_record.parameters(wanted["record"])


def _request(event: Event) -> dict[str, Any]:
    given = framework.as_object(event)
    required = next((keys for key, keys in _REQUESTS.items() if key in given), _REQUESTS["clusterIdentifier"])
    wanted = framework.request(event, required=required, optional={"sqlHash": str, "setMasterPassword": bool})
    roles = ("connectorSecret", "connectorSecretArn", "readerSecretArn")
    return wanted | {
        # A user who may prepare the database; empty if a DBA does.
        "ownerSecret": wanted.get("masterSecret") or wanted.get("ownerSecretArn", ""),
        "roleSecret": next((wanted[key] for key in roles if key in wanted), ""),
    }


# The journal keeps the waiter of a cancelled update from restoring its publication and rights after the rollback.
on_event, is_complete = journal.handler(start=start, settle=settle, remove=remove).functions
