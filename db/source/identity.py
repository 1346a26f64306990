"""Which REPLICA IDENTITY a captured table must have, so that each update and delete says which row it means.

A table is published with its updates and deletes, and one without an identity then refuses them to everybody who writes
(PostgreSQL, "Logical Replication", "Publication"): the identity comes first. What an identity of the key doesn't say,
the old values of other columns, the streaming job doesn't need: it keeps what an event leaves out.
"""

from collections.abc import Sequence

from db.source.catalogue import Leaf


def identity_statements(key: tuple[str, ...], leaves: Sequence[Leaf]) -> list[str]:
    """Return what has to be altered, partition by partition; nothing where the identity has all of the key."""
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
    """Tell whether a partition that is made later would lack what these have: a primary key that says it all."""
    return not all(key and set(key) <= set(leaf.primary_key) for leaf in leaves)


def _is_enough(key: tuple[str, ...], leaf: Leaf) -> bool:
    if leaf.identity == "nothing":
        return False
    columns = leaf.identity_columns
    return columns is None or (bool(columns) and set(key) <= set(columns))


def _smallest(key: tuple[str, ...], leaf: Leaf) -> tuple[str, tuple[str, ...] | None]:
    """The smallest that has the key, with its columns: the primary key, a unique index, or the whole row."""
    if leaf.primary_key and set(key) <= set(leaf.primary_key):
        return "DEFAULT", leaf.primary_key
    exact = [index for index in leaf.indexes if index.identity and key and set(index.columns) == set(key)]
    return (f"USING INDEX {exact[0].sql}", exact[0].columns) if exact else ("FULL", None)
