"""A git repository of a test's own, with the environments' files and snapshots."""

import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from operate.diff import reviewed, snapshots
from settings.environment import Environment
from settings.load import ENVIRONMENTS

WHO = ["-c", "user.name=Reviewer", "-c", "user.email=reviewer@example.com"]


class Repository:
    """Comparisons read this repository instead of the project's; its branch is `main`."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        for name in ("GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE"):
            monkeypatch.delenv(name, raising=False)
        monkeypatch.setattr(reviewed, "ROOT", folder)
        self.folder = folder
        self.git("init", "--quiet", "--initial-branch=main")
        shutil.copytree(ENVIRONMENTS, folder / "environments")

    def git(self, *arguments: str) -> str:
        done = subprocess.run(["git", *WHO, *arguments], cwd=self.folder, check=True, capture_output=True, text=True)
        return done.stdout.strip()

    def renew(self, environment: Environment, templates: dict[str, Any]) -> None:
        """Renew an environment's snapshots, as a commit does that changes templates."""
        snapshots.write(environment, templates, self.folder / "tests" / "snapshots")

    def commit(self) -> None:
        self.git("add", "--all")
        self.git("commit", "--quiet", "--allow-empty", "--message", "Renew the snapshots")
