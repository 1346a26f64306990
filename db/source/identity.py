"""The REPLICA IDENTITY that a captured table needs, so that each update and delete identifies its row.

A table is published with its updates and deletes; PostgreSQL then rejects them for every writer if it has no identity
("Logical Replication", "Publication"), so the identity is set first. The job doesn't need the old values of other
columns, which an identity of the key omits: it keeps what an event leaves out.
"""

from collections.abc import Sequence

from db.source.catalogue import Leaf


def identity_statements(key: tuple[str, ...], leaves: Sequence[Leaf]) -> list[str]:
    """Return the ALTER statements, partition by partition; none if the identity includes the whole key."""
    return [
        f"ALTER TABLE {leaf.sql} REPLICA IDENTITY {_smallest(key, leaf)[0]}"
        for leaf in leaves
        if not _is_enough(key, leaf)
    ]


def identity_columns(key: tuple[str, ...], leaf: Leaf) -> frozenset[str] | None:
    """Return the columns of the identity once `identity_statements` have run; None for the whole row."""
    columns = leaf.identity_columns if _is_enough(key, leaf) else _smallest(key, leaf)[1]
    return None if columns is None else frozenset(columns)


def unidentified(key: tuple[str, ...], leaves: Sequence[Leaf]) -> bool:
    """Tell whether a partition created later would lack what these have: a primary key that covers the key."""
    return not all(key and set(key) <= set(leaf.primary_key) for leaf in leaves)


def _is_enough(key: tuple[str, ...], leaf: Leaf) -> bool:
    if leaf.identity == "nothing":
        return False
    columns = leaf.identity_columns
    return columns is None or (bool(columns) and set(key) <= set(columns))


def _smallest(key: tuple[str, ...], leaf: Leaf) -> tuple[str, tuple[str, ...] | None]:
    """Return the smallest identity with the key, and its columns: the primary key, a unique index, or the whole row."""
    if leaf.primary_key and set(key) <= set(leaf.primary_key):
        return "DEFAULT", leaf.primary_key
    exact = [index for index in leaf.indexes if index.identity and key and set(index.columns) == set(key)]
    return (f"USING INDEX {exact[0].sql}", exact[0].columns) if exact else ("FULL", None)
