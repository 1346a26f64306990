"""When files are consumed: none is skipped, late ones are noticed, progress is bounded."""

import itertools
import os
import random
from collections.abc import Mapping
from pathlib import Path
from typing import Any, cast

import boto3
import pytest
from botocore.stub import Stubber

from spark_jobs.errors import SettingsError
from spark_jobs.options.settings import FileSettings
from spark_jobs.sources.file_progress import FileCheckpoint, SourceFile, read_file_checkpoint
from spark_jobs.sources.files import FileBatch, JsonFiles, in_order, normalised_root
from spark_jobs.sources.listing import Lister, LocalLister, SharedListing, is_bookkeeping

TOPIC = "demo.datalake.cdc_events"


def file(name: str, changed_ms: int = 1000, *, size: int = 10, mark: str = "m") -> SourceFile:
    return SourceFile(f"s3a://landing/{name}", name, size, changed_ms, mark)


def ordered(last: int, changed_ms: int = 1000, *, partition: int = 0, mark: str = "m") -> SourceFile:
    return file(f"{TOPIC}/{partition}/{last:012d}_1_2.json", changed_ms, mark=mark)


class Listing(Lister):
    """A lister whose files the test sets."""

    root = "s3a://landing"

    def __init__(self, *files: SourceFile) -> None:
        self.files = list(files)
        self.wrong: str | None = None
        self.calls: list[Any] = []

    def all(self) -> list[SourceFile]:
        self.calls.append("all")
        return list(self.files)

    def missing(self, *, read_before: bool) -> str | None:
        self.calls.append(f"missing {read_before}")
        return self.wrong

    def after(self, watermarks: Mapping[str, str]) -> list[SourceFile]:
        self.calls.append(dict(watermarks))
        return [f for f in self.files if f.folder is None or f.name > watermarks.get(f.folder, "")]


class Reader:
    """Consumes batches and keeps their progress, like the job after each commit."""

    def __init__(self, *files: SourceFile, **settings: Any) -> None:
        self.listing = Listing(*files)
        default = {"root": "s3a://landing", "remembered_files": 100, "max_bytes": None, "must_exist": False}
        self.settings = FileSettings(line_bytes=20_000_000, sweep_seconds=300, **{**default, **settings})
        self.log: list[str] = []
        self.now = 0.0
        self.checkpoint: str | None = None
        self.restart()

    def restart(self) -> None:
        self.source = JsonFiles(
            cast(Any, None), self.settings, self.listing, log=self.log.append, clock=lambda: self.now
        )

    def batch(self) -> FileBatch:
        batch = self.source.next_batch(self.checkpoint)
        assert batch is not None
        self.checkpoint = batch.checkpoint
        return batch

    def names(self) -> list[str]:
        batch = self.source.next_batch(self.checkpoint)
        self.checkpoint = batch.checkpoint if batch else self.checkpoint
        return [f.name for f in batch.consumed] if batch else []

    def progress(self) -> FileCheckpoint:
        return read_file_checkpoint(self.checkpoint, normalised_root("s3a://landing"))


def test_a_file_that_is_written_again_is_read_again() -> None:
    reader = Reader(file("a"))
    reader.names()
    for changed in (file("a", mark="other"), file("a", size=11), file("a", 2000, mark="m2")):
        reader.listing.files = [changed]
        reader.restart()
        assert reader.names() == ["a"]
    assert reader.names() == []


