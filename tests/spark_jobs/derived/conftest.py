"""Failing steps."""

import pytest

from tests.spark_jobs.derived.made_tables import Failing


@pytest.fixture
def fails(monkeypatch: pytest.MonkeyPatch) -> Failing:
    return Failing(monkeypatch)
