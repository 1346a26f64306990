"""Records who has prepared a database, each with the generation of its slot and offsets, outside that database.

It is readable when the database isn't: a creation that never connected has left no entry, so its deletion has nothing
to do. It also outlives the schema, which `./lake source load --replace` recreates. Our own cluster holds it in tags, at
most one per custom resource (RDS allows 50 per cluster); for an external database it is in Systems Manager parameters
below a path.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from contract.tags import PREPARED_BY, RESNAPSHOT, missed_in, prepared_by, resnapshot, since
from stacks.handlers import framework
from stacks.handlers.framework import client

TAG_CHARACTERS = 256
_GONE = ("deleting", "deleted")


@dataclass(frozen=True, kw_only=True)
class Record:
    """The generations of the resources that have prepared the database, by entry name, which begins with `prefix`.

    `write` gets an entry's name, generation, owner, and since when changes may have been lost ("": none were); `remove`
    gets the name. `encrypted`: whether our own cluster's storage is.
    """

    prefix: str
    generations: Mapping[str, str]
    write: Callable[[str, str, str, str], object]
    remove: Callable[[str], object]
    encrypted: bool = True

    @property
    def generation(self) -> str | None:
        """The generation that all of them share; None if none has prepared the database."""
        return next(iter(self.generations.values()), None)

    def has(self, owner: str) -> bool:
        """Whether `owner` has prepared it and hasn't been deleted since."""
        return self._entry(owner) in self.generations

    def others(self, owner: str) -> list[str]:
        return [generation for name, generation in self.generations.items() if name != self._entry(owner)]

    def claim(self, owner: str, generation: str, *, missed: bool) -> None:
        """Enter `owner`; `missed`: changes may have been lost before."""
        self.write(self._entry(owner), generation, owner, since(framework.now()) if missed else "")

    def release(self, owner: str) -> None:
        """Remove `owner`'s entry, if it exists."""
        self.remove(self._entry(owner))

    def _entry(self, owner: str) -> str:
        return self.prefix + framework.sha256_of(owner)[: framework.HASH_DIGITS]


def tags(identifier: str, pipeline: str | None) -> Record | None:
    """Read a cluster's entries of a pipeline, or of the outbox (None); None if the cluster is gone, or going.

    Entries that a snapshot brought from another cluster don't count.
    """
    rds, prefix = client("rds"), PREPARED_BY if pipeline is None else prepared_by(pipeline)
    missing = RESNAPSHOT if pipeline is None else resnapshot(pipeline)
    try:
        found = rds.describe_db_clusters(DBClusterIdentifier=identifier)["DBClusters"]
    except rds.exceptions.DBClusterNotFoundFault:
        return None
    present = [cluster for cluster in found if cluster.get("Status") not in _GONE]
    if not present:
        return None
    arn = present[0]["DBClusterArn"]
    listed = rds.list_tags_for_resource(ResourceName=arn)["TagList"]
    entries = {tag["Key"]: tag["Value"].split("/") for tag in listed if tag["Key"].startswith(prefix)}
    own = {tag: parts[1] for tag, parts in entries.items() if parts[0] == identifier and len(parts) > 1}

    def write(entry: str, generation: str, owner: str, lost: str) -> None:
        # One call, so that neither tag exists without the other.
        tags = {entry: f"{identifier}/{generation}/{owner}"[:TAG_CHARACTERS], **({missing: lost} if lost else {})}
        rds.add_tags_to_resource(ResourceName=arn, Tags=[{"Key": key, "Value": value} for key, value in tags.items()])

    return Record(
        prefix=prefix,
        generations=own,
        write=write,
        remove=lambda entry: rds.remove_tags_from_resource(ResourceName=arn, TagKeys=[entry]),
        encrypted=bool(present[0].get("StorageEncrypted")),
    )


def parameters(path: str) -> Record:
    """Read an external database's entries; one of them may say that changes were lost, and keeps saying so."""
    ssm = client("ssm")
    pages = ssm.get_paginator("get_parameters_by_path").paginate(Path=path)
    found = [parameter for page in pages for parameter in page["Parameters"]]
    generations = {parameter["Name"]: parameter["Value"].partition("/")[0] for parameter in found}
    missing = max((missed_in(parameter["Value"]) for parameter in found), default="")

    def write(entry: str, generation: str, owner: str, lost: str) -> None:
        value = "/".join(filter(None, (generation, owner, lost or missing)))
        ssm.put_parameter(Name=entry, Value=value, Type="String", Overwrite=True)

    return Record(
        prefix=f"{path}/",
        generations=generations,
        write=write,
        remove=lambda entry: ssm.delete_parameters(Names=[entry]),
    )
