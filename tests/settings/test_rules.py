"""The rules' refusals: later errors of AWS or the pipeline, and in production anything that loses data."""

import copy
import functools
import tomllib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from contract import rds_ca
from settings.load import ENVIRONMENTS, SettingsFileError, load, load_pipeline, parse
from settings.rules.placeholders import placeholders
from tests.settings.pipelines import Project, derived_shop, logged_shop, queried_shop
from tests.stacks.environments import CRM, on_eks, only_queried
from tests.stacks.settings import change, copied, refusal


@pytest.mark.parametrize(
    ("connector", "key", "value"),
    [
        ("source", "snapshot.mode", "initial"),
        ("source", "heartbeat.interval.ms", "1500"),
        ("sink", "connect.s3.retry.interval", "30000"),
    ],
)
def test_an_allowed_property_is_accepted_in_production(folder: Path, connector: str, key: str, value: str) -> None:
    change(folder, "prod", f"pipelines.{connector}", f'configuration = {{ "{key}" = "{value}" }}')
    assert getattr(load("prod", folder).pipelines[0], connector).configuration == {key: value}


def test_two_environments_of_an_account_have_databases_of_their_own(folder: Path) -> None:
    (folder / "staging.toml").write_text((folder / "dev.toml").read_text())
    assert [load(name, folder).lake.database for name in ("dev", "staging")] == ["dev_datalake", "staging_datalake"]
    change(folder, "staging", "lake", 'database = "dev_datalake"')
    assert "staging.toml: lake.database: 'dev_datalake' is that of dev.toml, too" in refusal(folder, "staging")
    (folder / "staging.toml").write_text((folder / "staging.toml").read_text().replace("1" * 12, "3" * 12))
    assert load("staging", folder).lake.database == "dev_datalake"


def test_a_folder_of_an_environments_name_is_one_line(folder: Path) -> None:
    (folder / "lab.toml").mkdir()
    assert refusal(folder, "lab") == (
        "environments/lab.toml: no such environment (it is a folder: an environment is a file); "
        "there are dev, prod, sandbox"
    )
    assert load("dev", folder).name == "dev"


WRONG: list[Any] = ["", "x", "\0", "a\nb", "é" * 300, -1, 0, 10**9, 10**30, 1.5, True, False]
WRONG += [[], ["x"], [1], {}, {"x": 1}, {"x": "\n"}]
PRODUCTION: dict[str, Any] = tomllib.loads((ENVIRONMENTS / "prod.toml").read_text())
Way = tuple[str | int, ...]


def keys(values: Any, path: Way = ()) -> Iterator[Way]:
    """Every key of a file, and every element of its lists, by its path."""
    inner = values.items() if isinstance(values, dict) else enumerate(values) if isinstance(values, list) else ()
    for key, value in inner:
        yield (*path, key)
        yield from keys(value, (*path, key))


def at(values: Any, way: Way) -> Any:
    return functools.reduce(lambda inner, key: inner[key], way, values)


@pytest.fixture
def refusal_of(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[Way, Any], str]:
    """The refusal of production's file with another value in a place, "" if it is accepted."""
    (tmp_path / "fuzz.toml").touch()
    monkeypatch.setattr("settings.load.load_pipeline", functools.cache(load_pipeline))

    def found(way: Way, value: Any) -> str:
        values = copy.deepcopy(PRODUCTION)
        at(values, way[:-1])[way[-1]] = value
        # As if the file said so: parsing would take longer than everything else.
        monkeypatch.setattr("settings.load.parse", lambda path: values if path.stem == "fuzz" else parse(path))
        try:
            load("fuzz", tmp_path)
        except SettingsFileError as error:
            return str(error)
        return ""

    return found


@pytest.mark.parametrize("way", list(keys(PRODUCTION)), ids=lambda way: ".".join(map(str, way)))
def test_every_value_of_a_key_is_answered_with_lines_that_name_file_and_key(
    way: Way, refusal_of: Callable[[Way, Any], str], tmp_path: Path
) -> None:
    for value in WRONG:
        for line in refusal_of(way, value).splitlines():
            file, key, reason = line.split(": ", 2)
            assert file == f"{tmp_path.name}/fuzz.toml", (value, line)
            assert reason.isprintable(), (value, line)
            assert key, (value, line)


def test_a_text_that_means_nothing_is_refused_wherever_a_text_stands(refusal_of: Callable[[Way, Any], str]) -> None:
    texts = [way for way in keys(PRODUCTION) if isinstance(at(PRODUCTION, way), str)]
    accepted = {".".join(map(str, way)) for way in texts if not refusal_of(way, "nonsense")}
    # Free texts: any with the right form is accepted.
    assert accepted == {"pipelines.0.topic_prefix"}


