"""Kafka Connect's REST interface."""

import http.client
import json
import re
import urllib.error
import urllib.request
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from urllib.parse import quote

from tenacity import Retrying, retry_if_exception, stop_after_delay, wait_fixed

from local.errors import PlatformError
from local.files import tail
from plugins.source import failures
from plugins.source.failures import Failure

# Creating a connector validates it, which connects to the database.
TIMEOUT_S = 60
NOT_FOUND = 404
REBALANCING = 409
STARTING = 503
# After which answers a request is repeated, and for how many seconds. A question doesn't wait for a worker that starts.
QUESTIONS, CHANGES = ((REBALANCING,), 10), ((REBALANCING, STARTING), 60)
# The worker's answer to some questions, with status 500, while it takes over a configuration.
_REBALANCES = "a rebalance is expected"
LOG_BYTES = 1_000_000
# Logged by Connect's WorkerTask when a task has failed.
ENDED = "Task threw an uncaught"
# Logged by Debezium before it retries, as it does forever for any error of the driver; and its maximum age.
_TRIED = re.compile(r"^(?P<at>[-\d]{10} [:\d]{8}),\d{3} ERROR ErrorHandler: Producer failure$", re.MULTILINE)
_TRACE_ENDS = re.compile(r"^\d{4}-\d\d-\d\d ", re.MULTILINE)
TRIED_S = 5


class RequestError(PlatformError):
    """The worker refused a request; `status` is HTTP's, 0 when there was no answer."""

    def __init__(self, message: str, status: int) -> None:
        super().__init__(message)
        self.status = status


# Ignore a proxy in the caller's environment.
_OPENER = urllib.request.build_opener(urllib.request.ProxyHandler({}))


