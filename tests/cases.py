"""Selects a test's cases per run, and its random seed."""

import os
import random
from typing import Any

import pytest


def long(*values: Any, **given: Any) -> Any:
    """Return a case that only `./lake dev test long` runs: another one always proves the same."""
    return pytest.param(*values, marks=pytest.mark.long, **given)


def chance() -> random.Random:
    """Return a random generator, new in each run; a failure prints the FUZZ_SEED that repeats it."""
    seed = int(os.environ.get("FUZZ_SEED") or random.randrange(10**9))
    print(f"FUZZ_SEED={seed}")
    return random.Random(seed)
