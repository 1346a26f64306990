"""Changes are lost in each known way, and `./lake resnapshot` makes lake and source equal again.

The tests share the platform with the others here; each leaves it whole.
"""

import time
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

import pytest

from contract.lake import LANDING_PREFIX
from db.loading import LoadOptions, prepare
from local.comparison.reconcile import compare_platform
from local.errors import PlatformError
from local.look.json_lines import keys
from local.platform.platform import Platform
from local.platform.services import LAKE_BUCKET, LANDING_BUCKET
from local.resnapshot.command import resnapshot_platform
from local.resnapshot.run import Wanted
from local.state.collect import Collector
from tests import conftest
from tests.e2e.faults import delete_objects, drop_slot, restored, suspended, wait_until_told, wait_until_well
from tests.e2e.writers import Writer
from tests.waiting import wait_until

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(900)]

TIMEOUT_S = 400
SLOT = "cdc_orders"


@pytest.fixture(autouse=True)
def running(platform: Platform) -> None:
    if platform.running() != platform.expected() or not platform.running():
        platform.up()


def execute(platform: Platform, *statements: str) -> None:
    """Run statements as the superuser, each in its own transaction."""
    for statement in statements:
        conftest.execute(platform.source, statement)


def delete_order(platform: Platform, order: int) -> None:
    execute(
        platform,
        f"DELETE FROM datalake.order_details WHERE order_id = {order}",
        f"DELETE FROM datalake.orders WHERE order_id = {order}",
    )


def ship(platform: Platform, order: int) -> None:
    execute(platform, f"UPDATE datalake.orders SET freight = freight + 1 WHERE order_id = {order}")


def insert_order(platform: Platform, order: int) -> None:
    execute(
        platform,
        f"INSERT INTO datalake.orders SELECT {order}, customer_id, employee_id, order_date, required_date,"
        " shipped_date, ship_via, freight, ship_name, ship_address, ship_city, ship_region, ship_postal_code,"
        " ship_country FROM datalake.orders WHERE order_id = 10249",
    )


def mend(platform: Platform, **wanted: Any) -> list[str]:
    """Re-snapshot; return the output. Lake and source must then be equal, and stay so."""
    said = read_again(platform, **wanted)
    ship(platform, 10_248)
    assert_equal(platform)
    wait_until_well(platform)
    return said


def read_again(platform: Platform, *, once_found: Callable[[], None] | None = None, **wanted: Any) -> list[str]:
    """Re-snapshot; return the output. Lake and source must then be equal.

    `once_found` is called when a loss has been found and not yet repaired.
    """
    said: list[str] = []

    def say(line: str) -> None:
        said.append(line)
        if once_found and line.startswith("found: "):
            once_found()

    comparison = resnapshot_platform(platform, Wanted(timeout_s=TIMEOUT_S, **wanted), say)
    assert comparison.equal, said
    return said


def assert_equal(platform: Platform) -> None:
    [comparison] = compare_platform(platform, timeout_s=TIMEOUT_S)
    assert comparison.equal, comparison


def test_a_dropped_slot_while_writers_go_on(platform: Platform) -> None:
    drop_slot(platform)
    ship(platform, 10_250)
    delete_order(platform, 10_251)
    with pytest.raises(PlatformError) as told:
        platform.up()
    line = (
        f"the replication slot {SLOT} of devdb is gone, and with it the changes that it held: run `./lake resnapshot`"
    )
    assert str(told.value) == line
    assert platform.running() == platform.expected()
    told_by_status = line.replace(": run", "; run")
    assert any(told_by_status in str(found) for found in Collector(platform).look().problems)
    # Slow, because each commit of the job costs CPU.
    with Writer(platform.source, transactions=40, rate=1, first_order=800_000) as writer:
        writer.wait_for(3)
        # An order from the last moment before a slot exists again.
        said = read_again(platform, once_found=partial(insert_order, platform, 899_999))
        writer.hurry()
        writer.wait_for(40)
    # Messages in the log are no events.
    for transactional in ("TRUE", "FALSE"):
        execute(platform, f"SELECT pg_logical_emit_message({transactional}, 'application', 'said by somebody')")
    ship(platform, 10_267)
    assert_equal(platform)
    wait_until_well(platform)
    assert any("deleted that only the lake had" in line for line in said)


@pytest.mark.long
def test_a_lost_row_by_a_condition(platform: Platform) -> None:
    with suspended(platform, "job"):
        topic = platform.topic.name
        before = platform.pipeline.sink_offsets()[topic]
        delete_order(platform, 10_252)
        ship(platform, 10_253)
        while platform.pipeline.sink_offsets()[topic] < before + 2:
            time.sleep(0.1)
        client = platform.services.s3.client()
        folder = f"{LANDING_PREFIX}/{topic}/0/"
        for key in keys(client, LANDING_BUCKET, folder):
            if int(key.removeprefix(folder)[:12]) >= before:
                client.delete_object(Bucket=LANDING_BUCKET, Key=key)
    _, end = platform.topic.bounds()
    mend(platform, where="order_id BETWEEN 10252 AND 10253")
    written = [event.value["order_id"] for event in platform.topic.events(end) if event.value]
    # `mend` ships the last one at the end.
    assert written == [10_253, 10_252, 10_252, 10_248]


@pytest.mark.long
def test_a_damaged_table_is_named_and_rebuilt(platform: Platform) -> None:
    platform.processes.stop("job", grace_s=30)
    delete_objects(platform, LAKE_BUCKET, f"{platform.lake.base_uri.rpartition('/')[2]}/.hoodie/")
    ship(platform, 10_249)
    platform.pipeline.start_job()
    wait_until_told(platform, "job is dead")
    assert "is damaged: its .hoodie is missing" in platform.processes.tail("job")
    delete_objects(platform, LAKE_BUCKET, "")
    delete_objects(platform, LANDING_BUCKET, f"{LANDING_PREFIX}/")
    mend(platform)


