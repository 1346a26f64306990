"""Quarantined events, read from their files; botocore's stubber checks requests with the service's model."""

import io
import json
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import boto3
import pytest
from botocore.response import StreamingBody
from botocore.stub import Stubber

from local.dashboard.quarantine import MOST_BYTES, REASON_CHARACTERS, SHOWN, Quarantine, QuarantinedLine, entry, newest
from local.look.json_lines import BUCKET, prefix

if TYPE_CHECKING:
    from mypy_boto3_s3 import S3Client

TABLE, LAKE_NAME = "datalake.cdc_events", "cdc_events"
FOLDER = prefix(LAKE_NAME)


@pytest.fixture
def client() -> "S3Client":
    return boto3.client("s3", region_name="ap-southeast-2", aws_access_key_id="x", aws_secret_access_key="x")


@pytest.fixture
def answers(client: "S3Client") -> Iterator[Any]:
    with Stubber(client) as stubber:
        yield stubber
        stubber.assert_no_pending_responses()


def line(number: int, **changed: object) -> str:
    said = {"reason": "not JSON", "origin": "a.json", "line": number, "quarantined_at": at(number), "text": "{"}
    return json.dumps({**said, **changed})


def at(number: int) -> str:
    return f"2026-11-22T11:{number:02d}:00"


def listed(answers: Any, *names: str, size: int = 100) -> None:
    found = [{"Key": FOLDER + name, "ETag": '"1"', "Size": size} for name in names]
    answers.add_response("list_objects_v2", {"Contents": found}, {"Bucket": BUCKET, "Prefix": FOLDER})


def read(answers: Any, name: str, *lines: str, **asked: str) -> None:
    content = "\n".join(lines).encode()
    body = StreamingBody(io.BytesIO(content), len(content))  # type: ignore[no-untyped-call, unused-ignore]
    answers.add_response("get_object", {"Body": body}, {"Bucket": BUCKET, "Key": FOLDER + name, **asked})


def test_the_newest_lines_come_first_and_each_object_is_read_once(client: "S3Client", answers: Any) -> None:
    quarantine = Quarantine(TABLE, LAKE_NAME)
    listed(answers, "a")
    read(answers, "a", line(1), line(3))
    listed(answers, "a", "b")
    read(answers, "b", line(2))
    assert [one.at for one in quarantine.read(client)] == [at(3), at(1)]
    assert [one.at for one in quarantine.read(client)] == [at(3), at(2), at(1)]


def test_a_file_that_is_there_as_it_was_is_told_by_its_reason_alone(client: "S3Client", answers: Any) -> None:
    listed(answers, "a", "a.reason.json")
    read(answers, "a.reason.json", json.dumps({"reason": "unreadable", "origin": "x", "file": "s3://a"}))
    (found,) = Quarantine(TABLE, LAKE_NAME).read(client)
    assert (found.reason, found.text) == ("unreadable", "s3://a")


def test_no_more_than_the_newest_are_shown_of_all_tables() -> None:
    found = [entry(table, line(number)) for table in ("a", "b") for number in range(SHOWN)]
    shown = newest(found)
    assert len(shown) == SHOWN
    assert [one.at for one in shown[:3]] == [at(SHOWN - 1), at(SHOWN - 1), at(SHOWN - 2)]


@pytest.mark.parametrize(
    ("place", "origin"), [({}, "a.json, line 3"), ({"line": None, "offset": 7}, "a.json, offset 7")]
)
def test_a_line_says_where_it_was(place: dict[str, object], origin: str) -> None:
    said = {key: value for key, value in json.loads(line(3, **place)).items() if value is not None}
    assert entry(TABLE, json.dumps(said)) == QuarantinedLine(
        table=TABLE, reason="not JSON", origin=origin, at=at(3), text="{"
    )


@pytest.mark.parametrize("rubbish", ["rubbish", "[1]"])
def test_what_is_no_such_line_is_shown_as_it_is(rubbish: str) -> None:
    assert entry(TABLE, rubbish) == QuarantinedLine(table=TABLE, reason="unreadable", origin="", at="", text=rubbish)


def test_of_a_large_file_the_end_is_read_without_the_line_whose_beginning_is_missing(
    client: "S3Client", answers: Any
) -> None:
    listed(answers, "a", size=MOST_BYTES + 7)
    read(answers, "a", "half a line", line(3), Range="bytes=7-")
    assert [one.at for one in Quarantine(TABLE, LAKE_NAME).read(client)] == [at(3)]


def test_a_line_with_other_line_breaks_stays_one(client: "S3Client", answers: Any) -> None:
    text = "a\u2028b\u0085c"
    listed(answers, "a")
    read(answers, "a", json.dumps({**json.loads(line(3)), "text": text}, ensure_ascii=False))
    assert [one.text for one in Quarantine(TABLE, LAKE_NAME).read(client)] == [text]


def test_a_long_reason_is_cut() -> None:
    assert len(entry(TABLE, line(3, reason="x" * 10_000)).reason) == REASON_CHARACTERS
