"""Unit tests may open Unix sockets only: anything else in a test without a marker is refused, and fails the test."""

import socket
from typing import Any

import psycopg2
import pytest

MAY_USE_THE_NETWORK = ("integration", "e2e", "synth", "trino", "yarn")
# Everything that leads out of the process, or accepts connections.
_METHODS = ("connect", "connect_ex", "bind", "sendto")
_LOOK_UPS = ("getaddrinfo", "gethostbyname", "gethostbyname_ex", "gethostbyaddr")


class NetworkUsedError(RuntimeError):
    """Raised in place of a connection. Not an OSError: code that expects network failures must not swallow it."""


class NoNetwork:
    """Refuses and records connections of Python and psycopg2."""

    def __init__(self) -> None:
        self.refused: list[str] = []

    def install(self, monkeypatch: pytest.MonkeyPatch) -> None:
        for name in _METHODS:
            monkeypatch.setattr(socket.socket, name, self._unless_unix(name, getattr(socket.socket, name)))
        for name in _LOOK_UPS:
            monkeypatch.setattr(socket, name, lambda *arguments, name=name, **_: self._refuse(name, arguments))
        # libpq opens its sockets itself.
        monkeypatch.setattr(psycopg2, "_connect", lambda *arguments, **_: self._refuse("psycopg2.connect", arguments))

    def check(self) -> None:
        """Fail if something was refused in the meantime."""
        if self.refused:
            pytest.fail(f"a unit test has no network ({'; '.join(self.refused)}): mark it `integration`, or use a seam")

    def _unless_unix(self, name: str, real: Any) -> Any:
        def method(sock: socket.socket, *arguments: Any) -> Any:
            if sock.family == socket.AF_UNIX:
                return real(sock, *arguments)
            return self._refuse(name, arguments)

        return method

    def _refuse(self, name: str, arguments: tuple[Any, ...]) -> Any:
        # psycopg2's arguments may contain a password.
        shown = name if name.startswith("psycopg2") else f"{name}({', '.join(map(repr, arguments))})"
        self.refused.append(shown)
        raise NetworkUsedError(f"a unit test has no network: {shown}")
