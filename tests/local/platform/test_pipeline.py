"""What moves the data, without the services: a connector's failure is asked of a worker that only remembers."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, cast

import pytest

from tests.local.platform.built import moving, services


class FakeWorker:
    """Stands in for ConnectApi: connectors that have failed until they are started again."""

    def __init__(self, failed: set[str]) -> None:
        self.failed = failed
        self.configured: list[str] = []

    def failure(self, name: str) -> str | None:
        return "S3 answered 503" if name in self.failed else None

    def put_connector(self, name: str, _config: Mapping[str, str]) -> None:
        self.configured.append(name)

    def restart_failed(self, name: str) -> None:
        assert self.configured[-1] == name
        self.failed.discard(name)


@pytest.mark.parametrize("failed", [True, False])
def test_up_starts_the_real_sink_again_when_it_had_failed(tmp_path: Path, *, failed: bool) -> None:
    """A configuration that is the same starts no failed task."""
    found = services(tmp_path, lenses=tmp_path / "release.zip")
    worker = FakeWorker({"orders-sink"} if failed else set())
    found.connect.api = cast(Any, worker)
    moving(found).connectors.start_sink()
    assert worker.configured == ["orders-sink"]
    assert worker.failed == set()
