"""The live page of a running platform in a real browser: right numbers, in time, and its report of a dead service.

The last test has no browser: a service that hangs doesn't freeze what feeds the page.
"""

import re
import statistics
import time
from collections.abc import Callable, Iterator

import pytest
from playwright.sync_api import Browser, Locator, Page, expect

from contract.source import SCHEMA
from contract.states import Word
from local.dashboard import page as drawn
from local.dashboard.watcher import Watcher
from local.platform.platform import Platform
from tests.browser.serving import Served, serving_platform
from tests.browser.viewer import PATIENCE_MS, Viewer, viewing
from tests.conftest import execute
from tests.e2e.faults import kill, suspended
from tests.waiting import crowd, wait_until

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(900)]

ORDER = 981_000
TABLE = "datalake.cdc_events"
INSERT = (
    f"INSERT INTO {SCHEMA}.orders VALUES ({ORDER}, 'RICSU', 8, '1998-05-06', '1998-06-03', NULL, 2, 6.19,"
    " 'Richter Supermarkt', 'Starenweg 5', 'Genève', NULL, '1204', 'Switzerland')"
)
SHOWN_S = 3.0
TOLD_S = 10.0


@pytest.fixture(scope="module")
def served(platform: Platform) -> Iterator[Served]:
    with serving_platform(platform.state_dir) as served:
        yield served


@pytest.fixture(scope="module")
def viewer(browser: Browser, served: Served) -> Iterator[Viewer]:
    """A viewer of a page that shows all data in the lake; at the end the browser has no complaints."""
    with viewing(browser, served.url) as viewer:
        up_to_date(viewer.page)
        yield viewer
        viewer.check()


def up_to_date(page: Page) -> None:
    expect(page.get_by_role("status")).to_have_text("up to dateall that was committed is in the lake")


def rows(page: Page, table: str) -> Locator:
    """The rows of a table, without its head."""
    return page.get_by_role("group", name=table, exact=True).locator("tbody").get_by_role("row")


def written(page: Page) -> tuple[int, ...]:
    said = rows(page, drawn.FACTS).get_by_role("cell").last.inner_text()
    return tuple(int(part.split()[0].replace(",", "")) for part in re.split(", (?=[0-9])", said.partition(" in ")[0]))


@pytest.fixture
def page_of_table(viewer: Viewer) -> Iterator[Page]:
    """The table's page, which is left for the drawn."""
    viewer.page.get_by_role("link", name=TABLE).click()
    yield viewer.page
    viewer.page.get_by_role("link", name="all tables").click()


def test_each_change_is_counted_and_shown_within_three_seconds(
    platform: Platform, page_of_table: Page, record_testsuite_property: Callable[[str, object], None]
) -> None:
    """Measured on the middle of three changes; `--junit-xml` also has each one's seconds since its source commit."""
    page, from_lake, from_source = page_of_table, list[float](), list[float]()
    steps = (
        (INSERT, "inserted", (1, 0, 0)),
        (f"UPDATE {SCHEMA}.orders SET freight = 7 WHERE order_id = {ORDER}", "updated", (0, 1, 0)),
        (f"DELETE FROM {SCHEMA}.orders WHERE order_id = {ORDER}", "deleted", (0, 0, 1)),
    )
    before = written(page)
    for statement, word, more in steps:
        known = platform.lake.last_commit()
        execute(platform.source, statement)
        begun = time.monotonic()
        seconds(begun, platform.lake.last_commit, before=known)
        committed = time.monotonic()
        from_lake.append(seconds(committed, lambda: written(page), before=before))
        from_source.append(time.monotonic() - begun)
        before = tuple(had + added for had, added in zip(before, more, strict=True))
        assert written(page) == before
        newest = rows(page, drawn.CHANGES).first
        expect(newest).to_contain_text(word)
        expect(newest).to_contain_text(f"order_id = {ORDER}")
        expect(rows(page, drawn.COMMITS).first).to_contain_text(re.compile("{}.*{}.*{}".format(*more)))
        up_to_date(page)
    record_testsuite_property("seconds_from_lake", [round(one, 2) for one in from_lake])
    record_testsuite_property("seconds_from_source", [round(one, 2) for one in from_source])
    assert statistics.median(from_lake) <= SHOWN_S * crowd(), (from_lake, from_source)


def seconds(begun: float, look: Callable[[], object], *, before: object = False) -> float:
    """Return the seconds from `begun` until a look shows something else than before."""
    while look() == before:
        assert time.monotonic() < begun + 3 * PATIENCE_MS / 1000
        time.sleep(0.1)  # each look costs CPU
    return time.monotonic() - begun


def test_a_service_that_dies_and_comes_back_is_told(platform: Platform, viewer: Viewer) -> None:
    page = viewer.page
    state, sink = page.get_by_role("status"), page.get_by_role("button", name="sink: ")
    log = page.get_by_role("group", name="end of sink's log")
    expect(log).to_be_hidden()
    kill(platform, "sink")
    expect(state.locator("strong")).to_have_text("failing", timeout=TOLD_S * 1000 * crowd())
    expect(state).to_contain_text("sink is dead")
    expect(page.get_by_role("region", name=drawn.PROBLEMS)).to_contain_text("sink is dead")
    expect(page.get_by_role("region", name=drawn.STAGES).locator("li.failing")).to_contain_text("landing")
    expect(log).to_be_visible()
    expect(sink).to_contain_text("dead")
    expect(rows(page, drawn.ERRORS).first).to_contain_text("lasts")
    platform.up()
    up_to_date(page)
    expect(log).to_be_hidden()
    expect(sink).to_contain_text("running")
    expect(rows(page, drawn.ERRORS).filter(has_text="sink is dead").first).not_to_contain_text("lasts")


@pytest.mark.long
def test_a_service_that_hangs_freezes_nothing(platform: Platform) -> None:
    with Watcher(platform) as watcher:

        def is_settled() -> bool:
            picture = watcher.picture
            return picture.state.word == Word.UP_TO_DATE and bool(picture.commits and picture.found.stages)

        wait_until(is_settled)
        with suspended(platform, "s3"):
            assert seconds(time.monotonic(), lambda: watcher.picture.state.word == Word.FAILING) <= 5
            picture = watcher.picture
            assert picture.state.reason.startswith("s3")
            assert seconds(time.monotonic(), lambda: watcher.picture is not picture) <= 3
        wait_until(is_settled)
