"""Selects a test's cases per run, and its random seed."""

import os
import random
from typing import Any

import pytest


def long(*values: Any, **given: Any) -> Any:
    """Return a case that only `./lake dev test long` runs: another one always proves the same."""
    return pytest.param(*values, marks=pytest.mark.long, **given)


# Of `./lake dev test fuzz`: how many random histories each case has; 0: a few.
RUNS = int(os.environ.get("FUZZ_RUNS", "0"))


def chance(number: int = 0) -> random.Random:
    """Return a random generator, new in each run; a failure prints the FUZZ_SEED that repeats it.

    History `number` of a run that was given a seed has the seed `number` further on.
    """
    given = os.environ.get("FUZZ_SEED")
    seed = int(given) + number if given else random.randrange(10**9)
    print(f"FUZZ_SEED={seed}")
    return random.Random(seed)
