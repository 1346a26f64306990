"""The server rejects everything but reads from this machine's own browser."""

import asyncio
import re
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import httpx
import pytest
from nicegui.testing.general import nicegui_reset_globals
from starlette.types import ASGIApp

from local.dashboard import server
from local.setup.ports import HOST
from tests.local.dashboard.pictures import TABLE, picture

PORT = 8765
OURS = f"http://{HOST}:{PORT}"
SOCKET = "/_nicegui_ws/socket.io/"


@pytest.fixture(scope="module")
def app() -> Iterator[ASGIApp]:
    with nicegui_reset_globals():
        yield server.make_app(picture, PORT)


def get(app: ASGIApp, path: str = "/", *, method: str = "GET", **headers: str) -> httpx.Response:
    async def ask() -> httpx.Response:
        async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url=OURS) as client:
            return await client.request(method, path, headers=headers)

    return asyncio.run(ask())


def test_the_page_is_served_to_this_machine(app: ASGIApp) -> None:
    answer = get(app)
    assert answer.status_code == 200
    assert "orders: pipeline" in answer.text
    assert get(app, host=f"localhost:{PORT}").status_code == 200
    assert get(app, f"/table/{TABLE}").status_code == 200
    assert [get(app, path).status_code for path in ("/table/none", f"/table/{TABLE}/x", "/table", "/x")] == [404] * 4


@pytest.mark.parametrize("host", ["evil.example", f"evil.example:{PORT}", "127.0.0.1.evil.example", ""])
def test_a_foreign_host_is_refused(app: ASGIApp, host: str) -> None:
    answer = get(app, host=host)
    assert (answer.status_code, "orders" in answer.text) == (400, False)


@pytest.mark.parametrize("origin", ["https://evil.example", f"http://{HOST}:1", f"https://{HOST}:{PORT}", "null"])
def test_a_foreign_origin_is_refused(app: ASGIApp, origin: str) -> None:
    assert get(app, origin=origin).status_code == 403
    assert get(app, f"{SOCKET}?EIO=4&transport=polling", origin=origin).status_code == 403


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "PATCH", "OPTIONS"])
def test_there_is_nothing_but_reading(app: ASGIApp, method: str) -> None:
    assert get(app, method=method).status_code == 405
    assert get(app, f"{SOCKET}?EIO=4&transport=polling", method=method).status_code == 405


def test_the_page_names_no_other_place(app: ASGIApp) -> None:
    answer = get(app)
    named = set(re.findall(r"(?:https?:|wss?:)?//[a-z0-9.-]+\.[a-z]{2,}[^\s\"'`)]*", answer.text))
    assert {url for url in named if "www.w3.org" not in url} == set()  # the name of SVG, which is never requested
    for path in set(re.findall(r'(?:src|href)="(/[^"]+)"', answer.text)):
        assert get(app, path).status_code == 200, path


def test_it_listens_on_loopback_alone_and_browsers_are_told_to_ask_no_other_place(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    given: dict[str, Any] = {}
    monkeypatch.setattr("uvicorn.run", lambda _app, **options: given.update(options))
    with nicegui_reset_globals():
        server.serve(picture, PORT)
    assert (given["host"], given["port"]) == ("127.0.0.1", PORT)
    policy = dict(given["headers"])["Content-Security-Policy"]
    assert "default-src 'self'" in policy
    assert "frame-ancestors 'none'" in policy
    assert "http" not in policy


def test_other_commands_dont_load_the_pages_packages() -> None:
    code = "import sys, local.state.collect, local.platform.supervisor; print({'fastapi', 'nicegui'} & {*sys.modules})"
    assert subprocess.check_output([sys.executable, "-c", code], text=True) == "set()\n"
