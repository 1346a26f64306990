"""Required packages are used, or documented as needed; imported packages are required."""

import functools
import importlib.metadata
import re
import sys

import pytest

from tests.test_import_rules import FOLDERS, OURS, ROOT, WITHIN, imports_of

APP = "app.py"
PROGRAMS = [APP, *sorted(FOLDERS - {"tests"})]
LINE = re.compile(r"^([\w.-]+)[^#\n]*(#.*)?$", re.MULTILINE)


@functools.cache
def imported(folder: str) -> set[str]:
    """The top-level package names that a folder's modules import, anywhere in them."""
    paths = [ROOT / APP] if folder == APP else (ROOT / folder).rglob("*.py")
    ours = {*OURS, *WITHIN, APP.removesuffix(".py")}
    return {name for path in paths for name in imports_of(path)} - ours - sys.stdlib_module_names


@functools.cache
def distributions() -> dict[str, set[str]]:
    """The distributions, as requirements write them, that provide each top-level name."""
    return {module: set(map(written, names)) for module, names in importlib.metadata.packages_distributions().items()}


def written(name: str) -> str:
    return name.lower().replace("_", "-")


def listed(*files: str) -> dict[str, str]:
    """Each required package, and its comments."""
    return {written(name): said for file in files for name, said in LINE.findall((ROOT / file).read_text())}


@pytest.mark.parametrize("folder", [*PROGRAMS, "tests"])
def test_what_a_folder_imports_is_listed(folder: str) -> None:
    files = ["requirements.in", "requirements-dev.in"]
    asked = listed(*files if folder == "tests" else files[:1]).keys()
    assert [name for name in sorted(imported(folder)) if not distributions()[name] & asked] == []


def test_every_package_is_imported_or_says_what_it_is_for() -> None:
    silent = {name for name, said in listed("requirements.in").items() if not said}
    used = {package for folder in PROGRAMS for name in imported(folder) for package in distributions()[name]}
    assert silent
    assert silent - used == set()


def test_a_package_that_is_said_to_be_unused_is_so() -> None:
    said = {name for name, said in listed("requirements.in").items() if said.startswith("# nothing imports it yet")}
    assert said & set().union(*map(imported, [*PROGRAMS, "tests"])) == set()
