"""The broker's denials, read from its log: role, operation and resource, each once."""

import os
from datetime import UTC, datetime, timedelta
from pathlib import Path

from local.services.kafka_rights import denials, recently

TEXT = (
    "INFO logger: Principal = User:{role} is Denied operation = {operation} from host = 127.0.0.1 on resource ="
    " {resource} for request = {request} with resourceRefCount = 1 based on rule DefaultDeny"
)


def line(at: datetime, **parts: str) -> str:
    return f"{at.astimezone():%Y-%m-%d %H:%M:%S},{at.microsecond // 1000:03} {TEXT.format(**parts)}\n"


def test_each_denial_is_one_line_with_role_operation_and_resource(tmp_path: Path) -> None:
    now, log = datetime.now(UTC), tmp_path / "kafka.log"
    fetch = {"role": "sink-connector", "operation": "READ", "resource": "Topic:LITERAL:a:b", "request": "Fetch"}
    init = {
        "role": "source-connector",
        "operation": "IDEMPOTENT_WRITE",
        "resource": "Cluster:LITERAL:kafka-cluster",
        "request": "InitProducerId",
    }
    log.write_text(line(now, **fetch) * 3 + "2026-01-01 00:00:00,000 WARN x: something else\n" + line(now, **init))
    assert [str(denial).partition(": plugins/")[0] for denial in denials(log, since=now)] == [
        "Kafka denies sink-connector READ on topic a:b (Fetch)",
        "Kafka denies source-connector IDEMPOTENT_WRITE on the cluster (InitProducerId)",
    ]


def test_what_was_denied_before_is_not_shown(tmp_path: Path) -> None:
    log, now = tmp_path / "kafka.log", datetime.now(UTC)
    parts = {"role": "r", "operation": "READ", "resource": "Topic:LITERAL:t", "request": "Fetch"}
    log.write_text(line(now - timedelta(minutes=5), **parts))
    assert denials(log, since=now - timedelta(minutes=4)) == []
    assert len(denials(log, since=now - timedelta(minutes=6))) == 1
    log.write_text(line(now, **parts))
    assert len(denials(log, since=now)) == 1
    assert denials(log, since=now + timedelta(milliseconds=1)) == []


def test_what_was_denied_in_the_last_minute_counts(tmp_path: Path) -> None:
    assert timedelta(seconds=59) < datetime.now(UTC) - recently(tmp_path / "rights") < timedelta(seconds=70)


def test_what_was_denied_before_the_rights_were_brought_up_to_date_no_longer_counts(tmp_path: Path) -> None:
    rights, brought = tmp_path / "rights", datetime.now(UTC) - timedelta(seconds=20)
    rights.touch()
    os.utime(rights, (brought.timestamp(), brought.timestamp()))
    assert abs(recently(rights) - brought) < timedelta(milliseconds=1)
    # Services with obsolete rights are restarted after the update: their denials are no cause of a failed start.
    assert recently(rights, brought - timedelta(seconds=5)) == recently(rights)
    assert recently(rights, brought + timedelta(seconds=5)) == brought + timedelta(seconds=5)


def test_without_a_log_nothing_was_denied(tmp_path: Path) -> None:
    assert denials(tmp_path / "kafka.log", since=datetime.now(UTC)) == []
