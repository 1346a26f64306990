"""Who has prepared a database that the stacks didn't make: parameters of Systems Manager, one per custom resource.

Such a database has no tags of ours, and what is in it can't be read when it is out of reach. A parameter's name is
`<path>/<hash of the owner>`, its value the generation of slot and offsets, and whose it is.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from stacks.handlers import framework

if TYPE_CHECKING:
    from mypy_boto3_ssm import SSMClient


@dataclass(frozen=True, kw_only=True)
class OutsideRecord:
    """The entries below a path: the generation of each, by its parameter's name."""

    ssm: "SSMClient"
    path: str
    generations: Mapping[str, str]

    @property
    def generation(self) -> str | None:
        """The generation that all of them share; None when nobody has prepared the database."""
        return next(iter(self.generations.values()), None)

    def has(self, owner: str) -> bool:
        """Whether `owner` has prepared it and hasn't been deleted since."""
        return self._name(owner) in self.generations

    def others(self, owner: str) -> list[str]:
        """The generations of those that aren't `owner`."""
        return [generation for name, generation in self.generations.items() if name != self._name(owner)]

    def claim(self, owner: str, generation: str) -> None:
        """Enter `owner`."""
        self.ssm.put_parameter(Name=self._name(owner), Value=f"{generation}/{owner}", Type="String", Overwrite=True)

    def release(self, owner: str) -> None:
        """Take `owner`'s entry away; one that isn't there is no error."""
        self.ssm.delete_parameters(Names=[self._name(owner)])

    def _name(self, owner: str) -> str:
        return f"{self.path}/{framework.sha256_of(owner)[: framework.HASH_DIGITS]}"


def look(ssm: "SSMClient", path: str) -> OutsideRecord:
    """Read the entries below a path."""
    pages = ssm.get_paginator("get_parameters_by_path").paginate(Path=path)
    found = [parameter for page in pages for parameter in page["Parameters"]]
    generations = {parameter["Name"]: parameter["Value"].partition("/")[0] for parameter in found}
    return OutsideRecord(ssm=ssm, path=path, generations=generations)
