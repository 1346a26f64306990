"""Loopback ports for the services: chosen among free ones at the first start, kept for later starts."""

import random
import socket
from collections.abc import Iterable, Mapping

from local.errors import PlatformError

HOST = "127.0.0.1"
# Below every system's range of ephemeral ports: no outgoing connection takes one while its service is down.
LOWEST, HIGHEST = 20_000, 29_999
ATTEMPTS = 200


def is_free(port: int) -> bool:
    """Tell whether a server could listen on the port now."""
    with socket.socket() as candidate:
        # Servers set this too: a port whose last connections are closing counts as free.
        candidate.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            candidate.bind((HOST, port))
            candidate.listen(1)
        except OSError:
            return False
    return True


def choose(names: Iterable[str], *, earlier: Mapping[str, int], kept: Iterable[str] = ()) -> dict[str, int]:
    """Return a port for each name: its earlier one when that is free or in `kept` (its service runs), else a new one.

    Raises PlatformError when no free port is found.
    """
    ports: dict[str, int] = {}
    for name in names:
        before = earlier.get(name)
        if before is not None and (name in kept or is_free(before)):
            ports[name] = before
        else:
            ports[name] = _new({*ports.values(), *earlier.values()})
    return ports


def accepts_connections(port: int) -> bool:
    try:
        with socket.create_connection((HOST, port), timeout=1):
            return True
    except OSError:
        return False


def _new(taken: set[int]) -> int:
    for _ in range(ATTEMPTS):
        port = random.randint(LOWEST, HIGHEST)  # noqa: S311  (not a secret: two platforms must not choose the same)
        if port not in taken and is_free(port):
            return port
    raise PlatformError(f"no free port found on {HOST} between {LOWEST} and {HIGHEST}")
