"""Environment files for tests to change."""

import shutil
from pathlib import Path

import pytest

from settings.load import ENVIRONMENTS, SettingsFileError, load


def copied(tmp_path: Path) -> Path:
    shutil.copytree(ENVIRONMENTS, tmp_path / "environments")
    return tmp_path / "environments"


def change(folder: Path, name: str, section: str, line: str) -> None:
    """Set a line in a section ("" for the top, "tables" for the first table), replacing the one with its key."""
    path = folder / f"{name}.toml"
    lines = path.read_text().splitlines()
    starts = [number for number, text in enumerate(lines) if text in (f"[{section}]", f"[[{section}]]")]
    start = starts[0] + 1 if section else 0
    end = next((number for number in range(start, len(lines)) if lines[number].startswith("[")), len(lines))
    key = line.partition(" =")[0]
    kept = [text for text in lines[start:end] if not text.startswith(f"{key} =")]
    path.write_text("\n".join([*lines[:start], line, *kept, *lines[end:]]) + "\n")


def refusal(folder: Path, name: str) -> str:
    """The message for a refused environment."""
    with pytest.raises(SettingsFileError) as caught:
        load(name, folder)
    return str(caught.value)
