"""A web server on loopback whose answers are scripted: what a release's host may do."""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

Answer = Callable[[BaseHTTPRequestHandler], None]


@dataclass
class Server:
    """Answers per path, in order; the last one stays. `requested` are the paths that were asked for."""

    url: str
    answers: dict[str, list[Answer]] = field(default_factory=dict)
    requested: list[str] = field(default_factory=list)


def body(content: bytes, *, announced: int | None = None) -> Answer:
    """200 with a body; `announced` is another Content-Length than its own."""

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


@contextmanager
def serving() -> Iterator[Server]:
    """Run the server in a thread."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            server.requested.append(self.path)
            scripted = server.answers.get(self.path, [status(404)])
            (scripted.pop(0) if len(scripted) > 1 else scripted[0])(self)

        def log_message(self, *_: object) -> None:
            pass

    http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server = Server(url=f"http://127.0.0.1:{http.server_port}")
    thread = threading.Thread(target=http.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield server
    finally:
        http.shutdown()
        thread.join()
        http.server_close()
