"""The query demo as a newcomer runs it, and its platform afterwards: places by queries alone, each change arrives.

On generated rows; on Pagila's where available. The tests share the platform and run in order.
"""

import contextlib
import os
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import psycopg2
import pytest
from rich.console import Console

from contract.events import CREATE, OPERATION, READ_MS, UPDATE
from local.comparison.platform_sides import platform_sides
from local.comparison.reconcile import reconcile_platform
from local.comparison.run import compare_tables
from local.dashboard.changes import Change
from local.dashboard.watcher import Watcher
from local.demo.watch import PLACE_CHANGES
from local.platform.platform import Platform
from local.platform.services import GLUE_DATABASE
from local.query import command as query_command
from local.query.query import Period, ask
from local.state.collect import Collector
from local.state.tables import TableStatus
from tests.capture.conftest import PAGILA, WITHOUT_PAGILA
from tests.conftest import execute
from tests.e2e.commands import Walked, unlike_the_page, walked
from tests.e2e.faults import restored, wait_until_well
from tests.local.comparison.sides import ArrowLake
from tests.waiting import wait_until

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(900)]

RELEASE = os.environ.get("JDBC_PLUGIN", "")
# The project's promise for an otherwise idle machine.
WHOLE_S, CHANGE_S = 120, 10
COUNTS = {"source_rows": 1915, "lake_rows": 1915, "missing": 0, "extra": 0, "different": 0, "quarantined": 0}
ROWS = {"public.address": 602, "public.city": 601, "public.country": 110, "query.address_place": 602}


def assert_equal(demo: Walked) -> None:
    summary = demo.summary
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


def test_the_page_shows_what_it_prints(demo_query: Walked) -> None:
    # At the source and in the lake.
    assert demo_query.printed.count(" district: Lake Turkana, city: Birnin Zana, country: Wakanda\n") == 2
    assert not unlike_the_page("docs/start.md", "make demo-query", demo_query.printed)


@pytest.mark.long
@WITHOUT_PAGILA
def test_the_real_rows_end_equal_too(tmp_path: Path) -> None:
    with walked("demo places", tmp_path / "real", "--from", str(PAGILA)) as demo:
        assert_equal(demo)
        assert "19,955 rows loaded" in demo.printed


@pytest.mark.long
@pytest.mark.skipif(not RELEASE, reason="JDBC_PLUGIN doesn't name a JDBC connector's release")
def test_a_connector_beside_it_sends_all_rows_and_no_delete(tmp_path: Path) -> None:
    """The sources generated for the pipeline run on a real worker against the real database."""
    with walked("demo places", tmp_path / "beside", "--jdbc", RELEASE) as demo:
        assert_equal(demo)
        beside = demo.summary["beside"]
    assert "JdbcSourceConnector" in beside["connector"]
    # Each deleted address stays in what the polls have sent.
    assert {one["topic"]: (one["missing"], one["stale"], one["extra"]) for one in beside["topics"]} == {
        "polled.public.address": (0, 0, 1),
        "polled.public.city": (0, 0, 0),
        "polled.public.country": (0, 0, 0),
        "polled.keyed.public.address": (0, 0, 1),
        "polled.query.address_place": (0, 0, 1),
    }


# A full scan's interval may be ten times its duration, on a busy machine.
PATIENT_S = 400.0
# The country that the demo inserts.
WAKANDA = 110


def rows(places: Platform, table: str, key: str) -> dict[int, dict[str, Any]]:
    [found] = places.services.chosen([table])
    return {row[key]: row for row in found.lake.rows().to_pylist()}


def wait(question: Callable[[], object]) -> None:
    wait_until(question, every_s=0.3)


def is_equal(places: Platform) -> bool:
    return reconcile_platform(Console(quiet=True), places, repair=False, timeout_s=PATIENT_S)


def test_no_connector_runs_and_all_tables_are_in_the_lake(places: Platform) -> None:
    assert places.running() == {"postgres", "s3", "moto", "job"}
    found = Collector(places).look()
    assert [table.lake_rows for table in found.data.captured] == [602, 601, 110, 602]
    wait_until_well(places)


def test_a_loss_is_told_after_the_next_complete_look(places: Platform) -> None:
    """The lake's rows, except one, stand in for a table that has lost it."""
    sides = platform_sides(places, ["city"])
    [city] = sides.tables
    lost = replace(city, lake=ArrowLake(now=[city.lake.rows().slice(1)]))
    [found] = compare_tables(replace(sides, tables=[lost]), timeout_s=PATIENT_S)
    assert (found.missing, found.late) == (1, 0)
    assert found.seconds < PATIENT_S / 2


def test_the_role_of_the_job_may_read_and_nothing_else(places: Platform) -> None:
    as_job = places.services.connector
    with contextlib.closing(psycopg2.connect(**as_job)) as connection, connection.cursor() as cursor:
        with pytest.raises(psycopg2.errors.InsufficientPrivilege):
            cursor.execute("UPDATE country SET country = 'x'")
        connection.rollback()
        cursor.execute("SELECT rolreplication OR rolsuper FROM pg_roles WHERE rolname = current_user")
        assert cursor.fetchone() == (False,)
        cursor.execute("SELECT (SELECT count(*) FROM pg_replication_slots) + (SELECT count(*) FROM pg_publication)")
        assert cursor.fetchone() == (0,)


