"""Records who has prepared a database, each with the generation of its slot and offsets, outside that database.

It is readable when the database isn't: a creation that never connected has left no entry, so its deletion has nothing
to do. It also outlives the schema, which `./lake source load --replace` recreates. Our own cluster holds it in tags, at
most one per custom resource (RDS allows 50 per cluster); for an external database it is in Systems Manager parameters
below a path.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from contract.tags import PREPARED_BY, RESNAPSHOT, missed_in, prepared_by, resnapshot, since
from stacks.handlers import framework
from stacks.handlers.framework import client

TAG_CHARACTERS = 256
_GONE = ("deleting", "deleted")


@dataclass(frozen=True, kw_only=True)
class _Entries:
    """The generations of the resources that have prepared the database, by entry name, which begins with `prefix`."""

    prefix: str
    generations: Mapping[str, str]

    @property
    def generation(self) -> str | None:
        """The generation that all of them share; None if none has prepared the database."""
        return next(iter(self.generations.values()), None)

    def has(self, owner: str) -> bool:
        """Whether `owner` has prepared it and hasn't been deleted since."""
        return self.entry(owner) in self.generations

    def others(self, owner: str) -> list[str]:
        return [generation for name, generation in self.generations.items() if name != self.entry(owner)]

    def entry(self, owner: str) -> str:
        return self.prefix + framework.sha256_of(owner)[: framework.HASH_DIGITS]


@dataclass(frozen=True, kw_only=True)
class Tags(_Entries):
    """Entries of our own cluster. `encrypted`: whether its storage is; `missing`: the tag for missed changes."""

    arn: str
    missing: str
    identifier: str
    encrypted: bool

    def claim(self, owner: str, generation: str, *, missed: bool) -> None:
        """Enter `owner`; `missed`: changes may have been lost before."""
        # One call, so that neither tag exists without the other.
        tags = {self.entry(owner): f"{self.identifier}/{generation}/{owner}"[:TAG_CHARACTERS]}
        if missed:
            tags[self.missing] = since(framework.now())
        client("rds").add_tags_to_resource(
            ResourceName=self.arn, Tags=[{"Key": key, "Value": value} for key, value in tags.items()]
        )

    def release(self, owner: str) -> None:
        """Remove `owner`'s entry, if it exists."""
        client("rds").remove_tags_from_resource(ResourceName=self.arn, TagKeys=[self.entry(owner)])


@dataclass(frozen=True, kw_only=True)
class Parameters(_Entries):
    """Entries of an external database. `missing`: what one of them says of missed changes, "" for none."""

    missing: str

    def claim(self, owner: str, generation: str, *, missed: bool) -> None:
        said = [told] if (told := since(framework.now()) if missed else self.missing) else []
        value = "/".join([generation, owner, *said])
        client("ssm").put_parameter(Name=self.entry(owner), Value=value, Type="String", Overwrite=True)

    def release(self, owner: str) -> None:
        client("ssm").delete_parameters(Names=[self.entry(owner)])


Record = Tags | Parameters


def tags(identifier: str, pipeline: str | None) -> Tags | None:
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
    encrypted = bool(present[0].get("StorageEncrypted"))
    return Tags(prefix=prefix, generations=own, arn=arn, identifier=identifier, encrypted=encrypted, missing=missing)


def parameters(path: str) -> Parameters:
    pages = client("ssm").get_paginator("get_parameters_by_path").paginate(Path=path)
    found = [parameter for page in pages for parameter in page["Parameters"]]
    generations = {parameter["Name"]: parameter["Value"].partition("/")[0] for parameter in found}
    missing = max((missed_in(parameter["Value"]) for parameter in found), default="")
    return Parameters(prefix=f"{path}/", generations=generations, missing=missing)