@dataclass(frozen=True)
class ConnectApi:
    """A client for the worker at `url`, which waits `timeout_s` for an answer.

    Where a failure doesn't name its table, two sources do: `log`, the worker's, and `table_at`, which returns the table
    of the change at a position of the source's log.
    """

    url: str
    log: Path | None = None
    table_at: Callable[[int], str | None] = lambda _position: None
    timeout_s: float = TIMEOUT_S

    def ready(self) -> bool:
        """Tell whether the worker has started; not whether a connector's data flows."""
        try:
            self._request("GET", "/health")
        except RequestError:
            return False
        return True

    def put_connector(self, name: str, config: Mapping[str, str]) -> None:
        """Create a connector or give it this configuration. Raises RequestError with the worker's reason."""
        self._retried("PUT", f"/connectors/{quote(name)}/config", dict(config))

    def configuration(self, name: str) -> dict[str, str]:
        """Return a connector's configuration; an empty one without a connector."""
        return self._found(f"/connectors/{quote(name)}/config") or {}

    def delete_connector(self, name: str) -> None:
        """Delete a connector, if it exists."""
        self._retried("DELETE", f"/connectors/{quote(name)}", or_none=True)

    def stop(self, name: str) -> None:
        """Stop a connector and its tasks; its configuration and its offsets stay. Does nothing without one."""
        self._retried("PUT", f"/connectors/{quote(name)}/stop", or_none=True)

    def resume(self, name: str) -> None:
        """Let a stopped connector run. One that was just created may not be known yet, and runs anyway."""
        self._retried("PUT", f"/connectors/{quote(name)}/resume", or_none=True)

    def stored_offsets(self, name: str) -> list[dict[str, Any]]:
        """Return the stored offsets at which a source connector resumes, as it wrote them; none without a connector."""
        answer = self._found(f"/connectors/{quote(name)}/offsets") or {"offsets": []}
        return [entry["offset"] for entry in answer["offsets"] if entry["offset"]]

    def restart_failed(self, name: str) -> None:
        """Restart the connector and its tasks, only those that have failed. Does nothing before it has a status."""
        self._retried("POST", f"/connectors/{quote(name)}/restart?includeTasks=true&onlyFailed=true", or_none=True)

    def failure(self, name: str) -> str | None:
        """Return why the connector or one of its tasks has failed, including the cause; None when none has.

        "Not failed" doesn't mean that it works: after a kill the status stays RUNNING though nothing runs.
        """
        failure = self.failed(name)
        return failure.reason if failure else None

    def failed(self, name: str) -> Failure | None:
        """Return why it has failed and, where known, at which table; None when it hasn't.

        A connector that keeps retrying at one table counts as failed.
        """
        status = self._found(f"/connectors/{quote(name)}/status")
        if status is None:
            return None
        for part in (status["connector"], *status["tasks"]):
            if part["state"] == "FAILED":
                return self._meaning(name, str(part.get("trace") or "no reason given"))
        trace = self._tried_again()
        found = self._meaning(name, trace) if trace else None
        return found if found and found.table else None

    def failures(self) -> dict[str, str]:
        """Return the connectors that have failed, or have a failed task, each with the first line of the reason."""
        found = {name: self.failure(name) for name in self._found("/connectors")}
        return {name: reason for name, reason in found.items() if reason is not None}

    def _meaning(self, name: str, trace: str) -> Failure:
        # The log up to where a task of the connector last ended.
        log = self._log_tail().rpartition(f"{{id={name}-0}} {ENDED}")[0]
        found = failures.failure(trace, self.configuration(name), log, table_at=self.table_at)
        # The platform's connectors are named after their pipeline.
        return replace(found, reason=found.reason.replace("-p …", f"-p {name.removesuffix('-source')}"))

    def _tried_again(self) -> str:
        """Return the trace of Debezium's latest failure that it retries; empty when there is none."""
        text = self._log_tail()
        last = max(_TRIED.finditer(text), key=re.Match.start, default=None)
        if last is None:
            return ""
        age = datetime.now(UTC) - datetime.fromisoformat(last["at"]).replace(tzinfo=UTC)
        return _TRACE_ENDS.split(text[last.end() :], maxsplit=1)[0] if 0 <= age.total_seconds() < TRIED_S else ""

    def _log_tail(self) -> str:
        return tail(self.log, LOG_BYTES) if self.log else ""

    def _found(self, path: str) -> Any:
        """Return the worker's answer, None for a missing resource."""
        return self._retried("GET", path, or_none=True)

    def _retried(self, method: str, path: str, *body: Mapping[str, str], or_none: bool = False) -> Any:
        """Repeat a request while the worker takes over a configuration; `or_none`: the connector may be missing."""
        transient, within_s = QUESTIONS if method == "GET" else CHANGES

        def passes(error: BaseException) -> bool:
            return isinstance(error, RequestError) and error.status in transient

        retrying = Retrying(
            retry=retry_if_exception(passes), stop=stop_after_delay(within_s), wait=wait_fixed(0.5), reraise=True
        )
        try:
            return retrying(self._request, method, path, *body)
        except RequestError as error:
            if or_none and error.status == NOT_FOUND:
                return None
            raise

    def _request(self, method: str, path: str, body: Mapping[str, str] | None = None) -> Any:
        request = urllib.request.Request(  # noqa: S310  (the URL is ours: http on loopback)
            self.url + path,
            method=method,
            data=None if body is None else json.dumps(body).encode(),
            headers={"Content-Type": "application/json", "Accept": "application/json"},
        )
        try:
            with _OPENER.open(request, timeout=self.timeout_s) as response:
                answer = response.read()
        except urllib.error.HTTPError as error:
            with error:
                reason = _reason(error)
                status = REBALANCING if _REBALANCES in reason else error.code
                raise RequestError(f"Connect refuses {method} {path}: {reason}", status) from error
        except (OSError, http.client.HTTPException) as error:
            raise RequestError(f"Connect doesn't answer {method} {path}: {error}", 0) from error
        return json.loads(answer) if answer else None


def _reason(error: urllib.error.HTTPError) -> str:
    body = error.read().decode(errors="replace")
    try:
        message = str(json.loads(body)["message"])
    except (ValueError, KeyError, TypeError):
        message = body or str(error)
    return " ".join(message.split())
