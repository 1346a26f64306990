"""Refused settings: each line of refused.toml is refused, with file, key and reason."""

import tomllib
from collections.abc import Callable
from pathlib import Path

import pytest

from contract import rds_ca
from settings.load import SettingsFileError, load_pipeline
from tests.settings.pipelines import Project, derived_shop, logged_shop, queried_shop
from tests.stacks.environments import CRM, on_eks
from tests.stacks.settings import change, copied, refusal

TABLE = tomllib.loads(Path(__file__).with_name("refused.toml").read_text())
CASES = [(group, *case) for group in ("environment", "on_eks") for case in TABLE[group]]
SHOPS: dict[str, Callable[[Path], Path]] = {
    "pipeline_by_log": logged_shop,
    "pipeline_by_query": queried_shop,
    "derived": derived_shop,
}
OF_FILES = [(group, *case) for group in SHOPS for case in TABLE[group]]


@pytest.mark.parametrize(("group", "name", "section", "line", "reason"), CASES, ids=[f"{c[1]} {c[3]}" for c in CASES])
def test_a_line_is_refused(tmp_path: Path, group: str, name: str, section: str, line: str, reason: str) -> None:
    folder = on_eks(tmp_path, name) if group == "on_eks" else copied(tmp_path)
    change(folder, name, section, line)
    said = refusal(folder, name).splitlines()
    assert any(each.startswith(f"environments/{name}.toml: {reason}") for each in said), said


@pytest.mark.parametrize(("group", "old", "new", "reason"), OF_FILES, ids=[case[-1] for case in OF_FILES])
def test_a_pipelines_line_is_refused(tmp_path: Path, group: str, old: str, new: str, reason: str) -> None:
    path = SHOPS[group](tmp_path)
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new, 1) if old else new + text)
    with pytest.raises(SettingsFileError) as caught:
        load_pipeline("shop", path.parent)
    said = str(caught.value).splitlines()
    assert any(line.startswith(f"pipelines/shop.toml: {reason}") for line in said), said


@pytest.mark.parametrize(("line", "reason"), TABLE["outside"], ids=[reason for _, reason in TABLE["outside"]])
def test_an_outside_database_that_opens_too_much_or_says_too_little(project: Project, line: str, reason: str) -> None:
    key, gives, _ = line.partition(" =")
    lines = [each for each in CRM if not each.startswith(f"{key} =")]
    project.write("crm", ["people"])
    project.add("crm", *lines, *([line.replace("{root}", rds_ca.root("eu-west-1"))] if gives else []))
    said = project.refusal()
    assert said.startswith(f"environments/dev.toml: pipelines[1].database.{reason}")
    assert "\n" not in said


@pytest.mark.parametrize(("lines", "reason"), TABLE["queried"], ids=[reason for _, reason in TABLE["queried"]])
def test_what_says_nothing_of_a_queried_pipeline(project: Project, lines: str, reason: str) -> None:
    project.add("pagilaquery", lines)
    assert f"environments/dev.toml: pipelines[1].{reason}" in project.refusal()


@pytest.mark.parametrize(("line", "source", "reason"), TABLE["clashes"], ids=[case[-1] for case in TABLE["clashes"]])
def test_what_two_pipelines_would_share(project: Project, line: str, source: str, reason: str) -> None:
    project.write("second", ["events"], source=source)
    path = project.pipelines / "second.toml"
    if "database" in source:
        path.write_text(path.read_text().replace('database = "seconddb"\n', "", 1))
    project.add("second", line)
    assert f"environments/dev.toml: pipelines[1]: {reason}" in project.refusal()
