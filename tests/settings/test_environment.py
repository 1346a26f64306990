"""Environment files: what is refused, with a one-line reason that names the file and the key."""

from pathlib import Path

import pytest

from settings.load import ENVIRONMENTS, load
from tests.stacks.settings import change, refusal

TODAYS_KCQL = (
    "INSERT INTO {landing}:cdc-events SELECT * FROM msk.datalake.cdc_events PARTITIONBY customer_id,order_id "
    "STOREAS `json` PROPERTIES('flush.interval'=60,'flush.count'=50)"
)


def test_several_problems_are_one_line_each(folder: Path) -> None:
    change(folder, "dev", "streaming", 'broker_type = "kafka.t3.medium"')
    change(folder, "dev", "processing", 'release = "emr-6.4.0"')
    said = refusal(folder, "dev").splitlines()
    assert [line.split(": ")[1] for line in said] == ["streaming.broker_type", "processing.release"]


def test_a_folder_per_order_is_an_option_in_todays_words(folder: Path) -> None:
    change(folder, "dev", "pipelines.sink", f'kcql = "{TODAYS_KCQL}"')
    assert load("dev", folder).pipelines[0].sink.kcql == TODAYS_KCQL


@pytest.mark.parametrize(
    ("content", "reason"),
    [("account = ", "not TOML"), ('name = "x"', "name: the environment's name is that of its file")],
)
def test_a_file_that_cant_be_read_is_one_line(folder: Path, content: str, reason: str) -> None:
    (folder / "broken.toml").write_text(content)
    said = refusal(folder, "broken")
    assert reason in said
    assert "\n" not in said


def test_a_missing_section_is_named(folder: Path) -> None:
    path = folder / "dev.toml"
    path.write_text(path.read_text().partition("[monitoring]")[0])
    assert "dev.toml: monitoring: is missing" in refusal(folder, "dev")


@pytest.mark.parametrize("name", ["staging", "../dev", ""])
def test_an_environment_without_a_file_says_which_there_are(name: str) -> None:
    assert "no such environment; there are dev, prod, sandbox" in refusal(ENVIRONMENTS, name)


def test_the_guides_example_of_a_refusal_is_what_is_said(folder: Path) -> None:
    change(folder, "dev", "streaming", 'broker_type = "kafka.t3.small"')
    change(folder, "dev", "pipelines.source", "workers = 2")
    page = (ENVIRONMENTS.parent / "docs" / "aws" / "deploy.md").read_text()
    assert f"synth: {refusal(folder, 'dev')}" in page.splitlines()
