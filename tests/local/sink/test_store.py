import json
from typing import TYPE_CHECKING, Any, cast

import pytest
from botocore.exceptions import ClientError, NoCredentialsError, ReadTimeoutError

from local.sink.settings import SinkError, UnavailableError
from local.sink.store import Gap, LandingStore
from tests.local.sink.fakes import BUCKET, FakeS3

if TYPE_CHECKING:
    from mypy_boto3_s3 import S3Client


@pytest.fixture
def s3() -> FakeS3:
    return FakeS3()


@pytest.fixture
def store(s3: FakeS3) -> LandingStore:
    return LandingStore(cast("S3Client", s3), BUCKET, "orders-sink")


def test_an_object_with_the_same_content_is_left_alone(s3: FakeS3, store: LandingStore) -> None:
    store.put("a", b"1\n2\n")
    store.put("a", b"1\n2\n")
    assert s3.objects == {"a": b"1\n2\n"}


@pytest.mark.parametrize("second", [b"2\n", b"0\n1\n2\n", b"1\n3\n"])
def test_other_events_under_the_same_name_are_refused(s3: FakeS3, store: LandingStore, second: bytes) -> None:
    store.put("a", b"1\n2\n")
    with pytest.raises(SinkError, match="s3://landing/a holds other events"):
        store.put("a", second)
    assert s3.objects["a"] == b"1\n2\n"


@pytest.mark.parametrize("known", [0, 10, 12, 13])
def test_the_end_of_a_folder_is_behind_its_greatest_offset(s3: FakeS3, store: LandingStore, known: int) -> None:
    assert store.end("p/t/0", known=known) == 0
    for name in ("t/0/000000000009_1_2.json", "t/0/000000000011_1_2.json", "t/1/000000000050_1_2.json"):
        s3.objects[f"p/{name}"] = b""
    # Unfinished, as S3Proxy lists it, and other programs' names.
    for name in ("000000000099_2_3.json.tmp", "0_2_3.json", "topic(0_000000000055).json"):
        s3.objects[f"p/t/0/{name}"] = b""
    assert store.end("p/t/0", known=known) == 12


def test_a_gap_is_kept_once(s3: FakeS3, store: LandingStore) -> None:
    for _ in range(2):
        store.keep_gap(Gap(topic="orders", partition=0, first=5, end=9, reason="x"))
    [(key, note)] = s3.objects.items()
    assert key == ".indexes/.sink/orders-sink/gaps/orders/0/000000000005_000000000009.json"
    assert json.loads(note) == {"topic": "orders", "partition": 0, "first": 5, "end": 9, "reason": "x"}


def test_the_topics_id_is_kept(store: LandingStore) -> None:
    assert store.topic_id("orders") is None
    store.keep_topic_id("orders", "id")
    assert store.topic_id("orders") == "id"
    assert store.topic_id("other") is None


def answer(code: str, status: int) -> ClientError:
    response: Any = {"Error": {"Code": code, "Message": "why"}, "ResponseMetadata": {"HTTPStatusCode": status}}
    return ClientError(response, "PutObject")


@pytest.mark.parametrize(
    ("error", "translated"),
    [
        (answer("InternalError", 500), UnavailableError),
        (answer("SlowDown", 503), UnavailableError),
        (answer("RequestTimeout", 400), UnavailableError),
        (answer("ConditionalRequestConflict", 409), UnavailableError),
        (ReadTimeoutError(endpoint_url="http://a"), UnavailableError),
        (answer("NoSuchBucket", 404), SinkError),
        (answer("AccessDenied", 403), SinkError),
        (NoCredentialsError(), SinkError),
    ],
)
def test_errors_say_whether_trying_again_helps(
    s3: FakeS3, store: LandingStore, monkeypatch: pytest.MonkeyPatch, error: Exception, translated: type[Exception]
) -> None:
    def fail(**_: Any) -> None:
        raise error

    monkeypatch.setattr(s3, "put_object", fail)
    with pytest.raises(translated, match="s3://landing/a"):
        store.put("a", b"")
