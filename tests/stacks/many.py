"""An environment of three pipelines, as an account of one's own might have."""

from pathlib import Path

from settings.environment import Environment
from settings.load import load
from tests.settings.pipelines import add_to, copied_pipelines, write_pipeline
from tests.stacks.settings import change, copied

WIDE = tuple(f"table{number:02}" for number in range(12))
SHOP = ("orders", "items")


def many_pipelines(folder: Path) -> Environment:
    """Write and load it: orders, `wide` of twelve tables, and `shop`, whose two tables have steps of their own."""
    environments, pipelines = copied(folder), copied_pipelines(folder)
    write_pipeline(pipelines, "wide", WIDE)
    write_pipeline(pipelines, "shop", SHOP)
    change(environments, "dev", "processing", "core_instances = 4")
    add_to(environments, "wide")
    add_to(environments, "shop", "[pipelines.job]", "one_step = false", "[pipelines.sink]", "tasks = 2")
    return load("dev", environments, pipelines)
