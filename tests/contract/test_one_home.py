"""Nothing in contract/ is repeated elsewhere in the code: a copy would go stale when the original changes."""

import ast
import re
from collections.abc import Iterator
from enum import EnumMeta
from pathlib import Path

import pytest

from contract import events, lake, metrics, source, states, tags

ROOT = Path(__file__).resolve().parents[2]
MODULES = (events, lake, metrics, source, states, tags)
FOLDERS = ("analytics", "bench", "capture", "db", "local", "operate", "plugins", "settings", "spark_jobs", "stacks")
# Common words with other meanings elsewhere.
WORDS = {"r", "c", "u", "d", "t", "s", "true", "table", "__", "op", "db", "schema", "lsn", "string", "long"}
WORDS |= {"Events", "Commits", "Deletes", "Upserts", "heartbeat", "signal", "id", "type", "data"}
WORDS |= {"SELECT", "INSERT", "DELETE", "length", "NAN", "POSITIVE_INFINITY", "NEGATIVE_INFINITY"}
# The page's words and stages are as common; where they are shown, no text equals or begins with one.
WORDS |= {*states.Word, *states.STAGES}
SHOWN = ("local/dashboard", "stacks/monitoring")
MEANT_OTHERWISE = {
    ("local/state/word.py", states.Word.DOWN): "the command's name",
    ("stacks/monitoring/watches.py", states.JOB): "the name of a method",
    ("stacks/monitoring/metrics.py", states.LANDING): "a bucket's name",
    ("stacks/monitoring/watches.py", states.SOURCE): "an event pattern's key; a connector's role",
}


def constants() -> dict[str, str]:
    """Each name in the contract with its module, including the contents of tuples and dictionaries."""
    found: dict[str, str] = {}
    for module in MODULES:
        for name, value in vars(module).items():
            if (name.isupper() and not name.startswith("_")) or value is states.Word:
                several = isinstance(value, tuple | dict | EnumMeta)
                texts = [value] if isinstance(value, str) else [*value] if several else []
                found |= {text: module.__name__ for text in texts if isinstance(text, str)}
    return {text: module for text, module in found.items() if text not in WORDS}


def literals(path: Path) -> Iterator[tuple[int, str]]:
    """A module's literals, line by line, without its docstrings; one with gaps is split."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    said = {
        id(node.body[0].value)
        for node in ast.walk(tree)
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef)
        and node.body
        and isinstance(node.body[0], ast.Expr)
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in said:
            yield node.lineno, node.value


def named(path: Path) -> str:
    return path.relative_to(ROOT).as_posix() if path.is_relative_to(ROOT) else path.name


def copies(path: Path, texts: dict[str, str]) -> list[str]:
    """Places where a module repeats the contract; a file may be named like its subject."""
    pattern = re.compile(
        "|".join(
            rf"(?<![\w-]){re.escape(text)}(?![\w-]|\.(?:avsc|properties))" for text in sorted(texts, key=len)[::-1]
        )
    )
    return [
        f"{named(path)}:{line}: {found[0]!r} is {texts[found[0]]}'s"
        for line, literal in literals(path)
        for found in pattern.finditer(literal)
    ]


@pytest.mark.parametrize("folder", FOLDERS)
def test_no_module_says_again_what_the_contract_has(folder: str) -> None:
    texts = constants()
    assert [found for path in sorted((ROOT / folder).rglob("*.py")) for found in copies(path, texts)] == []


def shown_again(path: Path) -> list[str]:
    """Places where a text is one of the page's words or stages, or begins with one as a title does."""
    name, pattern = named(path), re.compile(rf"({'|'.join((*states.Word, *states.STAGES))})(?=$|:| /| of )")
    return [
        f"{name}:{line}: {found[0]!r} is {states.__name__}'s"
        for line, literal in sorted(literals(path))
        if (found := pattern.match(literal)) and (name, found[0]) not in MEANT_OTHERWISE
    ]


@pytest.mark.parametrize("folder", SHOWN)
def test_no_text_says_again_a_word_or_a_stage(folder: str) -> None:
    assert [found for path in sorted((ROOT / folder).rglob("*.py")) for found in shown_again(path)] == []


def test_a_word_or_a_stage_is_seen(tmp_path: Path) -> None:
    path = tmp_path / "copy.py"
    path.write_text(
        f'WORD = "{states.Word.LATE}"\n'
        f'TITLE = f"{states.LAKE} of {{1}}"\n'
        f'ALARM = "{states.Word.DOWN}: no task runs"\n'
        f'OTHER = "{states.Word.LATE}r, on the way to the {states.LAKE}"\n'
    )
    assert shown_again(path) == [
        f"copy.py:{line}: {text!r} is {states.__name__}'s"
        for line, text in enumerate(map(str, (states.Word.LATE, states.LAKE, states.Word.DOWN)), 1)
    ]


def test_a_copy_is_seen(tmp_path: Path) -> None:
    path = tmp_path / "copy.py"
    path.write_text(
        f'"""{source.SCHEMA} in a docstring."""\n'
        f'QUERY = f"SELECT 1 FROM {source.SCHEMA}.orders WHERE x = {{1}} AND {events.LSN} > 1"\n'
        f'OTHER = "my{source.SCHEMA} {source.OUTBOX_TABLE}_old"\n'
    )
    assert copies(path, constants()) == [
        f"copy.py:2: {source.SCHEMA!r} is contract.source's",
        f"copy.py:2: {events.LSN!r} is contract.events's",
    ]


def test_what_is_allowed_is_there() -> None:
    for name, text in MEANT_OTHERWISE:
        assert [literal for _, literal in literals(ROOT / name) if literal == text], name
