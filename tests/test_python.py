"""The project runs on every Python 3.11, from Debian 12's 3.11.2 on: it uses nothing that a later 3.11 added.

The unit tests may run on the newest one, so this reads the code.
"""

import ast
import re
from collections.abc import Iterator

import pytest

from tests.test_import_rules import FOLDERS, ROOT

# Module → its additions after 3.11.2: functions, classes, methods and attributes, or `function(keyword)`.
ADDED = {
    "email": {  # 3.11.10
        *("getaddresses(strict)", "parseaddr(strict)", "supports_strict_parsing"),
        *("HeaderWriteError", "verify_generated_headers"),
    },
    "enum": {"pickle_by_enum_name", "pickle_by_global_name"},  # 3.11.3
    "shutil": {"unpack_archive(filter)"},  # 3.11.4
    "tarfile": {  # 3.11.4; LinkFallbackError 3.11.13
        *("extract(filter)", "extractall(filter)", "replace(mode)", "replace(name)"),
        *("data_filter", "tar_filter", "fully_trusted_filter", "extraction_filter"),
        *("FilterError", "AbsolutePathError", "OutsideDestinationError", "SpecialFileError"),
        *("AbsoluteLinkError", "LinkOutsideDestinationError", "LinkFallbackError"),
    },
    "xml": {"flush", "GetReparseDeferralEnabled", "SetReparseDeferralEnabled"},  # 3.11.9
}


_IMPORTED = re.compile(rf"^\s*(?:import|from)\s.*\b(?:{'|'.join(ADDED)})\b", re.MULTILINE)


def additions(text: str) -> set[str]:
    """A module's uses of the modules above that 3.11.2 lacks."""
    used = set(_uses(ast.parse(text))) if _IMPORTED.search(text) else set()
    return {name for module, names in ADDED.items() if module in used for name in names & used}


def _uses(tree: ast.Module) -> Iterator[str]:
    """Yield imported modules, names, attributes, and keywords as `function(keyword)`."""
    for node in ast.walk(tree):
        match node:
            case ast.Import() | ast.ImportFrom():
                module = getattr(node, "module", None)
                for alias in node.names:
                    yield from ((module or alias.name).partition(".")[0], alias.name)
            case ast.Attribute(attr=name) | ast.Name(id=name):
                yield name
            case ast.Call(func=ast.Attribute(attr=name) | ast.Name(id=name)):
                yield from (f"{name}({keyword.arg})" for keyword in node.keywords)


def test_nothing_is_used_that_the_first_3_11_lacks() -> None:
    paths = [ROOT / "app.py", *(path for folder in FOLDERS for path in (ROOT / folder).rglob("*.py"))]
    found = {str(path.relative_to(ROOT)): additions(path.read_text(encoding="utf-8")) for path in paths}
    assert {path: names for path, names in found.items() if names} == {}


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("import tarfile\ntarfile.open('a').extractall('b', filter='data')", {"extractall(filter)"}),
        ("import csv\nextract(filter=1)", set()),
        ("from tarfile import data_filter", {"data_filter"}),
        ("from xml.etree import ElementTree\nElementTree.XMLPullParser().flush(); print('a', flush=True)", {"flush"}),
    ],
)
def test_an_addition_is_seen(text: str, found: set[str]) -> None:
    assert additions(text) == found
