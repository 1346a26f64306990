"""The page in a real browser, from pictures that need no platform: its look, its access rules, its accessibility."""

import contextlib
import http.server
import threading
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, expect

from contract.states import Word
from local.dashboard.charts import Chart, Orders
from local.dashboard.page import CHARTED, ITEMS_TITLE, LIGHTS, LOGS_TITLE, SECTIONS
from local.dashboard.watcher import Picture
from local.setup.ports import HOST
from local.state.collect import PipelineState
from local.state.word import State
from tests import cases
from tests.browser.chromium import FOREIGN
from tests.browser.serving import Still, serving_still
from tests.browser.viewer import LAPTOP, PHONE, SCREENS, Screen, viewing
from tests.local.dashboard.pictures import SCRIPT, picture

pytestmark = [pytest.mark.integration, pytest.mark.timeout(300)]

SOCKET = "/_nicegui_ws/socket.io/?EIO=4&transport=websocket"
OPEN = """(url) => new Promise((resolve) => {
  const socket = new WebSocket(url);
  socket.onopen = () => resolve("opened");
  socket.onerror = () => resolve("refused");
})"""
MOVES_MS = 10_000
REVENUE, QUANTITY = "Revenue by customer", "Average quantity and revenue"


def everything(**changed: Any) -> Picture:
    """A picture in which no part is empty, with unbreakable words and more rows than a table shows."""
    charts = (
        Chart(kind="pie", title=REVENUE, alt="a pie", columns=("customer", "sum"), rows=(("QUICK", 1234.5),)),
        Chart(
            kind="scatter", title=QUANTITY, alt="points", columns=("c", "x", "y", "n"), rows=(("QUICK", 1.0, 2.0, 3),)
        ),
    )
    columns = ("customer_id", "order_id", "product_id", "unit_price", "quantity", "discount")
    items = tuple(("QUICK", f"{11_000 + number}", "1", "18.0000", "4", "0.25") for number in range(20))
    given = picture()
    return picture(
        **{
            "state": State(word=Word.FAILING, reason=f"job is dead: see {'logs/' * 30}job.log", parts=("job",)),
            "logs": (("job", ("x" * 400, *("a line",) * 40)),),
            "quarantined": (*given.quarantined, *(replace(given.quarantined[0], text="half a pair: \ud800"),) * 10),
            "orders": Orders(charts=charts, columns=columns, items=items),
            **changed,
        }
    )


@pytest.fixture(scope="module")
def still(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Still]:
    with serving_still(everything(), tmp_path_factory.mktemp("still")) as still:
        yield still


@pytest.fixture(autouse=True)
def shown(still: Still) -> None:
    """Each test begins with everything."""
    still.show(everything())


@pytest.mark.parametrize("screen", SCREENS, ids=str)
def test_all_of_it_can_be_read(browser: Browser, still: Still, screen: Screen) -> None:
    with viewing(browser, still.url, screen) as viewer:
        for title in (*(section.title for section in SECTIONS), REVENUE, QUANTITY, ITEMS_TITLE):
            expect(viewer.page.get_by_role("heading", name=title, exact=True)).to_be_visible()
        expect(viewer.page.locator("canvas")).to_have_count(3)
        expect(viewer.page.get_by_text(SCRIPT)).to_have_count(1)
        expect(viewer.page.get_by_text("half a pair: ?")).to_have_count(10)
        assert viewer.cut() == []
        assert viewer.violations() == []
        viewer.check()


@pytest.mark.parametrize("scheme", ["light", cases.long("dark")])
def test_every_state_can_be_read(browser: Browser, still: Still, scheme: Any) -> None:
    with viewing(browser, still.url, Screen(width=1280, height=800, scheme=scheme)) as viewer:
        for word in Word:
            still.show(everything(state=State(word=word, reason=f"it is {word}"), logs=()))
            expect(viewer.page.get_by_role("status")).to_have_text(f"{word}it is {word}")
            assert viewer.violations() == []
        viewer.check()


