import time
from collections.abc import Iterator

import pytest

from plugins.connector_settings import SinkSettings, SourceSettings
from tests.plugins.releases.server import Server, serving

# The outbox's connectors.
SOURCE = SourceSettings(
    database_hostname="db.example", database_password="${file:/run/secret:password}", topic_prefix="shop"
)
SINK = SinkSettings(topics=(SOURCE.topic,), bucket="landing", region="us-east-1")


@pytest.fixture
def server() -> Iterator[Server]:
    with serving() as running:
        yield running


@pytest.fixture
def waits(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The waits between tries, which take no time."""
    seconds: list[float] = []
    monkeypatch.setattr(time, "sleep", seconds.append)
    return seconds
