"""The project's commands as a user runs them: in a copy of the checkout, because they write into it, and the demos."""

import contextlib
import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

import pytest
from typer.testing import CliRunner

from cli.__main__ import app
from local.files import BUILD
from local.platform.platform import Platform
from local.services.postgres import ConnectionParameters
from tests.transcripts import first_difference, transcript
from tests.waiting import crowd, wait_until

ROOT = Path(__file__).resolve().parents[2]
# Ignored by git, or not needed by any command; the jars are shared.
LEFT_OUT = (".git", ".venv", ".cache", "node_modules", "build", "cdk.out", "docs", "tests", "__pycache__")
CONNECTOR_PASSWORD = "Films/1"
COMMAND_S = 500


class Commands:
    """The commands of one pipeline, which captures an existing database."""

    def __init__(self, folder: Path, name: str, database: ConnectionParameters) -> None:
        shutil.copytree(ROOT, folder, ignore=shutil.ignore_patterns(*LEFT_OUT))
        (folder / ".cache").symlink_to(ROOT / ".cache")
        self._name = name
        self._folder = folder
        self._dsn = "postgresql://{user}@{host}:{port}/{dbname}".format(**database)
        self._secrets = {"PGPASSWORD": database["password"], "CDC_CONNECTOR_PASSWORD": CONNECTOR_PASSWORD}

    @property
    def file(self) -> Path:
        return self._folder / "pipelines" / f"{self._name}.toml"

    def schema(self, lake_table: str) -> Path:
        """The Avro schema of one of its tables."""
        return self.file.with_suffix("") / f"{lake_table}.avsc"

    def pipeline(self, *options: str) -> str:
        """`./lake source describe … --dsn …`."""
        return self._run("source", "describe", self._name, "--dsn", self._dsn, *options)

    def prepare(self) -> str:
        return self._run("source", "prepare", self._name, "--dsn", self._dsn)

    def up(self, *, status: int = 0) -> str:
        return self._run("up", "--pipeline", self._name, "--dsn", self._dsn, status=status)

    def reconcile(self, *options: str, status: int | None = 0) -> str:
        return self._run("reconcile", "--pipeline", self._name, *options, status=status)

    def resnapshot(self, *options: str, status: int = 0) -> str:
        return self._run("resnapshot", "--pipeline", self._name, *options, status=status)

    def status(self, *options: str, status: int | None = 0) -> str:
        return self._run("status", "--pipeline", self._name, *options, status=status)

    def wait_until_status_is_well(self) -> None:
        """Wait until `./lake status` ends with 0: it may report a repaired fault a little longer."""
        wait_until(lambda: self._done("status", "--pipeline", self._name).returncode == 0, every_s=2)

    def wait_until_status_says(self, text: str) -> None:
        wait_until(lambda: text in self.status(status=None), every_s=2)

    def replace(self, text: str, other: str) -> None:
        before = self.file.read_text(encoding="utf-8")
        assert text in before
        self.file.write_text(before.replace(text, other), encoding="utf-8")

    def take_out(self, *tables: str) -> None:
        """Remove tables' entries from the file."""
        entries = self.file.read_text(encoding="utf-8").split("\n\n")
        kept = [entry for entry in entries if not any(f'source = "{table}"' in entry for table in tables)]
        assert len(kept) == len(entries) - len(tables)
        self.file.write_text("\n\n".join(kept), encoding="utf-8")

    @property
    def platform(self) -> Path:
        return self._folder / BUILD.name / f"platform-{self._name}"

    @contextlib.contextmanager
    def removed(self) -> Iterator[Self]:
        """Stop all processes that the commands left running at the end of the block, and delete the folder."""
        try:
            yield self
        finally:
            Platform(self.platform).remove()

    def _run(self, *arguments: str, status: int | None = 0) -> str:
        """Return the output of `./lake …`; it must end with that exit status, None is any.

        A failure's line comes from the output.
        """
        done = self._done(*arguments)
        assert status in (None, done.returncode), f"{arguments}: {done.returncode}\n{done.stdout}\n{done.stderr}"
        return done.stdout + (done.stderr if status else "")

    def _done(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-m", "cli", *arguments],
            cwd=self._folder,
            # Wide enough to keep a step's note on its line.
            env={**os.environ, **self._secrets, "COLUMNS": "200"},
            capture_output=True,
            text=True,
            timeout=COMMAND_S,
            check=False,
        )


def equal_tables(said: str) -> dict[str, int]:
    """Return the tables that a comparison reports as equal, with their rows."""
    found = re.findall(r"^(\S+)  equal  ([\d,]+) rows", said, re.MULTILINE)
    return {table: int(rows.replace(",", "")) for table, rows in found}


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
        return {step["name"]: step["seconds_to_lake"] for step in self.summary["steps"]}


@contextlib.contextmanager
def walked(command: str, folder: Path, *options: str) -> Iterator[Walked]:
    """Run `./lake` with that command, in this process; it must succeed. Remove its platform at the end of the block.

    Its last step, stopping the platform, is left out: tests/local/test_demo.py shows it, and the tests go on here.
    """
    before = crowd()
    try:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(Platform, "down", lambda *_: None)
            # Without a connector that only some have.
            patch.delenv("JDBC_PLUGIN", raising=False)
            done = CliRunner().invoke(app, [*command.split(), "--folder", str(folder), *options])
        assert done.exit_code == 0, f"{done.output}\n{done.exception!r}"
        summary = json.loads((folder / "summary.json").read_text())
        yield Walked(folder, done.output, summary, max(before, crowd()))
    finally:
        Platform(folder / "platform").remove()


def unlike_the_page(page: str, command: str, printed: str) -> str:
    """Return the first lines of the page that the command didn't print; positions and times may differ."""
    return first_difference(_masked(transcript(ROOT / page, command)), _masked(printed))


def _masked(text: str) -> str:
    varying = r"lsn \d+|commit \d{17}|\d+(?:\.\d+)? s\b|[\w-]+(?=/summary\.json)"
    return re.sub(r" {2,}", "  ", re.sub(varying, "#", text))
