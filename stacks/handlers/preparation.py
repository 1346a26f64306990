"""What the custom resources that prepare a database share: their ids, and what becomes of the slot at the end.

Who has prepared a database is in a record outside of it (source_record.py, outside_record.py): it can be read when the
database can't, so a creation that never got in has nothing to delete.
"""

import functools
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Protocol

import boto3

from db.errors import LoadError, LoginError, UnreachableError
from db.secret import connection_parameters
from db.slots import drop_slot
from stacks.handlers import framework
from stacks.handlers.framework import Done, Event, Progress, ResourceError, Waiting

if TYPE_CHECKING:
    from mypy_boto3_rds import RDSClient

GENERATION_DIGITS = 8


class Record(Protocol):
    """Who has prepared a database, each with the generation of its slot and offsets."""

    @property
    def generation(self) -> str | None:
        """The generation that all of them share; None when nobody has prepared it."""

    def has(self, owner: str) -> bool:
        """Whether `owner` has prepared it and hasn't been deleted since."""

    def others(self, owner: str) -> list[str]:
        """The generations of those that aren't `owner`."""

    def release(self, owner: str) -> None:
        """Take `owner`'s entry away; one that isn't there is no error."""


@functools.cache
def client() -> "RDSClient":
    """RDS, once per Lambda environment."""
    return boto3.client("rds", config=framework.CLIENT_CONFIG)


def start(event: Event, place: str, found: Callable[[], Record | None]) -> dict[str, Any]:
    """Name it once and for all: another name on update would make CloudFormation delete the old one, slot and all.

    `place` says which database, and whose part of it.
    """
    if event["RequestType"] == "Update":
        return {"PhysicalResourceId": event["PhysicalResourceId"]}
    record = found()
    # A renamed resource goes on where the one before it is: slot and offsets are still that one's.
    generation = record.generation if record else None
    generation = generation or framework.sha256_of(event["RequestId"])[:GENERATION_DIGITS]
    return {"PhysicalResourceId": f"{place}/prepared/{generation}"}


def generation_of(event: Event) -> str:
    """Return the generation that the resource was named with."""
    return str(event["PhysicalResourceId"].rpartition("/")[2])


def remove(event: Event, found: Record | None, login: Callable[[], Mapping[str, Any]], slot: str) -> Progress:
    """Drop the slot: nobody will read it, and it would go on filling the disk with write-ahead log.

    A database that is gone (`found` None) has none; one that is only out of reach still has. Of two resources that
    share a database, because one was renamed, the last one drops it.
    """
    owner = framework.owner(event)
    if found is None or not found.has(owner):
        return Done()
    if not found.others(owner):
        try:
            gone = drop_slot(login(), slot)
        except LoginError as error:
            return refused(error)
        except UnreachableError as error:
            return Waiting(f"{error}: start the database, or delete the stack and retain this resource")
        except LoadError as error:
            raise ResourceError(str(error)) from error
        if not gone:
            return Waiting(f"the replication slot {slot} is in use: delete its connector first")
    found.release(owner)
    return Done()


def refused(error: LoginError, *, whose: str = "the master's secret") -> Waiting:
    """Secrets Manager changes the password in the database first and in the secret some seconds later.

    The next call reads the secret anew. "Rotation by Lambda function" of its user guide: set_secret, test_secret, and
    only finish_secret makes the new one AWSCURRENT.
    """
    return Waiting(f"{error}: {whose} says another password than the database has, or is being rotated")


def master(wanted: Mapping[str, Any]) -> dict[str, str | int]:
    """Return how the cluster's master logs in to the database that is asked for. Raises LoadError."""
    return connection_parameters(wanted["masterSecret"]) | {"dbname": wanted["database"]}
