"""What `make` does where the Python packages are missing or half installed: the real recipe with empty locks."""

import json
import os
import shutil
import subprocess
import sys
import time
import venv
from pathlib import Path

import pytest

from tests.test_import_rules import ROOT

READY = ".venv/.ready"


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """A folder with the Makefile, and locks that name no package."""
    shutil.copy(ROOT / "Makefile", tmp_path)
    for lock in ("requirements-build.txt", "requirements.txt", "requirements-dev.txt"):
        (tmp_path / lock).touch()
    return tmp_path


def make_environment(checkout: Path, **environment: str) -> "subprocess.CompletedProcess[str]":
    """Run the recipe with the Python that is beneath this environment."""
    python = Path(sys.executable).resolve()
    # Of `make test`, which may have started this.
    inherited = {name: value for name, value in os.environ.items() if not name.startswith("MAKE")}
    return subprocess.run(
        ["make", READY, f"PYTHON={python}"],
        cwd=checkout,
        env={**inherited, "PIP_NO_INDEX": "1", **environment},
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )


def test_an_environment_that_was_interrupted_is_made_again_and_a_complete_one_is_kept(checkout: Path) -> None:
    venv.create(checkout / ".venv")  # as Ctrl-C leaves it: without pip
    done = make_environment(checkout)
    assert (done.returncode, (checkout / READY).is_file()) == (0, True), done.stderr
    kept = checkout / ".venv" / "kept"
    kept.touch()
    later = time.time() + 10
    os.utime(checkout / "requirements.txt", (later, later))
    done = make_environment(checkout)
    assert done.returncode == 0, done.stderr
    assert "Installing the locked Python packages" in done.stdout
    assert kept.is_file()


def test_a_python_without_its_venv_package_is_one_line_each_time(checkout: Path) -> None:
    shadow = checkout / "shadow"
    shadow.mkdir()
    (shadow / "ensurepip.py").write_text("raise ModuleNotFoundError\n")  # Debian's without python3.11-venv
    for _ in range(2):
        done = make_environment(checkout, PYTHONPATH=str(shadow))
        reason, _, end = done.stderr.partition("\n")
        assert "can't make an environment: install its venv package" in reason
        assert end.startswith("make: *** ")
        assert len(end.splitlines()) == 1
        assert done.returncode


ODD = """public."a b" $1 $(HOME) it's"""
SHELL = {"ENV": "staging", "TABLE": "t", "PIPELINE": "p", "SQL": "SELECT 1", "WHERE": "true", "NAME": "n"}
GIVEN = [
    (["status", f"TABLE={ODD}"], ["local", "status", "--table", ODD], ""),
    (["resnapshot", "TABLE=a b", f"WHERE={ODD}"], ["local", "resnapshot", "--table", "a b", "--where", ODD], ""),
    (["query", f"SQL={ODD}", f"FILE={ODD}"], ["local", "query", "--file", ODD], ODD),
    (["pipeline", f"NAME={ODD}"], ["capture", "pipeline"], ODD),
    (["prepare", f"DSN={ODD}"], ["capture", "prepare"], ODD),
    (["up", f"DSN={ODD}", f"PIPELINE={ODD}"], ["local", "up", "--pipeline", ODD, "--dsn", ODD], ODD),
    (["destroy"], ["operate.stack_commands", "destroy", "--env", "dev"], ""),
    (["destroy", "ENV=prod"], ["operate.stack_commands", "destroy", "--env", "prod"], ""),
    (["tail", f"TOPIC={ODD}", "COUNT=3"], ["operate", "tail", ODD, "--count", "3"], ""),
]


@pytest.mark.parametrize("shell", [{}, SHELL], ids=["bare", "shell"])
@pytest.mark.parametrize(("words", "command", "read"), GIVEN, ids=[" ".join(words) for words, _, _ in GIVEN])
def test_a_command_gets_what_make_was_given_and_nothing_of_the_shells(
    checkout: Path, words: list[str], command: list[str], read: str, shell: dict[str, str]
) -> None:
    made = [checkout / READY, checkout / "node_modules/.ready", checkout / ".venv/bin/python"]
    for file in made:
        file.parent.mkdir(parents=True, exist_ok=True)
        file.touch()
    for lock in ("package.json", "package-lock.json"):
        (checkout / lock).touch()
    os.utime(made[1], (time.time() + 10,) * 2)
    made[2].write_text(f"""#!{sys.executable}
import json, os, sys
print(json.dumps([sys.argv[2:], "".join(os.environ.get(name, "") for name in ("SQL", "NAME", "DSN"))]))
""")
    made[2].chmod(0o755)
    inherited = {name: value for name, value in os.environ.items() if not name.startswith("MAKE")}
    done = subprocess.run(
        ["make", "--silent", *words],
        cwd=checkout, env=inherited | shell, capture_output=True, text=True, check=True, timeout=60,
    )  # fmt: skip
    assert json.loads(done.stdout.splitlines()[-1]) == [command, read]
