"""A queried table has what the source had once a look has begun since, and is settled."""

from pathlib import Path

import pytest

from local.comparison.platform_arrivals import QueriedArrivals


@pytest.fixture
def now() -> list[float]:
    """The clock's seconds, of which the last counts."""
    return [100.5]


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "address"


@pytest.fixture
def arrivals(file: Path, now: list[float]) -> QueriedArrivals:
    return QueriedArrivals(file, clock=lambda: now[-1])


def test_only_a_look_that_began_after_the_question_counts(
    arrivals: QueriedArrivals, file: Path, now: list[float]
) -> None:
    file.write_text("100499\n")
    assert not arrivals.has("0/1")
    now.append(200.0)
    assert not arrivals.has("0/1")
    file.write_text("100500\n")
    assert arrivals.has("0/1")


def test_another_look_at_the_same_position_is_another_question(
    arrivals: QueriedArrivals, file: Path, now: list[float]
) -> None:
    """What was just being committed has its place in the log before others see it."""
    file.write_text("100500\n")
    assert arrivals.has("0/1")
    now.append(101.0)
    assert not arrivals.has("0/1")
    assert not arrivals.has("0/2")


@pytest.mark.parametrize("text", [None, "", "soon"])
def test_a_job_that_has_not_looked_has_brought_nothing(arrivals: QueriedArrivals, file: Path, text: str | None) -> None:
    if text is not None:
        file.write_text(text)
    assert not arrivals.has("0/1")
