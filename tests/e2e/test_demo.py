"""The demo as a newcomer runs it: its output matches the README, and its summary holds."""

import pytest

from tests.e2e.harness.walking import Walked, unlike_the_page

KEYS = {"source_rows", "lake_rows", "missing", "extra", "different", "quarantined", "events", "seconds_total", "steps"}

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(900)]


def test_lake_and_source_end_equal(demo: Walked) -> None:
    summary = demo.summary
    assert set(summary) == KEYS
    assert (summary["missing"], summary["extra"], summary["different"], summary["quarantined"]) == (0, 0, 0, 0)
    assert summary["source_rows"] == summary["lake_rows"] == 829
    assert list(demo.seconds)[:3] == ["initial load", "ship order 11077", "insert order 11075 with three lines"]
    assert all(seconds > 0 for seconds in demo.seconds.values())


def test_the_readme_shows_what_the_demo_prints(demo: Walked) -> None:
    assert not unlike_the_page("README.md", "make demo", demo.printed)
