"""Who may import whom: docs/decisions/0002-layout-and-imports.md."""

import ast
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
OURS = {"analytics", "bench", "db", "local", "plugins", "spark_jobs", "stacks", "tests"}
# Folder → (our folders that it may import besides itself, packages that it may import; None: any).
RULES: dict[str, tuple[set[str], set[str] | None]] = {
    "db": (set(), {"psycopg2", "typer", "rich"}),
    "plugins": (set(), set()),
    "spark_jobs": (set(), {"pyspark", "py4j", "boto3", "botocore"}),
    "local": ({"db", "plugins"}, None),
    "bench": (OURS - {"tests"}, None),
}


def imports_of(path: Path) -> set[str]:
    """The top-level names that a module imports, wherever in it."""
    names: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            names |= {alias.name.split(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            names.add("." if node.level else (node.module or "").split(".")[0])
    return names


def violations(folder: str, imported: set[str]) -> set[str]:
    """The imports that the rules forbid for a module in `folder`."""
    ours, packages = RULES[folder]
    wrong = (imported & OURS) - ours - {folder}
    if packages is not None:
        wrong |= imported - OURS - packages - set(sys.stdlib_module_names)
    return wrong


@pytest.mark.parametrize("folder", RULES)
def test_every_module_imports_only_what_its_folder_may(folder: str) -> None:
    modules = sorted((ROOT / folder).glob("**/*.py"))
    assert modules
    wrong = {str(path.relative_to(ROOT)): violations(folder, imports_of(path)) for path in modules}
    assert {path: names for path, names in wrong.items() if names} == {}


def test_a_forbidden_import_is_seen() -> None:
    assert violations("spark_jobs", {"os", "pyspark", "local"}) == {"local"}
    assert violations("db", {"psycopg2", "boto3"}) == {"boto3"}
    assert violations("plugins", {"tests"}) == {"tests"}
    assert "." in violations("db", {"."})
