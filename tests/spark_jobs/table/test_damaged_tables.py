"""Tables that failed commits, a power loss or manual changes have left in an invalid state."""

import json
import re
import shutil
import threading
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from contract.events import PLACEHOLDER
from local.comparison.lake import differs_in_spark
from local.look.lake import Lake as LakeLook
from spark_jobs.errors import JobError, SettingsError
from spark_jobs.options import keys
from spark_jobs.runtime.row_progress import POOL
from spark_jobs.table import repair
from tests.cases import long
from tests.spark_jobs.events import event
from tests.spark_jobs.fuzz import failing_commits
from tests.spark_jobs.lake import Lake

pytestmark = pytest.mark.integration

KINDS = ["COPY_ON_WRITE", long("MERGE_ON_READ")]
TASK_MS = 8_000
# A task begins a little before it is seen.
STILL_RUNS_S = TASK_MS / 1000 - 0.5


@pytest.mark.parametrize("restarted", [long(False), True], ids=["tried again", "restarted"])
@pytest.mark.parametrize("kind", KINDS)
def test_what_follows_a_failed_commit_is_seen(spark: SparkSession, tmp_path: Path, kind: str, restarted: bool) -> None:
    lake = Lake(spark, tmp_path, arguments=["--table-type", kind])
    lake.run(event(1, 8, "c", products='["8"]'), event(2, 8, "c"), event(3, 8, "c", products='["8"]'))
    job = lake.job()
    lake.land(event(1, 16, products='["16"]'), event(4, 16, "c"), event(2, 16))
    with failing_commits(), pytest.raises(Exception, match="Failed to upsert"):
        job.run_batch()
    job = lake.job() if restarted else job
    job.load()
    assert job.run_batch() is not None
    assert {key: row["__lsn"] for key, row in lake.rows(by_spark=True).items()} == {1: 16, 2: 16, 3: 8, 4: 16}
    lake.run(event(4, 24, "d"), event(1, 24, products=PLACEHOLDER), event(3, 24, products=PLACEHOLDER), job=job)
    rows = lake.rows(by_spark=True)
    assert {key: (row["__lsn"], row["products"]) for key, row in rows.items() if key != 2} == {
        1: (24, '["16"]'),
        3: (24, '["8"]'),
    }


