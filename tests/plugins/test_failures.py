"""A connector's stack trace, as it was captured from Debezium 3.7 on Connect 3.9, becomes one line with what to do."""

from dataclasses import replace
from pathlib import Path

import pytest

from plugins.captured import CapturedTable
from plugins.connector_settings import SourceSettings
from plugins.failures import failure, reason
from plugins.source_connector import source_connector

SENT = "[…] ERROR WorkerSourceTask{{id=shop-source-0}} failed to send record to shop.{}: (o.a.k.c.runtime)\n"
UNKNOWN = "one of its 2 tables (which one, `failed to send record to` in the worker's log says)"
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
            "datalake.cdc_events was emptied by TRUNCATE, and its pipeline says to stop there: run"
            " `make resnapshot SKIP=1`, by which its rows go from the lake, too, or set"
            ' truncate = "apply" or "ignore" (docs/tables.md)',
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
    ("tables", "log", "blamed", "which"),
    [
        (("a,b",), "", "public.a,b", "SKIP=1"),
        (("a", "b"), "", UNKNOWN, "SKIP=1"),
        (("a", "b"), SENT.format("public.other"), UNKNOWN, "SKIP=1"),
        (("a", "b"), SENT.format("public.b") + SENT.format("public.a"), "public.a", "TABLE=public.a"),
        (("a", "Ö b"), SENT.format("public.__b"), "public.Ö b", "TABLE='public.Ö b'"),
    ],
)
def test_an_event_is_blamed_on_the_table_that_the_log_names(
    tables: tuple[str, ...], log: str, blamed: str, which: str
) -> None:
    trace = (TRACES / "event-too-large-for-producer.txt").read_text()
    found = failure(trace, source_connector(capturing(*tables)), log)
    assert found.reason.startswith(f"an event of {blamed} has 2284013 bytes, ")
    assert found.reason.endswith(f"then run `make resnapshot PIPELINE=… {which}`")
    assert found.table == (blamed if log and blamed != UNKNOWN else None)


def test_a_value_that_cant_be_converted_is_blamed_on_its_table_and_column() -> None:
    trace = (TRACES / "value-not-converted.txt").read_text()
    configuration = source_connector(capturing("od", "odd"))
    found = failure(trace, configuration)
    assert found.table == "public.odd"
    assert reason(trace, configuration).endswith("then run `make resnapshot PIPELINE=… SKIP=1`")
    assert found.reason == (
        "a value of column prices (_numeric) of public.odd can't be converted: change it, or leave the column out"
        " (`leave_out`), then run `make resnapshot PIPELINE=… TABLE=public.odd`"
    )


def capturing(*tables: str) -> SourceSettings:
    return replace(OUTBOXES, tables=tuple(CapturedTable(schema="public", table=name) for name in tables))


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
