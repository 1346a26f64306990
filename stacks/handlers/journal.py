"""Which CloudFormation request works on a resource, and what it has begun: a small S3 object per request.

CloudFormation cancels a request when another resource fails, and sends the next one: a Delete, or the Update that
rolls back. CDK's waiter doesn't know that, and polls the old request's handler for up to an hour. And an AWS call may
be in flight, or its answer lost, when the next request checks the resource.

So each request records, before it acts, that it acts; then checks that no later one has come; and afterwards records
the outcome. A later request writes its own entry before it reads: either it sees what the earlier one has begun, or the
earlier one sees the new entry and doesn't begin. This holds because S3 is consistent: "Amazon S3 provides strong
read-after-write consistency for PUT and DELETE requests of objects", LIST included (S3 user guide, "Amazon S3 data
consistency model").

`JOURNAL` in the environment is `<bucket>/<prefix>`. Keys are `<prefix><stack>/<logical id>/<order>.json`; the order is
the request's arrival time in milliseconds, and its id. Entries are useless after an hour: the bucket expires them.
"""

import contextlib
import functools
import json
import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from botocore.exceptions import ClientError

from stacks.handlers import framework
from stacks.handlers.framework import Event, Handler, ResourceError, Waiting, error_code

VARIABLE = "JOURNAL"
# No request lives longer: CDK's waiter ends after 58 minutes.
REMEMBERED_SECONDS = 2 * 3_600
# As long as a function may run: stacks/provider.py.
RUN_SECONDS = 300.0
# MSK Connect's lists may not show resources newer than this. AWS gives no figure; a guess on the safe side.
LAG_SECONDS = 300
ARN = "arn"
_MAKING = "making_at"
_MADE = "made_at"
_ACTING = "acting_until"
_SERVER_ERROR = 500


class SupersededError(ResourceError):
    """Another request now works on the resource. CloudFormation no longer waits for this one."""


s3 = functools.partial(framework.client, "s3")


@dataclass(frozen=True, kw_only=True)
class S3Store:
    """Entries in a bucket; each write is visible to later reads and lists."""

    bucket: str
    prefix: str

    def keys(self, prefix: str) -> list[str]:
        """The keys with this prefix; none if the bucket has been deleted with its stack."""
        pages = s3().get_paginator("list_objects_v2").paginate(Bucket=self.bucket, Prefix=self.prefix + prefix)
        try:
            return [entry["Key"].removeprefix(self.prefix) for page in pages for entry in page.get("Contents", [])]
        except s3().exceptions.NoSuchBucket:
            return []

    def read(self, key: str) -> str | None:
        try:
            return str(s3().get_object(Bucket=self.bucket, Key=self.prefix + key)["Body"].read(), encoding="utf-8")
        except ClientError as error:
            if error_code(error) not in ("NoSuchKey", "NoSuchBucket"):
                raise
            return None

    def write(self, key: str, text: str) -> None:
        """Write, or overwrite; do nothing if the bucket has been deleted: then nothing is left to protect."""
        with contextlib.suppress(s3().exceptions.NoSuchBucket):
            s3().put_object(Bucket=self.bucket, Key=self.prefix + key, Body=text.encode())


def store() -> S3Store:
    """Return the store that the environment names. Raises ResourceError if it names none."""
    bucket, _, prefix = os.environ.get(VARIABLE, "").partition("/")
    if not bucket:
        raise ResourceError(f"the handler's environment has no {VARIABLE}: <bucket>/<prefix>")
    return S3Store(bucket=bucket, prefix=prefix)


def claim(event: Event) -> str:
    """Record that this request has come; return its order, for a repeated delivery that of the first one."""
    keys, request = _keys(event), event["RequestId"]
    for order in keys:
        if order.endswith(request):
            return order
    store().write(_key(event, event["Order"]), "{}")
    return str(event["Order"])


def check(event: Event) -> None:
    """Raise SupersededError if a later request has come."""
    orders = _keys(event)
    if event["Order"] not in orders:
        # S3 was out of reach when it came, or has expired it.
        store().write(_key(event, event["Order"]), "{}")
    if any(order > event["Order"] for order in orders):
        raise SupersededError(
            f"a later request has taken over {event['LogicalResourceId']}: this one was cancelled by CloudFormation"
        )


def earlier(event: Event) -> list[dict[str, Any]]:
    """Return the facts that earlier requests have recorded, latest first; a handler defines its own."""
    oldest = f"{int((framework.now() - REMEMBERED_SECONDS) * 1_000):013d}"
    orders = [order for order in _keys(event) if oldest < order < event["Order"]]
    return [_facts(event, order) for order in sorted(orders, reverse=True)]


def own(event: Event) -> dict[str, Any]:
    """Return the facts that this request has recorded."""
    # For a missing object, S3 answers 403 to callers who may list only part of the bucket: read only listed ones.
    return _facts(event, event["Order"]) if event["Order"] in _keys(event) else {}


def busy(event: Event) -> bool:
    """Whether an earlier request may still be in a call that changes something, or was when its answer got lost."""
    return any(framework.now() < float(facts.get(_ACTING, 0)) for facts in earlier(event))


def await_turn(event: Event) -> Waiting | None:
    """Return what to wait for before this request may act. Raises SupersededError if a later request has come."""
    check(event)
    return Waiting("a call by an earlier request to finish") if busy(event) else None


@contextlib.contextmanager
def acting(event: Event, *, seconds: float = framework.CALL_SECONDS, **facts: Any) -> Iterator[dict[str, Any]]:
    """Wrap a call that changes something; yields this request's facts, to be completed.

    `facts` are written before the call, the rest after it. A call whose answer is lost stays marked for the `seconds`
    that it may take. Raises SupersededError before the call if a later request has come.
    """
    before = own(event)
    known = before | facts
    _write(event, known | {_ACTING: framework.now() + seconds})
    try:
        check(event)
        yield known
    except SupersededError:
        _write(event, before)
        raise
    except ClientError as error:
        # Nothing is in flight if the service has refused the call. After a server error one may be.
        if _refused(error):
            _write(event, known)
        raise
    _write(event, known)


def make(event: Event, create: Callable[[], str]) -> None:
    """Create something by a call that returns its ARN, and record the ARN, so that no list has to show it.

    While the call's answer is unknown, `outcome_unknown` is true for this request and later ones.
    """
    before = own(event).get(_MAKING)
    with acting(event, **{_MAKING: framework.now()}) as facts:
        try:
            facts[ARN] = create()
            facts[_MAKING], facts[_MADE] = None, framework.now()
        except ClientError as error:
            if _refused(error):
                facts[_MAKING] = before
            raise


def arns(event: Event) -> list[str]:
    return [facts[ARN] for facts in (own(event), *earlier(event)) if ARN in facts]


def outcome_unknown(event: Event) -> bool:
    """Whether something may have been created that neither an answer nor a list has shown yet."""
    since = framework.now() - LAG_SECONDS
    return any((facts.get(_MAKING) or 0) > since for facts in (own(event), *earlier(event)))


def just_made(event: Event) -> bool:
    """Whether this request created its resource so recently that describing its ARN may not find it yet."""
    facts = own(event)
    return ARN in facts and framework.now() < facts.get(_MADE, 0) + LAG_SECONDS


def record(event: Event, **facts: Any) -> None:
    _write(event, own(event) | facts)


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


# A handler whose requests keep a journal.
handler = functools.partial(Handler, claim=claim, await_turn=await_turn)
