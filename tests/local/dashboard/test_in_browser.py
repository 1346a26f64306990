"""The page in a real browser, from pictures that need no platform: its look, its access rules, its accessibility."""

import tempfile
import threading
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, expect

from contract.states import Word
from local.dashboard import page as drawn
from local.dashboard.watcher import Picture
from local.problem import Problem
from local.setup.ports import HOST
from local.state.collect import PipelineState
from local.state.quarantine import Quarantined
from local.state.services import ServiceStatus
from local.state.tables import TableStatus
from local.state.word import State
from tests import cases
from tests.browser.chromium import FOREIGN
from tests.browser.serving import Still, serving_still
from tests.browser.viewer import LAPTOP, PHONE, SCREENS, Screen, Viewer, viewing
from tests.local.dashboard.pictures import QUARANTINED, SCRIPT, TABLE, picture

pytestmark = [pytest.mark.integration, pytest.mark.timeout(300)]

SOCKET = "/_nicegui_ws/socket.io/?EIO=4&transport=websocket"
OPEN = """(url) => new Promise((resolve) => {
  const socket = new WebSocket(url);
  socket.onopen = () => resolve("opened");
  socket.onerror = () => resolve("refused");
})"""
LOGS = tempfile.TemporaryDirectory(prefix="logs-of-the-page-")
WRONG = Problem(part="sink", what="is dead", reason=f"killed: {'logs/' * 30}", remedy="`./lake up` starts it again")
LOG = "the end of the log"
PARTS = {
    "": (
        *(drawn.PROBLEMS, drawn.STAGES, drawn.TABLES, drawn.SPEED, drawn.SERVICES),
        *(drawn.CHANGES, drawn.ERRORS, drawn.COMPARISON),
    ),
    f"table/{TABLE}": (drawn.CHANGES, drawn.COMMITS, drawn.QUARANTINE, drawn.COLUMNS),
}


def everything(**changed: Any) -> Picture:
    """A picture in which no part is empty, with unbreakable words and more rows than a table shows."""
    (table, history) = picture().found.data.tables
    odd = replace(QUARANTINED, text=f"half a pair: \ud800{'x' * 400}")
    lines = replace(table.quarantined or Quarantined(), newest=(QUARANTINED, *(odd,) * 10))
    many = (TableStatus(name=f"public.table_{number:02}", lake_rows=number) for number in range(60))
    given = {
        "state": State(word=Word.FAILING, reason=str(WRONG), parts=("sink",)),
        "problems": (WRONG,),
        "services": tuple(ServiceStatus(name=name, running=name != "sink") for name in ("job", "sink")),
        "tables": (replace(table, quarantined=lines), history, *many),
        "logs": Path(LOGS.name),
    }
    return picture(**{**given, **changed})


@pytest.fixture(scope="module")
def still(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Still]:
    for name in ("job", "sink"):
        Path(LOGS.name, f"{name}.log").write_text(f"{'x' * 400}\n{name}: {LOG}\n")
    with serving_still(everything(), tmp_path_factory.mktemp("still")) as still:
        yield still


@pytest.fixture(autouse=True)
def shown(still: Still) -> None:
    """Each test begins with everything."""
    still.show(everything())


@pytest.fixture(scope="module")
def laptop(browser: Browser, still: Still) -> Iterator[Viewer]:
    """A window that tests share: each leaves it at the page of all tables."""
    with viewing(browser, still.url) as viewer:
        yield viewer
        viewer.check()


@pytest.mark.parametrize("screen", SCREENS, ids=str)
def test_all_of_it_can_be_read(browser: Browser, still: Still, screen: Screen) -> None:
    with viewing(browser, still.url, screen) as viewer:
        for path, titles in PARTS.items():
            viewer.page.goto(still.url + path)
            for title in titles:
                expect(viewer.page.get_by_role("heading", name=title, exact=True)).to_be_visible()
            expect(viewer.page.locator("canvas")).to_have_count(0 if path else 2)
            expect(viewer.page.get_by_text(SCRIPT)).to_have_count(1 if path else 0)
            expect(viewer.page.get_by_text("half a pair: ?")).to_have_count(10 if path else 0)
            assert viewer.cut() == []
            assert viewer.violations() == []
        viewer.check()


