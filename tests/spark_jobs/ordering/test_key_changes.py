"""Rows whose key changed in an update that left a large value alone (TOAST)."""

import pytest

from contract.events import PLACEHOLDER
from tests.spark_jobs.events import Event, event
from tests.spark_jobs.lake import Lake

pytestmark = pytest.mark.integration


def moved(old: int, new: int, lsn: int) -> tuple[Event, Event]:
    """Debezium's events for an update that changes a key."""
    return event(old, lsn, "d", products=None), event(new, lsn, "c", products=PLACEHOLDER)


def products(lake: Lake) -> dict[int, str]:
    return {key: row["products"] for key, row in lake.rows().items()}


def test_the_old_keys_row_or_its_changes_in_the_same_batch_have_the_value_and_later_ones_dont_count(lake: Lake) -> None:
    lake.run(*(event(key, 10, "c", products=f'["{name}"]') for key, name in ((1, "a"), (2, "b"), (3, "a"))))
    in_one_batch = [
        event(3, 20, products='["b"]'),
        *moved(3, 13, 30),
        *moved(3, 13, 30),
        event(13, 40, products=PLACEHOLDER, customer_id="LATER"),
        event(3, 50, "c", products='["c"]'),
    ]
    assert lake.run(*moved(1, 11, 20), event(2, 20, products=PLACEHOLDER), *in_one_batch).quarantined == 0
    expected = {11: '["a"]', 2: '["b"]', 13: '["b"]', 3: '["c"]'}
    assert products(lake) == expected
    assert lake.rows()[13]["customer_id"] == "LATER"
    # After a kill the connector sends both again.
    assert lake.run(*moved(1, 11, 20)).quarantined == 0
    assert products(lake) == expected


@pytest.mark.long
def test_what_no_key_tells_goes_to_quarantine(lake: Lake) -> None:
    lake.run(event(1, 10, "c", products='["a"]'))
    # A delete of another position, and one of an unknown row.
    report = lake.run(event(1, 20, "d"), event(11, 21, "c", products=PLACEHOLDER), *moved(2, 12, 30))
    assert report.quarantined == 2
    assert {entry["reason"] for entry in lake.quarantined()} == {"placeholder: no earlier value of products"}
    assert products(lake) == {}
