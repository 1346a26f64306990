"""Waiting: progress messages, repeated calls, and the limit."""

from collections.abc import Callable, Iterator

import pytest
from botocore.exceptions import EndpointConnectionError, ReadTimeoutError

from operate.pausing.waiting import LOOK_S, NEW_S, SAY_S, Waiter
from tests.operate.pausing.cloud import error


class Time:
    """A clock that sleeping advances."""

    def __init__(self) -> None:
        self.seconds = 0.0
        self.said: list[tuple[float, str]] = []

    def sleep(self, seconds: float) -> None:
        self.seconds += seconds

    @property
    def waiter(self) -> Waiter:
        return Waiter(lambda line: self.said.append((self.seconds, line)), self.sleep, lambda: self.seconds)


@pytest.fixture
def time() -> Time:
    return Time()


def looks(*answers: str | Exception | None) -> Callable[[], str | None]:
    left: Iterator[str | Exception | None] = iter(answers)

    def look() -> str | None:
        answer = next(left)
        if isinstance(answer, Exception):
            raise answer
        return answer

    return look


def test_what_is_there_is_not_waited_for(time: Time) -> None:
    assert time.waiter.wait(looks(None), limit_s=0) is None
    assert (time.seconds, time.said) == (0, [])


def test_the_same_is_said_every_five_minutes(time: Time) -> None:
    assert time.waiter.wait(lambda: "a" if time.seconds < 2 * SAY_S else None, limit_s=3 * SAY_S) is None
    assert time.said == [(0, "  a"), (SAY_S, "  a")]


def test_what_is_new_is_said_once_a_minute_at_the_most(time: Time) -> None:
    assert time.waiter.wait(lambda: f"{time.seconds}" if time.seconds < 180 else None, limit_s=SAY_S) is None
    assert [at for at, _ in time.said] == [0, NEW_S, 2 * NEW_S]


def test_the_limit_ends_it_with_what_was_waited_for(time: Time) -> None:
    assert time.waiter.wait(lambda: "a", limit_s=100) == "a"
    assert 100 <= time.seconds < 100 + LOOK_S


@pytest.mark.parametrize(
    "passing",
    [
        error("Throttling", "DescribeDBClusters"),
        error("ThrottlingException", "ListClusters"),
        error("TooManyRequestsException", "ListConnectors", 429),
        error("Whatever", "ListConnectors", 503),
        EndpointConnectionError(endpoint_url="https://rds"),
        ReadTimeoutError(endpoint_url="https://rds"),
    ],
)
def test_what_passes_by_itself_is_asked_for_again(time: Time, passing: Exception) -> None:
    assert time.waiter.wait(looks(passing, passing, None), limit_s=60) is None
    [(_, line)] = time.said
    assert "again: " in line


def test_what_never_answers_is_given_up(time: Time) -> None:
    def look() -> str | None:
        raise ReadTimeoutError(endpoint_url="https://rds")

    assert time.waiter.wait(look, limit_s=60) == "AWS again: ReadTimeoutError"


def test_what_aws_refuses_is_not_asked_for_again(time: Time) -> None:
    refusal = error("AccessDenied", "StopDBCluster", 403)
    with pytest.raises(type(refusal)):
        time.waiter.wait(looks(refusal), limit_s=60)
    assert time.seconds == 0
