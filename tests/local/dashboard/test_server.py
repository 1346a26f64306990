"""The server rejects everything but reads from this machine's own browser; the page's texts."""

import asyncio
import re
import subprocess
import sys
from collections.abc import Iterator

import httpx
import pytest
from nicegui.testing.general import nicegui_reset_globals
from starlette.types import ASGIApp, Message, Scope

from local.dashboard import server, texts
from local.dashboard.changes import Change
from local.dashboard.watcher import Picture
from local.setup.ports import HOST
from local.state.history import Failure
from tests.local.dashboard.pictures import AT, SCRIPT, commit, picture

PORT = 8765
OURS = f"http://{HOST}:{PORT}"
SOCKET = "/_nicegui_ws/socket.io/"


class Still:
    """A picture that doesn't change."""

    def __init__(self) -> None:
        self.picture: Picture = picture()
        self.calls: list[str] = []

    def start(self) -> None:
        self.calls.append("start")

    def close(self) -> None:
        self.calls.append("close")


@pytest.fixture(scope="module")
def app() -> Iterator[ASGIApp]:
    with nicegui_reset_globals():
        yield server.make_app(Still(), PORT)


def get(app: ASGIApp, path: str = "/", *, method: str = "GET", **headers: str) -> httpx.Response:
    async def ask() -> httpx.Response:
        async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url=OURS) as client:
            return await client.request(method, path, headers=headers)

    return asyncio.run(ask())


def socket_answer(app: ASGIApp, *, host: str = f"{HOST}:{PORT}", origin: str | None = OURS) -> list[Message]:
    """The server's answer when a page opens its socket and leaves."""
    headers = [
        (b"host", host.encode()),
        (b"connection", b"upgrade"),
        (b"upgrade", b"websocket"),
        *([(b"origin", origin.encode())] if origin else []),
    ]
    scope: Scope = {
        "type": "websocket",
        "path": SOCKET,
        "raw_path": SOCKET.encode(),
        "headers": headers,
        "query_string": b"EIO=4&transport=websocket",
        "scheme": "ws",
        "root_path": "",
        "subprotocols": [],
        "extensions": {"websocket.http.response": {}},
        "asgi": {"version": "3.0"},
        "state": {},
    }
    comes: list[Message] = [{"type": "websocket.connect"}, {"type": "websocket.disconnect", "code": 1001}]
    incoming = iter(comes)
    said: list[Message] = []

    async def receive() -> Message:
        return next(incoming)

    async def send(message: Message) -> None:
        said.append(message)

    async def open_and_leave() -> None:
        await app(scope, receive, send)

    asyncio.run(open_and_leave())
    return said


def test_the_page_is_served_to_this_machine(app: ASGIApp) -> None:
    answer = get(app)
    assert answer.status_code == 200
    assert "orders: pipeline" in answer.text
    assert get(app, host=f"localhost:{PORT}").status_code == 200


@pytest.mark.parametrize("host", ["evil.example", f"evil.example:{PORT}", "127.0.0.1.evil.example", ""])
def test_a_foreign_host_is_refused(app: ASGIApp, host: str) -> None:
    assert get(app, host=host).status_code == 400


@pytest.mark.parametrize("origin", ["https://evil.example", f"http://{HOST}:1", f"https://{HOST}:{PORT}", "null"])
def test_a_foreign_origin_is_refused(app: ASGIApp, origin: str) -> None:
    assert get(app, origin=origin).status_code == 403
    assert get(app, f"{SOCKET}?EIO=4&transport=polling", origin=origin).status_code == 403


def test_the_socket_refuses_a_foreign_host(app: ASGIApp) -> None:
    said = socket_answer(app, host="evil.example")
    assert [message["type"] for message in said if "http.response" not in message["type"]] == []
    assert said[0]["status"] == 400


@pytest.mark.parametrize("origin", ["https://evil.example", "null"])
def test_the_socket_refuses_a_foreign_origin(app: ASGIApp, origin: str) -> None:
    """Servers answer 403 to a close before the socket is accepted."""
    assert socket_answer(app, origin=origin) == [{"type": "websocket.close"}]


def test_the_socket_takes_the_pages_own_origin(app: ASGIApp) -> None:
    assert {"type": "websocket.accept"}.items() <= socket_answer(app)[0].items()


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


def test_browsers_are_told_to_ask_no_other_place(app: ASGIApp) -> None:
    policy = get(app).headers["content-security-policy"]
    assert "default-src 'self'" in policy
    assert "frame-ancestors 'none'" in policy
    assert "http" not in policy


def test_it_listens_on_loopback_alone_and_looks_as_long_as_it_serves(monkeypatch: pytest.MonkeyPatch) -> None:
    still = Still()
    given: dict[str, object] = {}

    def run(_app: ASGIApp, **options: object) -> None:
        given.update(options, calls=list(still.calls))

    monkeypatch.setattr("uvicorn.run", run)
    with nicegui_reset_globals():
        server.serve(still, PORT)
    assert (given["host"], given["port"], given["calls"]) == ("127.0.0.1", PORT, ["start"])
    assert still.calls == ["start", "close"]


def test_other_commands_dont_load_the_pages_packages() -> None:
    code = "import sys, local.state.collect, local.platform.supervisor; print({'fastapi', 'nicegui'} & {*sys.modules})"
    assert subprocess.check_output([sys.executable, "-c", code], text=True) == "set()\n"


def test_numbers_are_where_they_belong() -> None:
    shown = picture()
    assert texts.total_rows(shown) == [("datalake.cdc_events", "829", "1", "3", "2", "11:25:25")]
    assert texts.change_rows(shown)[0][-3:] == ("shipped_date", "NULL", "2026-11-22")
    assert texts.quarantine_rows(shown)[0][1:] == ("datalake.cdc_events", "not JSON", "a.json, line 3", SCRIPT)
    assert texts.reconciled_text(shown) == ["2026-11-22 11:30:00 UTC: equal", "cdc_events: equal, 829 rows"]


def test_an_error_that_lasts_comes_before_everything_newer() -> None:
    failures = (Failure(text="job is dead", at=AT - 60), Failure(text="s3 hangs", at=AT - 40, ended=AT - 30))
    found = texts.timeline_rows(picture(failures=failures, commits=(commit("20261122112531744", inserted=1),)))
    assert [(row[1].partition(",")[0], row[3]) for row in found] == [
        ("error", "job is dead"),
        ("commit", "1 inserted, 0 updated, 0 deleted"),
        ("error", "s3 hangs"),
    ]


def test_every_row_of_a_change_has_its_time_for_a_head() -> None:
    change = Change(
        table="t",
        offset=1,
        what="updated",
        key="id = 1",
        at=AT,
        columns=(("a", "1", "2"), ("b", "3", "4")),
        seen=True,
    )
    first, second = texts.change_rows(picture(changes=(change,)))
    assert first == ("11:25:25", "t", "updated", "id = 1", "a", "1", "2")
    assert second == ("11:25:25", "", "", "", "b", "3", "4")


def test_the_chart_has_no_bar_where_there_is_nothing() -> None:
    series = texts.commits_chart((commit("1", inserted=829), commit("2", updated=1)))["series"]
    assert {one["name"]: one["data"] for one in series} == {
        "inserted": [829, None],
        "updated": [None, 1],
        "deleted": [None, None],
    }
