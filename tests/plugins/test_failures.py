"""A connector's stack trace, as it was captured from Debezium 3.7 on Connect 3.9, becomes one line with what to do."""

from dataclasses import replace
from pathlib import Path

import pytest

from plugins.captured import CapturedTable
from plugins.connector_settings import SourceSettings
from plugins.failures import reason
from plugins.source_connector import source_connector

TRACES = Path(__file__).with_name("failures")
OUTBOXES = SourceSettings(database_hostname="db", database_password="${file:/run/secret:password}", topic_prefix="shop")


@pytest.mark.parametrize(
    ("name", "line"),
    [
        ("slot-gone", "the replication slot is gone or was made anew, and with it changes: run `make resnapshot`"),
        ("publication-dropped", "the publication is gone, or was made again after the slot: run `make resnapshot`"),
        ("publication-made-again", "the publication is gone, or was made again after the slot: run `make resnapshot`"),
        ("role-may-not-log-in", "the connector's role may not log in: ALTER ROLE … LOGIN, then start it again"),
        (
            "truncate",
            'a captured table was emptied by TRUNCATE, and its pipeline says to stop there: set truncate = "apply" for'
            ' it, by which its rows go from the lake, too, or "ignore", and start again (docs/tables.md)',
        ),
        (
            "event-too-large-for-producer",
            "an event of datalake.cdc_events has 2284013 bytes, more than the 1048576 that Kafka takes from here:"
            " make that row smaller, then run `make resnapshot SKIP=1`",
        ),
        (
            "not-utf-8",
            "the worker's JVM writes text in US-ASCII, where ä and € would become ?, so the task doesn't start: give it"
            " -Dfile.encoding=UTF-8, or run the connector on EKS (docs/runbooks/connector-task-failed.md)",
        ),
    ],
)
def test_a_known_failure_says_what_happened_and_what_to_do(name: str, line: str) -> None:
    assert reason((TRACES / f"{name}.txt").read_text(), source_connector(OUTBOXES)) == line


@pytest.mark.parametrize(
    ("tables", "blamed"),
    [
        (("a,b",), "an event of public.a,b has 2284013 bytes, "),
        (
            ("a", "b"),
            "an event of one of its 2 tables (which one, `failed to send record to` in the worker's log says) has ",
        ),
    ],
)
def test_an_event_is_blamed_on_the_tables_that_are_captured(tables: tuple[str, ...], blamed: str) -> None:
    captured = tuple(CapturedTable(schema="public", table=name) for name in tables)
    trace = (TRACES / "event-too-large-for-producer.txt").read_text()
    line = reason(trace, source_connector(replace(OUTBOXES, tables=captured)))
    assert line.startswith(blamed)
    assert line.endswith("then run `make resnapshot PIPELINE=… SKIP=1`")


def test_every_captured_trace_is_known() -> None:
    lines = {reason(path.read_text()) for path in TRACES.glob("*.txt")}
    assert all("make resnapshot" in line or "LOGIN" in line or "(docs/" in line for line in lines)


def test_an_unknown_failure_shows_what_failed_and_its_last_cause() -> None:
    trace = (
        "org.apache.kafka.connect.errors.ConnectException: Something failed.\n\tat a.b.C.d(C.java:1)\n"
        "Caused by: java.lang.RuntimeException: in between\n\t... 3 more\n"
        "Caused by: java.net.SocketException: Connection reset\n"
    )
    assert reason(trace) == "Something failed: Connection reset"


@pytest.mark.parametrize("trace", ["", "  \n"])
def test_a_failure_without_a_trace_says_so(trace: str) -> None:
    assert reason(trace) == "no reason given"


def test_a_cause_is_shown_once_and_never_a_page_of_it() -> None:
    assert reason("a.b.CException: it broke\nCaused by: it broke") == "it broke"
    assert len(reason("x" * 5_000)) < 400
