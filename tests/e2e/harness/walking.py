"""Runs a walk-through as a newcomer does, and extracts the output that is the same in every run."""

import contextlib
import json
import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from cli.__main__ import app
from local.platform.platform import Platform
from tests.transcripts import first_difference, transcript

ROOT = Path(__file__).resolve().parents[3]


@dataclass(frozen=True)
class Walked:
    """A run's folder, output and summary.

    `crowd` is the slowdown allowed compared with running alone.
    """

    folder: Path
    printed: str
    summary: dict[str, Any]
    crowd: float = 1.0

    @property
    def seconds(self) -> dict[str, float]:
        """Each step's seconds to the lake."""
        return {step["name"]: step["seconds_to_lake"] for step in self.summary["steps"]}


def _walk(command: str, folder: Path, *options: str) -> Walked:
    """Run `./lake` with that command, in this process; it must succeed. Its platform keeps running.

    Its last step, stopping the platform, is left out: tests/local/test_demo.py shows it, and the next tests go on here.
    """
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Platform, "down", lambda *_: None)
        # Without a connector that only some have.
        patch.delenv("JDBC_PLUGIN", raising=False)
        done = CliRunner().invoke(app, [*command.split(), "--folder", str(folder), *options])
    assert done.exit_code == 0, f"{done.output}\n{done.exception!r}"
    return Walked(folder, done.output, json.loads((folder / "summary.json").read_text()), crowd())


@contextlib.contextmanager
def walked(command: str, folder: Path, *options: str) -> Iterator[Walked]:
    """Run a walk-through; remove its platform, with its data, at the end of the block."""
    try:
        yield _walk(command, folder, *options)
    finally:
        Platform(folder / "platform").remove()


def crowd() -> float:
    """The slowdown to allow: limits hold up to two processes per core.

    A platform alone doesn't exceed that; the suite runs several at a time.
    """
    return max(1.0, os.getloadavg()[0] / (2 * (os.cpu_count() or 1)))


def unlike_the_page(page: str, command: str, printed: str) -> str:
    """Return the first lines of the page that the command didn't print; positions and times may differ."""
    return first_difference(_masked(transcript(ROOT / page, command)), _masked(printed))


def _masked(text: str) -> str:
    varying = r"lsn \d+|commit \d{17}|\d+(?:\.\d+)? s\b|[\w-]+(?=/summary\.json)"
    return re.sub(r" {2,}", "  ", re.sub(varying, "#", text))
