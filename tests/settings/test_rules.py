"""The rules' refusals: later errors of AWS or the pipeline, and in production anything that loses data."""

import copy
import json
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from settings.environment import Environment
from settings.load import ENVIRONMENTS, EnvironmentFileError, load
from settings.rules import broken
from tests.stacks.settings import change, copied, refusal


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return copied(tmp_path)


@pytest.mark.parametrize(
    ("connector", "key", "value"),
    [
        ("source", "snapshot.mode", "initial"),
        ("source", "slot.drop.on.stop", "false"),
        ("source", "producer.override.acks", "all"),
        ("source", "heartbeat.interval.ms", "1500"),
        ("source", "max.batch.size", "4096"),
        ("sink", "connect.s3.retry.interval", "30000"),
    ],
)
def test_an_allowed_property_is_accepted_in_production(folder: Path, connector: str, key: str, value: str) -> None:
    change(folder, "prod", f"pipelines.{connector}", f'configuration = {{ "{key}" = "{value}" }}')
    assert getattr(load("prod", folder).pipelines[0], connector).configuration == {key: value}


def test_two_environments_of_an_account_have_databases_of_their_own(folder: Path) -> None:
    (folder / "staging.toml").write_text((folder / "dev.toml").read_text())
    assert (load("dev", folder).lake.database, load("staging", folder).lake.database) == (
        "dev_datalake",
        "staging_datalake",
    )
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


WRONG: tuple[Any, ...] = (
    "",
    "x",
    "\0",
    "a\nb",
    "é" * 300,
    -1,
    0,
    10**9,
    10**30,
    1.5,
    True,
    False,
    [],
    ["x"],
    [1],
    {},
    {"x": 1},
    {"x": "\n"},
)


def keys(values: Any, path: tuple[str | int, ...] = ()) -> Iterator[tuple[str | int, ...]]:
    """Every key of a file, and every element of its lists, by its path."""
    inner = values.items() if isinstance(values, dict) else enumerate(values) if isinstance(values, list) else ()
    for key, value in inner:
        yield (*path, key)
        yield from keys(value, (*path, key))


PRODUCTION: dict[str, Any] = tomllib.loads((ENVIRONMENTS / "prod.toml").read_text())


def checked(values: dict[str, Any], folder: Path) -> str:
    """The refusal of a file with these values, "" if it is accepted."""
    (folder / "fuzz.toml").write_text(toml(values))
    try:
        load("fuzz", folder)
    except EnvironmentFileError as error:
        return str(error)
    return ""


def toml(values: dict[str, Any]) -> str:
    """Write TOML on one level: inline tables and JSON strings, which TOML reads the same."""

    def inline(value: Any) -> str:
        match value:
            case dict():
                return "{" + ", ".join(f"{json.dumps(key)} = {inline(each)}" for key, each in value.items()) + "}"
            case list():
                return "[" + ", ".join(map(inline, value)) + "]"
            case _:
                return json.dumps(value)

    return "".join(f"{json.dumps(key)} = {inline(value)}\n" for key, value in values.items())


@pytest.mark.parametrize("way", list(keys(PRODUCTION)), ids=lambda way: ".".join(map(str, way)))
def test_whatever_a_key_says_is_answered_by_lines_that_name_file_and_key(
    way: tuple[str | int, ...], tmp_path: Path
) -> None:
    for value in WRONG:
        values = copy.deepcopy(PRODUCTION)
        place: Any = values
        for key in way[:-1]:
            place = place[key]
        place[way[-1]] = value
        for line in checked(values, tmp_path).splitlines():
            file, key, reason = line.split(": ", 2)
            assert file == f"{tmp_path.name}/fuzz.toml", (value, line)
            assert reason.isprintable(), (value, line)
            assert key, (value, line)


# Free texts: any with the right form is accepted.
FREE = {
    "database.name",
    "pipelines.0.topic_prefix",
}


def test_a_text_that_means_nothing_is_refused_wherever_a_text_stands(tmp_path: Path) -> None:
    accepted = set()
    for way in keys(PRODUCTION):
        values = copy.deepcopy(PRODUCTION)
        place: Any = values
        for key in way[:-1]:
            place = place[key]
        if isinstance(place[way[-1]], str):
            place[way[-1]] = "nonsense"
            if not checked(values, tmp_path):
                accepted.add(".".join(map(str, way)))
    assert accepted == FREE


def test_production_as_it_is_breaks_no_rule() -> None:
    environment: Environment = load("prod")
    assert broken(environment) == []