@pytest.mark.parametrize("screen", [LAPTOP, cases.long(PHONE)], ids=str)
def test_sixty_tables_are_sorted_by_number_filtered_and_each_has_a_page(
    browser: Browser, still: Still, screen: Screen
) -> None:
    with viewing(browser, still.url, screen) as viewer:
        tables = viewer.page.get_by_role("region", name=drawn.TABLES)
        links = tables.get_by_role("link")
        expect(links.first).to_have_text(TABLE)
        if screen == LAPTOP:
            head = tables.get_by_role("columnheader", name="rows")
            for order in ("ascending", "descending"):
                head.get_by_role("button").press("Enter")
                expect(head).to_have_attribute("aria-sort", order)
            expect(links.nth(1)).to_have_text("public.table_59")
        tables.get_by_role("textbox").fill("table_42")
        expect(links).to_have_count(1)
        links.click()
        expect(viewer.page.get_by_role("heading", name="public.table_42")).to_be_visible()
        viewer.page.get_by_role("link", name="all tables").click()
        expect(tables).to_be_visible()
        viewer.check()


def test_the_broken_stage_stands_out_and_each_service_opens_to_its_log(laptop: Viewer, still: Still) -> None:
    page = laptop.page
    broken = page.get_by_role("region", name=drawn.STAGES).locator("li.failing")
    expect(broken).to_have_count(1)
    expect(broken).to_contain_text("landing")
    expect(broken.locator("code")).to_have_text("./lake up")
    expect(page.get_by_text(f"sink: {LOG}")).to_be_visible()
    expect(page.get_by_text(f"job: {LOG}")).to_be_hidden()
    page.get_by_role("button", name="job: running").press("Enter")
    expect(page.get_by_text(f"job: {LOG}")).to_be_visible()
    still.show(everything(state=picture().state, problems=()))
    expect(page.get_by_text(f"sink: {LOG}")).to_be_hidden()
    expect(page.get_by_role("region", name=drawn.PROBLEMS)).to_be_hidden()
    assert laptop.violations() == []


@pytest.mark.parametrize("scheme", ["light", cases.long("dark")])
def test_every_state_can_be_read(browser: Browser, still: Still, scheme: Any) -> None:
    with viewing(browser, still.url, Screen(width=1280, height=800, scheme=scheme)) as viewer:
        for word in Word:
            still.show(everything(state=State(word=word, reason=f"it is {word}")))
            expect(viewer.page.get_by_role("status")).to_have_text(f"{word}it is {word}")
            assert viewer.violations() == []
        viewer.check()


def test_the_system_or_the_switch_says_how_bright_it_is(laptop: Viewer) -> None:
    def ground(page: Page) -> str:
        return str(page.evaluate("getComputedStyle(document.body).backgroundColor"))

    light, dark = "rgb(255, 255, 255)", "rgb(13, 17, 23)"
    assert ground(laptop.page) == light
    laptop.page.emulate_media(color_scheme="dark")
    expect(laptop.page.locator("body")).to_have_css("background-color", dark)
    laptop.page.get_by_role("button", name="light").click()
    expect(laptop.page.locator("body")).to_have_css("background-color", light)


def test_what_is_gone_is_drawn_no_more(laptop: Viewer, still: Still) -> None:
    cells = laptop.page.get_by_role("rowheader")
    expect(cells).not_to_have_count(0)
    down = State(word=Word.DOWN, reason="the platform is down")
    still.show(Picture(at=0, pipeline="orders", found=PipelineState(state=down)))
    expect(cells).to_have_count(0)
    expect(laptop.page.get_by_text("no change since the first load")).to_be_visible()


FOCUSED = """() => {
  const element = document.activeElement, style = getComputedStyle(element), place = element.getBoundingClientRect();
  const outlined = style.outlineStyle !== "none" && parseFloat(style.outlineWidth) >= 2;
  const seen = outlined || style.boxShadow.includes("4px");
  const name = element.getAttribute("aria-label") || (element === document.body ? "" : element.innerText);
  return [name, seen && place.top < innerHeight && place.bottom > 0, Math.round(place.top + scrollY)];
}"""


