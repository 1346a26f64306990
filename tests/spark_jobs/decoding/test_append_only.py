"""Tables without a key: every event is a row, and a repeated event adds none."""

import json
from typing import Any

import pytest

from contract.events import EVENT_ID
from spark_jobs.errors import SettingsError
from spark_jobs.options import keys
from tests.spark_jobs.events import CONF, event
from tests.spark_jobs.lake import Lake

pytestmark = pytest.mark.integration


@pytest.fixture
def log_table(lake: Lake) -> Lake:
    """A lake whose table has no key."""
    lake.extra = {keys.APPEND_ONLY: "true"}
    conf = lake.folder / "append_only.properties"
    lines = (CONF / lake.conf).read_text().replace("include=", f"include={CONF}/").splitlines()
    conf.write_text("\n".join(line for line in lines if not line.startswith(keys.RECORD_KEY)))
    lake.conf = str(conf)
    return lake


def rows(lake: Lake) -> list[dict[str, Any]]:
    """The table's rows in the order of their identity."""
    return sorted(lake.stored(), key=lambda row: str(row[EVENT_ID]))


def test_every_event_is_a_row_once(log_table: Lake) -> None:
    misfits = ("{", json.dumps(event(2, 10, "c", __lsn=None)))
    events = [event(1, 10, "c"), event(1, 20), event(1, 20, customer_id="OTHER"), event(1, 30, "d")]
    report = log_table.run(*events, *misfits)
    assert (report.upserts, report.deletes, report.folded, report.quarantined) == (4, 0, 0, 2)
    expected = [(10, "c"), (20, "u"), (20, "u"), (30, "d")]
    assert sorted((row["__lsn"], row["__op"]) for row in rows(log_table)) == expected
    before = [row[EVENT_ID] for row in rows(log_table)]
    assert len(set(before)) == 4
    log_table.run(*events)  # in a separate batch
    log_table.run(*events, *events, event(2, 40, "c"))  # and twice in one
    assert [row[EVENT_ID] for row in rows(log_table)][:4] == before
    assert len(rows(log_table)) == 5


@pytest.mark.long
def test_a_truncate_is_a_row_too(log_table: Lake) -> None:
    truncate = {key: value for key, value in event(1, 20, "t").items() if key.startswith("__") and key != "__deleted"}
    log_table.run(event(1, 10, "c"), truncate)
    assert [(row["__lsn"], row["__op"], row["order_id"]) for row in rows(log_table)] == [(10, "c", 1), (20, "t", None)]


@pytest.mark.long
def test_equal_rows_of_one_copy_are_all_kept(log_table: Lake) -> None:
    # One record of PostgreSQL's log, so one position, and rows with equal columns.
    copied = [event(7, 10, "c")] * 3 + [event(8, 10, "c")]
    log_table.run(*copied)
    assert len(rows(log_table)) == 4
    log_table.run(event(1, 5, "c"), *copied, event(9, 20, "c"), *copied)
    assert len(rows(log_table)) == 6


@pytest.mark.long
def test_a_column_that_comes_later_leaves_identities_as_they_are(log_table: Lake) -> None:
    log_table.run(event(1, 10, "c"))
    log_table.run(event(2, 20, "c", note="new"))
    assert log_table.run(event(1, 10, "c")).files == 1
    assert [row["note"] for row in rows(log_table)] == [None, "new"]


def test_a_key_beside_it_is_refused(lake: Lake) -> None:
    lake.extra = {keys.APPEND_ONLY: "true"}
    with pytest.raises(
        SettingsError, match=r"recordkey\.field=order_id contradicts hoodie\.streamer\.append\.only=true"
    ):
        lake.settings()
