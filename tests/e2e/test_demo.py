"""The demo as a newcomer runs it, and its platform afterwards: paused, killed, asked in SQL, robbed by its sink.

The tests run in order: each is a chapter of one platform, and leaves lake and source equal.
"""

import json
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from cli.__main__ import app
from contract.errors import CANNOT
from contract.events import OPERATION, READ
from local.comparison.reconcile import compare_platform
from local.look.json_lines import count_quarantined, keys
from local.platform.platform import Platform
from local.platform.record import PlatformOptions
from local.platform.services import LANDING_BUCKET
from local.resnapshot.command import resnapshot_platform
from local.resnapshot.run import Wanted
from tests.conftest import ask, execute
from tests.e2e.commands import ROOT, Walked, unlike_the_page
from tests.e2e.faults import kill, suspended
from tests.e2e.writers import Writer
from tests.waiting import wait_until

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(900)]

KEYS = {"source_rows", "lake_rows", "missing", "extra", "different", "quarantined", "events", "seconds_total", "steps"}
RECONCILE_TIMEOUT_S = 400
SLOT = "cdc_orders"
STOP_S = 60.0
SHIPPED, DELETED = 10_270, 10_271


def test_lake_and_source_end_equal(demo: Walked) -> None:
    summary = demo.summary
    assert set(summary) == KEYS
    assert (summary["missing"], summary["extra"], summary["different"], summary["quarantined"]) == (0, 0, 0, 0)
    assert summary["source_rows"] == summary["lake_rows"] == 829
    assert list(demo.seconds)[:3] == ["initial load", "ship order 11077", "insert order 11075 with three lines"]
    assert all(seconds > 0 for seconds in demo.seconds.values())


def test_the_readme_shows_what_the_demo_prints(demo: Walked) -> None:
    assert not unlike_the_page("README.md", "make demo", demo.printed)


def test_kills_in_mid_stream_and_a_pause_lose_nothing(platform: Platform) -> None:
    """The job, killed before the pause, starts at its end."""
    without_job = Platform(platform.state_dir, PlatformOptions(job=False))
    with Writer(platform.source, transactions=40, rate=1, first_order=900_000) as writer:
        writer.wait_for(5)
        kill(platform, "connect", "sink", "job")
        assert writer.made < 40, "the writer must still be at work when things break"
        without_job.up()
        writer.hurry()
    rows = ask(platform.source, "SELECT count(*) FROM datalake.cdc_events")
    end = pause(platform)
    platform.up()
    assert_all_is_there(platform, rows - 1)
    events = [event.value for event in platform.topic.events(end) if event.value]
    # Three statements: a snapshot would be an event for each row, and would miss the deletion.
    assert 2 <= len(events) < 20 < rows
    assert READ not in {event[OPERATION] for event in events}


def pause(platform: Platform) -> int:
    """Do to the running parts what a pause does in an environment (docs/decisions/0067); return the topic's end.

    The database is stopped as Aurora is, with its slot; the source connector is deleted, as on MSK Connect; the sink is
    stopped. Aurora, MSK Connect and EMR themselves aren't available here.
    """
    database, position = platform.services.database, platform.services.database.wal_position()
    wait_until(lambda: (slot := database.slot(SLOT, position)) and (slot.behind_bytes or 0) <= 0, "all is sent")
    platform.services.connect.api.delete_connector(platform.pipeline.connectors.source.name)
    # Connect ends a connector's task after it has answered.
    active = f"SELECT active FROM pg_replication_slots WHERE slot_name = '{SLOT}'"
    wait_until(lambda: ask(platform.source, active) is False, "nobody reads the slot")
    _, end = platform.topic.bounds()
    # Until the database stops, it may be written to: only the slot keeps that.
    for statement in (
        f"UPDATE datalake.orders SET ship_name = 'in the pause' WHERE order_id = {SHIPPED}",
        f"DELETE FROM datalake.order_details WHERE order_id = {DELETED}",
        f"DELETE FROM datalake.orders WHERE order_id = {DELETED}",
    ):
        execute(platform.source, statement)
    for service in ("sink", "postgres"):
        platform.processes.stop(service, grace_s=STOP_S)
    assert platform.topic.bounds()[1] == end, "nobody reads the database in a pause"
    return end


