"""The whole pipeline with real components: killed ones come back, and nothing is lost, doubled or stale."""

import json
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from contract.errors import CANNOT
from local.comparison.reconcile import compare_platform
from local.look.json_lines import count_quarantined
from local.platform.platform import Platform
from local.platform.services import LANDING_BUCKET
from local.resnapshot.command import resnapshot_platform
from local.resnapshot.run import Wanted
from tests.cases import long
from tests.e2e.faults import kill, suspended
from tests.e2e.harness.writer import Writer
from tests.waiting import wait_until

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(900)]

ROOT = Path(__file__).resolve().parents[2]
RECONCILE_TIMEOUT_S = 120


@pytest.mark.parametrize(
    ("transactions", "kills"),
    [(120, (20, 50, 80)), long(600, (60, 200, 340))],
)
def test_kills_in_mid_stream_leave_lake_and_source_equal(
    platform: Platform, transactions: int, kills: Sequence[int]
) -> None:
    source = platform.source
    with Writer(
        source, transactions=transactions, rate=transactions / 60, first_order=900_000 + 100 * transactions
    ) as writer:
        for made, victim in zip(kills, ("connect", "sink", "job"), strict=True):
            writer.wait_for(made)
            kill(platform, victim)
            assert writer.made < transactions, "the writer must still be at work when things break"
            platform.up()
        writer.hurry()
    assert writer.error is None
    assert writer.made == transactions
    [comparison] = compare_platform(platform, timeout_s=RECONCILE_TIMEOUT_S)
    assert comparison.equal, comparison
    assert comparison.source_rows > 829
    assert comparison.lake_rows == comparison.source_rows
    assert count_quarantined(platform.services.s3.client(), "cdc_events") == 0


def test_reconcile_and_the_job_notice_what_a_faulty_sink_has_lost(platform: Platform) -> None:
    """Take a change's object out of the landing bucket before the job sees it, continue, and repair it at the end."""
    with suspended(platform, "job"):
        before = landed(platform)
        with Writer(platform.source, transactions=1, rate=10, first_order=990_000):
            pass
        lost = wait_until(lambda: landed(platform) - before)
        for key in lost:
            platform.services.s3.client().delete_object(Bucket=LANDING_BUCKET, Key=key)
    with Writer(platform.source, transactions=1, rate=10, first_order=995_000):
        pass
    wait_for_row(platform, 995_000)
    [comparison] = compare_platform(platform, timeout_s=5)
    assert [(one.kind, one.key) for one in comparison.shown] == [("missing", {"order_id": "990000"})]
    assert "missing_offsets=1" in platform.processes.log_file("job").read_text()
    mended = resnapshot_platform(platform, Wanted(where="order_id = 990000"), lambda _line: None)
    assert mended.equal, mended


def test_the_lake_is_asked_in_athenas_sql(platform: Platform) -> None:
    """The command behind `./lake query`, alongside all services: nothing is stopped for it."""

    def query(sql: str, *options: str, status: int = 0) -> str:
        arguments = [sys.executable, "-m", "cli", "query", sql, "--folder", str(platform.state_dir), *options]
        done = subprocess.run(arguments, cwd=ROOT, capture_output=True, text=True, check=False)
        assert done.returncode == status, done.stderr
        return done.stdout + done.stderr

    rows = platform.lake.rows(["order_id"]).num_rows
    assert query("SELECT count(*) AS n FROM datalake.cdc_events", "--format", "csv") == f'"n"\n"{rows}"\n'
    [item] = query("SELECT * FROM order_items WHERE order_id = 10250 ORDER BY 4", "--format", "json").splitlines()[:1]
    assert json.loads(item).keys() == {"customer_id", "order_id", "discount", "quantity", "unit_price"}
    assert "order_items" in query("")
    s3, key = platform.services.s3.client(), "_quarantine/cdc_events/none.json"
    s3.put_object(Bucket="lake", Key=key, Body=json.dumps({"reason": "type: a", "offset": 7}).encode())
    assert query('SELECT reason, "offset" FROM quarantine', "--format", "csv").splitlines()[1:] == ['"type: a","7"']
    s3.delete_object(Bucket="lake", Key=key)
    assert "can't be read as of 19700101000000000" in query(
        "SELECT * FROM cdc_events", "--as-of=1970-01-01", status=CANNOT
    )


def wait_for_row(platform: Platform, order: int) -> None:
    wait_until(
        lambda: order in platform.lake.rows(["order_id"]).column("order_id").to_pylist(), f"order {order} in the lake"
    )


def landed(platform: Platform) -> set[str]:
    pages = platform.services.s3.client().get_paginator("list_objects_v2").paginate(Bucket=LANDING_BUCKET)
    return {entry["Key"] for page in pages for entry in page.get("Contents", []) if "/." not in f"/{entry['Key']}"}
