"""Which cases of a test are tried when, and by which chance."""

import os
import random
from typing import Any

import pytest


def long(*values: Any, **given: Any) -> Any:
    """Return a case that only `./lake dev test long` tries: another one proves the same each time."""
    return pytest.param(*values, marks=pytest.mark.long, **given)


def chance() -> random.Random:
    """Return chance that is another in each run; a failure's output has the FUZZ_SEED that brings the same again."""
    seed = int(os.environ.get("FUZZ_SEED") or random.randrange(10**9))
    print(f"FUZZ_SEED={seed}")
    return random.Random(seed)
