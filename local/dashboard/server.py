"""Serves the page on loopback, read-only and only to browsers on this machine.

NiceGUI's socket accepts any origin by default: without a check, a foreign page could watch through a local browser.
"""

from collections.abc import Collection
from typing import Protocol

import uvicorn
from fastapi import FastAPI
from nicegui import binding, core, ui
from starlette.datastructures import Headers, MutableHeaders
from starlette.middleware.trustedhost import TrustedHostMiddleware
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from local.dashboard.page import draw
from local.dashboard.watcher import Picture
from local.setup.ports import HOST

HOSTS = (HOST, "localhost")
# Seconds for open pages to disconnect.
GRACE_S = 2
# Vue compiles its templates in the browser, so scripts and styles of the page itself are allowed.
POLICY = "; ".join(
    (
        "default-src 'self'",
        "script-src 'self' 'unsafe-inline' 'unsafe-eval'",
        "style-src 'self' 'unsafe-inline'",
        "img-src 'self' data:",
        "font-src 'self' data:",
        "frame-ancestors 'none'",
        "form-action 'none'",
        "base-uri 'none'",
    )
)


class Watching(Protocol):
    """Keeps the picture current."""

    picture: Picture

    def start(self) -> None:
        """Start polling."""

    def close(self) -> None:
        """Stop polling."""


class OwnOriginOnly:
    """Rejects requests from other origins, and everything but reading."""

    def __init__(self, app: ASGIApp, origins: Collection[str]) -> None:
        self.app = app
        self._origins = frozenset(origins)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] not in ("http", "websocket"):
            await self.app(scope, receive, send)
            return
        origin = Headers(scope=scope).get("origin")
        if origin is not None and origin not in self._origins:
            if scope["type"] == "websocket":
                # An answer of its own, even 403, would be an error in uvicorn's log.
                await send({"type": "websocket.close"})
                return
            await PlainTextResponse("another page's request", status_code=403)(scope, receive, send)
            return
        if scope["type"] == "http" and scope["method"] not in ("GET", "HEAD"):
            await PlainTextResponse("only to read", status_code=405)(scope, receive, send)
            return

        async def guarded(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                headers["Content-Security-Policy"] = POLICY
                headers["X-Content-Type-Options"] = "nosniff"
                headers["Referrer-Policy"] = "no-referrer"
            await send(message)

        await self.app(scope, receive, guarded)


def make_app(watching: Watching, port: int) -> ASGIApp:
    """Return the application for a server at this port."""
    app = FastAPI(docs_url=None, redoc_url=None, openapi_url=None)
    # A slow machine isn't worth a warning in the terminal.
    binding.MAX_PROPAGATION_TIME = float("inf")
    ui.run_with(
        app,
        root=lambda: draw(lambda: watching.picture),
        title=f"{watching.picture.pipeline}: pipeline",
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
    return OwnOriginOnly(TrustedHostMiddleware(app, allowed_hosts=list(HOSTS)), origins)


def serve(watching: Watching, port: int) -> None:
    """Poll and serve until Ctrl-C."""
    watching.start()
    try:
        uvicorn.run(
            make_app(watching, port),
            host=HOST,
            port=port,
            log_level="warning",
            access_log=False,
            timeout_graceful_shutdown=GRACE_S,
        )
    finally:
        watching.close()