def plan_smaller_events(platform: Platform, monkeypatch: pytest.MonkeyPatch) -> None:
    """Lower the plan's limit below an event of this test, and apply it to the topic."""

    connectors = platform.pipeline.connectors
    smaller = [
        replace(topic, config={**topic.config, "max.message.bytes": "100000"})
        if topic.name == platform.topic.name
        else topic
        for topic in connectors.topics
    ]
    # The platform keeps its connectors between starts.
    monkeypatch.setattr(connectors, "topics", tuple(smaller))
    platform.up()


@pytest.mark.long
def test_an_event_that_is_too_large_for_the_topic(platform: Platform, monkeypatch: pytest.MonkeyPatch) -> None:
    plan_smaller_events(platform, monkeypatch)
    execute(
        platform,
        "UPDATE datalake.cdc_events SET shipper = (SELECT jsonb_agg(md5(i::text)) FROM generate_series(1, 9000) i)"
        " WHERE order_id = 10256",
    )
    ship(platform, 10_257)
    wait_until_told(platform, "an event of datalake.cdc_events is larger than the topic takes")
    with pytest.raises(PlatformError, match=r"run `\./lake resnapshot --skip`"):
        platform.up()
    with pytest.raises(
        PlatformError, match=r"the connector .*run `./lake resnapshot --skip`|no connector reads the slot"
    ):
        resnapshot_platform(platform, Wanted(timeout_s=TIMEOUT_S, start_s=30), lambda _line: None)
    execute(
        platform,
        "UPDATE datalake.cdc_events SET shipper = (SELECT shipper FROM datalake.current_order_events v"
        " WHERE v.order_id = 10256) WHERE order_id = 10256",
    )
    assert "passing over what the connector has not read" in mend(platform, skip=True)
    monkeypatch.undo()
    platform.up()


@pytest.mark.long
def test_a_publication_that_was_dropped_and_made_again(platform: Platform) -> None:
    execute(
        platform,
        "DROP PUBLICATION cdc_publication",
        "UPDATE datalake.orders SET freight = freight + 1 WHERE order_id = 10258",
        "CREATE PUBLICATION cdc_publication FOR TABLE datalake.cdc_events, datalake.cdc_heartbeat"
        " WITH (publish = 'insert, update, delete')",
    )
    wait_until_told(platform, "publication")
    mend(platform)


def connector_failure(platform: Platform) -> str:
    api = platform.services.connect.api
    return str(wait_until(lambda: api.failure(platform.pipeline.connectors.source.name)))


def forget_offsets(platform: Platform) -> None:
    """The effect of another topic of offsets: the connector starts without any."""
    api, name = platform.services.connect.api, platform.pipeline.connectors.source.name
    api.stop(name)
    drop_slot(platform)
    api._request("DELETE", f"/connectors/{name}/offsets")
    assert api.stored_offsets(name) == []
    api.resume(name)


def lake_value(platform: Platform, column: str, order: int) -> object:
    rows = platform.lake.rows(["order_id", column]).to_pylist()
    return next((row[column] for row in rows if row["order_id"] == order), None)


def arrives(platform: Platform, order: int, ship_name: str) -> None:
    wait_until(lambda: ship_name in str(lake_value(platform, "shipment", order)), ship_name, every_s=0.5)


@pytest.mark.long
def test_a_second_life_of_the_source(platform: Platform) -> None:
    """Destroyed and redeployed around a database that stayed: docs/decisions/0034."""
    api, name = platform.services.connect.api, platform.pipeline.connectors.source.name
    configuration = dict(platform.pipeline.connectors.source_connector().configuration)
    api.delete_connector(name)
    # Its task reads on for a moment.
    wait_until(lambda: conftest.ask(platform.source, "SELECT bool_or(active) FROM pg_replication_slots") is False)
    delete_order(platform, 10_261)
    drop_slot(platform)
    execute(platform, "UPDATE datalake.orders SET ship_name = 'in between' WHERE order_id = 10262")
    delete_order(platform, 10_263)
    options = LoadOptions(connector_password=platform.services.passwords.connector)
    assert prepare(platform.source, options) is None
    # The earlier life's offsets are refused, so the deployment would end here.
    api.put_connector(name, configuration)
    assert connector_failure(platform).startswith("the replication slot is gone or was made again")
    forget_offsets(platform)
    arrives(platform, 10_262, "in between")
    # The lake never received the deletes.
    assert {10_261, 10_263} <= set(platform.lake.rows(["order_id"])["order_id"].to_pylist())
    assert "2 rows deleted that only the lake had" in mend(platform)


@pytest.mark.long
def test_a_restored_database_with_offsets_of_its_own(platform: Platform) -> None:
    """As AWS restores one: no slot, another topic of offsets, an older log; docs/aws/restore.md."""
    with restored(platform, "postgres"):
        with Writer(platform.source, transactions=40, rate=40, first_order=870_000):
            pass
        ship(platform, 10_264)
        delete_order(platform, 10_265)
        assert_equal(platform)
    platform.revive("postgres")
    drop_slot(platform)
    assert connector_failure(platform).startswith("the replication slot is gone or was made again")
    execute(platform, "UPDATE datalake.orders SET ship_name = 'after the restore' WHERE order_id = 10266")
    forget_offsets(platform)
    said = mend(platform)
    assert any("a restored server; advancing it" in line for line in said)
    rows = platform.lake.rows(["order_id"])["order_id"].to_pylist()
    assert 870_000 not in rows
    assert 10_265 in rows
    assert "after the restore" in str(lake_value(platform, "shipment", 10_266))
