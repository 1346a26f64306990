"""Waits for operations of AWS, with progress and a limit, and for the end of what a stack no longer has."""

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from botocore.exceptions import ClientError

from operate.errors import OperateError
from operate.outputs import CALL_ERRORS, may_pass

if TYPE_CHECKING:
    from mypy_boto3_emr import EMRClient
    from mypy_boto3_emr.literals import ClusterStateType

LOOK_S = 15.0
# Seconds between messages that differ, and between equal ones: longer silence looks like a hang.
NEW_S, SAY_S = 60.0, 300.0

Say = Callable[[str], None]
# What is still awaited, or None once it exists.
Look = Callable[[], str | None]
# A deletion that CloudFormation gave up on may still finish.
GONE_LIMIT_S = 1_200.0
_RUNNING: Sequence["ClusterStateType"] = ("STARTING", "BOOTSTRAPPING", "RUNNING", "WAITING", "TERMINATING")


@dataclass(frozen=True)
class Waiter:
    """Polls; `say` gets what has changed, and a line every five minutes; `now` is the clock of AWS's metrics."""

    # At once: CDK writes in between.
    say: Say = lambda line: print(line, flush=True)
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

    def wait_gone(self, going: Callable[[], Iterable[str]]) -> None:
        """Wait until `going` names nothing more of what a stack no longer has. Raises OperateError after GONE_LIMIT_S.

        CloudFormation tries three times to delete a resource that a template drops. Then it gives up and reports the
        update as complete, so only the bill would show it: `going` raises OperateError for such a resource.
        """

        def look() -> str | None:
            left = sorted(going())
            return f"the end of {', '.join(left)}" if left else None

        if left := self.wait(look, limit_s=GONE_LIMIT_S):
            minutes = GONE_LIMIT_S / 60
            raise OperateError(f"after {minutes:.0f} minutes still waiting for {left}: this again goes on waiting")


def _patiently(look: Look) -> str | None:
    try:
        return look()
    except CALL_ERRORS as error:
        if not may_pass(error):
            raise
        if isinstance(error, ClientError):
            return f"{error.operation_name} again: {error.response['Error']['Code']}"
        return f"AWS again: {type(error).__name__}"


def check_cluster_gone(client: "EMRClient", name: str, waiter: Waiter) -> None:
    """Check that no cluster of that name runs. Raises OperateError for one that remains."""

    def going() -> Iterator[str]:
        pages = client.get_paginator("list_clusters").paginate(ClusterStates=_RUNNING)
        for cluster in (each for page in pages for each in page["Clusters"] if each["Name"] == name):
            id_, state = cluster["Id"], cluster["Status"]["State"]
            if state != "TERMINATING":
                raise OperateError(
                    f"the EMR cluster {id_} is {state}: CloudFormation couldn't terminate it (its events say why) and "
                    f"no longer knows it: `aws emr terminate-clusters --cluster-ids {id_}`, which loses nothing; then "
                    "this again"
                )
            yield id_

    waiter.wait_gone(going)
