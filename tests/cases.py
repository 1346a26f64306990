"""Cases of parametrized tests that are tried at different times."""

from typing import Any

import pytest


def long(*values: Any, **given: Any) -> Any:
    """Return a case that only `make test-long` tries: another one proves the same each time."""
    return pytest.param(*values, marks=pytest.mark.long, **given)
