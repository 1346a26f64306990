"""A connector's stack trace, captured from Debezium 3.7 on Connect 3.9, becomes one line with what to do."""

from dataclasses import replace
from pathlib import Path

import pytest

from plugins.connector_settings import SourceSettings
from plugins.source.captured import CapturedTable
from plugins.source.failures import failure, reason
from plugins.source.source_connector import source_connector
from tests.plugins.conftest import SOURCE

SENT = "[…] ERROR WorkerSourceTask{{id=shop-source-0}} failed to send record to shop.{}: (o.a.k.c.runtime)\n"
UNKNOWN = "one of its 2 tables (which one, `failed to send record to` in the worker's log says)"
TRACES = Path(__file__).with_name("failures")
GONE = "the publication is gone, or was made again after the slot: run `./lake resnapshot`"


@pytest.mark.parametrize(
    ("name", "line"),
    [
        ("slot-gone", "the replication slot is gone or was made again, and with it changes: run `./lake resnapshot`"),
        ("publication-dropped", GONE),
        ("publication-made-again", GONE),
        ("role-may-not-log-in", "the connector's role may not log in: ALTER ROLE … LOGIN, then start it again"),
        (
            "truncate",
            "datalake.cdc_events was emptied by TRUNCATE, and its pipeline says to stop there: run"
            " `./lake resnapshot --skip`, by which its rows go from the lake, too, or set"
            ' truncate = "apply" or "ignore" (docs/reference/source-changes.md)',
        ),
        (
            "event-too-large-for-producer",
            "an event of datalake.cdc_events has 2284013 bytes, more than the 1048576 that Kafka takes from here:"
            " make that row smaller, then run `./lake resnapshot --skip`",
        ),
        (
            "not-utf-8",
            "the worker's JVM writes text in US-ASCII, where ä and € would become ?, so the task doesn't start: give it"
            " -Dfile.encoding=UTF-8, or run the connector on EKS (docs/aws/alarms.md#connector-task-failed)",
        ),
        (
            "columns-alike",
            "columns of public.clash differ only by case (N and another), at which Debezium stops for all tables:"
            " rename or drop one, then run `./lake resnapshot --skip`",
        ),
    ],
)
def test_a_known_failure_says_what_happened_and_what_to_do(name: str, line: str) -> None:
    assert reason((TRACES / f"{name}.txt").read_text(), source_connector(SOURCE)) == line


@pytest.mark.parametrize(
    ("tables", "log", "blamed", "which"),
    [
        (("a,b",), "", "public.a,b", "--skip"),
        (("a", "b"), "", UNKNOWN, "--skip"),
        (("a", "b"), SENT.format("public.other"), UNKNOWN, "--skip"),
        (("a", "b"), SENT.format("public.b") + SENT.format("public.a"), "public.a", "-t public.a"),
        (("a", "Ö b"), SENT.format("public.__b"), "public.Ö b", "-t 'public.Ö b'"),
    ],
)
def test_an_event_is_blamed_on_the_logs_table(tables: tuple[str, ...], log: str, blamed: str, which: str) -> None:
    trace = (TRACES / "event-too-large-for-producer.txt").read_text()
    found = failure(trace, source_connector(capturing(*tables)), log)
    assert found.reason.startswith(f"an event of {blamed} has 2284013 bytes, ")
    assert found.reason.endswith(f"then run `./lake resnapshot -p … {which}`")
    assert found.table == (blamed if log and blamed != UNKNOWN else None)


def test_a_value_that_cant_be_converted_is_blamed_on_its_table_and_column() -> None:
    trace = (TRACES / "value-not-converted.txt").read_text()
    configuration = source_connector(capturing("od", "odd"))
    found = failure(trace, configuration)
    assert found.table == "public.odd"
    assert reason(trace, configuration).endswith("then run `./lake resnapshot -p … --skip`")
    assert found.reason == (
        "a value of column prices (_numeric) of public.odd can't be converted: change it, or leave the column out"
        " (`leave_out`), then run `./lake resnapshot -p … -t public.odd`"
    )


