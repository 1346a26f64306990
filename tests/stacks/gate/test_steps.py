"""The gate expects of each step what the stacks make of the same settings."""

import re
from pathlib import Path
from typing import cast

from settings.load import load
from stacks.gate import steps
from stacks.gate.properties import REFERRED
from stacks.processing.jobs import JobAssets, Jobs
from tests.settings.pipelines import add_to, copied_pipelines, write_pipeline
from tests.stacks.settings import copied
from tests.stacks.test_jobs import ASSETS, Files


def test_tables_of_different_first_loads_pass(tmp_path: Path) -> None:
    environments, pipelines = copied(tmp_path), copied_pipelines(tmp_path)
    write_pipeline(pipelines, "shop", ["orders", "items"], table='evolution = "fixed"')
    path = pipelines / "shop.toml"
    path.write_text(path.read_text().replace('"fixed"', '"fixed"\nfirst_load = "direct"', 1))
    small = ('driver_memory = "1g"', 'executor_memory = "1g"', "executors = 1")
    add_to(environments, "shop", "[pipelines.job]", "one_step = false", *small)
    found = load("dev", environments, pipelines)
    source = {"shop": steps._server(found, found.pipelines[1])}
    made = [step.arguments for step in Jobs(found, cast(JobAssets, Files()), source).steps()]
    options = set(steps._options(found, ASSETS))
    for arguments in (each for each in made if f"{ASSETS}streamer.py" in each):
        own = arguments[arguments.index(f"{ASSETS}streamer.py") + 1 :]
        assert tuple(re.sub(rf"{ASSETS}\S+", REFERRED, word) for word in own) in options
    assert len(made) == steps._number(found) == 3
