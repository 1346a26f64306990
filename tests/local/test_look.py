"""Reads of lakes that fail, topics read to their present end, and the tables' states in the job's log."""

import sys
from collections.abc import Iterator
from pathlib import Path
from unittest.mock import MagicMock, Mock

import pyarrow
import pytest
from confluent_kafka import KafkaError, KafkaException, Message, TopicPartition

from contract import added_columns
from contract.added_columns import AddedColumn
from contract.table_states import FAILING, RUNNING, STARTING
from local.look import lake as module
from local.look import topic
from local.look.lake import Lake, LakeError
from local.look.topic import RawEvent, Topic
from local.platform.job import TableState, TableStates
from local.services.processes import Command, Processes
from local.state.source_changes import WRITTEN_AT, added, older_rows, source_changes
from spark_jobs.options.keys import ADDED_COLUMNS, PROGRESS
from tests.local.platform.built import services


def test_a_table_that_is_not_there_is_one_line(tmp_path: Path) -> None:
    lake = Lake(base_uri=tmp_path.as_uri())
    assert not lake.exists()
    with pytest.raises(LakeError) as error:
        lake.rows()
    assert str(error.value).startswith(tmp_path.as_uri())
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(("disturbed", "ends_well"), [(1, True), (module.ATTEMPTS, False)])
def test_a_disturbed_look_is_repeated_but_not_for_ever(
    disturbed: int, ends_well: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    row = pyarrow.RecordBatch.from_pydict({"order_id": [10248]})
    table = MagicMock(**{"read.side_effect": [*[RuntimeError("unfinished object")] * disturbed, [row]]})
    builder = MagicMock()
    builder.from_base_uri.return_value.with_options.return_value.build.return_value = table
    monkeypatch.setattr(module, "HudiTableBuilder", builder)
    if ends_well:
        assert Lake(base_uri="s3://lake/t").rows().num_rows == 1
    else:
        with pytest.raises(LakeError, match="unfinished object"):
            Lake(base_uri="s3://lake/t").rows()
    assert table.read.call_count == min(disturbed + 1, module.ATTEMPTS)


def log_of(*values: bytes | None) -> Mock:
    """A consumer of a topic whose only partition holds some records; polls return what is `away` before them."""
    consumer = Mock(away=[], **{"get_watermark_offsets.return_value": (0, len(values))})

    def assign(partitions: list[TopicPartition]) -> None:
        [partition] = partitions
        assert (partition.topic, partition.partition) == ("shop.items", 0)
        records = [Message("shop.items", 0, at, b"{}", value) for at, value in enumerate(values)]
        consumer.poll.side_effect = [*consumer.away, *records[partition.offset :]]

    consumer.assign.side_effect, consumer.return_value = assign, consumer
    return consumer


def test_events_are_read_from_an_offset_to_the_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(topic, "Consumer", log_of(b"{}", b'{"id": 1}', None))
    items = Topic(connection={}, name="shop.items")
    assert items.raw_events(1) == [
        RawEvent(offset=1, key=b"{}", value=b'{"id": 1}'),
        RawEvent(offset=2, key=b"{}", value=None),
    ]
    assert [event.value for event in items.events(0)] == [{}, {"id": 1}, None]
    assert (items.raw_events(3), items.count()) == ([], 3)


def test_a_broker_that_comes_back_is_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    log, items = log_of(b"{}"), Topic(connection={}, name="shop.items")
    away = KafkaError.LEADER_NOT_AVAILABLE, KafkaError._TRANSPORT
    monkeypatch.setattr(topic, "Consumer", log)
    log.away = [None, *(Message(error=KafkaError(code)) for code in away), None]
    assert len(items.raw_events(0)) == 1
    assert log.get_watermark_offsets.call_args.args[0].partition == 0
    log.away = [Message(error=KafkaError(KafkaError.UNKNOWN_TOPIC_OR_PART))]
    with pytest.raises(KafkaException):
        items.raw_events(0)
    monkeypatch.setattr(topic, "OUTAGE_S", 0)
    log.away = [None]
    with pytest.raises(TimeoutError, match=r"^shop\.items: no event within 0 s, though the topic goes on to 1$"):
        items.raw_events(0)


LAKE = Lake(base_uri="s3://lake/items")


def test_the_newest_commit_says_which_columns_came_and_when(monkeypatch: pytest.MonkeyPatch) -> None:
    register = added_columns.encode({"old": AddedColumn("Old", "001", guessed=True), "new": AddedColumn("new")})
    commits = [("002", {PROGRESS: "x", ADDED_COLUMNS: register}), ("001", {PROGRESS: "x"})]
    monkeypatch.setattr(Lake, "newest_of_job", lambda _self: commits[0])
    assert added(LAKE) == {"old": AddedColumn("Old", "001", guessed=True), "new": AddedColumn("new", "002")}
    # A commit of an earlier version.
    commits.pop(0)
    assert added(LAKE) == {}


def test_rows_that_were_written_since_count_no_more(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = pyarrow.table({WRITTEN_AT: ["001", "002", "002", "003"], "size": [None, 1, None, None]})
    monkeypatch.setattr(Lake, "rows", lambda _self, columns: rows.select(columns))
    assert older_rows(LAKE, {"size": AddedColumn("size", "002")}) == {"size": 2}
    assert older_rows(LAKE, {"size": AddedColumn("size", "000")}) == {}
    assert older_rows(LAKE, {}) == {}


def test_a_table_that_cant_be_read_hides_nothing_of_the_source(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found = services(tmp_path, "pagila")
    monkeypatch.setattr(found.database, "source_problems", lambda *_: ["no table public.city"])
    monkeypatch.setattr(Lake, "exists", lambda _self: True)
    monkeypatch.setattr(Lake, "newest_of_job", MagicMock(side_effect=LakeError("half a commit")))
    assert list(map(str, source_changes(found, found.tables))) == ["the source has changed: no table public.city"]


@pytest.fixture
def processes(tmp_path: Path) -> Iterator[Processes]:
    found = Processes(tmp_path, tmp_path / "logs")
    yield found
    found.stop("job", grace_s=0)


def start(processes: Processes) -> None:
    """Start a job that logs nothing; a test writes its log."""
    processes.start("job", Command(argv=[sys.executable, "-c", "import time; time.sleep(60)"], folder=processes.folder))


def say(processes: Processes, text: str) -> None:
    with processes.log_file("job").open("a") as log:
        log.write(text)


def test_the_last_whole_line_on_each_table_counts(processes: Processes) -> None:
    start(processes)
    states, starting = TableStates(processes), TableState(state=STARTING)
    say(processes, "table=l.a state=starting\ntable=l.b state=starting\ncommit=1 rows=2 table=l.b\n")
    say(processes, "table=l.a state=failing reason=no such")
    assert states.read() == {"l.a": starting, "l.b": starting}
    say(processes, " file\ntable=l.b state=running\n")
    failing = TableState(state=FAILING, detail="no such file")
    assert states.read() == {"l.a": failing, "l.b": TableState(state=RUNNING)}


def test_what_an_earlier_run_said_counts_no_more(processes: Processes) -> None:
    start(processes)
    states = TableStates(processes)
    say(processes, "table=l.a state=failing reason=no such file\n")
    assert states.read()["l.a"].fails
    processes.stop("job", grace_s=0)
    assert states.read() == {}
    start(processes)
    assert states.read() == TableStates(processes).read() == {}
    say(processes, "table=l.a state=starting\n")
    assert states.read() == TableStates(processes).read() == {"l.a": TableState(state=STARTING)}