# Replaces the captured trace's last cause.
REFUSED = "org.postgresql.util.PSQLException: ERROR: division by zero"


@pytest.mark.parametrize(
    ("cause", "shown"),
    [
        (REFUSED, "ERROR: division by zero"),
        (
            "org.postgresql.util.PSQLException: ERROR: permission denied for table rules\n  Where: a policy",
            "ERROR: permission denied for table rules",
        ),
        ("java.lang.ArithmeticException: long overflow", "java.lang.ArithmeticException: long overflow"),
    ],
)
@pytest.mark.parametrize("of_log", [False, True])
def test_a_table_that_cant_be_read_is_blamed(cause: str, shown: str, of_log: bool) -> None:
    trace = refused(cause, of_log=of_log)
    found = failure(trace, source_connector(capturing("fine", "rules")), table_at=table_at)
    assert found.table == "public.rules"
    assert found.reason == (
        f"public.rules can't be captured ({shown}): see to that, then run `./lake resnapshot -p … -t public.rules`"
    )


@pytest.mark.parametrize(
    "cause",
    [
        "org.postgresql.util.PSQLException: FATAL: terminating connection due to administrator command",
        "org.postgresql.util.PSQLException: FATAL: the database system is shutting down",
        "org.postgresql.util.PSQLException: This connection has been closed.",
        "org.postgresql.util.PSQLException: ERROR: canceling statement due to conflict with recovery",
        "org.postgresql.util.PSQLException: ERROR: current transaction is aborted, commands ignored until its end",
        "org.postgresql.util.PSQLException: ERROR: out of shared memory",
        "org.postgresql.util.PSQLException: ERROR: could not extend file: No space left on device",
        "org.postgresql.util.PSQLException: ERROR: permission denied for schema public",
        f"{REFUSED}\nCaused by: java.net.SocketException: Connection reset",
        "java.io.EOFException",
        "java.lang.InterruptedException",
        "java.lang.OutOfMemoryError: Java heap space",
        "org.apache.kafka.common.errors.TimeoutException: the broker is away",
    ],
)
@pytest.mark.parametrize("of_log", [False, True])
def test_an_outage_is_blamed_on_no_table(cause: str, of_log: bool) -> None:
    found = failure(refused(cause, of_log=of_log), source_connector(capturing("fine", "rules")), table_at=table_at)
    assert found.table is None


def refused(cause: str, *, of_log: bool) -> str:
    """The trace of a failed snapshot, or of an event of the log, with that last cause."""
    trace = (TRACES / "table-not-read.txt").read_text().replace(REFUSED, cause)
    event = "Error while processing event at offset {lsn_proc=1, lsn=21793480, txId=744}"
    return trace.replace("Snapshotting of table public.rules failed", event) if of_log else trace


def table_at(position: int) -> str | None:
    """Stands in for the source: the table of the change at a log position."""
    return "public.rules" if position == 21793480 else None


def capturing(*tables: str) -> SourceSettings:
    return replace(SOURCE, tables=tuple(CapturedTable(schema="public", table=name) for name in tables))


def test_an_unknown_failure_shows_what_failed_and_its_last_cause() -> None:
    trace = (
        "org.apache.kafka.connect.errors.ConnectException: Something failed.\n\tat a.b.C.d(C.java:1)\n"
        "Caused by: java.lang.RuntimeException: in between\n\t... 3 more\n"
        "Caused by: java.net.SocketException: Connection reset\n"
    )
    assert reason(trace) == "Something failed: Connection reset"


def test_a_cause_is_shown_once_and_never_a_page_of_it() -> None:
    assert {reason(trace) for trace in ("", "  \n")} == {"no reason given"}
    assert reason("a.b.CException: it broke\nCaused by: it broke") == "it broke"
    assert len(reason("x" * 5_000)) < 400
