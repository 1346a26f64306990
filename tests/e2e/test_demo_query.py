"""The query demo as a newcomer runs it, on generated rows, and on Pagila's where available."""

import os
import re
from pathlib import Path

import pytest

from local.demo.changes import PLACE_CHANGES
from tests.capture.conftest import PAGILA, WITHOUT_PAGILA
from tests.e2e.harness.walking import Walked, unlike_the_page, walk

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(900)]

RELEASE = os.environ.get("JDBC_PLUGIN", "")
# The project's promise for an otherwise idle machine.
WHOLE_S, CHANGE_S = 120, 10
COUNTS = {"source_rows": 1915, "lake_rows": 1915, "missing": 0, "extra": 0, "different": 0, "quarantined": 0}
ROWS = {"public.address": 602, "public.city": 601, "public.country": 110, "query.address_place": 602}


def assert_equal(walked: Walked) -> None:
    summary = walked.summary
    assert {name: summary[name] for name in COUNTS} == COUNTS
    assert {table["table"]: table["lake_rows"] for table in summary["tables"]} == ROWS
    assert all(table["equal"] for table in summary["tables"])
    assert summary["captured_by"] == "JdbcSource"


def test_each_change_arrives_in_time_and_all_tables_end_equal(demo_query: Walked) -> None:
    assert_equal(demo_query)
    assert list(demo_query.seconds) == ["initial load", *(change.name for change in PLACE_CHANGES)]
    slowest = max(demo_query.seconds[change.name] for change in PLACE_CHANGES)
    assert slowest <= CHANGE_S * demo_query.crowd, demo_query.seconds
    assert demo_query.summary["seconds_total"] <= WHOLE_S * demo_query.crowd


@pytest.mark.parametrize(
    ("where", "what"),
    [
        ("address_place 100", "address: 123 CDC Test Lane, city: Augusta"),
        ("address 101", "address2: Apartment #2202"),
        ("country 110", "country: Wakanda"),
        ("city 601", "city: Birnin Zana, country_id: 110"),
        ("address 102", "city_id: 601, phone: 110601102, district: Lake Turkana"),
        ("address_place 102", "district: Lake Turkana, city: Birnin Zana, country: Wakanda"),
        ("address 104", "no row"),
        ("address_place 104", "no row"),
    ],
)
def test_source_and_lake_show_the_same_row(demo_query: Walked, where: str, what: str) -> None:
    pair = rf"^   source  {where} +{re.escape(what)}\n   lake    commit (?:\d{{17}}|-) +{re.escape(what)}$"
    assert re.search(pair, demo_query.printed, re.MULTILINE), demo_query.printed


def test_the_page_shows_what_it_prints(demo_query: Walked) -> None:
    assert not unlike_the_page("docs/start.md", "make demo-query", demo_query.printed)


@pytest.mark.long
@WITHOUT_PAGILA
def test_the_real_rows_end_equal_too(tmp_path: Path) -> None:
    walked = walk("demo places", tmp_path / "real", "--from", str(PAGILA))
    assert_equal(walked)
    assert "19,955 rows loaded" in walked.printed


@pytest.mark.long
@pytest.mark.skipif(not RELEASE, reason="JDBC_PLUGIN doesn't name a JDBC connector's release")
def test_a_connector_beside_it_sends_all_rows_and_no_delete(tmp_path: Path) -> None:
    """The sources generated for the pipeline run on a real worker against the real database."""
    walked = walk("demo places", tmp_path / "beside", "--jdbc", RELEASE)
    assert_equal(walked)
    beside = walked.summary["beside"]
    assert "JdbcSourceConnector" in beside["connector"]
    # Each deleted address stays in what the polls have sent.
    assert {one["topic"]: (one["missing"], one["stale"], one["extra"]) for one in beside["topics"]} == {
        "polled.public.address": (0, 0, 1),
        "polled.public.city": (0, 0, 0),
        "polled.public.country": (0, 0, 0),
        "polled.keyed.public.address": (0, 0, 1),
        "polled.query.address_place": (0, 0, 1),
    }
