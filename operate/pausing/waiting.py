"""Waits for operations of AWS, with progress and a limit."""

import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime

from botocore.exceptions import ClientError, HTTPClientError
from botocore.exceptions import ConnectionError as AwsConnectionError

LOOK_S = 15.0
# Seconds between messages that differ, and between equal ones: longer silence looks like a hang.
NEW_S, SAY_S = 60.0, 300.0
_BUSY, _SERVER_ERROR = 429, 500
# Services name "too many requests" differently, and most answer with 400.
_THROTTLED = ("Throttl", "TooManyRequests", "RequestLimitExceeded", "SlowDown")

Say = Callable[[str], None]
# What is still awaited, or None once it exists.
Look = Callable[[], str | None]


@dataclass(frozen=True)
class Waiter:
    """Polls; `say` gets a line when something has changed, and every five minutes.

    `now` is the clock that AWS's metrics use.
    """

    say: Say
    sleep: Callable[[float], None] = time.sleep
    clock: Callable[[], float] = time.monotonic
    now: Callable[[], datetime] = lambda: datetime.now(UTC)

    def wait(self, look: Look, *, limit_s: float) -> str | None:
        """Return None once `look` does, or its last answer after `limit_s` seconds.

        A throttled or failed call is repeated at the next poll; any other error of botocore is raised.
        """
        began = self.clock()
        said, said_at = "", float("-inf")
        while (waits_for := _patiently(look)) is not None:
            now = self.clock()
            if now - began >= limit_s:
                return waits_for
            if now - said_at >= (NEW_S if waits_for != said else SAY_S):
                self.say(f"  {waits_for}")
                said, said_at = waits_for, now
            self.sleep(LOOK_S)
        return None


def _patiently(look: Look) -> str | None:
    try:
        return look()
    except ClientError as error:
        code = error.response["Error"]["Code"]
        status = error.response.get("ResponseMetadata", {}).get("HTTPStatusCode", 0)
        if status < _SERVER_ERROR and status != _BUSY and not any(word in code for word in _THROTTLED):
            raise
        return f"{error.operation_name} again: {code}"
    except (HTTPClientError, AwsConnectionError) as error:
        return f"AWS again: {type(error).__name__}"
