"""PostgreSQL's JDBC driver for the job, downloaded by `make setup` and pinned in the jars' lock.

Synthesizing only reads it: the tested file itself becomes the asset, and steps download nothing.
"""

import hashlib
import json
from pathlib import Path

from contract.errors import UserError

ROOT = Path(__file__).resolve().parents[2]
LOCK = ROOT / "local" / "setup" / "jars.lock"
CACHE = ROOT / ".cache" / "jars"
SET = "postgresql"


class DriverError(UserError):
    """The jar is missing, or isn't the locked one. Its text is one line."""


def jar(lock: Path = LOCK) -> Path:
    locked: dict[str, dict[str, dict[str, str]]] = json.loads(lock.read_text(encoding="utf-8"))
    [(name, entry)] = locked[SET].items()
    path = CACHE / SET / name
    if not path.is_file():
        raise DriverError(f"{name} isn't in {CACHE.parent.name}/{CACHE.name}: run `make setup`")
    if hashlib.sha256(path.read_bytes()).hexdigest() != entry["sha256"]:
        raise DriverError(f"{path.name} isn't the jar that {lock.name} names: run `make setup`")
    return path
