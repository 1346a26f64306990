import pytest

from local.comparison import compare, source


@pytest.fixture(autouse=True)
def _small_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    """A few rows take several chunks and statements."""
    monkeypatch.setattr(compare, "ROWS_PER_CHUNK", 10)
    monkeypatch.setattr(source, "PAGES", 1)
