"""Serves the page on loopback, read-only and only to browsers on this machine.

NiceGUI's socket accepts any origin by default: without a check, a foreign page could watch through a local browser.
"""

from collections.abc import Callable, Collection

import uvicorn
from fastapi import FastAPI
from nicegui import binding, core, ui
from starlette.datastructures import Headers
from starlette.middleware.trustedhost import TrustedHostMiddleware
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Receive, Scope, Send

from local.dashboard.page import draw
from local.dashboard.watcher import Picture
from local.setup.ports import HOST

HOSTS = (HOST, "localhost")
# Seconds for open pages to disconnect.
GRACE_S = 2
# Vue compiles its templates in the browser, so scripts and styles of the page itself are allowed.
POLICY = (
    "default-src 'self'; script-src 'self' 'unsafe-inline' 'unsafe-eval'; style-src 'self' 'unsafe-inline';"
    " img-src 'self' data:; font-src 'self' data:; frame-ancestors 'none'; form-action 'none'; base-uri 'none'"
)
HEADERS = [
    ("Content-Security-Policy", POLICY),
    ("X-Content-Type-Options", "nosniff"),
    ("Referrer-Policy", "no-referrer"),
]


def read_by(app: ASGIApp, origins: Collection[str]) -> ASGIApp:
    """Wrap an application: requests from other origins, and everything but reading, are rejected."""

    async def guarded(scope: Scope, receive: Receive, send: Send) -> None:
        origin = Headers(raw=scope.get("headers", [])).get("origin")
        is_foreign = origin is not None and origin not in origins
        if is_foreign and scope["type"] == "websocket":
            # An answer of its own, even 403, would be an error in uvicorn's log.
            await send({"type": "websocket.close"})
        elif is_foreign:
            await PlainTextResponse("another page's request", status_code=403)(scope, receive, send)
        elif scope["type"] == "http" and scope["method"] not in ("GET", "HEAD"):
            await PlainTextResponse("only to read", status_code=405)(scope, receive, send)
        else:
            await app(scope, receive, send)

    return guarded


def make_app(picture: Callable[[], Picture], port: int) -> ASGIApp:
    """Return the application for a server at this port."""
    app = FastAPI(docs_url=None, redoc_url=None, openapi_url=None)
    # A slow machine isn't worth a warning in the terminal.
    binding.MAX_PROPAGATION_TIME = float("inf")
    ui.run_with(
        app,
        root=lambda: draw(picture),
        title=f"{picture().pipeline}: pipeline",
        favicon="🌊",
        dark=None,
        language="en-US",
        binding_refresh_interval=None,
        tailwind=False,
        show_welcome_message=False,
    )
    # Only the socket, without the polling fallback: its requests write.
    core.app.config.socket_io_js_transports = ["websocket"]
    origins = {f"http://{host}:{port}" for host in HOSTS}
    # Outside: a response from inside to a socket's request would be an error in uvicorn's log.
    return read_by(TrustedHostMiddleware(app, allowed_hosts=list(HOSTS)), origins)


def serve(picture: Callable[[], Picture], port: int) -> None:
    """Serve the newest picture until Ctrl-C."""
    uvicorn.run(
        make_app(picture, port),
        host=HOST,
        port=port,
        headers=HEADERS,
        log_level="warning",
        access_log=False,
        timeout_graceful_shutdown=GRACE_S,
    )