def test_the_system_or_the_switch_says_how_bright_it_is(browser: Browser, still: Still) -> None:
    def ground(page: Page) -> str:
        return str(page.evaluate("getComputedStyle(document.body).backgroundColor"))

    light, dark = "rgb(255, 255, 255)", "rgb(13, 17, 23)"
    with viewing(browser, still.url, LAPTOP) as viewer:
        assert ground(viewer.page) == light
        viewer.page.emulate_media(color_scheme="dark")
        expect(viewer.page.locator("body")).to_have_css("background-color", dark)
        viewer.page.get_by_role("button", name="light").click()
        expect(viewer.page.locator("body")).to_have_css("background-color", light)
        viewer.check()


def test_what_changes_is_shown_without_a_reload(browser: Browser, still: Still) -> None:
    with viewing(browser, still.url) as viewer:
        expect(viewer.page.get_by_role("status")).to_contain_text("job is dead")
        still.show(picture())
        expect(viewer.page.get_by_role("status")).to_have_text("moving2 events on their way", timeout=MOVES_MS)
        expect(viewer.page.locator("pre")).to_be_hidden()
        viewer.check()


def test_what_is_gone_is_drawn_no_more_and_what_comes_is_drawn_once(browser: Browser, still: Still) -> None:
    still.show(picture())
    with viewing(browser, still.url) as viewer:
        cells, charts = viewer.page.locator("td"), viewer.page.get_by_role("heading", name=REVENUE)
        expect(cells).not_to_have_count(0)
        expect(charts).to_have_count(0)
        down = State(word=Word.DOWN, reason="the platform is down")
        still.show(Picture(at=0, pipeline="orders", found=PipelineState(state=down)))
        expect(cells).to_have_count(0, timeout=MOVES_MS)
        expect(viewer.page.get_by_text("no commit in the lake yet")).to_be_visible()
        orders = everything().orders
        assert orders is not None
        for item in ("10248", "10249"):
            still.show(everything(orders=replace(orders, items=(("QUICK", item, *orders.items[0][2:]),))))
            expect(viewer.page.get_by_text(item)).to_be_visible(timeout=MOVES_MS)
            expect(viewer.page.get_by_text("1,234.50")).to_be_visible()
            expect(charts).to_have_count(1)
        viewer.check()


FOCUSED = """() => {
  const element = document.activeElement, style = getComputedStyle(element), place = element.getBoundingClientRect();
  const outlined = style.outlineStyle !== "none" && parseFloat(style.outlineWidth) >= 2;
  const seen = outlined || style.boxShadow.includes("4px");
  const name = element.getAttribute("aria-label") || (element === document.body ? "" : element.innerText);
  return [name, seen && place.top < innerHeight && place.bottom > 0, place.top + scrollY];
}"""


@pytest.mark.parametrize("screen", [LAPTOP, PHONE], ids=str)
def test_the_tab_key_goes_through_it_from_top_to_bottom_and_shows_where_it_is(
    browser: Browser, still: Still, screen: Screen
) -> None:
    titles = [section.title for section in SECTIONS]
    wanted = [*LIGHTS.values(), LOGS_TITLE, *titles, REVENUE, QUANTITY, ITEMS_TITLE]
    with viewing(browser, still.url, screen) as viewer:
        expect(viewer.page.get_by_role("heading", name=ITEMS_TITLE)).to_be_visible()
        found = []
        for _ in wanted:
            viewer.page.keyboard.press("Tab")
            found.append(viewer.page.evaluate(FOCUSED))
        assert [(name, seen) for name, seen, _ in found] == [(name, True) for name in wanted]
        tops = [top for _, _, top in found]
        assert tops == sorted(tops)
        viewer.page.keyboard.press("Tab")
        assert viewer.page.evaluate("document.activeElement === document.body")


