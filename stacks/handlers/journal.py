"""Which request of CloudFormation works on a resource, and what it has begun: a small object in S3 for each request.

CloudFormation gives a request up when another resource fails, and sends the next one: a Delete, or the Update that
rolls back. CDK's waiter knows nothing of that and goes on asking the old request's handler for up to an hour. And a
call of AWS may be under way, or its answer lost, when the next request looks at what there is.

So each request writes down, before it acts, that it acts, then makes sure that no later one has come, and afterwards
what became of it. Whoever comes later has written its own entry before it looks: either it sees what the other has
begun, or the other sees it and doesn't begin. That holds because S3 is consistent: "Amazon S3 provides strong
read-after-write consistency for PUT and DELETE requests of objects", LIST included (S3 user guide, "Amazon S3 data
consistency model").

`JOURNAL` in the environment is `<bucket>/<prefix>`. Keys are `<prefix><stack>/<logical id>/<order>.json`; the order is
when the request came, in milliseconds, and its id. What it says is worth nothing after an hour: the bucket expires it.
"""

import contextlib
import functools
import json
import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

import boto3
from botocore.exceptions import ClientError

from stacks.handlers import framework
from stacks.handlers.framework import Event, ResourceError
from stacks.handlers.transient import error_code

if TYPE_CHECKING:
    from mypy_boto3_s3 import S3Client

VARIABLE = "JOURNAL"
# No request lives for longer: CDK's waiter ends after 58 minutes.
REMEMBERED_SECONDS = 2 * 3_600
# MSK Connect's lists may not show yet what was made so long ago. AWS doesn't say; a guess on the safe side.
LAG_SECONDS = 300
ARN = "arn"
_MAKING = "making_at"
_MADE = "made_at"
_ACTING = "acting_until"
_SERVER_ERROR = 500


class SupersededError(ResourceError):
    """Another request works on the resource by now. CloudFormation no longer waits for this one."""


class Store(Protocol):
    """Where entries are kept; what is written is what is read and listed from then on."""

    def keys(self, prefix: str) -> list[str]:
        """The keys that begin like this."""

    def read(self, key: str) -> str | None:
        """What was written; None when it is gone."""

    def write(self, key: str, text: str) -> None:
        """Write or write over."""


@functools.cache
def s3() -> "S3Client":
    return boto3.client("s3", config=framework.CLIENT_CONFIG)


@dataclass(frozen=True, kw_only=True)
class S3Store:
    """Entries in a bucket."""

    bucket: str
    prefix: str

    def keys(self, prefix: str) -> list[str]:
        """The keys that begin like this; none in a bucket that is gone with what it was for."""
        try:
            pages = list(
                s3().get_paginator("list_objects_v2").paginate(Bucket=self.bucket, Prefix=self.prefix + prefix)
            )
        except s3().exceptions.NoSuchBucket:
            return []
        return [entry["Key"].removeprefix(self.prefix) for page in pages for entry in page.get("Contents", [])]

    def read(self, key: str) -> str | None:
        """What was written; None when it is gone."""
        try:
            return s3().get_object(Bucket=self.bucket, Key=self.prefix + key)["Body"].read().decode()
        except ClientError as error:
            if error_code(error) not in ("NoSuchKey", "NoSuchBucket"):
                raise
            return None

    def write(self, key: str, text: str) -> None:
        """Write or write over; a bucket that is gone takes nothing, and nothing is left to be kept apart by it."""
        with contextlib.suppress(s3().exceptions.NoSuchBucket):
            s3().put_object(Bucket=self.bucket, Key=self.prefix + key, Body=text.encode())


def store() -> Store:
    """The store that the environment names. Raises ResourceError when it names none."""
    bucket, _, prefix = os.environ.get(VARIABLE, "").partition("/")
    if not bucket:
        raise ResourceError(f"the handler's environment has no {VARIABLE}: <bucket>/<prefix>")
    return S3Store(bucket=bucket, prefix=prefix)


@dataclass(frozen=True, kw_only=True)
class Entry:
    """What one request has written down: `facts` are its own words for what it has done."""

    order: str
    facts: dict[str, Any] = field(default_factory=dict)

    @property
    def acting(self) -> bool:
        """Whether it may be in a call right now, or was when it died or lost the answer."""
        return framework.now() < float(self.facts.get(_ACTING, 0))