def test_the_memory_is_bounded_and_ties_at_the_horizon_stay_known() -> None:
    files = [file(f"{number:04}", 1000 + number // 3) for number in range(30)]
    reader = Reader(*files, remembered_files=10)
    assert len(reader.names()) == 30
    progress = reader.progress()
    assert progress.horizon_ms == 1006
    assert len(progress.memory) == 12  # 10 and the rest of the tenth's millisecond
    reader.restart()
    assert reader.names() == []
    reader.listing.files.append(file("late, of the horizon's very time", 1006))
    reader.restart()
    assert reader.names() == ["late, of the horizon's very time"]
    reader.listing.files.append(file("too late", 1005))
    reader.restart()
    assert reader.names() == []


def test_the_horizon_never_passes_a_file_that_still_waits() -> None:
    # In one partition offsets come before times, so an old file may wait while newer ones are consumed.
    files = [ordered(1, 9000), ordered(2, 9000), ordered(3, 100)]
    reader = Reader(*files, remembered_files=1, max_bytes=10)
    assert [reader.names() for _ in range(4)] == [[f.name] for f in files] + [[]]


def test_every_file_is_consumed_once_under_any_limits() -> None:
    files = [file(f"{number:03}", (number * 7919) % 50) for number in range(200)]
    for remembered, max_bytes in itertools.product((1, 7, 1000), (1, 35, None)):
        reader = Reader(*files, remembered_files=remembered, max_bytes=max_bytes)
        consumed = []
        for turn in range(300):
            if turn % 3 == 0:
                reader.restart()  # as after a crash: only the committed progress is known
            consumed += reader.names()
        assert sorted(consumed) == sorted(f.name for f in files), (remembered, max_bytes)


def test_a_batch_has_at_least_one_file_and_at_most_the_limits_bytes() -> None:
    files = [file("a", 1, size=100), file("b", 2, size=5), file("c", 3, size=4), file("d", 4, size=2)]
    reader = Reader(*files, max_bytes=10)
    assert [reader.names() for _ in range(4)] == [["a"], ["b", "c"], ["d"], []]


def test_partitions_are_read_by_offset_and_everything_else_by_age() -> None:
    files = [ordered(9, 1000), ordered(5, 3000), ordered(7, 2000, partition=1), file("x", 2500)]
    assert [f.name for f in in_order(files)] == [files[2].name, "x", files[1].name, files[0].name]


def test_below_the_topics_own_folder_a_partition_is_known_by_its_number() -> None:
    reader = Reader(file("0/000000000009_1_2.json"), file("0/000000000019_1_2.json", 900))
    batch = reader.batch()
    assert [one.last_offset for one in batch.consumed] == [9, 19]
    assert batch.progress.watermarks == {"0": "0/000000000019_1_2.json"}
    assert batch.check({f"s3a://landing/{one.name}": 5 for one in batch.consumed}).missing_offsets == 10


def test_missing_offsets_are_counted_per_partition() -> None:
    reader = Reader(ordered(9), ordered(19), ordered(4, partition=1))
    batch = reader.batch()
    lines = {9: 10, 19: 5, 4: 5}
    findings = batch.check({f"s3a://landing/{f.name}": lines[f.last_offset] for f in batch.consumed})
    assert findings.missing_offsets == 5
    assert findings.notes == (f"5 offsets of {TOPIC}/0 are in no file",)
    reader.listing.files.append(ordered(29, 2000))
    reader.restart()
    later = reader.batch()
    assert later.check({f"s3a://landing/{ordered(29).name}": 9}).missing_offsets == 1
    # More lines than offsets: the sink repeated some, none are missing.
    assert later.check({f"s3a://landing/{ordered(29).name}": 15}).missing_offsets == 0


def test_a_file_below_the_watermark_is_found_by_the_next_sweep_only() -> None:
    many = [ordered(number, 1000) for number in range(1, 1500)]
    reader = Reader(*many, remembered_files=5000)
    reader.names()
    reader.listing.files += [ordered(0, 5000), ordered(2000, 5000)]
    assert reader.names() == [ordered(2000).name]
    assert reader.listing.calls[-1] == {f"{TOPIC}/0": ordered(1499).name}
    reader.now = 301
    batch = reader.batch()
    assert [f.name for f in batch.consumed] == [ordered(0).name]
    assert batch.check({}).late_files == 1
    assert "1 files came late or again" in batch.check({}).notes[0]
    assert reader.names() == []


def test_a_topic_that_was_made_again_waits_for_one_sweep_and_not_for_more() -> None:
    reader = Reader(*[ordered(number, 1000) for number in range(1, 1500)], remembered_files=5000)
    reader.names()
    first, second = (file(f"{TOPIC}/0/{number:012d}_7_{number}.json", 6000 + number) for number in (8, 9))
    reader.listing.files.append(first)
    assert reader.names() == []
    reader.now = 301
    assert reader.names() == [first.name]
    reader.listing.files.append(second)
    assert reader.names() == [second.name]


def test_a_file_below_the_watermark_is_never_skipped() -> None:
    many = [ordered(number, 1000) for number in range(1, 1500)]
    reader = Reader(*many, remembered_files=10)
    reader.names()
    late = ordered(0, 2000)
    newer = [ordered(2000 + number, 3000 + number) for number in range(30)]
    reader.listing.files.append(late)
    for one in newer:
        reader.listing.files.append(one)
        assert reader.names() == [one.name]
    assert reader.progress().horizon_ms == 1000
    reader.now = 301
    assert reader.names() == [late.name]
    # Only now are the older ones forgotten, and no file is read twice.
    assert reader.progress().horizon_ms == newer[-10].changed_ms
    reader.restart()
    assert reader.names() == []


def test_a_sweep_comes_early_when_much_was_consumed_since_the_last() -> None:
    reader = Reader(*[ordered(number, number) for number in range(1500)], remembered_files=10)
    for start in range(1500, 5000, 250):
        reader.names()
        assert len(reader.progress().memory) < 1300
        reader.listing.files += [ordered(number, number) for number in range(start, start + 250)]
    assert 1 < reader.listing.calls.count("all") < 5


def test_sweeps_take_a_tenth_of_the_time(monkeypatch: pytest.MonkeyPatch) -> None:
    reader = Reader(*[ordered(number, number) for number in range(1500)], remembered_files=5000)
    fast = reader.listing.all

    def slow() -> list[SourceFile]:
        reader.now += 60
        return fast()

    monkeypatch.setattr(reader.listing, "all", slow)
    reader.names()
    for reader.now in (599, 601):
        reader.names()
    assert reader.listing.calls == ["all", {f"{TOPIC}/0": ordered(1499).name}, "all"]


def test_one_page_or_another_layout_is_always_listed_whole() -> None:
    reader = Reader(ordered(1))
    reader.names()
    reader.names()
    assert reader.listing.calls == ["all", "all"]


def test_another_root_starts_over_and_a_hoodie_streamer_checkpoint_is_a_time() -> None:
    progress = FileCheckpoint("landing").after([file("a")], [], remembered=10, ceiling_ms=0)
    assert read_file_checkpoint(progress.to_text(), "landing") == progress
    assert read_file_checkpoint(progress.to_text(), "elsewhere") == FileCheckpoint("elsewhere")
    by_time = read_file_checkpoint("1000", "landing")
    assert [by_time.is_new(file("x", changed)) for changed in (999, 1000, 1001)] == [False, True, True]


def test_a_missing_root_is_said_once_by_a_job_that_waits_and_ends_one_that_does_not() -> None:
    waiting, ending, pattern = Reader(), Reader(must_exist=True), Reader(root="s3a://landing/cdc-*")
    for reader in (waiting, ending, pattern):
        assert reader.names() == []  # an empty folder is not an error
        reader.listing.wrong = "no such folder"
    key = "hoodie.streamer.source.dfs.root=s3a://landing"
    assert [waiting.names(), waiting.names()] == [[], []]
    assert waiting.log == [f"{key}: no such folder yet; the job waits for it"]
    with pytest.raises(SettingsError, match=f"^{key}: no such folder$"):
        ending.names()
    with pytest.raises(SettingsError, match="a pattern has no meaning here, name one folder"):
        pattern.names()
    waiting.listing.files.append(file("a"))
    assert waiting.names() == ["a"]


@pytest.mark.parametrize("text", ["topic,0:5", "{}", '{"version": 1}', "", '{"version": 9}'])
def test_another_sources_checkpoint_is_refused(text: str) -> None:
    with pytest.raises(SettingsError, match="checkpoint"):
        read_file_checkpoint(text, "landing")


def test_progress_of_many_files_stays_small() -> None:
    # As many as two sweeps may have between them, at random distances.
    times = itertools.accumulate(random.Random(1).choices(range(2000), k=10_000), initial=1_795_216_992_726)
    files = [ordered(number, changed_ms) for number, changed_ms in enumerate(times)]
    text = FileCheckpoint("landing").after(files, [], remembered=5000, ceiling_ms=0).to_text()
    assert len(text) < 160_000


def test_roots_are_one_however_they_are_written(tmp_path: Path) -> None:
    assert normalised_root("s3://landing/cdc/") == normalised_root("s3a://landing/cdc") == "landing/cdc"
    local = str(tmp_path)
    assert normalised_root(local) == normalised_root(f"file://{local}") == normalised_root(f"file:{local}/")


@pytest.mark.parametrize(
    ("name", "hidden"),
    [
        (".indexes/x", True),
        ("a/.temp-upload/x.json", True),
        ("a/_SUCCESS", True),
        (f"{TOPIC}/0/{1:012}_1_2.json", False),
        (f"{TOPIC}/0/{1:012}_1_2.json-2a227e89-f2d9-4804-8bb8-6c7f02e29f6a", True),
        ("delivery-2a227e89-f2d9-4804-8bb8-6c7f02e29f6a", False),
        ("customer_id=_a/x.json", False),
    ],
)
def test_bookkeeping(name: str, hidden: bool) -> None:
    assert is_bookkeeping(name) is hidden


def test_local_files_are_listed_by_their_change_time(tmp_path: Path) -> None:
    nothing = LocalLister(str(tmp_path / "nothing"))
    assert (nothing.all(), nothing.missing(read_before=True)) == ([], "no such folder")
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "old.json").write_text("x")
    (tmp_path / ".hidden").write_text("x")
    os.utime(tmp_path / "a" / "old.json", (1, 1))
    [found] = LocalLister(str(tmp_path)).all()
    no_folder = LocalLister(found.path.removeprefix("file://"))
    assert (no_folder.all(), no_folder.missing(read_before=False)) == ([], "not a folder")
    assert LocalLister(str(tmp_path / "a")).missing(read_before=False) is None
    assert (found.name, found.size, found.path) == ("a/old.json", 1, f"file://{tmp_path}/a/old.json")
    # A file moved here keeps its modification time; it must not count as consumed long ago.
    assert found.changed_ms > 1_000_000_000_000


def test_a_prefix_or_bucket_that_is_not_there_is_missing_on_s3() -> None:
    client = boto3.client("s3", region_name="us-east-1", aws_access_key_id="x", aws_secret_access_key="x")
    lister = SharedListing().lister("s3a://landing/cdc", client)
    with Stubber(client) as stub:
        for _ in range(2):
            stub.add_response("list_objects_v2", {"IsTruncated": False})
        assert lister.missing(read_before=False) == "no object's name begins so"
        assert lister.missing(read_before=True) is None  # a prefix vanishes with its last object
        for _ in range(2):
            stub.add_client_error("list_objects_v2", "NoSuchBucket")
        assert (lister.all(), lister.missing(read_before=True)) == ([], "no such bucket")
