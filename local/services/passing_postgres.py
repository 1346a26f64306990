"""A PostgreSQL server that is gone with its data in the end: for developers' tools, benchmarks and tests."""

import contextlib
import secrets
from collections.abc import Iterator, Mapping
from pathlib import Path

from local.services.postgres import Postgres, postgres_ways
from local.services.processes import Processes
from local.setup.ports import choose

STOP_S = 60


def processes_of(postgres: Postgres, folder: Path) -> Processes:
    """Return what starts, finds and stops a server by itself, with its log in `folder`."""
    return Processes(folder, folder / "logs", {postgres.name: postgres_ways(postgres.cluster)})


@contextlib.contextmanager
def passing_postgres(folder: Path, *, settings: Mapping[str, str] | None = None) -> Iterator[Postgres]:
    """Run a server with its data and its log in `folder`. Raises PlatformError when it doesn't start."""
    port = choose([Postgres.name], earlier={})[Postgres.name]
    password = secrets.token_urlsafe(12)
    postgres = Postgres(folder / "data", port=port, superuser_password=password, settings=settings)
    processes = processes_of(postgres, folder)
    try:
        processes.run(postgres)
        yield postgres
    finally:
        processes.stop(postgres.name, grace_s=STOP_S)
        postgres.cluster.remove()