def derived(places: Platform) -> dict[int, dict[str, Any]]:
    table = places.services.derived[0]
    return {row["country_id"]: row for row in table.lake.rows().to_pylist()} if table.lake.exists() else {}


def made(places: Platform) -> list[TableStatus]:
    """The status of the tables that are made of others."""
    data = Collector(places).look().data
    return [table for table in data.tables if table not in data.captured]


def test_a_derived_table_is_what_its_query_gives(places: Platform) -> None:
    wanted = {"pagilaquery_country_addresses": 110, "pagilaquery_city_history": 602}
    wait_until(lambda: {one.name: one.lake_rows for one in made(places)} == wanted)
    wait(lambda: derived(places)[WAKANDA]["cities"] == 1)
    wait(lambda: sum(row["addresses"] for row in derived(places).values()) == 602)
    wait_until(lambda: wanted.keys() <= places.services.aws.tables(GLUE_DATABASE).keys())
    found, _ = made(places)
    assert found.state is not None
    assert not found.state.fails
    asked = ask(query_command._lake(places, ()), f"SELECT count(*) AS n FROM {GLUE_DATABASE}.{found.name}", Period())
    assert asked.to_pylist() == [{"n": 110}]


def test_a_row_tells_its_last_change_and_when_it_was_read(places: Platform) -> None:
    """As the demo's changes have left them."""
    assert rows(places, "country", "country_id")[WAKANDA][OPERATION] == CREATE
    addresses = rows(places, "address", "address_id")
    assert (addresses[100][OPERATION], addresses[200][OPERATION]) == (UPDATE, CREATE)
    assert addresses[100][READ_MS] > addresses[200][READ_MS]


def test_versions_of_a_row_are_in_its_history(places: Platform) -> None:
    asked = (
        "SELECT city, valid_from, valid_to FROM versions_pagilaquery_city WHERE city_id ="
        " (SELECT city_id FROM pagilaquery_address WHERE address_id = 100) ORDER BY valid_from"
    )

    def versions() -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = ask(query_command._lake(places, ()), asked, Period()).to_pylist()
        return found

    wait(lambda: len(versions()) == 2)
    first, renamed = versions()
    assert (renamed["city"], renamed["valid_to"]) == ("Augusta", None)
    assert first["valid_from"] < first["valid_to"] == renamed["valid_from"]


@pytest.fixture
def watcher(places: Platform) -> Iterator[Watcher]:
    with Watcher(places) as watching:
        yield watching


@pytest.mark.long
def test_the_live_page_shows_all_tables_and_their_changes(places: Platform, watcher: Watcher) -> None:
    execute(
        places.source,
        "UPDATE country SET country = 'Renamed' WHERE country_id = 3;"
        " UPDATE city SET city = 'Elsewhere' WHERE city_id = (SELECT city_id FROM address WHERE address_id = 5)",
    )
    expected = {("public.country", "country_id = 3"), ("query.address_place", "address_id = 5")}

    def changes() -> list[Change]:
        return [one for of_table in watcher.picture.changes.values() for one in of_table]

    wait_until(lambda: expected <= {(one.table, one.key) for one in changes() if one.what == "updated"})
    [renamed] = [one for one in changes() if one.key == "country_id = 3"]
    [(before, after)] = [values for name, *values in renamed.columns if name == "country"]
    assert after == "Renamed"
    assert before not in ("", after)
    kinds = {table.name: table.kind for table in watcher.picture.found.data.tables}
    assert [*kinds.values()] == ["queried"] * 4 + ["derived", "history"]
    wait_until(lambda: kinds.keys() == watcher.picture.commits.keys())


@pytest.mark.long
def test_a_restored_database_is_read_again(places: Platform) -> None:
    execute(places.source, "INSERT INTO address (address, district, city_id, phone) VALUES ('back again', '', 1, '')")
    with restored(places):
        execute(
            places.source,
            "UPDATE country SET country = 'Former' WHERE country_id = 4; INSERT INTO country (country) VALUES ('Gone');"
            " DELETE FROM address WHERE address = 'back again'",
        )
        assert is_equal(places)
    places.revive("postgres")
    execute(places.source, "UPDATE country SET country = 'Restored' WHERE country_id = 5")
    execute(places.source, "DO $$ BEGIN FOR n IN 1..50 LOOP PERFORM pg_current_xact_id(); COMMIT; END LOOP; END $$")
    places.up()
    execute(places.source, "UPDATE country SET country = 'After it' WHERE country_id = 6")
    assert is_equal(places)


def test_a_truncate_stops_the_table_with_a_line_and_leaves_it(places: Platform) -> None:
    kept = len(rows(places, "country", "country_id"))
    execute(places.source, "TRUNCATE country CASCADE")

    def said() -> bool:
        problems = Collector(places).look(["country"]).problems
        return any("public.country" in problem.part and "%" in problem.reason for problem in problems)

    wait(said)
    assert len(rows(places, "country", "country_id")) == kept
