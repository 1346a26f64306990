"""The page in NiceGUI's own simulation: what it shows is what the picture says, as text."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import replace

from nicegui import ui
from nicegui.json import dumps
from nicegui.testing import User, user_simulation

from contract.states import Word
from local.dashboard.charts import Chart, Orders
from local.dashboard.page import SECTIONS, draw
from local.dashboard.state import State
from local.dashboard.table import Text
from local.dashboard.watcher import Picture
from tests.local.dashboard.pictures import SCRIPT, commit, picture


def on_page(pictures: list[Picture], look: Callable[[User], Awaitable[None]]) -> None:
    """Open the page, which draws the last of the pictures, and look at it."""

    async def run() -> None:
        async with user_simulation(root=lambda: draw(lambda: pictures[-1])) as user:
            await user.open("/")
            await look(user)

    asyncio.run(run())


def texts(user: User, tag: str) -> list[str]:
    """What the elements with this tag say."""
    assert user.client is not None
    found = [one for one in user.client.elements.values() if isinstance(one, Text) and one.tag == tag]
    return [str(one.text) for one in sorted(found, key=lambda one: one.id)]


def test_the_state_comes_first_and_every_section_has_a_heading() -> None:
    async def look(user: User) -> None:
        assert texts(user, "h1") == ["Pipeline orders"]
        assert texts(user, "strong") == ["moving"]
        assert {section.title for section in SECTIONS} <= set(texts(user, "h2"))

    on_page([picture()], look)


def test_numbers_are_where_they_belong() -> None:
    async def look(user: User) -> None:
        await user.should_see("2 events on their way")
        cells = texts(user, "td")
        assert cells[:6] == ["next offset 7", "1.2 s", "2", "0.5 events/s", "11:25:25", "-"]
        assert cells[6:11] == ["captured", "826", "11:25:12", "13 s", "-"]
        assert cells[11:16] == ["history", "-", "-", "-", "starting"]
        assert cells[16:21] == ["829", "1", "3", "2", "11:25:25"]
        assert "2026-11-22" in cells
        await user.should_see("2026-11-22 11:30:00 UTC: equal")

    on_page([picture()], look)


def test_a_raw_line_is_shown_as_text() -> None:
    async def look(user: User) -> None:
        assert SCRIPT in texts(user, "td")
        assert user.client is not None
        assert not [one for one in user.client.elements.values() if isinstance(one, ui.html)]

    on_page([picture()], look)


def test_half_a_surrogate_pair_keeps_nothing_from_the_page() -> None:
    async def look(user: User) -> None:
        assert "a?b" in texts(user, "td")
        assert user.client is not None
        dumps([one.text for one in user.client.elements.values() if isinstance(one, Text)])

    aside = replace(picture().put_aside[0], text="a\ud800b")
    on_page([picture(put_aside=(aside,), logs=(("job", ("x\udfff",)),))], look)


def test_it_moves_when_the_picture_does() -> None:
    async def look(user: User) -> None:
        failing = State(word=Word.FAILING, reason="the job died", parts=("job",))
        more = (*picture().commits, commit("20261122113000000", inserted=5))
        pictures.append(picture(state=failing, commits=more, logs=(("job", ("out of memory",)),), stages=()))
        await user.should_see("the job died", retries=20)
        assert texts(user, "strong") == ["failing"]
        assert texts(user, "td")[10:13] == ["834", "1", "3"]
        await user.should_see("out of memory")

    pictures = [picture()]
    on_page(pictures, look)


def test_order_items_come_with_their_charts_and_the_charts_numbers() -> None:
    async def look(user: User) -> None:
        chart = Chart(
            kind="pie", title="Revenue", alt="by customer", columns=("customer", "sum"), rows=(("A", 1234.5),)
        )
        items = Orders(charts=(chart,), columns=("customer", "order"), items=(("A", "10248"),))
        assert "Revenue" not in texts(user, "h2")
        pictures.append(picture(orders=items))
        await user.should_see("10248", retries=20)
        assert "Revenue" in texts(user, "h2")
        assert "1,234.50" in texts(user, "td")
        pictures.append(picture(orders=replace(items, items=(("A", "10249"),))))
        await user.should_see("10249", retries=20)
        assert texts(user, "h2").count("Revenue") == 1

    pictures = [picture()]
    on_page(pictures, look)


def test_a_platform_that_is_down_draws_no_numbers_of_before() -> None:
    async def look(user: User) -> None:
        down = State(word=Word.DOWN, reason="the platform is down: `./lake up` starts it")
        pictures.append(Picture(at=0, pipeline="orders", state=down))
        await user.should_see("the platform is down", retries=20)
        assert texts(user, "td") == []
        await user.should_see("no commit in the lake yet")

    pictures = [picture()]
    on_page(pictures, look)


def test_keyboard_and_screen_readers_find_their_way() -> None:
    async def look(user: User) -> None:
        assert user.client is not None
        elements = list(user.client.elements.values())
        assert [one for one in elements if one.props.get("aria-live") == "polite" and one.props.get("role") == "status"]
        tables = [one for one in elements if one.tag == "table"]
        focusable = [one for one in elements if one.props.get("tabindex") == "0"]
        assert len(tables) == len(SECTIONS) == len([one for one in focusable if one.tag == "div"])
        assert all(one.props["role"] == "group" and one.props["aria-label"] for one in focusable)
        # A browser may forget what a table's parts are when they are laid out as cards.
        roles = {"table": "table", "thead": "rowgroup", "tbody": "rowgroup", "tr": "row", "td": "cell"}
        assert {(one.tag, one.props.get("role")) for one in elements if one.tag in roles} == set(roles.items())
        assert all(one.props["scope"] in ("col", "row") for one in elements if one.tag == "th")
        assert all(one.props.get("aria-label") for one in elements if one.tag in ("section", "nicegui-echart"))

    on_page([picture()], look)
