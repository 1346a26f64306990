from typing import TYPE_CHECKING, Any, cast

import pytest
from botocore.exceptions import ClientError, NoCredentialsError, ReadTimeoutError

from local.sink.errors import SinkError, UnavailableError
from local.sink.offsets import Gap
from local.sink.store import LandingStore
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
    assert s3.replaced == []


@pytest.mark.parametrize(("first", "second"), [(b"1\n2\n", b"2\n"), (b"2\n", b"1\n2\n")])
def test_of_two_objects_of_one_name_the_longer_stays_and_is_written_anew(
    s3: FakeS3, store: LandingStore, first: bytes, second: bytes
) -> None:
    store.put("a", first)
    store.put("a", second)
    assert s3.objects["a"] == b"1\n2\n"
    assert s3.replaced == ["a"]


@pytest.mark.parametrize("second", [b"1\n3\n", b"12\n", b"\n2\n", b"3\n1\n2"])
def test_other_events_under_the_same_name_are_refused(s3: FakeS3, store: LandingStore, second: bytes) -> None:
    store.put("a", b"1\n2\n")
    with pytest.raises(SinkError, match="s3://landing/a holds other events"):
        store.put("a", second)
    assert s3.objects["a"] == b"1\n2\n"


def test_the_end_of_a_folder_is_behind_its_greatest_offset(s3: FakeS3, store: LandingStore) -> None:
    assert store.end("p/t/0") is None
    for key in ("p/t/0/000000000009_1_2.json", "p/t/0/000000000011_1_2.json", "p/t/1/000000000050_1_2.json"):
        s3.objects[key] = b""
    s3.objects["p/t/0/other.json"] = b""
    assert store.end("p/t/0") == 12


def test_gaps_are_kept_once_and_given_back(store: LandingStore) -> None:
    for gap in (Gap(first=5, end=9, reason="x"), Gap(first=5, end=9, reason="x"), Gap(first=20, end=21, reason="y")):
        store.keep_gap("orders", 0, gap)
    assert list(store.gaps()) == [
        {"topic": "orders", "partition": 0, "first": 5, "end": 9, "reason": "x"},
        {"topic": "orders", "partition": 0, "first": 20, "end": 21, "reason": "y"},
    ]


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
    monkeypatch.setattr(s3, "head_object", fail)
    with pytest.raises(translated, match="s3://landing/a"):
        store.put("a", b"")
    with pytest.raises(translated, match="s3://landing/a"):
        store.exists("a")


def test_a_missing_object_isnt_an_error(store: LandingStore) -> None:
    assert not store.exists("a")
    store.put("a", b"1\n")
    assert store.exists("a")
