import shlex
from dataclasses import replace
from pathlib import Path

import pytest

from contract.errors import CANNOT
from local import files
from operate.errors import OperateError
from operate.kafka.cluster import Cluster
from tests.cli.test_commands import run


@pytest.mark.parametrize("words", ["aws costs", "kafka topics", "kafka tail", "kafka ui"])
def test_an_environment_that_is_not_there_is_one_line(words: str) -> None:
    done = run(f"{words} --env nope")
    command = words.split()[1]
    assert done.exit_code == CANNOT
    [line] = done.stderr.splitlines()
    assert line.startswith(f"{command}: environments/nope.toml: no such environment; there are dev, ")


@pytest.mark.parametrize("command", ["status", "dashboard", "reconcile", "resnapshot", "query 'SELECT 1'"])
def test_a_platform_that_is_missing_is_named_with_its_options(
    command: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(files, "BUILD", tmp_path)
    assert "`./lake up -p pagila` starts" in run(f"{command} -p pagila").stderr
    folder = shlex.quote(str(tmp_path / "my lake"))
    assert f"`./lake up --folder {folder}` starts" in run(f"{command} --folder {folder}").stderr


@pytest.mark.parametrize("command", ["status", "down", "kafka topics", "kafka tail"])
def test_a_pipeline_that_is_not_there_has_no_platform(command: str) -> None:
    done = run(f"{command} -p nope")
    assert (done.exit_code, done.stdout) == (CANNOT, "")
    assert "pipelines/nope.toml: no such pipeline; there are northwind" in done.stderr


@pytest.mark.parametrize("command", ["topics", "tail"])
@pytest.mark.parametrize("words", ["", " -p pagila"])
def test_without_a_platform_the_line_says_what_there_is_to_do(
    command: str, words: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(files, "DEFAULT_FOLDER", tmp_path)
    monkeypatch.setattr(files, "BUILD", tmp_path)
    done = run(f"kafka {command}{words}")
    assert (done.exit_code, done.stdout) == (CANNOT, "")
    assert done.stderr == (
        f"{command}: the local platform doesn't run: `./lake up{words}` starts it, or name an environment: -e dev\n"
    )


NO_PIPELINE = ("--pipeline nope", "dev has no pipeline nope: orders")
NO_TABLE = ("--table nope", "'nope' isn't a table of pipeline orders; most like it: datalake.cdc_events")


@pytest.mark.parametrize(
    ("command", "asked", "said"),
    [
        *(("kafka topics", *each) for each in (NO_PIPELINE, NO_TABLE)),
        *(("kafka tail", *each) for each in (NO_PIPELINE, NO_TABLE)),
        ("resnapshot", *NO_PIPELINE),
        ("resnapshot", "--table datalake.cdc_events", "--table is for pipelines of ordinary tables: the outbox is one"),
    ],
)
def test_a_pipeline_or_a_table_that_an_environment_has_not_is_one_line(command: str, asked: str, said: str) -> None:
    done = run(f"{command} --env dev {asked}")
    assert done.exit_code == CANNOT
    [line] = done.stderr.splitlines()
    assert line.startswith(f"{command.split()[-1]}: {said}")


def test_of_several_tables_one_is_named_to_be_followed() -> None:
    topics = {"public.a": "shop.public.a", "public.b": "shop.public.b"}
    several = Cluster(environment="dev", bootstrap_servers="b-1:9098", topics=topics)
    with pytest.raises(OperateError, match=r"--table names one of public\.a, public\.b$"):
        _ = several.topic
    assert replace(several, topics={"public.b": "shop.public.b"}).topic == "shop.public.b"
