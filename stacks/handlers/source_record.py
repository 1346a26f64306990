"""What the source's cluster says of its preparation, in tags: by whom, of which generation, and what the lake misses.

A tag of the cluster can be read when the database can't: a creation that never got in has left none, so its deletion
has nothing to do. It also outlives the schema, which `db.load --replace` makes anew. Not more than one tag per custom
resource: RDS takes 50 per cluster.
"""

import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from contract.source_tags import PREPARED_BY, RESNAPSHOT, prepared_by
from stacks.handlers import framework

if TYPE_CHECKING:
    from mypy_boto3_rds import RDSClient

VALUE_CHARACTERS = 256
_GONE = ("deleting", "deleted")


@dataclass(frozen=True, kw_only=True)
class Preparations:
    """Who has prepared a cluster: the generation of each, by its tag. `encrypted`: whether its storage is.

    `pipeline`: for which one, None for the outbox's, which had the cluster to itself.
    """

    rds: "RDSClient"
    arn: str
    identifier: str
    encrypted: bool
    generations: Mapping[str, str]
    pipeline: str | None = None

    def others(self, owner: str) -> list[str]:
        """The generations of those that aren't `owner`."""
        return [generation for tag, generation in self.generations.items() if tag != self.tag(owner)]

    def has(self, owner: str) -> bool:
        """Whether `owner` has prepared it and hasn't been deleted since."""
        return self.tag(owner) in self.generations

    def tag(self, owner: str) -> str:
        """Name the tag with `owner`'s entry."""
        return _prefix(self.pipeline) + framework.sha256_of(owner)[: framework.HASH_DIGITS]

    @property
    def generation(self) -> str | None:
        """The generation that all of them share; None when nobody has prepared the cluster."""
        return next(iter(self.generations.values()), None)

    def claim(self, owner: str, generation: str, *, missed: bool) -> None:
        """Enter `owner`; `missed` says that changes may have got lost before. Both in one call, so neither alone."""
        tags = {self.tag(owner): f"{self.identifier}/{generation}/{owner}"[:VALUE_CHARACTERS]}
        if missed:
            tags[RESNAPSHOT] = time.strftime("since %Y-%m-%dT%H:%M:%SZ", time.gmtime(framework.now()))
        self.rds.add_tags_to_resource(
            ResourceName=self.arn, Tags=[{"Key": key, "Value": value} for key, value in tags.items()]
        )

    def release(self, owner: str) -> None:
        """Take `owner`'s entry away; one that isn't there is no error."""
        self.rds.remove_tags_from_resource(ResourceName=self.arn, TagKeys=[self.tag(owner)])


def look(rds: "RDSClient", identifier: str, pipeline: str | None = None) -> Preparations | None:
    """Read a cluster's entries of a pipeline; None when it is gone, or going. A snapshot's origin's don't count."""
    try:
        found = rds.describe_db_clusters(DBClusterIdentifier=identifier)["DBClusters"]
    except rds.exceptions.DBClusterNotFoundFault:
        return None
    present = [cluster for cluster in found if cluster.get("Status") not in _GONE]
    if not present:
        return None
    arn = present[0]["DBClusterArn"]
    tags = rds.list_tags_for_resource(ResourceName=arn)["TagList"]
    entries = {tag["Key"]: tag["Value"].split("/") for tag in tags if tag["Key"].startswith(_prefix(pipeline))}
    own = {tag: parts[1] for tag, parts in entries.items() if parts[0] == identifier and len(parts) > 1}
    encrypted = bool(present[0].get("StorageEncrypted"))
    return Preparations(
        rds=rds, arn=arn, identifier=identifier, encrypted=encrypted, generations=own, pipeline=pipeline
    )


def _prefix(pipeline: str | None) -> str:
    return PREPARED_BY if pipeline is None else prepared_by(pipeline)
