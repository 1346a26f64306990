"""Shared by the custom resources' handlers: their life cycle in CDK's provider framework, time limits, error texts.

A handler is three functions. `start` checks the request, names the resource and changes nothing; `settle` checks the
current state and takes the next step towards the wanted one, each time it is called; `remove` does the same for a
deletion. Repeated deliveries, throttled calls and half-done steps need no special care: the next call sees them.

Why `start` may not create anything: when the first call of a creation fails, or its Lambda dies, CDK's framework
answers with the id `AWSCDK::CustomResourceProviderFramework::CREATE_FAILED` and then swallows the Delete of that id
(`safeHandler` in aws-cdk-lib's custom-resources/lib/provider-framework/runtime/cfn-response.js). Anything created would
stay. A Delete after a cancelled creation does come, but with an id of CloudFormation's own: `remove` has to find the
resource by its request.
"""

import contextlib
import functools
import hashlib
import json
import logging
import os
import random
import re
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, TypeVar

import boto3
from botocore.config import Config
from botocore.exceptions import BotoCoreError, ClientError, HTTPClientError
from botocore.exceptions import ConnectionError as AWSConnectionError

from contract.tags import OWNER

Event = Mapping[str, Any]
Function = Callable[[Event, object], dict[str, Any]]
# A request's keys and the types of their values.
Kinds = Mapping[str, type]
Result = TypeVar("Result")

# CloudFormation waits 3,600 s, and CDK's framework then reports only "timed out".
DEADLINE_SECONDS = 3_300
# CloudFormation accepts 4,096 bytes of JSON, to which the framework adds ids and a stack trace; a longer answer would
# be refused, and the reason lost with it.
REASON_BYTES = 2_800
HASH_DIGITS = 16
# How long the first call, which no one repeats, waits for AWS. The functions may run for five minutes.
PATIENCE_SECONDS = 200
FIRST_PAUSE_SECONDS, LONGEST_PAUSE_SECONDS = 1.0, 20.0
# Short timeouts: longer waits happen between polls. botocore's standard mode pauses with jitter.
CLIENT_CONFIG = Config(connect_timeout=5, read_timeout=20, retries={"mode": "standard", "total_max_attempts": 3})
# For calls that change something: repeated after a lost answer, one would meet what it has begun, and be refused.
# The next poll looks for that first.
ONCE = CLIENT_CONFIG.merge(Config(retries={"mode": "standard", "total_max_attempts": 1}))
# Upper limit for a call with its retries: three times 25 s, and two pauses of at most 20 s.
CALL_SECONDS = 120
# Threads may share a client, but not the session that creates it.
_CREATING = threading.Lock()

_log = logging.getLogger(__name__)
_log.setLevel(logging.INFO)
# Errors of AWS calls that `retry_reason` judges.
CALL_ERRORS = (ClientError, HTTPClientError, AWSConnectionError)
# Names of throttling and transient errors: botocore's standard retry mode's (botocore/retries/standard.py), MSK
# Connect's, EMR's, S3's and Secrets Manager's own. Any 429 or 5xx answer counts, too.
_TRANSIENT = re.compile(
    "Throttl|TooManyRequests|RequestLimitExceeded|SlowDown|RequestTimeout|ServiceUnavailable"
    "|Internal(Error|Failure|Server|Service)"
)
_TRANSIENT_STATUS = frozenset({429, 500, 502, 503, 504})


class ResourceError(RuntimeError):
    """Why a resource can't be created, changed or removed; CloudFormation shows this reason."""


@dataclass(frozen=True, kw_only=True)
class Done:
    """Nothing is left to do; `data` are the resource's attributes."""

    data: Mapping[str, str | int] = field(default_factory=dict)


@dataclass(frozen=True)
class Waiting:
    """Check again later. `reason` states what is awaited; a timeout reports it.

    `progressed`: this call has done a part of the work, so a shorter deadline than the framework's doesn't count.
    """

    reason: str
    progressed: bool = False


Progress = Done | Waiting


