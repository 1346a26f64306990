"""One running platform for all end-to-end tests."""

from collections.abc import Iterator

import pytest

from local.platform.platform import Platform


@pytest.fixture(scope="session")
def platform(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Platform]:
    """A platform of its own: started, loaded, and removed with its data at the end."""
    platform = Platform(tmp_path_factory.mktemp("Größe") / "state")
    try:
        platform.up()
        yield platform
    finally:
        platform.remove()
