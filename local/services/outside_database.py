"""A source database that isn't ours: how the connector's role logs in to it. It is never started or changed.

The platform needs no other login: the role's read access suffices for checks, too. Its password comes from
CDC_CONNECTOR_PASSWORD, PGPASSWORD, an earlier start, libpq's password file (PGPASSFILE, ~/.pgpass) or a prompt; it is
kept in a file in the platform's folder, to which the connector's configuration refers.
"""

import contextlib
import os
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Self

import typer

from db import log_in
from db.connecting import LoadError, LoginError, NoPasswordError, connect, tls
from local.errors import PlatformError
from local.private_files import write_private

PASSWORD_VARIABLES = ("CDC_CONNECTOR_PASSWORD", "PGPASSWORD")
DEFAULT_PORT = 5432
# Accepted DSN parts; user and password are the caller's alone: the role has its own.
_TAKEN = {"host", "port", "dbname", "sslmode", "sslrootcert", "user", "password"}
# A person waits for it.
ANSWER_S = 5


@dataclass(frozen=True, kw_only=True)
class OutsideDatabase:
    """An outside database's address. `sslmode` as in libpq; `sslrootcert` is the user's file, as an absolute path."""

    host: str
    port: int
    dbname: str
    sslmode: str
    sslrootcert: str | None = None

    @classmethod
    def of(cls, dsn: str, *, database: str) -> Self:
        """Read a DSN: a URI or `host=… port=…`; its database defaults to the pipeline's, its user isn't used.

        Raises PlatformError or LoadError, which never repeat a password.
        """
        given = log_in.of_dsn(dsn)
        host = given.get("host", "")
        if not host or host.startswith("/") or "," in host or given.get("hostaddr"):
            raise PlatformError("DSN must name one host, which the connector can reach: sockets and hostaddr don't do")
        port = given.get("port", str(DEFAULT_PORT))
        if not port.isdecimal() or not 0 < int(port) < 1 << 16:
            raise PlatformError(f"DSN: {port!r} isn't a port")
        if others := sorted(key for key, value in given.items() if value and key not in _TAKEN):
            raise PlatformError(f"DSN has {', '.join(others)}, which connector and job can't use: take it out")
        root = given.get("sslrootcert")
        if root == "system":
            raise PlatformError(
                "DSN: only libpq knows sslrootcert=system: name the file with the system's authorities, such as"
                " /etc/ssl/certs/ca-certificates.crt, and sslmode=verify-full"
            )
        if root is not None and not Path(root).is_file():
            raise PlatformError(
                f"DSN: sslrootcert={root} is no file: name the one with the authority's certificate (PEM)"
            )
        return cls(
            host=host,
            port=int(port),
            dbname=given.get("dbname", database),
            sslmode=tls(given)["sslmode"],
            sslrootcert=root and str(Path(root).resolve()),
        )

    def parameters(self, role: str) -> dict[str, object]:
        """Return libpq's parameters, including how to verify the server, without a password."""
        return {"host": self.host, "port": self.port, "dbname": self.dbname, **tls(asdict(self)), "user": role}

    def __str__(self) -> str:
        return f"{self.dbname} at {self.host}:{self.port}"


def find_password(database: OutsideDatabase, role: str, kept: Path) -> str:
    """Return the password that logs the role in, and keep it for later starts.

    Raises PlatformError without one, and LoadError where no other password would help.
    """
    refusals = []
    for where, given in _candidates(kept, f"Password of {role} on {database}"):
        try:
            with contextlib.closing(connect({**database.parameters(role), **given()})) as connection:
                password = str(connection.info.password or "")
        except (LoginError, NoPasswordError) as error:
            refusals.append(f"{error} ({where})")
            continue
        write_private(kept, password + "\n")
        return password
    raise PlatformError(f"{refusals[-1]}: give the role's password in {PASSWORD_VARIABLES[0]}")


def refusal(parameters: Mapping[str, Any]) -> str | None:
    """Return in one line why the database refuses the role, and what to do; None where it doesn't."""
    try:
        connect({**parameters, "connect_timeout": ANSWER_S}).close()
    except LoginError as error:
        return f"{error}: `./lake up` takes the role's password from {PASSWORD_VARIABLES[0]}"
    except LoadError as error:
        return str(error)
    return None


def _candidates(kept: Path, question: str) -> Iterator[tuple[str, Callable[[], dict[str, str]]]]:
    """Yield the places where a password may be; the last one prompts."""
    for name in PASSWORD_VARIABLES:
        if os.environ.get(name):
            yield f"by {name}", lambda name=name: {"password": os.environ[name]}  # type: ignore[misc]
    if kept.exists():
        yield f"by {kept}", lambda: {"password": kept.read_text(encoding="utf-8").rstrip("\n")}
    yield "by libpq's password file", dict
    if sys.stdin.isatty():
        yield "as typed", lambda: {"password": typer.prompt(question, hide_input=True)}