@pytest.mark.parametrize(
    ("section", "line", "placeholder"),
    [
        ("", 'account = "000000000000"', "account"),
        ("monitoring", 'alarm_email = "me@mail.EXAMPLE.org"', "monitoring.alarm_email"),
        ("monitoring", 'alarm_email = "me@lake.invalid"', "monitoring.alarm_email"),
        ("monitoring", 'alarm_email = "me@example.com.au"', None),
        ("vpn", 'management_cidrs = ["198.51.100.7/32"]', "vpn.management_cidrs"),
        ("vpn", 'client_cidrs = ["192.0.2.0/25", "20.0.0.0/24"]', "vpn.client_cidrs"),
        ("connectors.eks", 'endpoint_cidrs = ["203.0.113.0/24"]', "connectors.eks.endpoint_cidrs"),
        ("", 'account = "123456789012"', None),
    ],
)
def test_what_stands_for_your_own_is_found(tmp_path: Path, section: str, line: str, placeholder: str | None) -> None:
    folder = on_eks(tmp_path, "dev") if "eks" in section else copied(tmp_path)
    change(folder, "dev", "monitoring", 'alarm_email = "alarms@lake.test"')
    change(folder, "dev", section, line)
    found = [key for key, _ in placeholders(load("dev", folder))]
    # The account is dev's committed one, but where the line replaces it.
    assert found == [each for each in ("account" if section else None, placeholder) if each]


@pytest.mark.parametrize("name", ["dev", "prod", "sandbox"])
def test_the_committed_environments_are_examples(name: str) -> None:
    keys = ["account", "monitoring.alarm_email", *(["vpn.client_cidrs"] if name == "prod" else [])]
    assert [key for key, _ in placeholders(load(name))] == keys


TABLE = tomllib.loads(Path(__file__).with_name("refused.toml").read_text())
CASES = [(group, *case) for group in ("environment", "on_eks") for case in TABLE[group]]
SHOPS = {"pipeline_by_log": logged_shop, "pipeline_by_query": queried_shop, "derived": derived_shop}
OF_FILES = [(group, *case) for group in SHOPS for case in TABLE[group]]


@pytest.mark.parametrize(("group", "name", "section", "line", "reason"), CASES, ids=[f"{c[1]} {c[3]}" for c in CASES])
def test_a_line_is_refused(tmp_path: Path, group: str, name: str, section: str, line: str, reason: str) -> None:
    folder = on_eks(tmp_path, name) if group == "on_eks" else copied(tmp_path)
    change(folder, name, section, line)
    said = refusal(folder, name).splitlines()
    assert any(each.startswith(f"environments/{name}.toml: {reason}") for each in said), said
    assert "hunter2" not in str(said)


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


@pytest.mark.parametrize(("name", "lines", "reason"), TABLE["added"], ids=[case[-1] for case in TABLE["added"]])
def test_a_pipeline_that_an_environment_may_not_have_so(project: Project, name: str, lines: str, reason: str) -> None:
    project.write("shop", ["orders", "items"])
    said = project.add(name, lines).refusal().splitlines()
    assert any(line.startswith(f"environments/dev.toml: {reason}") for line in said), said


@pytest.mark.parametrize(("line", "source", "reason"), TABLE["clashes"], ids=[case[-1] for case in TABLE["clashes"]])
def test_what_two_pipelines_would_share(project: Project, line: str, source: str, reason: str) -> None:
    project.write("second", ["events"], source=source)
    path = project.pipelines / "second.toml"
    if "database" in source:
        path.write_text(path.read_text().replace('database = "seconddb"\n', "", 1))
    project.add("second", line)
    assert f"environments/dev.toml: pipelines[1]: {reason}" in project.refusal()


@pytest.mark.parametrize(("changes", "reason"), [(case[:-1], case[-1]) for case in TABLE["only_queried"]])
def test_an_environment_without_connectors_has_nothing_for_them(folder: Path, changes: Any, reason: str) -> None:
    only_queried(folder)
    for section, line in changes:
        change(folder, "dev", section, line)
    assert any(line.startswith(f"environments/dev.toml: {reason}") for line in refusal(folder, "dev").splitlines())


def test_msk_connects_quota_is_not_asked_of_workers_of_ours(tmp_path: Path) -> None:
    folder = on_eks(tmp_path, "dev")
    for role in ("source", "sink"):
        change(folder, "dev", f"pipelines.{role}", "workers = 10")
    change(folder, "dev", "connectors.eks", "maximum_workers = 0")
    assert load("dev", folder).connector_workers == 20
