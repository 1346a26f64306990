"""What requirements.in asks for is used, or says why it is there."""

import ast
import importlib.metadata
import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
OURS = ("analytics", "bench", "contract", "db", "local", "operate", "plugins", "spark_jobs", "stacks", "tests")


def imported() -> set[str]:
    """The top-level names that our modules import, wherever in them."""
    names: set[str] = set()
    for path in [ROOT / "app.py", *(path for folder in OURS for path in (ROOT / folder).rglob("*.py"))]:
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Import):
                names |= {alias.name.partition(".")[0] for alias in node.names}
            elif isinstance(node, ast.ImportFrom) and node.module:
                names.add(node.module.partition(".")[0])
    return names


def test_every_package_is_imported_or_says_what_it_is_for() -> None:
    lines = [
        re.fullmatch(r"([\w.-]+)[^#]*(#.*)?", line) for line in (ROOT / "requirements.in").read_text().splitlines()
    ]
    silent = {line[1].lower() for line in lines if line and not line[2]}
    used = imported()
    packages = importlib.metadata.packages_distributions()
    providing = {name.lower() for module in used for name in packages.get(module, [])}
    assert silent - providing == set()
    assert silent


def test_a_package_that_is_said_to_be_unused_is_so() -> None:
    text = (ROOT / "requirements.in").read_text()
    assert set(re.findall(r"^(\S+) +# nothing imports it yet", text, re.MULTILINE)) & imported() == set()
