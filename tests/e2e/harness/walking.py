"""Runs a walk-through as a newcomer does, and extracts the output that is the same in every run."""

import json
import os
import re
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil

from tests.transcripts import first_difference, transcript

ROOT = Path(__file__).resolve().parents[3]
# Less than the pytest marker, which includes the time after it.
COMMAND_S = 600


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


def walk(command: str, folder: Path, *options: str) -> Walked:
    """Run `./lake` with that command; it must succeed, and leave no process running."""
    # As wide as the README's lines, and without a connector that only some have.
    environment = {name: value for name, value in os.environ.items() if name != "JDBC_PLUGIN"} | {"COLUMNS": "120"}
    done = subprocess.run(
        [sys.executable, "-m", "cli", *command.split(), "--folder", str(folder), *options],
        cwd=ROOT,
        env=environment,
        capture_output=True,
        text=True,
        timeout=COMMAND_S,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert not [process for process in psutil.process_iter(["cmdline"]) if str(folder) in str(process.info["cmdline"])]
    return Walked(folder, done.stdout, json.loads((folder / "summary.json").read_text()), crowd())


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
