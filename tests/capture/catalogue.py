"""Types as the catalogue describes them, without a server."""

from dataclasses import dataclass, field


@dataclass(frozen=True)
class Type:
    """What contract.column_types.types asks of a type."""

    name: str
    schema: str = "pg_catalog"
    kind: str = "base"
    parts: tuple[tuple[str, "Type", int], ...] = field(default=())


def array_of(element: Type) -> Type:
    return Type(f"_{element.name}", element.schema, "array", (("", element, -1),))


def domain_over(base: Type, modifier: int = -1) -> Type:
    return Type("a_domain", "public", "domain", (("", base, modifier),))


def numeric_modifier(precision: int, scale: int) -> int:
    return (precision << 16 | scale & 0x7FF) + 4
