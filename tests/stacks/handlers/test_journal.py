from collections.abc import Iterator
from typing import Any

import pytest
from botocore.exceptions import ClientError, ReadTimeoutError
from moto import mock_aws

from stacks.handlers import framework, journal
from stacks.handlers.framework import ResourceError
from stacks.handlers.journal import S3Store, SupersededError
from tests.stacks.handlers.clients import CREDENTIALS, client
from tests.stacks.handlers.cloudformation import STACK_ID, Clock
from tests.stacks.handlers.journal_store import MemoryStore


@pytest.fixture(params=["memory", "S3"])
def store(
    request: pytest.FixtureRequest,
    clients: None,  # noqa: ARG001
    monkeypatch: pytest.MonkeyPatch,
) -> Iterator[MemoryStore | S3Store]:
    if request.param == "memory":
        kept = MemoryStore()
        monkeypatch.setattr(journal, "store", lambda: kept)
        yield kept
        return
    with mock_aws():
        client("s3").create_bucket(
            Bucket="artefacts", CreateBucketConfiguration={"LocationConstraint": CREDENTIALS["region_name"]}
        )
        monkeypatch.setenv(journal.VARIABLE, "artefacts/requests/")
        yield journal.store()


def request(clock: Clock, number: int, *, logical_id: str = "Source", stack_id: str = STACK_ID) -> dict[str, Any]:
    """A received request, with its place in the order."""
    clock.seconds += 1
    event = {"StackId": stack_id, "LogicalResourceId": logical_id, "RequestId": f"r-{number}"}
    event["Order"] = f"{int(clock.seconds * 1_000):013d}-r-{number}"
    return {**event, "Order": journal.claim(event)}


def test_the_latest_request_is_the_one_that_works(store: MemoryStore | S3Store, clock: Clock) -> None:
    first = request(clock, 1)
    journal.check(first)
    second = request(clock, 2, stack_id=f"{STACK_ID}9")
    journal.check(second)
    with pytest.raises(SupersededError, match="a later request has taken over Source"):
        journal.check(first)
    journal.check(request(clock, 3, logical_id="Source2"))
    journal.check(second)
    assert len(store.keys("")) == 3


@pytest.mark.usefixtures("store")
def test_a_delivery_that_comes_late_does_not_take_over(clock: Clock) -> None:
    first, second = request(clock, 1), request(clock, 2)
    assert request(clock, 1)["Order"] == first["Order"]
    journal.check(second)


@pytest.mark.usefixtures("store")
def test_one_that_could_not_be_recorded_is_recorded_later_in_its_place(clock: Clock) -> None:
    event = {"StackId": STACK_ID, "LogicalResourceId": "Source", "RequestId": "r", "Order": "0000000000001-r"}
    journal.check(event)
    request(clock, 2)
    with pytest.raises(SupersededError):
        journal.check(event)


@pytest.mark.usefixtures("store")
def test_nothing_is_done_when_a_later_request_comes_in_between(clock: Clock) -> None:
    first, second = request(clock, 1), request(clock, 2)
    with pytest.raises(SupersededError), journal.acting(first):
        raise AssertionError("it was done")
    with pytest.raises(SupersededError):
        journal.make(first, lambda: "made")
    assert not journal.busy(second)
    assert not journal.outcome_unknown(second)


@pytest.mark.usefixtures("store")
def test_the_next_request_knows_what_was_begun_and_what_came_of_it(clock: Clock) -> None:
    first = request(clock, 1)
    with journal.acting(first, creating_at=5) as facts:
        second = request(clock, 2)
        assert journal.busy(second)
        assert journal.earlier(second)[0]["creating_at"] == 5
        facts["arn"] = "a"
    assert not journal.busy(second)
    assert journal.earlier(second) == [{"creating_at": 5, "arn": "a"}]
    assert journal.own(first)["arn"] == "a"


@pytest.mark.usefixtures("store")
@pytest.mark.parametrize(
    ("error", "under_way"),
    [
        (ReadTimeoutError(endpoint_url="x"), True),
        (ClientError({"Error": {}, "ResponseMetadata": {"HTTPStatusCode": 500}}, "X"), True),  # type: ignore[typeddict-item]
        (ClientError({"Error": {}, "ResponseMetadata": {"HTTPStatusCode": 429}}, "X"), False),  # type: ignore[typeddict-item]
    ],
)
def test_a_call_whose_end_is_unknown_counts_until_it_must_have_ended(
    clock: Clock, error: Exception, under_way: bool
) -> None:
    first = request(clock, 1)
    with pytest.raises(type(error)), journal.acting(first):
        raise error
    second = request(clock, 2)
    assert journal.busy(second) is under_way
    clock.seconds += framework.CALL_SECONDS
    assert not journal.busy(second)


@pytest.mark.usefixtures("store")
def test_what_was_written_long_ago_is_not_read_again(clock: Clock) -> None:
    journal.record(request(clock, 1), arn="a")
    clock.seconds += journal.REMEMBERED_SECONDS
    assert journal.earlier(request(clock, 2)) == []


@pytest.mark.usefixtures("clock", "clients")
def test_a_bucket_that_is_gone_keeps_nobody_from_deleting() -> None:
    with mock_aws():
        gone = S3Store(bucket="gone", prefix="requests/")
        gone.write("a", "b")
        assert (gone.keys(""), gone.read("a")) == ([], None)


def test_a_handler_without_a_journal_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(journal.VARIABLE, raising=False)
    with pytest.raises(ResourceError, match="has no JOURNAL"):
        journal.store()