def claim(event: Event) -> str:
    """Write down that this request has come; returns its order: of the first delivery, when it comes twice."""
    keys, request = _keys(event), event["RequestId"]
    for order in keys:
        if order.endswith(request):
            return order
    store().write(_key(event, event["Order"]), "{}")
    return str(event["Order"])


def check(event: Event) -> None:
    """Raise SupersededError when a later request has come."""
    orders = _keys(event)
    if event["Order"] not in orders:
        # S3 was out of reach when it came, or has expired it.
        store().write(_key(event, event["Order"]), "{}")
    if any(order > event["Order"] for order in orders):
        raise SupersededError(
            f"a later request has taken over {event['LogicalResourceId']}: this one was cancelled by CloudFormation"
        )


def earlier(event: Event) -> list[Entry]:
    """What the requests before this one have written down, the latest first."""
    oldest = f"{int((framework.now() - REMEMBERED_SECONDS) * 1_000):013d}"
    orders = [order for order in _keys(event) if oldest < order < event["Order"]]
    return [Entry(order=order, facts=_facts(event, order)) for order in sorted(orders, reverse=True)]


def own(event: Event) -> Entry:
    """What this request has written down."""
    # S3 says 403 of a missing object to those who may list a part of the bucket only: read what is listed.
    return Entry(order=event["Order"], facts=_facts(event, event["Order"]) if event["Order"] in _keys(event) else {})


def busy(event: Event) -> bool:
    """Whether a request before this one may still be in a call that changes something."""
    return any(entry.acting for entry in earlier(event))


@contextlib.contextmanager
def acting(event: Event, *, seconds: float = framework.CALL_SECONDS, **facts: Any) -> Iterator[dict[str, Any]]:
    """Around a call that changes something: yields what this request has written down, to be completed.

    `facts` are written before the call, the rest after it. A call whose answer got lost stays marked for the `seconds`
    that it may take. Raises SupersededError, and the call isn't made, when a later request has come.
    """
    known = own(event).facts | facts
    _write(event, known | {_ACTING: framework.now() + seconds})
    check(event)
    try:
        yield known
    except ClientError as error:
        # The service has refused it, so it isn't under way; after an error of its own it may be.
        if _refused(error):
            _write(event, known)
        raise
    _write(event, known)


def make(event: Event, create: Callable[[], str]) -> None:
    """Make something by a call that returns its ARN, and write that down: no list has to show it.

    While the call's answer is unknown, `outcome_unknown` is true of this request and for those that follow it.
    """
    before = own(event).facts.get(_MAKING)
    with acting(event, **{_MAKING: framework.now()}) as facts:
        try:
            facts[ARN] = create()
            facts[_MAKING], facts[_MADE] = None, framework.now()
        except ClientError as error:
            if _refused(error):
                facts[_MAKING] = before
            raise


def arns(event: Event) -> list[str]:
    return [entry.facts[ARN] for entry in (own(event), *earlier(event)) if ARN in entry.facts]


def outcome_unknown(event: Event) -> bool:
    """Whether something may have been made that neither an answer nor a list has shown yet."""
    since = framework.now() - LAG_SECONDS
    return any((entry.facts.get(_MAKING) or 0) > since for entry in (own(event), *earlier(event)))


def just_made(event: Event) -> bool:
    """Whether this request has made its resource so lately that it may not be shown by its ARN yet."""
    facts = own(event).facts
    return ARN in facts and framework.now() < facts.get(_MADE, 0) + LAG_SECONDS


def record(event: Event, **facts: Any) -> None:
    _write(event, own(event).facts | facts)


def _keys(event: Event) -> list[str]:
    prefix = f"{framework.owner(event)}/"
    return [key.removeprefix(prefix).removesuffix(".json") for key in store().keys(prefix)]


def _key(event: Event, order: str) -> str:
    return f"{framework.owner(event)}/{order}.json"


def _facts(event: Event, order: str) -> dict[str, Any]:
    facts: dict[str, Any] = json.loads(store().read(_key(event, order)) or "{}")
    return facts


def _refused(error: ClientError) -> bool:
    return int(error.response.get("ResponseMetadata", {}).get("HTTPStatusCode", _SERVER_ERROR)) < _SERVER_ERROR


def _write(event: Event, facts: dict[str, Any]) -> None:
    store().write(_key(event, event["Order"]), json.dumps(facts))
