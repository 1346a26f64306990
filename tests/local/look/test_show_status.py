from dataclasses import replace
from pathlib import Path

from rich.console import Console

from contract.table_states import FAILING
from local.look.show_status import print_status
from local.look.status import (
    DataStatus,
    DerivedStatus,
    ServiceStatus,
    Status,
    TableStatus,
    queue_problems,
    table_problems,
)
from local.platform.job import TableState
from local.platform.services import HISTORY
from local.services.source_database import OutboxQueue, Slot


def test_the_status_says_how_far_the_outbox_is_behind_and_what_it_cannot_write() -> None:
    console = Console(record=True, width=100)
    queue = OutboxQueue(entries=3, seconds=12.4, failing=1, error="the event of order 1 would have 13000000 bytes")
    data = DataStatus(outbox_rows=829, outbox_queue=queue)
    print_status(console, Status(services=[], data=data, problems=[]))
    assert "829 rows, 3 changes queued for 12 s" in console.export_text()
    [problem] = queue_problems(queue)
    assert "1 queued changes of the outbox fail and are tried again: the event of order 1" in problem
    assert queue_problems(replace(queue, failing=0)) == queue_problems(None) == []


def test_the_status_says_what_it_does_not_know() -> None:
    console = Console(record=True, width=100)
    services = [
        ServiceStatus(name="kafka", running=True, pid=77, port=20_001, rss_bytes=260_400_000, restarts=2),
        ServiceStatus(name="job", running=False),
    ]
    table = TableStatus(name="datalake.cdc_events", topic_end=831, sink_offset=830)
    data = DataStatus(tables=(table,), outbox_rows=829, slot=Slot(active=True, behind_bytes=7, held_bytes=1_250_000))
    print_status(console, Status(services=services, data=data, problems=["job is dead: see job.log"]))
    lines = [line.split() for line in console.export_text().splitlines()]
    assert ["kafka", "running", "77", "20001", "260", "2"] in lines
    assert ["job", "dead", "-", "-", "-", "-"] in lines
    assert ["lake", "-", "rows,", "last", "commit", "-"] in lines
    assert lines[-1] == ["job", "is", "dead:", "see", "job.log"]


def test_a_status_shows_whole_names_and_the_tables_that_are_made_of_others() -> None:
    console = Console(record=True, width=100)
    failing = TableState(state=FAILING, reason="the query gives 2 rows of key")
    made = DerivedStatus(name="shop_names", lake_rows=7, last_commit="2026", state=failing)
    history = DerivedStatus(name="shop_items_history", kind=HISTORY)
    captured = TableStatus(name="[red]" + "x" * 120), TableStatus(name="[red]" + "x" * 119 + "y")
    print_status(console, Status(services=[], data=DataStatus(tables=captured, derived=(made, history)), problems=[]))
    text = console.export_text()
    assert text.count("[red]xxx") == 2
    assert text.count("x") - text.count("next") == 239
    lines = [line.split() for line in text.splitlines()]
    assert ["shop_names", "derived", FAILING, "7", "2026"] in lines
    assert ["shop_items_history", "history", "-", "-", "-"] in lines
    [problem] = table_problems([made], Path("job.log"))
    assert "the job fails at table shop_names and tries again: the query gives 2 rows of key" in problem