def test_the_tab_key_goes_through_it_from_top_to_bottom_and_shows_where_it_is(browser: Browser, still: Still) -> None:
    heads = ["table", "kind", "state", "rows", "events behind", "last commit", "quarantine", TABLE]
    with viewing(browser, still.url) as viewer:
        expect(viewer.page.get_by_role("link", name=TABLE)).to_be_visible()
        found = []
        for _ in range(len(drawn.LIGHTS) + 2 + len(heads)):
            viewer.page.keyboard.press("Tab")
            found.append(viewer.page.evaluate(FOCUSED))
        wanted = ["Pipeline orders", *drawn.LIGHTS.values(), f"filter {drawn.TABLES.lower()}", *heads]
        assert [(name, seen) for name, seen, _ in found] == [(name, True) for name in wanted]
        tops = [top for _, _, top in found]
        assert tops == sorted(tops)
        tables = everything().found.data.tables
        still.show(everything(tables=(*tables[:2], replace(tables[2], lake_rows=987_654))))
        expect(viewer.page.get_by_text("987,654")).to_be_visible()
        expect(viewer.page.get_by_role("link", name=TABLE)).to_be_focused()


def test_a_screen_reader_finds_parts_and_tables_by_name(laptop: Viewer) -> None:
    page = laptop.page
    expect(page.get_by_role("main")).to_have_count(1)
    expect(page.get_by_role("heading", level=1)).to_have_text("Pipeline orders")
    expect(page.get_by_role("status")).to_have_attribute("aria-live", "polite")
    expect(page.get_by_role("group", name="light or dark").get_by_role("button")).to_have_count(len(drawn.LIGHTS))
    expect(page.get_by_role("rowheader", name=TABLE)).to_be_visible()
    heard = names_by_role(page)
    assert set(PARTS[""]) <= set(heard["region"])
    assert {drawn.TABLES, drawn.CHANGES, drawn.ERRORS} <= set(heard["group"])
    assert {"events behind", "before", "until"} <= set(heard["columnheader"])
    assert len([name for name in heard["image"] if "table's page lists" in name]) == 2


def names_by_role(page: Page) -> dict[str, list[str]]:
    """Return what the browser exposes to a screen reader: all accessible names, by role."""
    tree = page.context.new_cdp_session(page).send("Accessibility.getFullAXTree")
    found: dict[str, list[str]] = {"gridcell": [], "cell": []}
    for node in tree["nodes"]:
        if not node["ignored"]:
            found.setdefault(node["role"]["value"], []).append(node.get("name", {}).get("value", ""))
    return found


def test_what_isnt_there_says_so_and_stays_so(browser: Browser, still: Still) -> None:
    with viewing(browser, f"{still.url}none") as viewer:
        expect(viewer.page.get_by_text("no such page")).to_be_visible()
        still.show(picture())
        expect(viewer.page.get_by_role("status")).to_contain_text(Word.MOVING)
        viewer.page.get_by_role("link", name="Pipeline orders").click()
        expect(viewer.page.get_by_role("heading", name=drawn.STAGES)).to_be_visible()


def test_another_pages_script_gets_no_socket_and_no_page(browser: Browser, still: Still, tmp_path: Path) -> None:
    # A page at another port is of another origin.
    with ThreadingHTTPServer((HOST, 0), partial(SimpleHTTPRequestHandler, directory=tmp_path)) as elsewhere:
        threading.Thread(target=elsewhere.serve_forever, daemon=True).start()
        page = browser.new_page()
        page.goto(f"http://{HOST}:{elsewhere.server_port}/")
        for host in (HOST, FOREIGN):
            with page.expect_console_message(lambda said: "Unexpected response code: 403" in said.text):
                assert page.evaluate(OPEN, f"ws://{host}:{still.port}{SOCKET}") == "refused"
        read = "(url) => fetch(url).then((answer) => answer.text(), () => 'refused')"
        assert page.evaluate(read, still.url) == "refused"
        page.close()
        elsewhere.shutdown()
    with viewing(browser, still.url) as viewer:
        assert viewer.page.evaluate(OPEN, f"ws://{HOST}:{still.port}{SOCKET}") == "opened"


def test_the_browser_lets_the_page_ask_no_other_place(browser: Browser, still: Still) -> None:
    with viewing(browser, still.url) as viewer:
        ask = "(url) => fetch(url).then(() => 'asked', () => 'refused')"
        assert viewer.page.evaluate(ask, f"http://{FOREIGN}:{still.port}/") == "refused"
        assert [text for text in viewer.said if "Content Security Policy" in text]
