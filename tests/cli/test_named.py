"""Every command in a message, a comment or a document exists, with the options shown."""

import functools
import re
import subprocess
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
import typer
from typer.main import get_command

from cli.__main__ import app
from cli.dev import PROGRAMS

ROOT = Path(__file__).resolve().parents[2]
KINDS = {".py", ".md", ".sql", ".sh", ".toml", ".yaml", ".cjs", ".html", ".java", ".in", ""}
TARGETS = {"help", "setup", "demo", "demo-query", "test", "check", "format", "lock", "clean"}
# A string or a comment that continues on the next line.
_WRAPPED = re.compile(r'"?[ \t]*\n[ \t]*(?:#|--|f?"|>)?[ \t]*')
_LAKE = re.compile(r"(?P<quoted>`)?\./lake(?P<words>(?(quoted)[^`]{0,300}|[^`\"'\n;|)]*))")
ROOT_COMMAND: Any = get_command(app)
_PROGRAM = re.compile(r"`(?:\.venv/bin/)?python -m ([a-z_.]+[a-z_])")
_MAKE = re.compile(r"(?:`|^|\$ )make\s+([a-z][a-z-]*)", re.MULTILINE)


@functools.cache
def options_of(words: str, command: Any) -> set[str]:
    """A command's options; a program's own are its function's."""
    *group, name = words.split()
    for each, _, place, _ in PROGRAMS.get(group[-1], ("", ()))[1] if group else ():
        if each == name:
            module, _, function = place.partition(":")
            program = typer.Typer(add_completion=False)
            program.command()(getattr(import_module(module), function or "main"))
            command = get_command(program)
    return {option for one in command.params for option in (*one.opts, *one.secondary_opts)} | {"--help"}


def wrong(text: str) -> list[str]:
    """Wrong statements about commands in a text."""
    found = []
    for match in _LAKE.finditer(text):
        said = " ".join(_WRAPPED.sub(" ", match["words"]).split())
        node, words, rest = ROOT_COMMAND, "", said.split(" ")
        while rest and hasattr(node, "commands") and re.fullmatch(r"[a-z][a-z-]*", rest[0]):
            if rest[0] not in node.commands:
                found.append(f"./lake {said}: no command {rest[0]}")
                break
            node, words = node.commands[rest[0]], f"{words} {rest.pop(0)}".strip()
        else:
            given = re.findall(r"(?<!\S)--?[a-z][a-z-]*", re.split(r" [#|] ", " ".join(rest))[0])
            found += [f"./lake {said}: no option {one}" for one in given if one not in options_of(words or "-", node)]
    targets = {*_MAKE.findall(text), *_MAKE.findall(_WRAPPED.sub(" ", text))}
    found += [f"make {target}" for target in sorted(targets - TARGETS)]
    return found + [f"python -m {name}" for name in _PROGRAM.findall(text) if not _runs(name)]


def _runs(module: str) -> bool:
    path = ROOT.joinpath(*module.split("."))
    return path.with_suffix(".py").is_file() or (path / "__main__.py").is_file()


def test_every_command_that_is_named_is_there() -> None:
    listed = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    files = [Path(name) for name in listed.splitlines() if Path(name).suffix in KINDS]
    assert len(files) > 500
    texts = {str(file): (ROOT / file).read_text(encoding="utf-8") for file in files if (ROOT / file).is_file()}
    assert {file: problems for file, text in texts.items() if file != _HERE and (problems := wrong(text))} == {}


_HERE = str(Path(__file__).relative_to(ROOT))


@pytest.mark.parametrize(
    ("text", "problems"),
    [
        ("run `./lake up -p mine`, then `make test`", []),
        ('f"`./lake aws "\n    f"pause -e {name}`"', []),
        ("`./lake upp`", ["./lake upp: no command upp"]),
        ('f"see `make"\n        " status`"', ["make status"]),
        ("`./lake dev bench query --much`", ["./lake dev bench query --much: no option --much"]),
        ("`make up`", ["make up"]),
        ("`python -m tests unit`, `python -m db.load --replace`", ["python -m db.load"]),
    ],
)
def test_one_that_isnt_there_is_found(text: str, problems: list[str]) -> None:
    assert wrong(text) == problems
