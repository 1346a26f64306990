from dataclasses import replace

import pytest
from typer.testing import CliRunner

from cli.__main__ import app
from contract.errors import CANNOT, USAGE
from local import files
from operate.errors import OperateError
from operate.kafka.cluster import Cluster


@pytest.fixture
def run() -> CliRunner:
    return CliRunner()


def test_costs_are_printed_for_dev_unless_told_otherwise(run: CliRunner) -> None:
    assert "dev costs about" in run.invoke(app, ["aws", "costs"]).stdout
    assert "prod costs about" in run.invoke(app, ["aws", "costs", "--env", "prod"]).stdout


@pytest.mark.parametrize("words", ["aws costs", "kafka topics", "kafka tail", "kafka ui"])
def test_an_environment_that_is_not_there_is_one_line(run: CliRunner, words: str) -> None:
    done = run.invoke(app, [*words.split(), "--env", "nope"])
    command = words.split()[1]
    assert done.exit_code == CANNOT
    [line] = done.stderr.splitlines()
    assert line.startswith(f"{command}: environments/nope.toml: no such environment; there are dev, ")


@pytest.mark.parametrize("command", ["topics", "tail"])
def test_without_a_platform_the_line_says_what_there_is_to_do(
    run: CliRunner, command: str, monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory
) -> None:
    monkeypatch.setattr(files, "DEFAULT_FOLDER", tmp_path_factory.mktemp("platform"))
    done = run.invoke(app, ["kafka", command])
    assert (done.exit_code, done.stdout) == (CANNOT, "")
    assert done.stderr == (
        f"{command}: the local platform doesn't run: `./lake up` starts it, or name an environment: -e dev\n"
    )


@pytest.mark.parametrize("command", ["topics", "tail"])
def test_a_pipeline_has_a_platform_of_its_own(
    run: CliRunner, command: str, monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory
) -> None:
    monkeypatch.setattr(files, "BUILD", tmp_path_factory.mktemp("build"))
    done = run.invoke(app, ["kafka", command, "--pipeline", "pagila"])
    assert done.stderr == (
        f"{command}: the local platform doesn't run: `./lake up -p pagila` starts it, or name an environment: -e dev\n"
    )


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        (["--pipeline", "nope"], "dev has no pipeline nope: orders"),
        (["--table", "nope"], "'nope' isn't a table of pipeline orders; most like it: datalake.cdc_events"),
    ],
)
def test_a_pipeline_or_a_table_that_an_environment_has_not_is_one_line(
    run: CliRunner, asked: list[str], said: str
) -> None:
    for command in ("topics", "tail"):
        done = run.invoke(app, ["kafka", command, "--env", "dev", *asked])
        assert (done.exit_code, done.stderr) == (CANNOT, f"{command}: {said}\n")


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        (["--pipeline", "nope"], "dev has no pipeline nope: orders"),
        (
            ["--table", "datalake.cdc_events"],
            "--table is for pipelines of ordinary tables: the outbox is one table, and",
        ),
    ],
)
def test_a_resnapshot_of_what_there_isnt_is_one_line(run: CliRunner, asked: list[str], said: str) -> None:
    done = run.invoke(app, ["resnapshot", "--env", "dev", *asked])
    assert done.exit_code == CANNOT
    [line] = done.stderr.splitlines()
    assert line.startswith(f"resnapshot: {said}")


def test_of_several_tables_one_is_named_to_be_followed() -> None:
    topics = {"public.a": "shop.public.a", "public.b": "shop.public.b"}
    several = Cluster(environment="dev", bootstrap_servers="b-1:9098", topics=topics)
    with pytest.raises(OperateError, match=r"--table names one of public\.a, public\.b$"):
        _ = several.topic
    assert replace(several, topics={"public.b": "shop.public.b"}).topic == "shop.public.b"


def test_a_start_that_there_is_not_is_refused(run: CliRunner) -> None:
    assert run.invoke(app, ["kafka", "tail", "--from", "yesterday"]).exit_code == USAGE
    assert run.invoke(app, ["kafka", "tail", "--count", "0"]).exit_code == USAGE
