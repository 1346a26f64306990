"""Batches into a real Hudi table: order, deletes, quarantine, placeholders, new columns, progress."""

import json
import re
import shutil
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F

from contract.events import PLACEHOLDER
from spark_jobs.decoding import batch_decoder, decode, schema, values
from spark_jobs.decoding.decode import Decoder
from spark_jobs.derived.history import CommitEvents
from spark_jobs.errors import ConcurrentWriterError, JobError, QuarantineLimitError, SettingsError
from spark_jobs.options import keys
from spark_jobs.ordering import changes
from spark_jobs.runtime import query_plans
from spark_jobs.table.hudi_table import HudiTable
from spark_jobs.table.kept_table import KeptTable
from tests.cases import long
from tests.spark_jobs.events import captured, event
from tests.spark_jobs.lake import Lake, has_cached

pytestmark = pytest.mark.integration


def test_the_newest_event_of_each_key_wins_in_a_batch_and_over_batches(lake: Lake) -> None:
    report = lake.run(
        event(1, 10, "c", customer_id="FIRST"),
        event(1, 40, customer_id="NEWEST"),
        event(1, 20, customer_id="OLDER"),
        event(2, 30, "c", customer_id="A"),
        event(2, 30, "c", customer_id="EQUAL"),
        event(3, 50, "c"),
        event(4, 60, "c"),
        event(4, 61, "d"),
    )
    assert (report.files, report.events, report.quarantined, report.missing_offsets) == (1, 8, 0, 0)
    assert report.upserts == 3
    assert lake.column("customer_id") == {1: "NEWEST", 2: "EQUAL", 3: "VINET"}

    # Debezium repeats events, of a deleted row too; an older event comes late; a row is deleted.
    again = [event(1, 10, "c", customer_id="FIRST"), event(2, 29, customer_id="OLD"), event(4, 60, "c")]
    report = lake.run(*again, event(3, 70, "d"))
    assert (report.upserts, report.deletes, report.folded) == (0, 1, 3)
    assert lake.column("customer_id") == {1: "NEWEST", 2: "EQUAL"}

    # Only a newer event brings a deleted row back.
    assert lake.run(event(3, 50, "c"), event(4, 59), event(5, 40)).upserts == 1
    assert lake.lsns() == {1: 40, 2: 30, 5: 40}
    lake.run(event(3, 80, "c"))
    assert lake.lsns() == {1: 40, 2: 30, 3: 80, 5: 40}


def test_real_events_end_as_the_newest_row(lake: Lake) -> None:
    by_statement, (whole, unavailable) = captured("insert_by_statement"), captured("unavailable_value")
    report = lake.run(*captured("snapshot"), *by_statement, whole, unavailable, *captured("delete_key_only"))
    rows = lake.rows()
    newest = json.loads(by_statement[-1])
    assert json.loads(rows[newest["order_id"]]["order_items"]) == json.loads(newest["order_items"])
    assert len(json.loads(newest["order_items"])) == 3
    # A value that TOAST omits is the previous event's.
    row = rows[json.loads(unavailable)["order_id"]]
    assert row["products"] == json.loads(whole)["products"]
    assert row["__lsn"] == json.loads(unavailable)["__lsn"]
    assert (report.quarantined, report.deletes) == (0, 1)


def test_the_source_time_can_order_instead(lake: Lake) -> None:
    lake.arguments = ("--source-ordering-field", "__source_ts_ms")
    lake.run(*captured("insert_by_statement"))  # all four have the same time: the last one in the file wins
    [row] = lake.rows().values()
    assert len(json.loads(row["order_items"])) == 3