def test_tasks_that_outlive_a_failed_job_end_before_the_rollback(lake: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    lake.run(event(1, 8, "c"))
    context, kept, after = lake.spark.sparkContext, repair.roll_back_failed, list[float]()

    def roll_back(*given: Any) -> list[str]:
        after.append(time.monotonic() - began)
        return kept(*given)

    def sleep() -> None:
        with pytest.raises(Exception, match="cancelled"):
            lake.spark.range(1).select(F.expr(f"reflect('java.lang.Thread', 'sleep', id + {TASK_MS})")).collect()

    monkeypatch.setattr(repair, "roll_back_failed", roll_back)
    thread = threading.Thread(target=sleep)
    thread.start()
    began = time.monotonic()
    while thread.is_alive() and not context.statusTracker().getActiveStageIds():
        began = time.monotonic()
        time.sleep(0.01)
    time.sleep(1)
    context.cancelAllJobs()
    thread.join()
    with monkeypatch.context() as patch:
        patch.setattr(repair, "_TASKS_S", 0)
        with pytest.raises(TimeoutError, match="tasks of a failed write still run"):
            repair.await_failed_tasks(lake.spark)
        context.setLocalProperty(POOL, "another table's")
        repair.await_failed_tasks(lake.spark)
        context.setLocalProperty(POOL, "default")
    assert time.monotonic() - began < STILL_RUNS_S
    lake.job()
    assert after[0] > STILL_RUNS_S


@pytest.mark.long
def test_rows_that_spark_alone_does_not_see_are_told(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lake = Lake(spark, tmp_path, arguments=["--table-type", "MERGE_ON_READ"])
    lake.run(event(1, 8, "c"), event(2, 8, "c"))
    job = lake.job()
    lake.land(event(1, 16), event(3, 16, "c"))
    with failing_commits(), pytest.raises(Exception, match="Failed to upsert"):
        job.run_batch()
    # Like jobs before they rolled back before a write.
    monkeypatch.setattr(repair, "roll_back_failed", lambda *_: [])
    job.load()
    assert job.run_batch() is not None
    looked_at = LakeLook(base_uri=lake.table_path.as_uri())
    assert "Spark reads 2 rows and hudi-rs 3" in str(differs_in_spark(looked_at))
    lake.run(event(4, 24, "c"))
    assert differs_in_spark(looked_at) is None


@pytest.fixture(scope="module", params=KINDS)
def written(request: pytest.FixtureRequest, spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Lake:
    """A lake of each type with two commits."""
    lake = Lake(spark, tmp_path_factory.mktemp("written"), arguments=["--table-type", request.param])
    lake.run(*(event(number, 8, "c") for number in range(1, 9)))
    lake.run(event(1, 16), event(9, 16, "c"))
    return lake


def _timeline(lake: Lake, pattern: str) -> list[Path]:
    return sorted((lake.table_path / ".hoodie").glob(pattern))


def _remove(*paths: Path) -> None:
    for path in paths:
        path.unlink()
        path.with_name(f".{path.name}.crc").unlink(missing_ok=True)


def _newest_commit(lake: Lake) -> Path:
    return _timeline(lake, "[0-9]*commit")[-1]


def _without_commit(lake: Lake) -> None:
    _remove(_newest_commit(lake))


def _with_an_empty_commit(lake: Lake) -> None:
    newest = _newest_commit(lake)
    _remove(newest)
    newest.write_bytes(b"")


def _without_commits(lake: Lake) -> None:
    _remove(*_timeline(lake, "[0-9]*commit"))


def _without_first_instant_and_commits(lake: Lake) -> None:
    _remove(*_timeline(lake, f"{_timeline(lake, '[0-9]*commit')[0].name[:17]}*"))
    _without_commits(lake)


def _without_timeline(lake: Lake) -> None:
    shutil.rmtree(lake.table_path / ".hoodie")


def _without_data_file(lake: Lake) -> None:
    _remove(max(path for path in lake.table_path.iterdir() if ".parquet" in path.name or ".log." in path.name))


def _copy(written: Lake, folder: Path, extra: Mapping[str, str] | None = None) -> Lake:
    shutil.copytree(written.folder, folder, dirs_exist_ok=True)
    return Lake(written.spark, folder, extra or {}, written.arguments, next_offset=written.next_offset)


@pytest.mark.parametrize("harm", [long(_without_commit), _with_an_empty_commit, _without_commits])
def test_a_commit_that_a_power_loss_has_taken_is_made_again(
    written: Lake, tmp_path: Path, harm: Callable[[Lake], None]
) -> None:
    lake = _copy(written, tmp_path)
    harm(lake)
    assert lake.run(event(2, 24)).events in (3, 11)
    assert lake.lsns() == {1: 16, 2: 24, 9: 16} | dict.fromkeys(range(3, 9), 8)


DAMAGES: list[tuple[Callable[[Lake], None], str]] = [
    (_without_timeline, r"its \.hoodie is missing, \d data files are there"),
    (_without_data_file, r"data file .* of commit \d+ is missing"),
    (_without_first_instant_and_commits, r"commit \d+ isn't in its timeline"),
]


def test_a_damaged_table_is_named_and_not_written_to_until_its_folder_is_moved_away(
    written: Lake, tmp_path: Path
) -> None:
    for harm, message in DAMAGES:
        lake = _copy(written, tmp_path / harm.__name__)
        harm(lake)
        lake.land(event(2, 24))
        with pytest.raises(JobError, match=rf"is damaged: {message}.*; nothing was written\. Move the folder away"):
            lake.job()
    shutil.move(lake.table_path, tmp_path / "away")
    assert lake.run().events == 11
    assert lake.lsns() == {1: 16, 2: 24, 9: 16} | dict.fromkeys(range(3, 9), 8)


INDEX, BUCKETS = "hoodie.index.type", "hoodie.bucket.index.num.buckets"
PER_KEY = {INDEX: "SIMPLE", "hoodie.storage.layout.type": "DEFAULT"}


@pytest.mark.long
def test_a_clustering_that_has_not_ended_stops_no_write(spark: SparkSession, tmp_path: Path) -> None:
    lake = Lake(spark, tmp_path, conf="cdc_events_partitioned.properties")
    often = {f"hoodie.clustering.{way}.max.commits": "1" for way in ("inline", "async")}
    # Planned only, as a kill leaves it.
    lake.extra = often | {"hoodie.clustering.schedule.inline": "true"}
    lake.run(event(1, 8, "c"))
    assert _timeline(lake, "*.replacecommit.requested")
    lake.extra = often
    lake.job()
    assert re.fullmatch(r"clustering \d+ is unfinished, .* with hoodie.clustering.inline=true", lake.log[-1])
    lake.extra = often | {"hoodie.clustering.inline": "true"}
    lake.run(event(1, 16))
    assert lake.lsns() == {1: 16}


def _as_of_an_older_job(lake: Lake) -> None:
    """Remove the commits' entries about the index, as in jobs before they refused another."""
    for commit in _timeline(lake, "[0-9]*commit"):
        details = json.loads(commit.read_text())
        del details["extraMetadata"][keys.INDEX_LAYOUT]
        _remove(commit)
        commit.write_text(json.dumps(details))


@pytest.mark.parametrize("older", [False, True], ids=["told by the commit", "told by the files"])
@pytest.mark.parametrize(
    ("extra", "message"),
    [
        ({BUCKETS: "4"}, "the settings say BUCKET, 4 buckets by order_id: its rows wouldn't be found and come twice"),
        ({BUCKETS: "1"}, "with the index .* buckets.*, the settings say BUCKET, 1 buckets"),
        (PER_KEY, "with the index BUCKET, .* buckets.*, the settings say global"),
    ],
)
def test_an_index_that_would_not_find_the_rows_is_refused(
    written: Lake, tmp_path: Path, extra: dict[str, str], message: str, older: bool
) -> None:
    lake = _copy(written, tmp_path, extra)
    if older:
        _as_of_an_older_job(lake)
    with pytest.raises(SettingsError, match=message):
        lake.job()
    lake.extra = {}
    assert lake.table().recover(lake.log.append)  # the table's own index is not refused


@pytest.mark.long
def test_the_index_is_known_after_a_compaction_which_says_nothing_of_it(spark: SparkSession, tmp_path: Path) -> None:
    """Which index may follow which: test_partitioned.py."""
    lake = Lake(spark, tmp_path, conf="cdc_events_partitioned.properties", arguments=["--table-type", "MERGE_ON_READ"])
    often = {"hoodie.compact.inline.max.delta.commits": "1"}
    lake.extra = often
    lake.run(event(1, 8, "c", customer_id="A"))
    lake.run(event(1, 12, customer_id="A"))
    lake.extra = often | {INDEX: "SIMPLE"}
    with pytest.raises(SettingsError, match="with the index global, the settings say per partition"):
        lake.job()
    lake.extra = often | {INDEX: "GLOBAL_BLOOM"}
    lake.run(event(1, 16, customer_id="B"))
    assert lake.lsns() == {1: 16}
