"""Changes of ordinary tables are lost while the platform is down, and one command makes lake and source equal again.

Losses of a running platform are faults of the deck (fault_deck.py). The walks share a platform: each takes it down,
loses something, changes rows, and starts it as a user does.
"""

import shutil
from collections.abc import Callable, Iterator

import pytest
from rich.console import Console

from local.comparison.reconcile import reconcile_platform
from local.errors import PlatformError
from local.platform.platform import Platform
from local.platform.record import PlatformOptions
from local.resnapshot.command import resnapshot_tables
from local.resnapshot.run import Wanted
from tests.conftest import execute
from tests.e2e.faults import wait_until_well

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(900), pytest.mark.long]

TIMEOUT_S = 400
SLOT = "cdc_pagila"


@pytest.fixture(scope="module")
def films(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Platform]:
    platform = Platform(tmp_path_factory.mktemp("films") / "state", PlatformOptions(pipeline="pagila"))
    try:
        platform.up()
        yield platform
    finally:
        platform.remove()


def change(films: Platform, number: int) -> None:
    """An insert, an update and a delete of rows, different for each number."""
    execute(
        films.source,
        f"INSERT INTO country (country) VALUES ('Country {number}');"
        f" UPDATE customer SET first_name = 'Number {number}' WHERE customer_id IN (1, {10 + number});"
        f" DELETE FROM rental WHERE rental_id = (SELECT min(rental_id) + {number % 3} FROM rental)",
    )


def make_slot_by_hand(films: Platform, number: int) -> None:
    films.down()
    films.revive("postgres")
    try:
        execute(films.source, f"SELECT pg_drop_replication_slot('{SLOT}')")
        change(films, number)
        execute(films.source, f"SELECT pg_create_logical_replication_slot('{SLOT}', 'pgoutput')")
    finally:
        films.processes.stop("postgres", grace_s=60)


def remove_kafkas_data(films: Platform, number: int) -> None:
    films.processes.stop("sink", grace_s=60)
    change(films, number)
    films.down()
    shutil.rmtree(films.state_dir / "kafka")


def assert_equal(films: Platform) -> None:
    console = Console(record=True, width=200)
    assert reconcile_platform(console, films, repair=False, timeout_s=TIMEOUT_S), console.export_text()


WAYS: dict[str, tuple[Callable[[Platform, int], None], str]] = {
    "slot made by hand": (make_slot_by_hand, "the replication slot is gone or was made again"),
    # With the connector's configuration and offsets.
    "Kafka's data removed": (remove_kafkas_data, "the topic pagila.public.address was deleted and made again"),
}


@pytest.mark.parametrize("way", WAYS)
def test_up_tells_a_loss_and_one_command_repairs_it(films: Platform, way: str) -> None:
    lose, told = WAYS[way]
    number = 100 * (1 + list(WAYS).index(way))
    lose(films, number)
    with pytest.raises(PlatformError, match=f"{told}.*: run `./lake resnapshot -p pagila`"):
        films.up()
    change(films, number + 50)
    assert resnapshot_tables(films, (), Wanted(timeout_s=TIMEOUT_S))
    change(films, number + 51)
    assert_equal(films)
    wait_until_well(films)
