"""A pause's effects on the parts of an environment (docs/decisions/0067), on the real ones on one machine.

The database is stopped and started as Aurora is, with its slot; the source connector is deleted and recreated, as on
MSK Connect; sink and job are stopped and started. Aurora, MSK Connect and EMR themselves aren't available here.
"""

import pytest

from contract.events import OPERATION, READ
from local.comparison.reconcile import compare_platform
from local.platform.platform import Platform
from tests import conftest
from tests.waiting import wait_until

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(900)]

TIMEOUT_S = 120
SLOT = "cdc_orders"
STOP_S = 60.0
SHIPPED, DELETED = 10_270, 10_271


def execute(platform: Platform, *statements: str) -> None:
    for statement in statements:
        conftest.execute(platform.source, statement)


def assert_equal(platform: Platform) -> None:
    [comparison] = compare_platform(platform, timeout_s=TIMEOUT_S)
    assert comparison.equal, comparison


def wait_until_nobody_reads(platform: Platform) -> None:
    """Connect ends a connector's task after it has answered."""
    active = f"SELECT active FROM pg_replication_slots WHERE slot_name = '{SLOT}'"
    wait_until(lambda: conftest.ask(platform.source, active) is False, "nobody reads the slot")


def test_a_pause_loses_nothing_and_its_end_reads_no_snapshot(platform: Platform) -> None:
    platform.up()
    assert_equal(platform)
    api, name = platform.services.connect.api, platform.pipeline.connectors.source.name
    rows = len(platform.lake.rows(["order_id"]))
    api.delete_connector(name)
    wait_until_nobody_reads(platform)
    _, end = platform.topic.bounds()
    # Until the database stops, it may be written to: only the slot keeps that.
    execute(
        platform,
        f"UPDATE datalake.orders SET ship_name = 'in the pause' WHERE order_id = {SHIPPED}",
        f"DELETE FROM datalake.order_details WHERE order_id = {DELETED}",
        f"DELETE FROM datalake.orders WHERE order_id = {DELETED}",
    )
    for service in ("sink", "job", "postgres"):
        platform.processes.stop(service, grace_s=STOP_S)
    assert platform.topic.bounds()[1] == end, "nobody reads the database in a pause"
    platform.up()
    assert_equal(platform)
    assert len(platform.lake.rows(["order_id"])) == rows - 1
    events = platform.topic.events(end)
    # Three statements: a snapshot would be an event for each row, and would miss the deletion.
    assert 2 <= len([event for event in events if event.value]) < 20 < rows
    assert READ not in {event.value[OPERATION] for event in events if event.value}