@dataclass(frozen=True, kw_only=True)
class Handler:
    """A custom resource's life cycle, behind CDK's `custom_resources.Provider`.

    `start` returns the resource's id; it is called for Create and Update. `settle` gets the event with that id, and in
    `KnownAs` the id by which CloudFormation knows the resource until it is settled; `remove` gets the Delete event:
    without it, a deletion leaves everything. `claim` records that a request now works on its resource and returns its
    place in the order of requests; `await_turn` returns what a step must wait for first, and raises ResourceError if
    a later request has taken over (stacks/handlers/journal.py).
    """

    start: Callable[[Event], str]
    settle: Callable[[Event], Progress]
    remove: Callable[[Event], Progress] | None = None
    claim: Callable[[Event], str] | None = None
    await_turn: Callable[[Event], Waiting | None] | None = None

    @property
    def functions(self) -> tuple[Function, Function]:
        """Lambda's two entry points."""
        return self.on_event, self.is_complete

    def on_event(self, event: Event, _context: object) -> dict[str, Any]:
        """Answer the framework's first call. Raises ResourceError with the reason if the request is refused."""
        _say(event, "received")
        known = event.get("PhysicalResourceId")
        result: dict[str, Any] = {"PhysicalResourceId": known, "KnownAs": known, "Started": int(now())}
        with _reasons():
            if event["RequestType"] != "Delete":
                result["PhysicalResourceId"] = _retry_now(lambda: self.start(event))
            if self.claim is not None:
                result["Order"] = _claimed(self.claim, event)
        return result

    def is_complete(self, event: Event, _context: object) -> dict[str, Any]:
        """Take the next step; report whether it was the last. Raises ResourceError if the request can't succeed."""
        with _reasons():
            progress = self._step(event)
        if isinstance(progress, Done):
            _say(event, "done")
            return {"IsComplete": True, "Data": dict(progress.data)}
        _say(event, f"waiting: {progress.reason}")
        shorter = None if progress.progressed else os.environ.get("DEADLINE_SECONDS")
        if now() >= event["Started"] + int(shorter or DEADLINE_SECONDS):
            raise ResourceError(shortened(f"gave up waiting: {progress.reason}"))
        return {"IsComplete": False}

    def _step(self, event: Event) -> Progress:
        """Take a step; after a transient error, wait for the next call to repeat it."""
        step = self.remove if event["RequestType"] == "Delete" else self.settle
        if step is None:
            return Done()
        try:
            if self.await_turn is not None and (waiting := self.await_turn(event)):
                return waiting
            return step(event)
        except CALL_ERRORS as error:
            if reason := retry_reason(error):
                return Waiting(reason)
            raise


@functools.cache
def client(service: str, config: Config = CLIENT_CONFIG) -> Any:
    """A boto3 client, created once: a function stays warm between two calls."""
    with _CREATING:
        return boto3.client(service, config=config)  # type: ignore[call-overload]


def now() -> float:
    return time.time()


def sleep(seconds: float) -> None:
    time.sleep(seconds)


def request(event: Event, *, required: Kinds, optional: Kinds = MappingProxyType({})) -> dict[str, Any]:
    """Read the request, which is one JSON string because CloudFormation turns numbers into strings.

    Unknown keys are refused, except in a deletion: a newer version of this code may have created the resource. Raises
    ResourceError with the missing, unknown or mistyped key.
    """
    wanted = as_object(event)
    if missing := sorted(required.keys() - wanted.keys()):
        raise ResourceError(f"Request: {', '.join(missing)} is missing")
    unknown = sorted(wanted.keys() - required.keys() - optional.keys())
    if unknown and event.get("RequestType") != "Delete":
        raise ResourceError(f"Request: there is no {', '.join(unknown)}")
    for key, kind in {**required, **optional}.items():
        if key in wanted and not isinstance(wanted[key], kind):
            raise ResourceError(f"Request: {key} must be of type {kind.__name__}")
    if OWNER in wanted.get("tags", {}):
        raise ResourceError(f"Request: the tag {OWNER} is the handlers' own")
    return wanted


def old_request(event: Event, *, required: Kinds, optional: Kinds = MappingProxyType({})) -> dict[str, Any] | None:
    """Read the previous request; None if there is none, or this version of the code can't read it."""
    if "OldResourceProperties" not in event:
        return None
    before = {"RequestType": "Delete", "ResourceProperties": event["OldResourceProperties"]}
    return if_accepted(lambda: request(before, required=required, optional=optional))


def if_accepted(read: Callable[[], Result]) -> Result | None:
    """Read a deletion's request; None if it was refused before: then it has created nothing."""
    try:
        return read()
    except ResourceError:
        return None


