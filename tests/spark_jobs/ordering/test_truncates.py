"""TRUNCATE events with changes, repeated and late events and snapshot rows, in tables of both types and layouts.

Stories run one after the other in a table, each with its own keys; a TRUNCATE affects all, so it comes last.
"""

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from contract import metrics
from contract.events import LSN, OPERATION, SETTLED, TRUNCATE
from local.look.lake import Lake as LakeLook
from spark_jobs.options import keys
from spark_jobs.options.keys import IGNORED_TRUNCATE
from tests.cases import long
from tests.spark_jobs.events import Event, event
from tests.spark_jobs.lake import Lake

pytestmark = pytest.mark.integration

APPLY, IGNORE = ({keys.TRUNCATE: mode} for mode in (keys.TRUNCATE_APPLY, keys.TRUNCATE_IGNORE))
FOLDERS = "cdc_events_partitioned.properties"


def truncate(lsn: int, operation: str = TRUNCATE) -> Event:
    """A TRUNCATE's event, as it lands: without a row's columns."""
    return {OPERATION: operation, "__db": "devdb", "__table": "t", "__schema": "s", LSN: lsn, "__source_ts_ms": 1}


def read(key: int, who: str = "read") -> Event:
    return event(key, 0, "r", customer_id=who) | {LSN: None}


@pytest.mark.parametrize("kind", ["COPY_ON_WRITE", long("MERGE_ON_READ")])
def test_a_truncate_removes_what_isnt_newer_and_nothing_brings_it_back(
    spark: SparkSession, tmp_path: Path, kind: str
) -> None:
    lake = Lake(spark, tmp_path, extra=APPLY, arguments=["--table-type", kind])
    lake.run(event(1, 80, "c"), event(2, 88, "c"), event(3, 96, "c"), event(4, 240, "c"))
    # In one batch: changes before it, deletes too, and after it, of an old key and of a new one.
    report = lake.run(event(5, 104, "c"), event(1, 112, "d"), truncate(160), event(2, 168, "c"), event(6, 176, "c"))
    assert lake.lsns() == {2: 168, 4: 240, 6: 176}
    assert report.quarantined == 0
    # Late, repeated and after it, after a restart of the job.
    lake.run(event(1, 80, "c"), event(7, 152), event(3, 120, "d"), truncate(160), event(8, 184, "c"), read(9))
    assert lake.lsns() == {2: 168, 4: 240, 6: 176, 8: 184, 9: 161}
    lake.run(event(9, 192), event(10, 128, "c"))
    assert lake.lsns() == {2: 168, 4: 240, 6: 176, 8: 184, 9: 192}
    # A snapshot's rows on both sides of a second one, whose batch has no other newer event.
    lake.run(read(11), read(6), truncate(320), read(12), read(8))
    assert lake.lsns() == {8: 321, 12: 321}
    lake.run(truncate(400))
    assert lake.rows() == {}


@pytest.mark.long
def test_a_partitioned_table_is_emptied_in_all_its_folders(spark: SparkSession, tmp_path: Path) -> None:
    lake = Lake(spark, tmp_path, extra=APPLY, conf=FOLDERS)
    lake.run(event(1, 8, customer_id="A"), event(2, 16, customer_id="B"), event(3, 24, customer_id="C"))
    lake.run(truncate(80), event(1, 88, customer_id="B"))
    assert lake.column("customer_id") == {1: "B"}


def test_an_ignored_truncate_leaves_the_rows_and_is_told_until_it_is_settled(
    spark: SparkSession, tmp_path: Path
) -> None:
    lake = Lake(spark, tmp_path, extra=IGNORE)
    lake.run(event(1, 80, "c"), truncate(160), event(2, 168, "c"))
    assert lake.lsns() == {1: 80, 2: 168}
    assert lake.table().progress()[IGNORED_TRUNCATE] == "160"
    for lake.extra in (APPLY, IGNORE):  # the rows stay, whatever is to be done from now on
        assert lake.job().states() == {metrics.IGNORED_TRUNCATES: 1}
    # The value that `./lake status` reads.
    status = LakeLook(base_uri=lake.table_path.as_uri())
    assert IGNORED_TRUNCATE in status.newest_of_job()[1]
    # An earlier settled position doesn't cover it, and a commit without either keeps it.
    lake.run(truncate(152, SETTLED), event(3, 176, "c"))
    assert lake.table().progress()[IGNORED_TRUNCATE] == "160"
    lake.run(truncate(200, SETTLED), truncate(160))
    assert IGNORED_TRUNCATE not in lake.table().progress()
    assert lake.job().states() == {metrics.IGNORED_TRUNCATES: 0}
    assert IGNORED_TRUNCATE not in status.newest_of_job()[1]
    assert lake.lsns() == {1: 80, 2: 168, 3: 176}


def test_a_table_without_the_setting_sets_the_event_aside(lake: Lake) -> None:
    lake.run(event(1, 80, "c"), truncate(160))
    assert lake.lsns() == {1: 80}
    assert [entry["reason"] for entry in lake.quarantined()] == ["missing: order_id"]
