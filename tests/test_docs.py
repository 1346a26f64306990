"""The documents say what is there: commands, files, and no word of any one machine."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.__main__ import ORDER

ROOT = Path(__file__).resolve().parents[1]
TRACKED = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True).stdout.splitlines()
DOCUMENTS = [ROOT / name for name in TRACKED if name.endswith(".md")]
TARGETS = set(re.findall(r"^([a-z-]+):.*## ", (ROOT / "Makefile").read_text(), re.MULTILINE))


def anchors(document: Path) -> set[str]:
    """The names that a page's headings have on GitHub: lower case, blanks as hyphens, nothing else but words."""
    headings = re.findall(r"^#+ (.+)$", document.read_text(), re.MULTILINE)
    return {re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_every_make_target_that_is_named_exists(document: Path) -> None:
    named = set(re.findall(r"(?:`|^|\$ )make ([a-z][a-z-]*)", document.read_text(), re.MULTILINE))
    assert named <= TARGETS


def test_every_make_target_is_documented() -> None:
    text = (ROOT / "README.md").read_text() + (ROOT / "CONTRIBUTING.md").read_text()
    assert {target for target in TARGETS if f"make {target}" not in text} == set()


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_every_link_to_a_file_leads_somewhere(document: Path) -> None:
    links = re.findall(r"\]\((?!https?:|mailto:)([^)#]*)(?:#([^)]+))?\)", re.sub(r"`[^`]*`", "", document.read_text()))
    targets = [(document.parent / path if path else document, anchor) for path, anchor in links]
    assert [str(path) for path, _ in targets if not path.exists()] == []
    assert [anchor for path, anchor in targets if anchor and anchor not in anchors(path)] == []


@pytest.mark.parametrize("module", ["db.load", "db.migrate", "local up"])
def test_every_option_that_the_readme_uses_exists(module: str) -> None:
    lines = [line for line in (ROOT / "README.md").read_text().splitlines() if f"-m {module}" in line]
    used = {option for line in lines for option in re.findall(r"(--[a-z]+)", line)}
    command = [sys.executable, "-m", *module.split(), "--help"]
    help_text = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    assert used
    assert {option for option in used if option not in help_text} == set()


def test_the_readme_shows_every_part_of_the_tests() -> None:
    _, _, shown = (ROOT / "README.md").read_text().partition("$ make test\n")
    parts = re.findall(r"^(\w+) +[\d.]+ +[\d.]+", shown.partition("```")[0], re.MULTILINE)
    assert parts == [*ORDER, "all"]
