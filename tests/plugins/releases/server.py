"""A web server with scripted answers, for anything that a release's host may do.

Python's own HTTP client talks to Python's own HTTP server, over a pair of Unix sockets in place of TCP.
"""

import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler
from typing import Any

import pytest

HOST = "releases.test"
Answer = Callable[[BaseHTTPRequestHandler], None]


@dataclass
class Server:
    """Answers per path, in order; the last one repeats. `requested` are the requested paths."""

    url: str
    answers: dict[str, list[Answer]] = field(default_factory=dict)
    requested: list[str] = field(default_factory=list)


def body(content: bytes, *, announced: int | None = None) -> Answer:
    """200 with a body; `announced` is a Content-Length that differs from its own."""

    def answer(request: BaseHTTPRequestHandler) -> None:
        request.send_response(200)
        request.send_header("Content-Length", str(len(content) if announced is None else announced))
        request.end_headers()
        request.wfile.write(content)

    return answer


def status(code: int, **headers: str) -> Answer:
    """A status without a body."""

    def answer(request: BaseHTTPRequestHandler) -> None:
        request.send_response(code)
        for name, value in headers.items():
            request.send_header(name, value)
        request.send_header("Content-Length", "0")
        request.end_headers()

    return answer


class _Pipe(socket.socket):
    """One end of a socket pair; HTTP's client sets an option that only TCP has."""

    def setsockopt(self, *_: Any) -> None:
        pass


@contextmanager
def serving() -> Iterator[Server]:
    """Answer all requests of this process to the server; every other host refuses connections."""
    server = Server(url=f"http://{HOST}")
    threads: list[threading.Thread] = []

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            server.requested.append(self.path)
            scripted = server.answers.get(self.path, [status(404)])
            (scripted.pop(0) if len(scripted) > 1 else scripted[0])(self)

        def log_message(self, *_: object) -> None:
            pass

    def serve(sock: socket.socket) -> None:
        with sock:
            Handler(sock, (HOST, 0), None)  # type: ignore[arg-type]  # it asks nothing of a server

    def connect(address: tuple[str, int], timeout: float, *_: object) -> socket.socket:
        if address[0] != HOST:
            raise ConnectionRefusedError("Connection refused")
        near, far = socket.socketpair()
        threads.append(threading.Thread(target=serve, args=(far,)))
        threads[-1].start()
        pipe = _Pipe(fileno=near.detach())
        pipe.settimeout(timeout)
        return pipe

    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("no_proxy", "*")
        patch.setattr(socket, "create_connection", connect)
        yield server
    for thread in threads:
        thread.join()
