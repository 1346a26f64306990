"""The base of every section of a settings file: no unknown keys, no silent conversions, values of known shapes."""

from collections.abc import Collection, Mapping
from ipaddress import IPv4Network
from typing import Annotated, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field

LogRetention = Literal[1, 3, 5, 7, 14, 30, 60, 90, 120, 150, 180, 365, 400, 545, 731, 1827, 3653]


class Section(BaseModel):
    """A table of the file: no unknown keys, no silent conversions, immutable."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)


def one_of(known: Collection[str], what: str = "one of", refused: Mapping[str, str] | None = None) -> AfterValidator:
    """Refuse a value that AWS doesn't offer; `what` describes the known ones. `refused`: reasons of ours."""

    def checked(value: str) -> str:
        if reason := (refused or {}).get(value):
            raise ValueError(f"{value!r} {reason}: set {' or '.join(known)}")
        if value not in known:
            raise ValueError(f"{value!r} isn't {what}{'' if what.endswith('one of') else ':'} {', '.join(known)}")
        return value

    return AfterValidator(checked)


def _each_once(values: tuple[str, ...]) -> tuple[str, ...]:
    for value in sorted({value for value in values if values.count(value) > 1}):
        raise ValueError(f"{value!r} is given twice")
    return values


EACH_ONCE = AfterValidator(_each_once)


def _some(values: tuple[object, ...]) -> tuple[object, ...]:
    if not values:
        raise ValueError("is empty: name one or more")
    return values


# Unlike pydantic's min_length it says nothing of a list whose entries are wrong.
NOT_EMPTY = AfterValidator(_some)


def _network(value: str) -> str:
    IPv4Network(value)
    if "/" not in value:
        raise ValueError(f"{value} has no prefix length: write {value}/32 for one address")
    return value


Cidr = Annotated[str, AfterValidator(_network)]
# TOML's arrays arrive as lists.
Names = Annotated[tuple[str, ...], Field(strict=False)]
# Of a role or a user.
AwsArns = Annotated[
    tuple[Annotated[str, Field(pattern=r"^arn:aws[a-z-]*:iam::[0-9]{12}:(role|user)/[A-Za-z0-9_+=,.@/-]+$")], ...],
    Field(strict=False),
]
RetentionHours = Annotated[int, Field(ge=1, le=10 * 365 * 24)]
Cidrs = Annotated[tuple[Cidr, ...], Field(strict=False)]
# Valid for SoftEther, Secrets Manager, and as a word in a shell.
VpnUser = Annotated[str, Field(pattern=r"^[a-z][a-z0-9]*([._][a-z0-9]+)*$", max_length=31)]
Identifier = Annotated[str, Field(pattern=r"^[a-z_][a-z0-9_]{0,62}$")]
TopicPrefix = Annotated[str, Field(pattern=r"^[A-Za-z0-9_-][A-Za-z0-9._-]{0,199}$")]
# Spark's, in GiB or MiB.
Memory = Annotated[str, Field(pattern=r"^[1-9][0-9]{0,5}[gm]$")]
