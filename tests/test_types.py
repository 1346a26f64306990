"""Modules that the type checker may skip: no name that the project uses becomes Any because a module wasn't read."""

import ast
import re
import tomllib
from importlib.util import find_spec
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
SETTINGS = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["mypy"]
FOLLOWED = next(rule["module"] for rule in SETTINGS["overrides"] if rule.get("follow_imports") == "normal")
PARTLY_READ = ("aws_cdk", "moto")
IMPORTED = re.compile(rf"^\s*(?:import|from) (?:{'|'.join(PARTLY_READ)})\b", re.MULTILINE)
# In the text that JSII generates: `import aws_cdk.aws_iam as _aws_iam_1f54b5e8` and `class Role(_aws_iam_1f54b5e8.X`.
ALIAS = re.compile(r"^    import (aws_cdk\S*) as (\w+)$", re.MULTILINE)
BASES = re.compile(r"^class \w+\(([^)]*)\)", re.MULTILINE)


def is_followed(module: str) -> bool:
    """Whether the type checker reads a module, by mypy's own patterns: a name, or a package and all below it."""
    return any(
        module == name or (name.endswith(".*") and f"{module}.".startswith(name.removesuffix("*"))) for name in FOLLOWED
    )


def imported_modules() -> set[str]:
    """The modules of partially read packages, as our files import them."""
    names = set()
    for path in [ROOT / "app.py", *(path for name in SETTINGS["packages"] for path in (ROOT / name).rglob("*.py"))]:
        text = path.read_text()
        # Most files name neither, and needn't be parsed for it.
        for node in ast.walk(ast.parse(text)) if IMPORTED.search(text) else ():
            if isinstance(node, ast.Import):
                names |= {alias.name for alias in node.names}
            elif isinstance(node, ast.ImportFrom) and node.module:
                names |= {node.module, *(f"{node.module}.{alias.name}" for alias in node.names)}
    return {name for name in names if name.split(".")[0] in PARTLY_READ and module_file(name)}


def module_file(name: str) -> Path | None:
    """A package's or module's file, without importing it; None for anything but a module."""
    package, *rest = name.split(".")
    spec = find_spec(package)
    assert spec
    assert spec.origin
    path = Path(spec.origin).parent.joinpath(*rest)
    return next((file for file in (path / "__init__.py", path.with_suffix(".py")) if file.is_file()), None)


def base_modules(text: str) -> set[str]:
    """The modules of aws_cdk from which a generated module's classes are derived."""
    modules = {alias: module for module, alias in ALIAS.findall(text)}
    names = {name.split(".")[0].strip() for bases in BASES.findall(text) for name in bases.split(",") if "." in name}
    return {modules[name] for name in names if name in modules}


def test_each_module_that_the_project_imports_is_followed() -> None:
    modules = imported_modules()
    assert {"aws_cdk.aws_ec2", "aws_cdk.aws_rds", "moto.core.models"} <= modules
    assert [module for module in sorted(modules) if not is_followed(module)] == []


def test_what_a_followed_module_derives_from_is_followed() -> None:
    names = {name.removesuffix(".*") for name in FOLLOWED if "aws_cdk.aws" in name}
    files = {name: module_file(name) for name in names}
    assert [name for name, file in files.items() if file is None] == []
    bases = {base for file in files.values() if file for base in base_modules(file.read_text())}
    assert {"aws_cdk.aws_codestarnotifications", "aws_cdk.interfaces.aws_sns"} <= bases
    assert [base for base in sorted(bases) if not is_followed(base)] == []
    assert not is_followed("moto.s3.models")
