"""What the custom resources' handlers share: how CDK's provider framework calls them, how long, and what is said.

A handler is three functions. `start` checks the request, names the resource and touches nothing; `settle` looks at what
there is and takes the next step towards what is wanted, as often as it is called; `remove` does the same towards
nothing. A delivery that comes twice, a throttled call or a step that was half done need no care of their own: the next
call sees it.

Why `start` may not make anything: when the first call of a creation fails, or its Lambda dies, CDK's framework answers
with the id `AWSCDK::CustomResourceProviderFramework::CREATE_FAILED` and then swallows the Delete of that id
(`safeHandler` in aws-cdk-lib's custom-resources/lib/provider-framework/runtime/cfn-response.js). What had been made
would stay. A Delete after a cancelled creation does come, but with an id of CloudFormation's own: `remove` has to find
the resource by its request.
"""

import contextlib
import hashlib
import json
import logging
import os
import random
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeVar

from botocore.config import Config
from botocore.exceptions import BotoCoreError, ClientError

from contract.tags import OWNER
from stacks.handlers.transient import CALL_ERRORS, error_code, retry_reason

Event = Mapping[str, Any]
Result = TypeVar("Result")

# CloudFormation waits 3,600 s and CDK's framework then says only "timed out".
DEADLINE_SECONDS = 3_300
# CloudFormation takes an answer of 4,096 bytes of JSON, and the framework adds ids and a stack trace of its own; a
# longer one would be refused, and the reason with it.
REASON_BYTES = 2_800
HASH_DIGITS = 16
# How long the first call, which nobody repeats, waits for AWS. The functions may run for five minutes.
PATIENCE_SECONDS = 200
FIRST_PAUSE_SECONDS, LONGEST_PAUSE_SECONDS = 1.0, 20.0
# Short timeouts: longer waits happen between polls. botocore's standard mode pauses with jitter.
CLIENT_CONFIG = Config(connect_timeout=5, read_timeout=20, retries={"mode": "standard", "total_max_attempts": 3})
# No call takes longer than this, its repetitions included: three times 25 s, and two pauses of at most 20 s.
CALL_SECONDS = 120

_log = logging.getLogger(__name__)
_log.setLevel(logging.INFO)


class ResourceError(RuntimeError):
    """Why a resource can't be made, changed or removed: the reason that CloudFormation shows."""


@dataclass(frozen=True, kw_only=True)
class Done:
    """There is nothing left to do; `data` are the resource's attributes."""

    data: Mapping[str, str | int] = field(default_factory=dict)


@dataclass(frozen=True)
class Waiting:
    """Look again later. `reason` is what is waited for, and what a timeout is reported with."""

    reason: str


Progress = Done | Waiting


@dataclass(frozen=True, kw_only=True)
class Handler:
    """A custom resource's life cycle, behind CDK's `custom_resources.Provider`.

    `start` returns `PhysicalResourceId` and whatever `settle` needs from it; it is called for Create and Update.
    `settle` gets the event with that merged into it, and as `KnownAs` the id by which CloudFormation knows the
    resource until it is settled; `remove` gets the Delete event. `claim` makes a request the one
    that works on its resource and returns its place in the order of requests; `check` raises ResourceError for one
    that isn't any more (stacks/handlers/journal.py).
    """

    start: Callable[[Event], dict[str, Any]]
    settle: Callable[[Event], Progress]
    remove: Callable[[Event], Progress]
    claim: Callable[[Event], str] | None = None
    check: Callable[[Event], None] | None = None

    def on_event(self, event: Event, _context: object) -> dict[str, Any]:
        """Answer the framework's first call. Raises ResourceError with the reason of a refusal."""
        _say(event, "received")
        known = event.get("PhysicalResourceId")
        result: dict[str, Any] = {"PhysicalResourceId": known, "KnownAs": known, "Started": int(now())}
        with _reasons():
            if event["RequestType"] != "Delete":
                result |= _retry_now(lambda: self.start(event))
            if self.claim is not None:
                result["Order"] = _claimed(self.claim, event)
        return result

    def is_complete(self, event: Event, _context: object) -> dict[str, Any]:
        """Take the next step, and say whether it was the last. Raises ResourceError when there is no way on."""
        step = self.remove if event["RequestType"] == "Delete" else self.settle
        with _reasons():
            progress = _defer_transient_errors(self._checked(step), event)
        if isinstance(progress, Done):
            _say(event, "done")
            return {"IsComplete": True, "Data": dict(progress.data)}
        _say(event, f"waiting: {progress.reason}")
        if now() >= event["Started"] + int(os.environ.get("DEADLINE_SECONDS", DEADLINE_SECONDS)):
            raise ResourceError(shortened(f"gave up waiting: {progress.reason}"))
        return {"IsComplete": False}

    def _checked(self, step: Callable[[Event], Progress]) -> Callable[[Event], Progress]:
        def checked(event: Event) -> Progress:
            if self.check is not None:
                self.check(event)
            return step(event)

        return checked