def test_what_a_faulty_sink_loses_is_noticed_and_repaired(platform: Platform) -> None:
    """Take a change's object out of the landing bucket before the job sees it, continue, and repair it at the end."""
    with suspended(platform, "job"):
        before = landed(platform)
        with Writer(platform.source, transactions=1, rate=10, first_order=990_000):
            pass
        for key in wait_until(lambda: landed(platform) - before, every_s=0.2):
            platform.services.s3.client().delete_object(Bucket=LANDING_BUCKET, Key=key)
    with Writer(platform.source, transactions=1, rate=10, first_order=995_000):
        pass
    wait_until(lambda: 995_000 in platform.lake.rows(["order_id"])["order_id"].to_pylist(), every_s=0.5)
    [comparison] = compare_platform(platform, timeout_s=RECONCILE_TIMEOUT_S)
    assert [(one.kind, one.key) for one in comparison.shown] == [("missing", {"order_id": "990000"})]
    assert "missing_offsets=1" in platform.processes.log_file("job").read_text()
    mended = resnapshot_platform(platform, Wanted(where="order_id = 990000"), lambda _line: None)
    assert mended.equal, mended


def test_the_lake_is_asked_in_athenas_sql(platform: Platform, tmp_path: Path) -> None:
    """The command behind `./lake query`, alongside all services: nothing is stopped for it."""
    command, out = ["query", "--folder", str(platform.state_dir)], tmp_path / "rows"

    def query(sql: str, *options: str, status: int = 0) -> str:
        done = CliRunner().invoke(app, [*command, sql, "--out", str(out), *options])
        assert done.exit_code == status, done.output
        return done.output if status else out.read_text(encoding="utf-8")

    def printed(*arguments: str) -> str:
        argv = [sys.executable, "-m", "cli", *command, *arguments]
        return subprocess.run(argv, cwd=ROOT, capture_output=True, text=True, check=True).stdout

    rows = platform.lake.rows(["order_id"]).num_rows
    assert printed("SELECT count(*) AS n FROM datalake.cdc_events", "--format=csv") == f'"n"\n"{rows}"\n'
    assert "order_items" in printed()
    [item] = query("SELECT * FROM order_items WHERE order_id = 10250 ORDER BY 4", "--format", "json").splitlines()[:1]
    assert json.loads(item).keys() == {"customer_id", "order_id", "discount", "quantity", "unit_price"}
    s3, key = platform.services.s3.client(), "_quarantine/cdc_events/none.json"
    s3.put_object(Bucket="lake", Key=key, Body=json.dumps({"reason": "type: a", "offset": 7}).encode())
    assert query('SELECT reason, "offset" FROM quarantine', "--format", "csv").splitlines()[1:] == ['"type: a","7"']
    s3.delete_object(Bucket="lake", Key=key)
    assert "can't be read as of 19700101000000000" in query(
        "SELECT * FROM cdc_events", "--as-of=1970-01-01", status=CANNOT
    )


def assert_all_is_there(platform: Platform, rows: int) -> None:
    [comparison] = compare_platform(platform, timeout_s=RECONCILE_TIMEOUT_S)
    assert comparison.equal, comparison
    assert comparison.source_rows == comparison.lake_rows == rows
    assert count_quarantined(platform.services.s3.client(), "cdc_events") == 0


def landed(platform: Platform) -> set[str]:
    """Return the keys of finished objects: those that S3Proxy is still writing have another ending."""
    found = keys(platform.services.s3.client(), LANDING_BUCKET, "")
    return {key for key in found if key.endswith(".json") and "/." not in f"/{key}"}