def test_what_does_not_fit_is_set_aside_up_to_a_limit_and_the_rest_commits(lake: Lake) -> None:
    bad = event(2, 11, order_date="20777")
    path = lake.land("", event(1, 10), "{broken", bad, event(None, 12))  # type: ignore[arg-type]
    lake.extra = {"hoodie.streamer.quarantine.max.records": "2"}
    with pytest.raises(QuarantineLimitError, match=r"3 of 4 events don't fit, such as .*json: not one JSON value"):
        lake.job().run_batch()
    assert not lake.table_path.exists()
    assert not lake.quarantine.exists()

    lake.extra = {"hoodie.streamer.quarantine.max.records": "3"}
    report = lake.run()
    assert (report.events, report.upserts, report.quarantined) == (4, 1, 3)
    entries = lake.quarantined()
    name = str(path.relative_to(lake.landing))
    assert [(entry["origin"], entry["line"], entry["reason"]) for entry in entries] == [
        (name, 3, "not one JSON value"),
        (name, 4, "type: order_date (not int)"),
        (name, 5, "missing: order_id"),
    ]
    assert entries[0]["text"] == "{broken"
    assert json.loads(entries[1]["text"]) == bad
    assert entries[0]["quarantined_at"].endswith("+00:00")

    # The same file again, as after a crash before the commit: the same entries, not more.
    shutil.rmtree(lake.table_path)
    lake.run()
    assert len(lake.quarantined()) == 3

    # A batch with only bad lines still advances.
    assert lake.run("{").quarantined == 1
    assert lake.job().run_batch() is None
    assert len(lake.rows()) == 1


@pytest.mark.parametrize(
    ("owner", "step"),
    [
        long(query_plans, "_one_node"),
        long(batch_decoder, "summarise"),
        long(batch_decoder, "infer_columns"),
        long(changes, "placed"),
        long(KeptTable, "_refuse_others_commits"),
        long(CommitEvents, "put"),
        (HudiTable, "write"),
    ],
)
def test_failing_steps_leave_nothing_cached(lake: Lake, monkeypatch: pytest.MonkeyPatch, owner: Any, step: str) -> None:
    lake.extra = {keys.HISTORY_KEPT: "true"}
    lake.land(event(1, 10, "c"), event(2, 20, "d"), event(3, 15, "r"), event(4, 30, "c", sales_channel="web"))
    lake.spark.catalog.clearCache()

    def fails(*_given: object, **_named: object) -> None:
        raise OSError("as in an outage")

    monkeypatch.setattr(owner, step, fails)
    with pytest.raises(OSError, match="as in an outage"):
        lake.job().run_batch()
    assert not has_cached(lake.spark)


ODD_DAY = 20_666
SIMPLE = "org.apache.hudi.keygen.SimpleKeyGenerator"


@pytest.fixture
def odd_day(monkeypatch: pytest.MonkeyPatch) -> None:
    """A date that no check foresees: its conversion fails, in any batch."""
    stored = values.stored

    def fails_at_one(value: Column, column: schema.Column) -> Column:
        if column.encoding is not schema.Encoding.DAYS:
            return stored(value, column)
        return F.when(value == ODD_DAY, F.raise_error(F.lit("long overflow"))).otherwise(stored(value, column))

    monkeypatch.setattr(values, "stored", fails_at_one)
    monkeypatch.setattr(batch_decoder, "Decoder", Decoder)  # the tests' shared ones have the normal conversion


@pytest.mark.usefixtures("odd_day")
@pytest.mark.parametrize("others", [0, long(2000)])
def test_a_value_that_decoding_fails_at_is_set_aside_alone(lake: Lake, others: int) -> None:
    odd = event(1, 20, shipped_date=ODD_DAY, sales_channel="web")
    path = lake.land(event(1, 10), odd, *(event(key, 30) for key in range(2, others + 2)), event(2, 40, weight=1.5))
    report = lake.run()
    assert (report.events, report.quarantined) == (others + 3, 1)
    assert lake.lsns() == {1: 10, 2: 40, **dict.fromkeys(range(3, others + 2), 30)}
    assert lake.rows()[2]["weight"] == 1.5
    [entry] = lake.quarantined()
    reason = "value: shipped_date (the job fails at it: java.lang.RuntimeException: long overflow)"
    assert (entry["reason"], entry["origin"], entry["line"]) == (reason, str(path.relative_to(lake.landing)), 2)
    assert json.loads(entry["text"]) == odd
    assert not has_cached(lake.spark)
    assert lake.job().run_batch() is None
    assert lake.run(event(1, 50)).quarantined == 0
    assert (lake.commits(), len(lake.quarantined())) == (2, 1)


