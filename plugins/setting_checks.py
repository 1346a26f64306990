"""What settings of connectors are checked by: names, hosts, references to secrets, ranges.

Each check raises ValueError naming the field; a value that may be a secret isn't repeated.
"""

import re
from urllib.parse import urlsplit

SSL_MODES = ("disable", "allow", "prefer", "require", "verify-ca", "verify-full")
NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,127}\Z")
HOST = re.compile(r"[A-Za-z0-9]([A-Za-z0-9.-]*[A-Za-z0-9])?\Z|[0-9A-Fa-f:]+\Z")
IDENTIFIER = re.compile(r"[a-z_][a-z0-9_]{0,62}\Z")
TOPIC_PREFIX = re.compile(r"[A-Za-z0-9_-][A-Za-z0-9._-]{0,199}\Z")
REGION = re.compile(r"[a-z]{2}(-[a-z]+)+-[0-9]\Z")
_REFERENCE = re.compile(r"\$\{[A-Za-z][A-Za-z0-9_-]*:[^${}]+\}\Z")


def check_match(pattern: re.Pattern[str], name: str, value: str) -> None:
    if not pattern.match(value):
        raise ValueError(f"{name} isn't valid: {value!r}")


def check_one_of(name: str, value: str, allowed: tuple[str, ...]) -> None:
    if value not in allowed:
        raise ValueError(f"{name} must be one of {', '.join(allowed)}, not {value!r}")


def check_within(name: str, value: int, low: int, high: int) -> None:
    if isinstance(value, bool) or not low <= value <= high:
        raise ValueError(f"{name} must be from {low:,} to {high:,}, not {value!r}")


def is_reference(value: str) -> bool:
    """Tell whether a worker's config provider puts something else in the value's place."""
    return _REFERENCE.match(value) is not None


def check_password(value: str) -> None:
    """Raise ValueError for a password itself: the worker keeps configurations in a topic."""
    if not is_reference(value):
        raise ValueError("database_password must be a config provider's reference such as ${file:/path:key}")


def check_certificate(certificate: str | None, sslmode: str) -> None:
    """Raise ValueError for a root certificate that the mode wouldn't look at."""
    if certificate is not None and not sslmode.startswith("verify-"):
        raise ValueError("database_sslmode must be verify-full with a root certificate, which nothing else looks at")


def check_endpoint(endpoint: str) -> None:
    """Raise ValueError unless it is the URL of an S3 server."""
    parts = urlsplit(endpoint)
    if parts.scheme not in ("http", "https") or not parts.hostname or parts.query or parts.username:
        raise ValueError(f"endpoint must be a URL such as http://127.0.0.1:9000, not {endpoint!r}")
