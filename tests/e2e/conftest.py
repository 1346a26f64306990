"""The demos, and the platforms that they leave, which most end-to-end tests share."""

from collections.abc import Iterator

import pytest

from local.platform.platform import Platform
from local.platform.record import PlatformOptions
from tests.e2e.harness.walking import Walked, walk


@pytest.fixture(scope="session")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Walked:
    return walk("demo", tmp_path_factory.mktemp("Größe"))


@pytest.fixture(scope="session")
def demo_query(tmp_path_factory: pytest.TempPathFactory) -> Walked:
    return walk("demo places", tmp_path_factory.mktemp("demo-query"))


@pytest.fixture(scope="session")
def platform(demo: Walked) -> Iterator[Platform]:
    """The demo's platform, started again; removed with its data at the end."""
    yield from _again(Platform(demo.folder / "platform"))


@pytest.fixture(scope="session")
def places(demo_query: Walked) -> Iterator[Platform]:
    """The query demo's platform, started again; removed with its data at the end."""
    yield from _again(Platform(demo_query.folder / "platform", PlatformOptions(pipeline="pagilaquery")))


def _again(platform: Platform) -> Iterator[Platform]:
    try:
        platform.up()
        yield platform
    finally:
        platform.remove()
