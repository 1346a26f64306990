"""Rows whose key was changed while a large value of theirs was left alone (TOAST)."""

import pytest

from contract.events import PLACEHOLDER
from tests.spark_jobs.conftest import Event, Lake, event

pytestmark = pytest.mark.integration


def moved(old: int, new: int, lsn: int) -> tuple[Event, Event]:
    """What Debezium sends of an update that changes a key."""
    return event(old, lsn, "d", products=None), event(new, lsn, "c", products=PLACEHOLDER)


def products(lake: Lake) -> dict[int, str]:
    return {key: row["products"] for key, row in lake.rows().items()}


def test_the_old_keys_row_in_the_table_has_the_value(lake: Lake) -> None:
    lake.run(event(1, 10, "c", products='["a"]'), event(2, 10, "c", products='["b"]'))
    assert lake.run(*moved(1, 11, 20), event(2, 20, products=PLACEHOLDER)).quarantined == 0
    assert products(lake) == {11: '["a"]', 2: '["b"]'}
    # The connector was killed, and sends both again.
    assert lake.run(*moved(1, 11, 20)).quarantined == 0
    assert products(lake) == {11: '["a"]', 2: '["b"]'}


def test_the_old_keys_changes_in_the_same_batch_have_it_and_later_ones_dont_count(lake: Lake) -> None:
    lake.run(event(1, 10, "c", products='["a"]'))
    report = lake.run(
        event(1, 20, products='["b"]'),
        *moved(1, 11, 30),
        *moved(1, 11, 30),
        event(11, 40, products=PLACEHOLDER, customer_id="LATER"),
        event(1, 50, "c", products='["c"]'),
    )
    assert report.quarantined == 0
    assert products(lake) == {11: '["b"]', 1: '["c"]'}
    assert lake.rows()[11]["customer_id"] == "LATER"


@pytest.mark.long
def test_what_no_key_tells_goes_to_quarantine(lake: Lake) -> None:
    lake.run(event(1, 10, "c", products='["a"]'))
    # A delete of another position, and one of a row that nobody knows.
    report = lake.run(event(1, 20, "d"), event(11, 21, "c", products=PLACEHOLDER), *moved(2, 12, 30))
    assert report.quarantined == 2
    assert {entry["reason"] for entry in lake.quarantined()} == {"placeholder: no earlier value of products"}
    assert products(lake) == {}