def test_odd_lines_alone_are_inspected_in_each_batch(lake: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    inspected, inspects = list[int](), Decoder.__call__

    def counting(decoder: Decoder, lines: DataFrame) -> DataFrame:
        inspected.append(lines.count())
        return inspects(decoder, lines)

    monkeypatch.setattr(Decoder, "__call__", counting)
    job = lake.job()
    for at in (10, 20):
        spaced, bad = json.dumps(event(4, at)), event(5, at, customer_id=7)
        report = lake.run(*(event(key, at) for key in (1, 2, 3)), spaced, bad, job=job)
        assert (report.upserts, report.quarantined) == (4, 1)
        assert lake.lsns() == dict.fromkeys((1, 2, 3, 4), at)
    assert inspected == [2, 2]


@pytest.mark.long
@pytest.mark.usefixtures("odd_day")
def test_more_failing_values_than_are_odd_stop_the_table_as_before(lake: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    lake.land(*(event(key, 10, shipped_date=ODD_DAY) for key in range(3)))
    monkeypatch.setattr(decode, "MOST_FAILING", 2)
    job = lake.job()
    with pytest.raises(Exception, match="long overflow"):
        job.run_batch()
    assert not lake.quarantine.exists()
    assert not has_cached(lake.spark)
    monkeypatch.setattr(decode, "MOST_FAILING", 3)
    assert lake.run().quarantined == 3


def test_a_failure_of_any_line_sets_nothing_aside(lake: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    kept = values.stored
    fails = F.raise_error(F.lit("as in any line"))
    monkeypatch.setattr(values, "stored", lambda value, column: F.coalesce(fails, kept(value, column)))
    monkeypatch.setattr(batch_decoder, "Decoder", Decoder)
    lake.land(event(1, 10))
    with pytest.raises(Exception, match="as in any line"):
        lake.job().run_batch()
    assert not lake.quarantine.exists()
    assert not has_cached(lake.spark)


def test_unavailable_values_are_restored_or_set_aside(lake: Lake) -> None:
    lake.run(event(1, 10, "c", products='["stored"]', employee='{"e": 1}'), event(2, 10, "c"))
    report = lake.run(
        event(1, 20, products=PLACEHOLDER, employee='{"e": 2}'),
        event(1, 30, products=PLACEHOLDER, employee=PLACEHOLDER, shipment='{"s": 3}'),
        event(2, 20, products='["batch"]'),
        event(2, 30, products=PLACEHOLDER),
        event(3, 20, products=PLACEHOLDER),
        event(2, 15, "d", products=PLACEHOLDER),
    )
    rows = lake.rows()
    assert (rows[1]["products"], rows[1]["employee"], rows[1]["shipment"]) == ('["stored"]', '{"e": 2}', '{"s": 3}')
    assert (rows[2]["products"], rows[2]["__lsn"]) == ('["batch"]', 30)
    assert sorted(rows) == [1, 2]
    assert report.quarantined == 1
    assert [entry["reason"] for entry in lake.quarantined()] == ["placeholder: no earlier value of products"]
    assert json.loads(lake.quarantined()[0]["text"])["order_id"] == 3


def test_merge_on_read_with_compaction(lake: Lake) -> None:
    lake.arguments = ("--table-type", "MERGE_ON_READ")
    lake.extra = {"hoodie.compact.inline.max.delta.commits": "2"}
    job = lake.job()
    lake.run(event(1, 10, "c"), event(2, 10, "c"), event(3, 10, "c"), job=job)
    lake.run(event(1, 20), event(2, 5), event(3, 30, "d"), job=job)
    assert any(".compaction." in path.name for path in (lake.table_path / ".hoodie").iterdir())
    # The same job: its own compaction is no other writer's commit. And a delete that is older than its row.
    assert lake.run(event(3, 20), event(2, 15), event(1, 15, "d"), job=job).deletes == 0
    assert lake.lsns() == {1: 20, 2: 15}
    assert lake.job().run_batch() is None  # the newest instant with progress lies behind the compaction


@pytest.mark.long
def test_a_fraction_may_follow_a_whole_number(lake: Lake) -> None:
    lake.run(event(1, 10, n=9, big=2**53 + 1))
    assert lake.run(event(2, 20, n=9.8), event(3, 30, n=2**53 + 1)).quarantined == 1  # no double represents it exactly
    assert {key: (row["n"], row["big"]) for key, row in lake.rows().items()} == {1: (9, 2**53 + 1), 2: (9.8, None)}


@pytest.mark.long
@pytest.mark.parametrize("table_type", ["COPY_ON_WRITE", long("MERGE_ON_READ")])
def test_ordering_values_that_are_decimals_compare_as_numbers(lake: Lake, table_type: str) -> None:
    version = '{"name":"version","type":"string"}'
    fields = f'{{"name":"order_id","type":"int"}},{version},{{"name":"__op","type":["null","string"]}}'
    schema = lake.folder / "versions.avsc"
    schema.write_text(f'{{"type":"record","name":"r","fields":[{fields}]}}')
    lake.arguments = ("--table-type", table_type, "--source-ordering-field", "version")
    lake.extra = {"hoodie.streamer.schemaprovider.source.schema.file": str(schema)}

    def change(key: int, version: str, op: str = "u") -> str:
        return json.dumps({"order_id": key, "version": version, "__op": op})

    lake.run(change(1, "9"), change(1, "10"), change(2, "9.75"), change(3, "10"), change(4, "100"), change(5, "9"))
    late = [change(1, "9.5"), change(2, "10.5"), change(3, "9", "d"), change(4, "100.5", "d"), change(5, "x")]
    assert lake.run(*late).quarantined == 1
    assert lake.run(change(4, "99")).folded == 1  # older than its delete
    assert {key: float(row["version"]) for key, row in lake.rows().items()} == {1: 10, 2: 10.5, 3: 10, 5: 9}


def test_names_that_no_column_can_have_stop_nothing(lake: Lake) -> None:
    lake.extra = {"hoodie.streamer.schema.max.new.columns": "2"}
    lake.run(
        event(1, 10), event(1, 11, N=1), event(1, 12, n=2), '{"foreign":1}', '{"Order ID":1,"order_id":1,"__lsn":9}'
    )
    assert lake.lsns() == {1: 12}
    report = lake.run(event(2, 20, a=1), event(3, 20, b=1), event(4, 20) | {"_hoodie_file_name": 1})
    assert (report.upserts, report.quarantined) == (1, 2)
    assert set(lake.rows()[2]) - set(event(1, 1)) == {"n", "a"}
    assert [entry["reason"] for entry in lake.quarantined()] == [
        "name: no column can be called N",
        "missing: order_id, __lsn",
        "name: no column can be called Order ID",
        "name: beyond the new columns a table may have (hoodie.streamer.schema.max.new.columns): b",
        "name: no column can be called _hoodie_file_name",
    ]


def test_inserts_and_the_deletes_among_them(lake: Lake) -> None:
    lake.arguments = ("--op", "BULK_INSERT")
    lake.run(event(1, 10, "c"), event(2, 10, "c"))
    lake.run(event(3, 20, "c"))
    assert "bulk_insert fills a bucket index only once: this batch is written by insert" in lake.log
    lake.run(event(1, 30, "d"), event(4, 30, "c"))
    assert lake.lsns() == {2: 10, 3: 20, 4: 30}
    assert any("this batch has deletes and is written by upsert" in line for line in lake.log)


def write_by_hand(lake: Lake, rows: DataFrame, **options: str) -> None:
    """Upsert rows of the table as another program does: without progress."""
    own = {name: value for name, value in lake.table().write_options("upsert").items() if "commitmeta" not in name}
    kept = [name for name in rows.columns if not name.startswith("_hoodie_") or name.endswith("_deleted")]
    writer = rows.select(kept).write.format("hudi").options(**own | options)
    writer.mode("append").save(str(lake.table_path))


def test_progress_is_found_behind_other_commits_and_in_the_archive(lake: Lake) -> None:
    lake.run(event(1, 10, "c"), event(2, 10, "c"))
    stored = lake.table().progress()["deltastreamer.checkpoint.key"]
    # Another program's commits carry no progress, and push ours into the archived timeline.
    rows = lake.frame().filter("order_id = 1").localCheckpoint()
    archiving = {
        "hoodie.keep.min.commits": "2",
        "hoodie.keep.max.commits": "3",
        "hoodie.cleaner.commits.retained": "1",
        "hoodie.commits.archival.batch": "1",
    }
    for _ in range(4):
        write_by_hand(lake, rows, **archiving)
    assert list((lake.table_path / ".hoodie").glob("*/.commits_.archive*"))  # `archived`, from Hudi 1.0 on `history`
    assert stored not in {path.read_text() for path in (lake.table_path / ".hoodie").glob("*.commit")}
    assert lake.table().progress()["deltastreamer.checkpoint.key"] == stored
    assert lake.job().run_batch() is None
    lake.run(event(1, 20))
    assert lake.lsns() == {1: 20, 2: 10}


def test_a_second_writer_or_a_removed_table_is_noticed_before_anything_is_written(lake: Lake) -> None:
    job, other = lake.job(), lake.job()
    lake.land(event(1, 10, "c"))
    assert other.run_batch() is not None
    with pytest.raises(ConcurrentWriterError, match="another writer committed"):
        job.run_batch()
    assert lake.commits() == 1
    # A manual correction, without progress, is no rival.
    job = lake.job()
    write_by_hand(lake, lake.frame().withColumn("customer_id", F.lit("HAND")))
    lake.land(event(2, 20, "c"))
    # Nobody would see a commit below the newest one: it waits until the clock is beyond that.
    for path in lake.table_path.glob(".hoodie/2*"):
        shutil.copy(path, path.with_name(f"3{path.name[1:]}"))
    with pytest.raises(TimeoutError, match=r"clock .* is behind the newest commit, 3"):
        job.run_batch()
    for path in lake.table_path.glob(".hoodie/3*"):
        path.unlink()
    job.load()
    assert job.run_batch() is not None
    assert lake.column("customer_id") == {1: "HAND", 2: "VINET"}
    # A table that is removed meanwhile is no other writer's.
    shutil.rmtree(lake.table_path)
    lake.land(event(3, 20, "c"))
    with pytest.raises(JobError, match="the table is gone, with its commits until"):
        job.run_batch()
    assert lake.run().files == 3


@pytest.mark.parametrize(
    ("arguments", "extra", "message"),
    [
        (["--table-type", "MERGE_ON_READ"], {}, "hoodie.table.type=COPY_ON_WRITE, the settings say MERGE_ON_READ"),
        ([], {keys.RECORD_KEY: "customer_id"}, "fields=order_id, the settings say customer_id"),
        (["--source-ordering-field", "__source_ts_ms"], {}, "precombine.field=__lsn, the settings say __source_ts_ms"),
        ([], {keys.PARTITION_PATH: "customer_id", keys.KEY_GENERATOR: SIMPLE}, "the settings say"),
        ([], {keys.RECORD_KEY: "nothing"}, "has no field nothing"),
    ],
)
def test_other_settings_are_refused(existing: Lake, arguments: list[str], extra: dict[str, str], message: str) -> None:
    lake = Lake(existing.spark, existing.folder, extra, arguments)
    with pytest.raises(SettingsError, match=message):
        lake.job()


@pytest.fixture(scope="module")
def existing(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Lake:
    lake = Lake(spark, tmp_path_factory.mktemp("existing"))
    lake.run(event(1, 10, "c"))
    return lake


@pytest.mark.long
def test_what_a_crash_left_half_written_on_a_local_disk_is_removed(existing: Lake, tmp_path: Path) -> None:
    lake = Lake(existing.spark, tmp_path)
    (lake.table_path / ".hoodie" / ".temp").mkdir(parents=True)
    (lake.table_path / ".hoodie" / "hoodie.properties").write_text("")
    lake.run(event(1, 10, "c"))
    assert lake.lsns() == {1: 10}
    # A commit with only a part on the disk never happened: its events are read again.
    lake.run(event(2, 20, "c"))
    last = max((lake.table_path / ".hoodie").glob("*.commit"))
    last.write_text('{"partitionToWriteStats"')
    last.with_name(f".{last.name}.crc").unlink()
    assert lake.run().files == 1
    assert lake.lsns() == {1: 10, 2: 20}
    (lake.table_path / ".hoodie" / "99991231000000000.rollback").write_text("")
    said: list[str] = []
    assert lake.table().recover(said.append)
    assert re.fullmatch(r"removed \S+\.rollback, which a crash had left half written", "\n".join(said))
    assert existing.table().recover(said.append)
    assert len(said) == 1
    assert existing.lsns() == {1: 10}


@pytest.mark.long
def test_names_that_are_patterns_or_encoded_are_names(lake: Lake) -> None:
    lake.land(event(1, 10, "c"), name="customer_id=[missing]/order_id=1/demo(0_000000000001).json")
    lake.land(event(2, 10, "c"), name="customer_id=a b%41é{x}/order_id=2/demo(0_000000000002).json")
    names = ["what*?/z.json", "at 12:30/12:30.json", f"{'é' * 120}.json", f"{'l' * 255}", "a%3Ab#c.json"]
    for number, name in enumerate(names, 3):
        lake.land(event(number, 10, "c"), "{", name=name)
    (lake.landing / "12:30.json.gz").write_text("no gzip")
    report = lake.run()
    assert sorted(lake.rows()) == [1, 2, 3, 4, 5, 6, 7]
    assert (report.files, report.quarantined) == (8, 6)
    entries = [path for path in lake.quarantine.rglob("*") if path.is_file() and not path.name.startswith(".")]
    origins = [json.loads(path.read_text())["origin"] for path in entries if path.suffix != ".gz"]
    assert sorted(origins) == sorted([*names, "12:30.json.gz"])


def test_of_equal_events_the_later_offset_wins_wherever_its_folder_sorts(lake: Lake) -> None:
    lake.land(name="topic/empty.json")
    lake.land(event(7, 10, "c"), name="topic/0/000000000001_1_2.json")
    lake.land(event(8, 10, customer_id="LATER"), name="customer_id=A/order_id=8/demo(0_000000000009).json")
    lake.land(event(8, 10, customer_id="EARLIER"), name="customer_id=Z/order_id=8/demo(0_000000000005).json")
    assert lake.run().files == 4
    assert lake.column("customer_id") == {7: "VINET", 8: "LATER"}


def test_offsets_that_no_file_has_are_counted_and_a_file_that_comes_late_or_again_is_read(lake: Lake) -> None:
    lake.extra = {"hoodie.streamer.source.dfs.sweep.interval.seconds": "0"}
    first = lake.land(event(1, 10, "c"), event(2, 20, "c"), event(2, 21))
    folder = first.parent.relative_to(lake.landing)
    job = lake.job()
    assert job.run_batch() is not None
    assert job.run_batch() is None
    lake.next_offset += 3  # three offsets that don't land
    gap = lake.run(event(2, 22), job=job)
    assert gap.missing_offsets == 3
    assert f"3 offsets of {folder} are in no file" in lake.log
    late = lake.land(event(3, 30, "c"), name=f"{folder}/000000000001_1_2.json")
    report = lake.run(job=job)
    assert (report.late_files, report.missing_offsets) == (1, 0)
    late.write_text(json.dumps(event(3, 31, "c")) + "\n" + json.dumps(event(4, 31, "c")) + "\n")
    assert job.run_batch() is not None
    assert lake.lsns() == {1: 10, 2: 22, 3: 31, 4: 31}


@pytest.mark.long
def test_an_object_without_a_byte_makes_no_commit(lake: Lake) -> None:
    lake.land(event(1, 10, "c"))
    job = lake.job()
    assert job.run_batch() is not None
    lake.land(name="empty.json")
    before = lake.commits()
    assert job.run_batch() is None
    assert lake.commits() == before


@pytest.mark.long
def test_a_table_that_two_jobs_have_broken_is_repaired_at_the_start(lake: Lake, tmp_path: Path) -> None:
    events = [event(number, 10, "c") for number in range(1, 9)]
    lake.run(*events)
    # A second job started at the same moment, and saw the first events and one more.
    other = Lake(lake.spark, tmp_path / "other")
    other.run(*events, event(9, 10, "c"))
    for path in [*other.table_path.glob("*.parquet"), *(other.table_path / ".hoodie").glob("[0-9]*")]:
        shutil.copy(path, lake.table_path / path.relative_to(other.table_path))
    broken = lake.frame()
    assert broken.count() == 17

    lake.run(event(9, 10, "c"), event(1, 20))
    assert lake.lsns() == {1: 20} | dict.fromkeys(range(2, 10), 10)
    [line] = [line for line in lake.log if "took back commit" in line]
    assert re.fullmatch(r"took back commit \d+: two jobs had written bucket 0000000\d; its events come again", line)
    said: list[str] = []
    assert lake.table().recover(said.append)
    assert said == []


def test_no_row_takes_the_place_of_another_whose_key_has_the_same_text(lake: Lake) -> None:
    lake.extra = {keys.RECORD_KEY: "customer_id,__schema"}
    pairs = [(("1", "2,__schema:3"), ("1,__schema:2", "3")), (("", "x"), ("__empty__", "x"))]
    for number, same_text in enumerate(zip(*pairs, strict=True)):
        lake.run(*(event(id_, 10 + number, "c", customer_id=a, __schema=b) for id_, (a, b) in enumerate(same_text, 1)))
    assert (len(lake.stored()), len(lake.quarantined())) == (2, 2)
