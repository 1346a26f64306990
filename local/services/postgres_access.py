"""Who may log in to the local server, and where: its pg_hba.conf, which the first line that fits decides."""

import os
from collections.abc import Mapping
from pathlib import Path

HEADER = """\
# Written anew at each start: changes here don't last.
# No line says `replication`, so nobody gets a physical replication connection: pg_basebackup and pg_receivewal are
# refused. A logical one belongs to a database and goes by its name.
"""


def access_rules(address: str, confined: Mapping[str, str]) -> str:
    """Write the rules for connections to `address`; roles in `confined` may enter one database only (its name)."""
    lines = []
    for role, database in confined.items():
        lines += [f"host {_quoted(database)} {_quoted(role)} {address}/32 scram-sha-256"]
        lines += [f"host all {_quoted(role)} {address}/32 reject"]
    return HEADER + "\n".join([*lines, f"host all all {address}/32 scram-sha-256", ""])


def write_rules(path: Path, rules: str, owner: tuple[int, int] | None) -> bool:
    """Replace the file unless it says the same; `owner` is the server's account. Returns whether it was replaced."""
    if path.exists() and path.read_text(encoding="utf-8") == rules:
        return False
    unfinished = path.with_suffix(".new")
    unfinished.write_text(rules, encoding="utf-8")
    unfinished.chmod(0o600)
    if owner is not None:
        os.chown(unfinished, *owner)
    unfinished.rename(path)
    return True


def _quoted(name: str) -> str:
    """In quotes no name is a keyword such as `all` or a pattern."""
    return '"' + name.replace('"', '""') + '"'
