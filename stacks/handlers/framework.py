"""What the custom resources' handlers share: how CDK's provider framework calls them, how long, and what is said.

A handler is three functions. `start` checks the request and begins; `settle` looks at what there is and takes the next
step towards what is wanted, as often as it is called; `remove` does the same towards nothing. The second and third keep
nothing between calls, so a delivery that comes twice, a throttled call or a step that was half done need no care of
their own: the next call sees it.
"""

import contextlib
import hashlib
import json
import logging
import os
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from botocore.config import Config
from botocore.exceptions import BotoCoreError, ClientError, HTTPClientError
from botocore.exceptions import ConnectionError as AWSConnectionError

Event = Mapping[str, Any]

# CloudFormation waits 3,600 s and CDK's framework then says only "timed out".
DEADLINE_SECONDS = 3_300
# CloudFormation takes an answer of 4,096 bytes of JSON, and the framework adds ids and a stack trace of its own; a
# longer one would be refused, and the reason with it.
REASON_BYTES = 2_800
OWNER_TAG = "cdc-lake-owner"
HASH_DIGITS = 16
CLIENT_CONFIG = Config(connect_timeout=5, read_timeout=30, retries={"mode": "standard", "max_attempts": 6})

# What a call of AWS may raise that `passing` judges.
CALL_ERRORS = (ClientError, HTTPClientError, AWSConnectionError)
_TRANSIENT = frozenset(
    {
        "InternalServerErrorException",
        "InternalServerException",
        "RequestTimeout",
        "ServiceUnavailable",
        "ServiceUnavailableException",
        "SlowDown",
        "Throttling",
        "ThrottlingException",
        "TooManyRequestsException",
    }
)
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
    `settle` gets the event with that merged into it; `remove` gets the Delete event.
    """

    start: Callable[[Event], dict[str, Any]]
    settle: Callable[[Event], Progress]
    remove: Callable[[Event], Progress]

    def on_event(self, event: Event, _context: object) -> dict[str, Any]:
        """Answer the framework's first call. Raises ResourceError with the reason of a refusal."""
        _say(event, "received")
        started: dict[str, Any] = {"PhysicalResourceId": event.get("PhysicalResourceId")}
        if event["RequestType"] != "Delete":
            with _reasons():
                started = self.start(event)
        return {"Started": int(now()), **started}

    def is_complete(self, event: Event, _context: object) -> dict[str, Any]:
        """Take the next step, and say whether it was the last. Raises ResourceError when there is no way on."""
        step = self.remove if event["RequestType"] == "Delete" else self.settle
        with _reasons():
            progress = _patiently(step, event)
        if isinstance(progress, Done):
            _say(event, "done")
            return {"IsComplete": True, "Data": dict(progress.data)}
        _say(event, f"waiting: {progress.reason}")
        if now() >= event["Started"] + int(os.environ.get("DEADLINE_SECONDS", DEADLINE_SECONDS)):
            raise ResourceError(shortened(f"gave up waiting: {progress.reason}"))
        return {"IsComplete": False}


def now() -> float:
    """Seconds since 1970."""
    return time.time()


def request(event: Event, *, required: Mapping[str, type], optional: Mapping[str, type]) -> dict[str, Any]:
    """Read the request, which comes as one JSON string because CloudFormation turns numbers into strings.

    Raises ResourceError naming the key that is missing, unknown or of another type.
    """
    try:
        wanted = json.loads(event["ResourceProperties"]["Request"])
    except (KeyError, TypeError, ValueError):
        raise ResourceError("the property Request must be one JSON object") from None
    if not isinstance(wanted, dict):
        raise ResourceError("the property Request must be one JSON object")
    if missing := sorted(required.keys() - wanted.keys()):
        raise ResourceError(f"Request: {', '.join(missing)} is missing")
    if unknown := sorted(wanted.keys() - required.keys() - optional.keys()):
        raise ResourceError(f"Request: there is no {', '.join(unknown)}")
    for key, kind in {**required, **optional}.items():
        if key in wanted and not isinstance(wanted[key], kind):
            raise ResourceError(f"Request: {key} must be of type {kind.__name__}")
    if OWNER_TAG in wanted.get("tags", {}):
        raise ResourceError(f"Request: the tag {OWNER_TAG} is the handlers' own")
    return wanted


def owner(event: Event) -> str:
    """Whose a resource is: stack name, stack's UUID and logical id, which stay the same through all its events."""
    return f"{event['StackId'].partition(':stack/')[2]}/{event['LogicalResourceId']}"


def tags_of(event: Event, wanted: Mapping[str, Any]) -> dict[str, str]:
    """The tags that a resource carries: the requested ones and its owner's."""
    return {**wanted.get("tags", {}), OWNER_TAG: owner(event)}


def check_owner(event: Event, name: str, tags: Mapping[str, str]) -> None:
    """Raise ResourceError when something of this name isn't ours: it may be a user's, so it is left alone."""
    if tags.get(OWNER_TAG) != owner(event):
        raise ResourceError(
            f"{name} is there already and isn't this resource's ({OWNER_TAG}={tags.get(OWNER_TAG, 'none')}): "
            "it is left as it is; delete it by hand or choose another name"
        )


def named_by_content(name: str, sha256: str) -> str:
    """The name of something that can't be changed, only replaced: other content, other name."""
    return f"{name}-{sha256[:HASH_DIGITS]}"


def sha256_of(text: str) -> str:
    """SHA-256 in hexadecimal."""
    return hashlib.sha256(text.encode()).hexdigest()


def shortened(text: str) -> str:
    """Keep what fits into CloudFormation's answer: the beginning, which says what, and the end, which says why."""
    kept, short = len(text), text
    while len(json.dumps(short, ensure_ascii=False).encode()) > REASON_BYTES:
        kept = kept * 9 // 10
        short = f"{text[: kept // 2]} … {text[-kept // 2 :]}"
    return short


def error_code(error: ClientError) -> str:
    """The service's name for what went wrong."""
    return str(error.response.get("Error", {}).get("Code", ""))


def passing(error: Exception) -> str | None:
    """What failed, when it failed for a moment's reasons (AWS is busy or can't be reached); else None."""
    if isinstance(error, ClientError) and error_code(error) in _TRANSIENT:
        return f"{error.operation_name} again after {error_code(error)}"
    unreachable = isinstance(error, CALL_ERRORS) and not isinstance(error, ClientError)
    return f"AWS again after {type(error).__name__}" if unreachable else None


def _patiently(step: Callable[[Event], Progress], event: Event) -> Progress:
    """Take a step; one that failed for a moment's reasons is taken again at the next call."""
    try:
        return step(event)
    except CALL_ERRORS as error:
        if reason := passing(error):
            return Waiting(reason)
        raise


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
