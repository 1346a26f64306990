"""A proxy to S3 that can answer 503 to everything, as S3 does when it is overloaded or down."""

import contextlib
import socket
import threading
from collections.abc import Iterator
from urllib.parse import urlsplit

BODY = b"<Error><Code>ServiceUnavailable</Code><Message>Reduce your request rate.</Message></Error>"
ANSWER = (
    b"HTTP/1.1 503 Service Unavailable\r\nContent-Type: application/xml\r\nConnection: close\r\n"
    b"Content-Length: " + str(len(BODY)).encode() + b"\r\n\r\n" + BODY
)
TIMEOUT_S = 5.0


class FaultyS3:
    """Forwards bytes to `endpoint` while `away` isn't set. Everything is on loopback."""

    def __init__(self, endpoint: str) -> None:
        parts = urlsplit(endpoint)
        self._upstream = (parts.hostname or "", parts.port or 0)
        self._listener = socket.create_server(("127.0.0.1", 0))
        self._connections: set[socket.socket] = set()
        self.away = threading.Event()
        self.refused = 0
        threading.Thread(target=self._accept, daemon=True).start()

    @property
    def endpoint(self) -> str:
        return f"http://127.0.0.1:{self._listener.getsockname()[1]}"

    @contextlib.contextmanager
    def outage(self) -> Iterator[None]:
        """Cut open connections and answer 503 to new ones."""
        self.away.set()
        for connection in list(self._connections):
            _close(connection)
        try:
            yield
        finally:
            self.away.clear()

    def close(self) -> None:
        _close(self._listener)
        for connection in list(self._connections):
            _close(connection)

    def _accept(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                connection, _ = self._listener.accept()
                threading.Thread(target=self._serve, args=(connection,), daemon=True).start()

    def _serve(self, client: socket.socket) -> None:
        if self.away.is_set():
            self._refuse(client)
            return
        try:
            server = socket.create_connection(self._upstream, timeout=TIMEOUT_S)
        except OSError:
            _close(client)
            return
        server.settimeout(None)
        self._connections |= {client, server}
        back = threading.Thread(target=self._pass_on, args=(server, client), daemon=True)
        back.start()
        self._pass_on(client, server)
        back.join()
        self._connections -= {client, server}

    def _refuse(self, client: socket.socket) -> None:
        self.refused += 1
        client.settimeout(TIMEOUT_S)
        with contextlib.suppress(OSError):
            received = b""
            while b"\r\n\r\n" not in received:
                received += client.recv(65_536)
            client.sendall(ANSWER)
            client.shutdown(socket.SHUT_WR)
            # With unread data, the kernel would reset the connection before the answer is read.
            while client.recv(65_536):
                pass
        _close(client)

    @staticmethod
    def _pass_on(source: socket.socket, target: socket.socket) -> None:
        with contextlib.suppress(OSError):
            while chunk := source.recv(65_536):
                target.sendall(chunk)
        for end in (source, target):
            _close(end)


def _close(connection: socket.socket) -> None:
    with contextlib.suppress(OSError):
        connection.shutdown(socket.SHUT_RDWR)
    connection.close()
