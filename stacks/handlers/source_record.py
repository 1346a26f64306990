"""What the source's cluster says of its preparation, in tags: by whom, of which generation, and what the lake misses.

A tag of the cluster can be read when the database can't: a creation that never got in has left none, so its deletion
has nothing to do. It also outlives the schema, which `db.load --replace` makes anew. Not more than one tag per custom
resource: RDS takes 50 per cluster.
"""

import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from contract.source_tags import PREPARED_BY, RESNAPSHOT
from stacks.handlers import framework

if TYPE_CHECKING:
    from mypy_boto3_rds import RDSClient

VALUE_CHARACTERS = 256
_GONE = ("deleting", "deleted")


@dataclass(frozen=True, kw_only=True)
class Preparations:
    """Who has prepared a cluster: the generation of each, by its tag. `encrypted`: whether its storage is."""

    arn: str
    identifier: str
    encrypted: bool
    generations: Mapping[str, str]

    def others(self, owner: str) -> list[str]:
        """The generations of those that aren't `owner`."""
        return [generation for tag, generation in self.generations.items() if tag != _tag(owner)]

    def has(self, owner: str) -> bool:
        """Whether `owner` has prepared it and hasn't been deleted since."""
        return _tag(owner) in self.generations

    @property
    def generation(self) -> str | None:
        """The generation that all of them share; None when nobody has prepared the cluster."""
        return next(iter(self.generations.values()), None)


def look(rds: "RDSClient", identifier: str) -> Preparations | None:
    """Read a cluster's entries; None when it is gone, or going. Those that a snapshot brought along don't count."""
    try:
        found = rds.describe_db_clusters(DBClusterIdentifier=identifier)["DBClusters"]
    except rds.exceptions.DBClusterNotFoundFault:
        return None
    present = [cluster for cluster in found if cluster.get("Status") not in _GONE]
    if not present:
        return None
    arn = present[0]["DBClusterArn"]
    tags = rds.list_tags_for_resource(ResourceName=arn)["TagList"]
    entries = {tag["Key"]: tag["Value"].split("/") for tag in tags if tag["Key"].startswith(PREPARED_BY)}
    own = {tag: parts[1] for tag, parts in entries.items() if parts[0] == identifier and len(parts) > 1}
    encrypted = bool(present[0].get("StorageEncrypted"))
    return Preparations(arn=arn, identifier=identifier, encrypted=encrypted, generations=own)


def claim(rds: "RDSClient", found: Preparations, owner: str, generation: str, *, missed: bool) -> None:
    """Enter `owner`; `missed` says that changes may have got lost before. Both in one call, so neither without it."""
    value = f"{found.identifier}/{generation}/{owner}"[:VALUE_CHARACTERS]
    tags = {_tag(owner): value}
    if missed:
        tags[RESNAPSHOT] = time.strftime("since %Y-%m-%dT%H:%M:%SZ", time.gmtime(framework.now()))
    rds.add_tags_to_resource(ResourceName=found.arn, Tags=[{"Key": key, "Value": value} for key, value in tags.items()])


def release(rds: "RDSClient", found: Preparations, owner: str) -> None:
    """Take `owner`'s entry away; one that isn't there is no error."""
    rds.remove_tags_from_resource(ResourceName=found.arn, TagKeys=[_tag(owner)])


def _tag(owner: str) -> str:
    return PREPARED_BY + framework.sha256_of(owner)[: framework.HASH_DIGITS]