def now() -> float:
    return time.time()


def sleep(seconds: float) -> None:
    time.sleep(seconds)


def request(event: Event, *, required: Mapping[str, type], optional: Mapping[str, type]) -> dict[str, Any]:
    """Read the request, which comes as one JSON string because CloudFormation turns numbers into strings.

    A key that isn't known is refused in what is to be made. In what is to be removed it doesn't count: a newer version
    of this code may have made that. Raises ResourceError naming the key that is missing, unknown or of another type.
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


def old_request(event: Event, *, required: Mapping[str, type], optional: Mapping[str, type]) -> dict[str, Any] | None:
    """Read the request before this one; None when there is none, or none that this version of the code can read."""
    if "OldResourceProperties" not in event:
        return None
    before = {"RequestType": "Delete", "ResourceProperties": event["OldResourceProperties"]}
    try:
        return request(before, required=required, optional=optional)
    except ResourceError:
        return None


def as_object(event: Event) -> dict[str, Any]:
    """Return the request as it came. Raises ResourceError for one that isn't an object."""
    try:
        wanted = json.loads(event["ResourceProperties"]["Request"])
    except (KeyError, TypeError, ValueError):
        raise ResourceError("the property Request must be one JSON object") from None
    if not isinstance(wanted, dict):
        raise ResourceError("the property Request must be one JSON object")
    return wanted


def stack_name(event: Event) -> str:
    """The stack's name. Its UUID, which follows, is another one for every attempt at a stack of this name."""
    return str(event["StackId"].partition(":stack/")[2].partition("/")[0])


def owner(event: Event) -> str:
    """Whose a resource is: stack name and logical id. A stack that is made again owns what its last attempt left."""
    return f"{stack_name(event)}/{event['LogicalResourceId']}"


def tags_of(event: Event, wanted: Mapping[str, Any]) -> dict[str, str]:
    """The tags that a resource carries: the requested ones and its owner's."""
    return {**wanted.get("tags", {}), OWNER: owner(event)}


def check_owner(event: Event, name: str, tags: Mapping[str, str]) -> None:
    """Raise ResourceError when something of this name isn't ours: it may be a user's, so it is left alone."""
    if tags.get(OWNER) != owner(event):
        raise ResourceError(
            f"{name} is there already and isn't this resource's ({OWNER}={tags.get(OWNER, 'none')}): "
            "it is left as it is; delete it by hand or choose another name"
        )


def named_by_content(name: str, sha256: str) -> str:
    """The name of something that can't be changed, only replaced: other content, other name."""
    return f"{name}-{sha256[:HASH_DIGITS]}"


def sha256_of(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def shortened(text: str) -> str:
    """Keep what fits into CloudFormation's answer: the beginning, which says what, and the end, which says why."""
    kept, short = len(text), text
    while len(json.dumps(short, ensure_ascii=False).encode()) > REASON_BYTES:
        kept = kept * 9 // 10
        short = f"{text[: kept // 2]} … {text[-kept // 2 :]}"
    return short


def _defer_transient_errors(step: Callable[[Event], Progress], event: Event) -> Progress:
    """Take a step; one that failed for a moment's reasons is taken again at the next call."""
    try:
        return step(event)
    except CALL_ERRORS as error:
        if reason := retry_reason(error):
            return Waiting(reason)
        raise


def _claimed(claim: Callable[[Event], str], event: Event) -> str:
    """The request's place in the order of requests. When it can't be recorded now, `check` does it."""
    order = f"{int(now() * 1_000):013d}-{event['RequestId']}"
    try:
        return _retry_now(lambda: claim({**event, "Order": order}))
    except CALL_ERRORS as error:
        if not retry_reason(error):
            raise
        return order


def _retry_now(step: Callable[[], Result]) -> Result:
    """Take a step that nobody would call again: while AWS is busy, again after pauses that grow and differ."""
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
    """Make errors of AWS and our own reasons that fit."""
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
    # Identifiers only: properties and answers stay out of the log.
    kind, logical = event["RequestType"], event["LogicalResourceId"]
    _log.info("%s %s %s %s", kind, logical, event.get("PhysicalResourceId", "-"), what)