def as_object(event: Event) -> dict[str, Any]:
    """Return the request unchecked. Raises ResourceError if it isn't an object."""
    with contextlib.suppress(KeyError, TypeError, ValueError):
        wanted = json.loads(event["ResourceProperties"]["Request"])
        if isinstance(wanted, dict):
            return wanted
    raise ResourceError("the property Request must be one JSON object")


def stack_name(event: Event) -> str:
    """The stack's name, without the UUID after it, which differs for each attempt at a stack of this name."""
    return str(event["StackId"].partition(":stack/")[2].partition("/")[0])


def owner(event: Event) -> str:
    """Stack name and logical id of a resource's owner. A recreated stack owns what its last attempt left."""
    return f"{stack_name(event)}/{event['LogicalResourceId']}"


def tags_of(event: Event, wanted: Mapping[str, Any]) -> dict[str, str]:
    """Return a resource's tags: the requested ones and its owner's."""
    return {**wanted.get("tags", {}), OWNER: owner(event)}


def check_owner(event: Event, name: str, tags: Mapping[str, str]) -> None:
    """Raise ResourceError if the resource of this name isn't ours: it may be a user's, so leave it alone."""
    if tags.get(OWNER) != owner(event):
        raise ResourceError(
            f"{name} is there already and isn't this resource's ({OWNER}={tags.get(OWNER, 'none')}): "
            "it is left as it is; delete it by hand or choose another name"
        )


def sha256_of(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def shortened(text: str) -> str:
    """Cut a text to fit CloudFormation's answer; keep its beginning, which says what, and its end, which says why."""
    kept, short = len(text), text
    while len(json.dumps(short, ensure_ascii=False).encode()) > REASON_BYTES:
        kept = kept * 9 // 10
        short = f"{text[: kept // 2]} … {text[-kept // 2 :]}"
    return short


def _claimed(claim: Callable[[Event], str], event: Event) -> str:
    """Return the request's place in the order of requests. If S3 can't record it now, `await_turn` will."""
    order = f"{int(now() * 1_000):013d}-{event['RequestId']}"
    try:
        return _retry_now(lambda: claim({**event, "Order": order}))
    except CALL_ERRORS as error:
        if not retry_reason(error):
            raise
        return order


def _retry_now(step: Callable[[], Result]) -> Result:
    """Take a step that no later call repeats: retry while AWS is busy, after growing random pauses."""
    ends_at, pause = now() + PATIENCE_SECONDS, FIRST_PAUSE_SECONDS
    while True:
        try:
            return step()
        except CALL_ERRORS as error:
            if not retry_reason(error) or now() >= ends_at:
                raise
        sleep(random.uniform(pause / 2, pause))  # noqa: S311  a pause is no secret
        pause = min(pause * 2, LONGEST_PAUSE_SECONDS)


@contextlib.contextmanager
def _reasons() -> Iterator[None]:
    """Turn AWS errors and our own into reasons short enough for CloudFormation."""
    try:
        yield
    except ResourceError as error:
        _log.warning("refused or failed: %s", error)
        raise ResourceError(shortened(str(error))) from None
    except ClientError as error:
        _log.warning("%s: %s", error.operation_name, error_code(error))
        message = error.response.get("Error", {}).get("Message", "")
        raise ResourceError(shortened(f"{error.operation_name}: {error_code(error)}: {message}")) from None
    except BotoCoreError as error:
        _log.warning("%s", type(error).__name__)
        raise ResourceError(shortened(str(error))) from None


def _say(event: Event, what: str) -> None:
    # Log identifiers only, no properties or answers.
    kind, logical = event["RequestType"], event["LogicalResourceId"]
    _log.info("%s %s %s %s", kind, logical, event.get("PhysicalResourceId", "-"), what)


def error_code(error: ClientError) -> str:
    return str(error.response.get("Error", {}).get("Code", ""))


def retry_reason(error: Exception) -> str | None:
    """Return what failed if the error is transient (AWS is busy or out of reach); otherwise None."""
    if isinstance(error, ClientError):
        status = error.response.get("ResponseMetadata", {}).get("HTTPStatusCode")
        if _TRANSIENT.search(error_code(error)) or status in _TRANSIENT_STATUS:
            return f"{error.operation_name} again after {error_code(error)}"
    unreachable = isinstance(error, CALL_ERRORS) and not isinstance(error, ClientError)
    return f"AWS again after {type(error).__name__}" if unreachable else None
