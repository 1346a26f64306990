"""boto3's clients, each created once: many tables' threads share them, and creating one isn't thread-safe."""

import os
import threading
from typing import Any

_LOCK = threading.Lock()
_MADE: dict[object, Any] = {}
# Connections that one client keeps: as many as tables may use S3 at the same moment.
_CONNECTIONS = 50


def client(service: str, *, limits: dict[str, Any] | None = None, **arguments: str) -> Any:
    """Return a service's client; `limits` are botocore's Config's. Raises ModuleNotFoundError without boto3."""
    import boto3  # shipped with the job, not part of EMR's Python
    from botocore.config import Config

    # The environment is read when a client is created.
    environment = tuple(sorted(item for item in os.environ.items() if item[0].startswith("AWS_")))
    key = (service, str(limits), tuple(sorted(arguments.items())), environment)
    with _LOCK:
        if key not in _MADE:
            given: Any = {"max_pool_connections": _CONNECTIONS, **(limits or {})}
            _MADE[key] = boto3.client(service, config=Config(**given), **arguments)  # type: ignore[call-overload]
        return _MADE[key]
