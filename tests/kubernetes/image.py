"""The image's Dockerfile in BuildKit's parser and linter: `./lake dev test kubernetes`, not part of `make test`."""

import subprocess
from pathlib import Path

import pytest

from operate.connect_image import DOCKERFILE
from tests.kubernetes.command import binaries

pytestmark = pytest.mark.integration


def lint(path: Path) -> list[str]:
    command = [str(binaries()["dockerfile-lint"]), str(path)]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=60)
    return done.stdout.splitlines()


def test_buildkit_has_nothing_against_the_dockerfile() -> None:
    assert lint(DOCKERFILE) == []


@pytest.mark.parametrize(
    ("line", "found"),
    [
        ("CPY libs /opt", "unknown instruction: CPY"),
        ("ENV DATABASE_PASSWORD=a", "SecretsUsedInArgOrEnv: "),
    ],
)
def test_a_planted_fault_is_found(line: str, found: str, tmp_path: Path) -> None:
    path = tmp_path / "Dockerfile"
    path.write_text(f"{DOCKERFILE.read_text()}{line}\n")
    assert any(found in each for each in lint(path)), lint(path)