@pytest.mark.parametrize("screen", [LAPTOP, PHONE], ids=str)
def test_a_screen_reader_finds_parts_and_tables_by_name(browser: Browser, still: Still, screen: Screen) -> None:
    with viewing(browser, still.url, screen) as viewer:
        page = viewer.page
        expect(page.get_by_role("main")).to_have_count(1)
        expect(page.get_by_role("heading", level=1)).to_have_text("Pipeline orders")
        expect(page.get_by_role("status")).to_have_attribute("aria-live", "polite")
        expect(page.get_by_role("group", name="light or dark").get_by_role("button")).to_have_count(len(LIGHTS))
        heard = names_by_role(page)
        charts = [REVENUE, QUANTITY]
        tables = [*(section.title for section in SECTIONS), *charts, ITEMS_TITLE]
        assert sorted(heard["table"]) == sorted(tables)
        assert set(tables) <= set(heard["region"])
        columns = {column for section in SECTIONS for column in section.columns}
        assert columns <= set(heard["columnheader"])
        assert "datalake.cdc_events" in heard["rowheader"]
        # A card on a phone has no header above it: the cell names its column.
        assert {"829", "inserted: 829"} & {*heard["gridcell"], *heard["cell"]}
        assert [name for name in heard["image"] if "table has" not in name] == []
        assert len(heard["image"]) == len([CHARTED, *charts])


def names_by_role(page: Page) -> dict[str, list[str]]:
    """Return what the browser exposes to a screen reader: all accessible names, by role."""
    tree = page.context.new_cdp_session(page).send("Accessibility.getFullAXTree")
    found: dict[str, list[str]] = {"gridcell": [], "cell": []}
    for node in tree["nodes"]:
        if not node["ignored"]:
            found.setdefault(node["role"]["value"], []).append(node.get("name", {}).get("value", ""))
    return found


def test_a_page_by_another_name_of_this_machine_is_refused(browser: Browser, still: Still) -> None:
    page = browser.new_page()
    answer = page.goto(f"http://{FOREIGN}:{still.port}/")
    assert answer is not None
    assert answer.status == 400
    assert "orders" not in page.content()
    page.close()


def test_another_pages_script_gets_no_socket_and_no_page(browser: Browser, still: Still) -> None:
    with another_page() as elsewhere:
        page = browser.new_page()
        page.goto(elsewhere)
        with page.expect_console_message(lambda said: "Unexpected response code: 403" in said.text):
            assert page.evaluate(OPEN, f"ws://{HOST}:{still.port}{SOCKET}") == "refused"
        read = "(url) => fetch(url).then((answer) => answer.text(), () => 'refused')"
        assert page.evaluate(read, still.url) == "refused"
        page.close()
    with viewing(browser, still.url) as viewer:
        assert viewer.page.evaluate(OPEN, f"ws://{HOST}:{still.port}{SOCKET}") == "opened"


def test_the_browser_lets_the_page_ask_no_other_place(browser: Browser, still: Still) -> None:
    with viewing(browser, still.url) as viewer:
        ask = "(url) => fetch(url).then(() => 'asked', () => 'refused')"
        assert viewer.page.evaluate(ask, f"http://{FOREIGN}:{still.port}/") == "refused"
        assert [text for text in viewer.said if "Content Security Policy" in text]


class Empty(http.server.BaseHTTPRequestHandler):
    """An empty page."""

    def do_GET(self) -> None:
        self.send_response(200)
        self.send_header("Content-Type", "text/html")
        self.end_headers()

    def log_message(self, *_: object) -> None:
        """Print nothing."""


@contextlib.contextmanager
def another_page() -> Iterator[str]:
    """Serve an empty page at another port, which is another origin."""
    with http.server.ThreadingHTTPServer((HOST, 0), Empty) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        try:
            yield f"http://{HOST}:{server.server_address[1]}/"
        finally:
            server.shutdown()
