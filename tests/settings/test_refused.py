"""What an environment's file must not say: each line of refused.toml is refused, with file, key and reason."""

import tomllib
from pathlib import Path

import pytest

from tests.stacks.connectors.environments import on_eks
from tests.stacks.settings import change, copied, refusal

TABLE = tomllib.loads(Path(__file__).with_name("refused.toml").read_text())
CASES = [(group, *case) for group, cases in TABLE.items() for case in cases]


@pytest.mark.parametrize(("group", "name", "section", "line", "reason"), CASES, ids=[f"{c[1]} {c[3]}" for c in CASES])
def test_a_line_is_refused(tmp_path: Path, group: str, name: str, section: str, line: str, reason: str) -> None:
    folder = on_eks(tmp_path, name) if group == "on_eks" else copied(tmp_path)
    change(folder, name, section, line)
    said = refusal(folder, name).splitlines()
    assert any(each.startswith(f"environments/{name}.toml: {reason}") for each in said), said
